/**
 * @file fabric.h
 * @brief The inside of a node: how GPUs reach one another and the NICs.
 *
 * A fabric draws one node; topology.c repeats the drawing for every node.
 */
#pragma once

#include "models/cluster.h"
#include "models/flow.h"

/** A drawing of one node. Link numbers are local to it. */
typedef struct NodeGraph NodeGraph;

NodeGraph *node_graph_new(guint n_gpus, guint n_nics);
void node_graph_free(NodeGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NodeGraph, node_graph_free)

guint node_graph_n_gpus(const NodeGraph *graph);
guint node_graph_n_nics(const NodeGraph *graph);

/** Add a directed link and return its number. */
guint32 node_graph_add_link(NodeGraph *graph, guint tier, double capacity_Bps,
                            double latency_s);

/** Lay down a route; @p links is copied. Each may be set once. */
void node_graph_set_gpu_route(NodeGraph *graph, guint src_gpu, guint dst_gpu,
                              const guint32 *links, guint n_links);
void node_graph_set_nic_out(NodeGraph *graph, guint gpu, guint nic, const guint32 *links,
                            guint n_links);
void node_graph_set_nic_in(NodeGraph *graph, guint nic, guint gpu, const guint32 *links,
                           guint n_links);

/** Ways into and out of host memory. */
typedef enum { HOST_FROM_GPU, HOST_TO_GPU, HOST_FROM_NIC, HOST_TO_NIC, HOST_WAY_N } HostWay;

/** Lay down a way of GPU or NIC number @p index; @p links is copied. */
void node_graph_set_host_way(NodeGraph *graph, HostWay way, guint index,
                             const guint32 *links, guint n_links);

/** The GPU that stands nearest to a NIC. */
void node_graph_set_nic_gpu(NodeGraph *graph, guint nic, guint gpu);

/** Let NICs that are further than @p gdr_level (PathType) from a GPU reach host memory
 * only, of which one socket lets @p host_memory_Bps pass between GPUs and NICs; and GPUs
 * without @p p2p too. Before anything is drawn. */
void node_graph_rule(NodeGraph *graph, guint gdr_level, bool p2p, double host_memory_Bps);
/** The farthest from which NICs read and write GPU memory; PATH_ANY: no limit. */
guint node_graph_gdr_level(const NodeGraph *graph);
double node_graph_host_memory_Bps(const NodeGraph *graph);
/** May GPUs copy to one another without host memory? */
bool node_graph_has_p2p(const NodeGraph *graph);

/** How far NIC @p nic is from @p gpu, or from the GPU that relays for it. Once for each. */
void node_graph_set_path_type(NodeGraph *graph, guint gpu, guint nic, PathType type);

/** Add an order in which a ring may visit the GPUs (n_gpus local numbers, copied). */
void node_graph_add_ring_order(NodeGraph *graph, const guint *order);

struct FabricOps {
  ModuleInfo info;

  /** Do routes depend on @p key, the rest being what it is? NULL: on every key. */
  bool (*uses)(const void *params, const char *key);

  /** Draw @p node into the empty @p graph: links, all routes, at least one ring order.
   *  False with SIM_ERROR_VALUE if the parameters do not fit the node. Required. */
  bool (*build)(const void *params, const NodeSpec *node, NodeGraph *graph, GError **error);
};

extern const ModuleInfo *const fabric_table[];
extern const FabricOps fabric_nvswitch;
extern const FabricOps fabric_nvlink_mesh;
extern const FabricOps fabric_pcie;
