/**
 * @file nccl.h
 * @brief NCCL in parts: constants by version, layout, its own forecast, the real cost.
 *
 * nccl_constants.c  what releases were tuned with
 * nccl_params.c     its keys: environment, and what its parts cost
 * nccl_layout.c     channels and what NCCL's search of the node believes they carry
 * nccl_model.c      the time that NCCL itself predicts: it decides by nothing else
 * nccl_terms.c      what the chosen algorithm and protocol then cost
 * nccl_channels.c  how many channels a message gets, and what one moves
 * nccl_buffers.c    GPU memory that it holds
 * nccl_pat.c        the same of parallel aggregated trees
 * nccl_p2p.c        the same of sends and receives, where nothing is chosen
 */
#pragma once

#include "models/library.h"

typedef enum {
  NCCL_TREE,
  NCCL_RING,
  NCCL_COLLNET, /**< CollNetDirect */
  NCCL_NVLS,
  NCCL_NVLS_TREE,
  NCCL_PAT,
  NCCL_N_ALGOS,
} NcclAlgo;
typedef enum { NCCL_LL, NCCL_LL128, NCCL_SIMPLE, NCCL_N_PROTOS } NcclProto;
typedef enum { NCCL_NVLINK, NCCL_PCI, NCCL_NET, NCCL_N_HOPS } NcclHop;
typedef enum {
  NCCL_VOLTA,
  NCCL_AMPERE,
  NCCL_HOPPER,
  NCCL_BLACKWELL,
  NCCL_N_ARCHS
} NcclArch;
typedef enum { NCCL_1_NODE, NCCL_2_NODES, NCCL_MORE_NODES, NCCL_N_SCALES } NcclScale;

/** Tables of one release, in SI: tuning.cc has microseconds and GB/s. */
typedef struct {
  double base_s[NCCL_N_ALGOS][NCCL_N_PROTOS];
  double hop_s[NCCL_N_HOPS][NCCL_N_ALGOS][NCCL_N_PROTOS];
  double ll_max_Bps[NCCL_N_ARCHS]
                   [NCCL_N_SCALES];    /**< row by GPU on one node, else by CPU */
  double ring_ll128_Bps[NCCL_N_ARCHS]; /**< of one channel */
  double tree_ll128_Bps[NCCL_N_ARCHS][NCCL_N_SCALES];
  double tree_Bps[NCCL_N_ARCHS][NCCL_N_SCALES];
  double nvls_tree_Bps[NCCL_N_ARCHS][NCCL_N_SCALES]; /**< INFINITY: not limited */
  double ring_ll_share;    /**< of the bus bandwidth that Ring/LL gets */
  bool nvls_by_efficiency; /**< NVLS bandwidth by nccl_nvls_efficiency, else 5/6 */
  bool has_pat;
  bool one_gpu_uses_tree_net; /**< nodes of one GPU: Ring takes Tree's hop between nodes */
  guint first_last_net_hops;  /**< hops between nodes that a ring saves at its ends */
} NcclVersion;

/** "2.20", "2.26", "2.30"; NULL-terminated. The last is what costs are computed with. */
extern const char *const nccl_version_names[];
const NcclVersion *nccl_version(guint index);
const NcclVersion *nccl_latest(void);

/** What NVLS keeps of the NVLink bandwidth, 0..1; 0: it has none. */
double nccl_nvls_efficiency(NcclArch arch);

/** Times the bandwidth of a tree: "trees are not perfectly sticking to the model". */
double nccl_tree_correction(NcclProto proto, double size_B);

#define NCCL_NOT_LL128 (NCCL_N_PROTOS + 1) /* NCCL_PROTO=^LL128 */

typedef enum { NCCL_CPU_INTEL, NCCL_CPU_AMD } NcclCpu;

/** What the parts of an operation cost: the latest release's tables unless a scenario or a
 *  calibration says otherwise. NCCL decides by its own tables whatever these are. */
typedef struct {
  double base_s[NCCL_N_ALGOS][NCCL_N_PROTOS];
  double hop_s[NCCL_N_HOPS][NCCL_N_ALGOS][NCCL_N_PROTOS];
  double channel_Bps;                /**< of Ring/Simple; 0: by GPU */
  double shm_Bps;                    /**< of a channel between GPUs without peer access */
  double ring_overlap;               /**< how the hops of a ring hide behind its links */
  double p2p_local_Bps, p2p_net_Bps; /**< of one channel of sends and receives */
} NcclCosts;

typedef struct {
  guint algo;  /**< NcclAlgo, or NCCL_N_ALGOS for any */
  guint proto; /**< NcclProto, NCCL_N_PROTOS for any, or NCCL_NOT_LL128 */
  guint version;
  guint cpu; /**< NcclCpu */
  double net_overhead_s;
  double net_latency_s;
  guint min_ctas, max_ctas;
  guint64 buffsize_B;
  bool collnet;
  bool no_p2p;
  guint gdr_level; /**< PathType, from PATH_LOC on */
  guint cross_nic; /**< 0, 1 or 2 */
  NcclCosts costs;
} NcclParams;

