/**
 * @file node_graph.h
 * @brief Reading a finished drawing of a node; fabric.h has the pencils.
 */
#pragma once

#include "models/fabric.h"

/** A stretch of link numbers, local to the node. Borrowed from the graph. */
typedef struct {
  const guint32 *links;
  guint n_links;
} NodeRoute;

guint node_graph_n_links(const NodeGraph *graph);
const Link *node_graph_links(const NodeGraph *graph);

/** Empty where none was laid down. */
NodeRoute node_graph_gpu_route(const NodeGraph *graph, guint src_gpu, guint dst_gpu);
NodeRoute node_graph_nic_out(const NodeGraph *graph, guint gpu, guint nic);
NodeRoute node_graph_nic_in(const NodeGraph *graph, guint nic, guint gpu);

NodeRoute node_graph_host_way(const NodeGraph *graph, HostWay way, guint index);

guint node_graph_nic_gpu(const NodeGraph *graph, guint nic);
PathType node_graph_path_type(const NodeGraph *graph, guint gpu, guint nic);
guint node_graph_n_ring_orders(const NodeGraph *graph);
const guint *node_graph_ring_order(const NodeGraph *graph, guint index);

/** Has every pair its route and is every ring order a permutation of the GPUs? A fabric
 *  that returns true and leaves gaps is at fault, not the user. */
bool node_graph_is_complete(const NodeGraph *graph);
