/**
 * @file whole.h
 * @brief What a Topology is made of, for the files of this folder and topology.c.
 */
#pragma once

#include "models/topology.h"
#include "models/topology/node_graph.h"

/* Nodes that are drawn alike. */
typedef struct {
  NodeGraph *graph;
  guint first_node;
  guint32 first_link; /* of its first node */
} Drawing;

/* Links are numbered node after node as the fabrics drew them, then the two cables of each
 * NIC (up, down), node after node, then the network's own. */
struct Topology {
  guint n_nodes, n_machines;
  NodeGraph *node; /* of the first kind; borrowed */
  GArray *kinds;   /* of Drawing, one per kind of node, and one more that begins behind */
  GArray *links;   /* of Link */
  guint32 first_cable;
  guint32 first_sum; /* of each machine, behind all others; 0: none */
  const NetworkOps *network;
  void *network_state;
  TransportEffect transport;
  double least_nic_Bps;
  bool *failed; /* of each link; NULL: none has */
};

const Drawing *topology_drawing(const Topology *topology, guint kind);
guint topology_n_kinds(const Topology *topology);

/** How the node was drawn, and the number of its first link. */
const NodeGraph *topology_drawn(const Topology *topology, guint node, guint32 *first_link);

/** Number of the first cable of a machine: up, down, NIC after NIC. */
guint32 topology_first_cable(const Topology *topology, guint machine);

/** From GPU to GPU, or from host to host, round links that have failed: over other NICs of
 *  both nodes, or other paths of hashed multipath. @return false if there is no way */
bool topology_find_route(const Topology *topology, guint src, guint dst, guint rail,
                         guint64 hash, GArray *links);
bool topology_find_host_route(const Topology *topology, guint src, guint dst, guint rail,
                              guint64 hash, GArray *links);

/** Slow down and break links. @param which  the fault that cannot be, after false */
bool topology_break(Topology *topology, const ClusterSpec *cluster, guint *which,
                    GError **error);
