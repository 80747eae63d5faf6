/**
 * @file cluster.h
 * @brief What a cluster is made of: GPU, node, NIC, network, transport. Plain data.
 *
 * Filled from a scenario and the catalogues; the ParamSpec tables below are the only
 * list of the keys.
 */
#pragma once

#include "sim/base/param.h"

/** As compute capabilities group them. */
typedef enum {
  GPU_VOLTA,
  GPU_TURING,
  GPU_AMPERE,
  GPU_ADA,
  GPU_HOPPER,
  GPU_BLACKWELL,
} GpuArchitecture;

/** One GPU type. Peaks are dense (no sparsity); 0 where the GPU has no such unit. */
typedef struct {
  char *name;
  guint64 memory_B;  /**< device memory */
  double memory_Bps; /**< device memory bandwidth */
  double fp32_flops; /**< FLOP/s */
  double tf32_flops; /**< tensor cores; 0 before Ampere */
  double fp16_flops; /**< tensor cores, fp32 accumulate */
  double bf16_flops; /**< tensor cores; 0 before Ampere */
  double kernel_Bps; /**< read and written by a kernel that copies; 0: nobody measured */
  double gemm_fp32_flops, gemm_tf32_flops, gemm_fp16_flops,
    gemm_bf16_flops; /**< of large matrix products; 0: nobody measured */
  guint n_sms;
  guint architecture; /**< GpuArchitecture */
  char *source;
} GpuSpec;

extern const ParamSpec gpu_params[];

/** What kernels read and write in device memory: measured, or else the peak [B/s]. */
double gpu_memory_Bps(const GpuSpec *gpu);

/** Do measured rates stay near the peaks? @return false with SIM_ERROR_VALUE */
bool gpu_check(const GpuSpec *gpu, GError **error);

typedef struct FabricOps FabricOps;
typedef struct NetworkOps NetworkOps;
typedef struct TransportOps TransportOps;

/** One kind of node: GPUs, the fabric between them, NICs. */
typedef struct {
  char *name;
  GpuSpec gpu;
  guint n_gpus;
  const FabricOps *fabric;
  void *fabric_params; /**< owned; laid out by fabric->info.params */
  guint n_nics;
  double nic_rate_Bps; /**< nominal, of each NIC and direction */
  char *source;
} NodeSpec;

/** "gpus", "nics", "nic_rate", "source"; gpu and fabric are objects of their own. */
extern const ParamSpec node_params[];

/** "count" and "rate" of "cluster.nic", which speak for the node's own; of NodeSpec. */
extern const ParamSpec nic_params[];

/** Nodes of another kind, numbered behind those of the kinds before it. */
typedef struct {
  guint n_nodes;
  NodeSpec node;
} NodeGroup;

#define FAULT_ANY G_MAXUINT

/** Links that are slower than they should be, or have failed. */
typedef struct {
  guint link;      /**< Tier, see topology.h */
  guint node;      /**< for links in and at nodes; else FAULT_ANY */
  guint index;     /**< which of them: a NIC, a cable between switches, a link; FAULT_ANY:
                        all */
  double capacity; /**< share that is left; 0: failed */
} FaultSpec;

/** Another job on the same network, see traffic.h. */
typedef struct {
  guint n_nodes;    /**< >= 2 */
  guint first_node; /**< it shares nodes from this on; FAULT_ANY: it has machines of its
                       own, behind all others on the network */
  guint64 size_B;   /**< of its message */
  double from_s;    /**< time before its first exchange */
  double every_s; /**< time from one exchange to the next, or longer if one takes longer */
} OtherJob;

/** A node whose GPUs compute more slowly than others of their type. */
typedef struct {
  guint node;
  double slowdown; /**< times that its GPUs need, >= 1 */
} StragglerSpec;

/** The same of nodes that are drawn with the seed. */
typedef struct {
  double share; /**< chance of every node, 0..1 */
  double slowdown;
} RandomStragglers;

/** How far a NIC stands from a GPU: NCCL's path types, src/graph/topo.h. */
typedef enum {
  PATH_ANY, /**< no limit */
  PATH_LOC,
  PATH_PIX, /**< one PCIe switch between them */
  PATH_PXB, /**< several */
  PATH_PHB, /**< the PCIe host bridge of a CPU */
  PATH_SYS, /**< the link between CPUs */
} PathType;

/** What software makes of the ways inside a node. All 0: whatever the hardware can do. */
typedef struct {
  bool no_p2p;     /**< GPUs copy through host memory, NVLink or not */
  guint gdr_level; /**< PathType: NICs further away do not read and write GPU memory */
  bool cross_nic;  /**< a ring may leave a node through another NIC than it came in by */
} PathRules;

typedef struct {
  guint n_nodes;  /**< of all kinds */
  NodeSpec node;  /**< the first kind */
  GArray *others; /**< of NodeGroup: the other kinds, as many GPUs and NICs in each of their
                       nodes; NULL: none */
  PathRules rules; /**< the library's, see LibraryOps.rule_paths() */
  const NetworkOps *network;
  void *network_params; /**< owned */
  const TransportOps *transport;
  void *transport_params; /**< owned */
  guint n_servers;       /**< machines without GPUs on the same network, with a node's NICs;
                              what a strategy asks for */
  double server_sum_Bps; /**< what the CPUs of a machine add of what it receives as a
                            server; 0: no limit */
  GArray *other_jobs;    /**< of OtherJob; NULL: none */
  GArray *faults;        /**< of FaultSpec; NULL: none */
  GArray *stragglers;    /**< of StragglerSpec; NULL: none */
  GArray *random_stragglers; /**< of RandomStragglers; NULL: none */
} ClusterSpec;

/** "nodes" and lists; the rest are objects of their own. */
extern const ParamSpec cluster_params[];

/** "nodes" of an element of "other_nodes"; of ClusterSpec. */
extern const ParamSpec other_node_params[];

/** More GPUs than this are refused: a folded run of this many takes about 32 GiB. */
#define CLUSTER_MAX_GPUS (1u << 22)

void gpu_clear(GpuSpec *gpu);
void node_clear(NodeSpec *node);
void cluster_clear(ClusterSpec *cluster);

/** Kinds of nodes, >= 1; what one is, and the number of its first node, for 0 <= kind <
 *  kinds; the first node of kind number kinds is the number of all nodes. */
guint cluster_n_kinds(const ClusterSpec *cluster);
const NodeSpec *cluster_kind(const ClusterSpec *cluster, guint kind);
guint cluster_first_node(const ClusterSpec *cluster, guint kind);

/** The GPU whose memory is slowest: what copies and codecs are timed by, since the GPUs
 *  wait for one another. */
const GpuSpec *cluster_slowest_gpu(const ClusterSpec *cluster);