/** The communicator: what NCCL makes of the cluster. */
typedef struct {
  NcclArch arch;
  NcclScale scale;
  NcclHop local_hop; /**< NCCL_NVLINK or NCCL_PCI */
  guint n_found;     /**< channels that the search of the node finds */
  guint n_channels;  /**< that run: doubled, and as min_ctas and max_ctas want */
  guint n_net_gpus;  /**< GPUs of a node whose proxy threads speak to NICs */
  double local_Bps;  /**< all channels found, inside a node */
  double net_Bps;    /**< all channels found, between nodes; nominal */
  double net_overhead_s;
  double net_latency_s; /**< that NCCL's forecast reckons with, beyond InfiniBand's */
  bool leaves_far;      /**< rings leave a node by the NIC next to another GPU */
  bool collnet;         /**< switches between nodes sum */
  bool pat;             /**< the release has PAT */
  double ll_max_Bps;    /**< row and column of the table for this cluster, latest release */
} NcclLayout;

/** The keys of a scenario, and which of them make a difference: LibraryOps.uses(). */
extern const ParamSpec nccl_params[];
bool nccl_uses(const void *params, const char *key, bool network);

NcclLayout nccl_layout(const NcclParams *params, const LibraryCall *call);

/** May NCCL run it at all on this cluster, for this operation? */
bool nccl_can_use(const NcclLayout *layout, const LibraryCall *call, NcclAlgo algo,
                  NcclProto proto);

/** NCCL's own forecast [s], by the tables of @p version. */
double nccl_model_s(const NcclVersion *version, const NcclLayout *layout,
                    const LibraryCall *call, NcclAlgo algo, NcclProto proto, double size_B);

/** Channels that a message of @p size_B bytes uses, 1 or more. */
double nccl_channels(const NcclLayout *layout, const LibraryCall *call, NcclAlgo algo,
                     NcclProto proto, double size_B);
/** LibraryOps.buffers_B(). */
double nccl_buffers_B(const void *params, const LibraryCall *call);
/** What one channel sums and sends with Simple [B/s]. */
double nccl_channel_Bps(const NcclCosts *costs, NcclArch arch);

/** What it costs, to the best of our knowledge. @p phases  of its collective */
LibraryChoice nccl_terms(const NcclParams *params, const NcclLayout *layout,
                         const LibraryCall *call, NcclAlgo algo, NcclProto proto,
                         double size_B);

/** "ll", "ll128", "simple". */
const char *nccl_proto_name(NcclProto proto);
/** Bytes on the wire per byte: LL has a flag per 4 B, LL128 one of 8 B per 128 B. */
double nccl_wire_factor(NcclProto proto);
/** What a message between nodes takes beyond InfiniBand's, which the tables contain; less
 *  than 0 if it is faster [s]. */
double nccl_extra_net_s(const LibraryCall *call, NcclProto proto);

/** Bytes of messages that the proxy threads of a node carry as LL, flags not counted: the
 *  tuner's llMaxBws are bus bandwidths [B/s]. */
double nccl_ll_proxies_Bps(const NcclParams *params, const NcclLayout *layout,
                           double n_channels);
/** A hop between nodes; in trees of LL with what proxies do for @p chunk_B bytes of all
 *  channels together [s]. */
double nccl_net_hop_s(const NcclParams *params, const NcclLayout *layout,
                      const LibraryCall *call, NcclAlgo algo, NcclProto proto,
                      double n_channels, double chunk_B);
/** Trees of LL between nodes: hops hold the first chunk already, links are idle; the rest
 * of the message follows as fast as proxies carry it. */
void nccl_add_ll_proxies(const NcclParams *params, const NcclLayout *layout,
                         const LibraryCall *call, const CollPhase *phase, double n_channels,
                         double size_B, CollTerms *terms);
/** What the busiest proxy does for a ring that moves @p chunk_B bytes of all channels per
 *  round [s]. */
double nccl_ring_proxies_s(const NcclLayout *layout, const LibraryCall *call,
                           NcclProto proto, double n_channels, double chunk_B,
                           double size_B);

/** Bus bandwidth that PAT gets of the channels found, and what it waits in all, as the
 *  tuner of @p version has it [B/s] [s]. */
double nccl_pat_bus_Bps(const NcclLayout *layout);
double nccl_pat_latency_s(const NcclVersion *version, const LibraryCall *call);
LibraryChoice nccl_pat_terms(const NcclCosts *costs, const NcclLayout *layout,
                             const LibraryCall *call);

/** What sends and receives run as; NULL for other operations. */
const CollOps *nccl_p2p_collective(CollKind kind);
LibraryChoice nccl_p2p_terms(const NcclCosts *costs, const NcclLayout *layout,
                             const LibraryCall *call, double size_B);

/** The collective an algorithm runs as. NULL if there is none (yet). */
const CollOps *nccl_collective(NcclAlgo algo);
