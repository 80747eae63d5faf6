/**
 * @file topology.h
 * @brief The cluster as a graph of directed links, and the routes through it.
 *
 * A node is a fabric (NVSwitch, NVLink mesh, PCIe tree) with GPUs and NICs; nodes may be of
 * several kinds, each with as many GPUs and NICs; the nodes hang on a network (one switch,
 * leaf-spine, rail-optimised). GPUs are numbered node by node: gpu = node * gpus_per_node +
 * local. Engine-neutral.
 */
#pragma once

#include "models/cluster.h"
#include "models/flow.h"
#include "models/transport.h"

typedef enum {
  TIER_NVLINK,      /**< GPU port into NVLink or NVSwitch */
  TIER_PCIE,        /**< GPU, NIC or switch port of the PCIe tree */
  TIER_HOST,        /**< between CPU sockets, or through host memory */
  TIER_NIC,         /**< cable between a NIC and its first switch */
  TIER_LEAF_UPLINK, /**< between leaf (or rail) and spine switches */
  TIER_CORE_UPLINK, /**< between the spines of a pod and the core switches */
  TIER_TORUS,       /**< between neighbours of a torus */
  TIER_LOCAL_LINK,  /**< between routers of one group of a dragonfly */
  TIER_GLOBAL_LINK, /**< between groups of a dragonfly */
  TIER_SERVER,      /**< a server's CPUs, which sum what arrives */
  TIER_FABRIC,      /**< any link of a network that was read from a file */
  TIER_N
} Tier;

/** "nvlink", "pcie", "host", "nic", "leaf_uplink", ...; NULL-terminated. */
extern const char *const topology_tier_names[];

typedef struct Topology Topology;

/**
 * Build the graph of @p cluster. NIC links carry what the transport leaves of the
 * nominal rate; their latency is the network's alone (see topology_message_latency_s()).
 * A single node needs neither network nor transport (both may be NULL then).
 * Transfer: caller frees with topology_free().
 * @return NULL with SIM_ERROR_VALUE if the parts do not fit together
 */
Topology *topology_new(const ClusterSpec *cluster, GError **error);
/** Can every fault of the cluster be, and does every node still reach the others?
 *  @return false with SIM_ERROR_VALUE and the fault, @p which */
bool topology_check_faults(const ClusterSpec *cluster, guint *which, GError **error);

void topology_free(Topology *topology);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Topology, topology_free)

guint topology_n_nodes(const Topology *topology);
guint topology_gpus_per_node(const Topology *topology);
guint topology_nics_per_node(const Topology *topology);
guint topology_n_gpus(const Topology *topology);
guint topology_n_links(const Topology *topology);

/** All links, by number. Borrowed; changes with topology_set_capacity(). */
const Link *topology_links(const Topology *topology);

/** Give one link another capacity: a slow NIC, a degraded cable. */
void topology_set_capacity(Topology *topology, guint link, double capacity_Bps);

/**
 * Append the links from GPU @p src to GPU @p dst (guint32) to @p links; none if equal.
 * @param rail  which NIC of either node carries it, modulo the NICs of a node
 * @param hash  what hashed ECMP draws its path from; ignored elsewhere
 */
void topology_route(const Topology *topology, guint src, guint dst, guint rail,
                    guint64 hash, GArray *links);

/**
 * Append what GPU @p src sends to GPU @p dst to @p set: as one flow, or as one per path if
 * the transport has several connections and the network gives them different paths.
 * @return the latency of its links [s]
 */
double topology_add_flow(const Topology *topology, guint src, guint dst, guint rail,
                         double share, FlowSet *set);

/** The same from the host memory of machine @p src to that of @p dst; nothing if equal. */
double topology_add_host_flow(const Topology *topology, guint src, guint dst, guint rail,
                              double share, FlowSet *set);

/** The same to a machine that sums what arrives, itself included. */
double topology_add_push(const Topology *topology, guint src, guint dst, guint rail,
                         double share, FlowSet *set);

/** Machines: the nodes, and behind them servers without GPUs. */
guint topology_n_machines(const Topology *topology);

/**
 * Append the links from the host memory of machine @p src to that of @p dst; none if equal.
 * A server's memory is as fast as its NICs: its routes begin and end at their cables.
 */
void topology_route_hosts(const Topology *topology, guint src, guint dst, guint rail,
                          guint64 hash, GArray *links);

/** The link that stands for the summing CPUs of @p machine; false if there is no limit. */
bool topology_sum_link(const Topology *topology, guint machine, guint32 *link);

/** Append the links between GPU @p gpu and the host memory of its node. */
void topology_route_staging(const Topology *topology, guint gpu, bool to_host,
                            GArray *links);

/** Sum of the latencies of @p links[first..] [s]. */
double topology_latency_s(const Topology *topology, const guint32 *links, guint n_links);

/**
 * Orders in which a ring may visit the GPUs of one node (local numbers), as the
 * fabric offers them (of several kinds, that with most orders, which is the most
 * particular): one for NVSwitch, several for a mesh whose rings use different
 * links. @p order has gpus_per_node entries. Borrowed.
 */
guint topology_n_ring_orders(const Topology *topology);
const guint *topology_ring_order(const Topology *topology, guint index);

/** Local number of the GPU nearest to NIC @p nic of a node; of several kinds, of the first.
 */
guint topology_nic_gpu(const Topology *topology, guint nic);

/** How far NIC @p nic is from that GPU; PATH_ANY if there is no such NIC. */
PathType topology_path_type(const Topology *topology, guint nic);

/** Does every NIC read and write the memory of the GPU nearest to it? */
bool topology_gpu_direct(const Topology *topology);

/** Do the GPUs of a node copy to one another through host memory? The first two tell. */
bool topology_copies_through_host(const Topology *topology);

/** What the transport makes of the NICs; on one node nothing. Borrowed. */
const TransportEffect *topology_transport(const Topology *topology);

/** Limit of a flow between nodes; INFINITY if none [B/s]. */
double topology_flow_cap_Bps(const Topology *topology);

/** What the transport adds to every inter-node message, and no link contains [s]. */
double topology_message_latency_s(const Topology *topology);

/** What the best connected GPU of a node can send to the others of its node, over all its
 *  ports at once; INFINITY if it is alone [B/s]. */
double topology_gpu_Bps(const Topology *topology);

/** What the best NIC of the cluster carries in one direction; INFINITY if nodes have no
 *  cables [B/s]. */
double topology_nic_Bps(const Topology *topology);

/** The same of the worst connected kind of node, and of the slowest kind's NICs, as they
 *  were bought: what libraries reckon with [B/s]. */
double topology_least_gpu_Bps(const Topology *topology);
double topology_least_nic_Bps(const Topology *topology);
