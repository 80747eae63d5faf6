/**
 * @file network.h
 * @brief What connects the nodes: switches, their links, and the paths through them.
 *
 * The cable of every NIC (up to its first switch and down again) is laid by topology.c;
 * a network adds what lies behind and says which of its links a path crosses.
 */
#pragma once

#include "models/cluster.h"
#include "models/flow.h"

typedef struct {
  guint n_nodes;
  guint nics_per_node;
  double nic_Bps; /**< what the transport leaves of one NIC [B/s] */
  double goodput; /**< the same of any nominal rate, 0..1 */
} NetworkPorts;

struct NetworkOps {
  ModuleInfo info;

  /** Free what @p params owns beyond the rows of info.params. May be NULL. */
  void (*clear)(void *params);

  /** False with SIM_ERROR_VALUE if build() would fail. May be NULL: it never does. */
  bool (*check)(const void *params, const NetworkPorts *ports, GError **error);

  /** Append the network's links to @p links (GArray of Link); the first gets number
   *  @p links->len at entry. Transfer: returns private state, freed with free(); NULL with
   *  SIM_ERROR_VALUE if the parameters do not fit. Required. */
  void *(*build)(const void *params, const NetworkPorts *ports, GArray *links,
                 GError **error);
  void (*free)(void *state);

  /** Append the links from NIC (node, nic) to NIC (node, nic), without the cables of the
   *  NICs themselves. Required. */
  void (*route)(const void *state, guint src_node, guint src_nic, guint dst_node,
                guint dst_nic, guint64 hash, GArray *path);

  /** Latency of the cables and switches of one direction of a NIC's cable [s]. Required. */
  double (*port_latency_s)(const void *params);
};

extern const ModuleInfo *const network_table[];
extern const NetworkOps network_switch;
extern const NetworkOps network_leaf_spine;
extern const NetworkOps network_rail_optimised;
extern const NetworkOps network_fat_tree;
extern const NetworkOps network_torus;
extern const NetworkOps network_dragonfly;
extern const NetworkOps network_graph;
