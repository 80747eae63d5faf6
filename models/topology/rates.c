/* What GPUs and NICs can do, and in which orders rings visit them. */
#include "models/topology/whole.h"

#include <math.h>

/* The kind that offers most orders. */
static const NodeGraph *most_particular(const Topology *topology)
{
  const NodeGraph *most = topology->node;

  for (guint kind = 1; kind < topology_n_kinds(topology); kind++)
    if (node_graph_n_ring_orders(topology_drawing(topology, kind)->graph) >
        node_graph_n_ring_orders(most))
      most = topology_drawing(topology, kind)->graph;
  return most;
}

guint topology_n_ring_orders(const Topology *topology)
{
  return node_graph_n_ring_orders(most_particular(topology));
}

const guint *topology_ring_order(const Topology *topology, guint index)
{
  return node_graph_ring_order(most_particular(topology), index);
}

guint topology_nic_gpu(const Topology *topology, guint nic)
{
  return node_graph_nic_gpu(topology->node, nic);
}

PathType topology_path_type(const Topology *topology, guint nic)
{
  if (nic >= topology_nics_per_node(topology))
    return PATH_ANY;
  return node_graph_path_type(topology->node, node_graph_nic_gpu(topology->node, nic), nic);
}

bool topology_gpu_direct(const Topology *topology)
{
  const guint level = node_graph_gdr_level(topology->node);

  for (guint nic = 0; level != PATH_ANY && nic < topology_nics_per_node(topology); nic++)
    if (topology_path_type(topology, nic) > level)
      return false;
  return topology->transport.gpu_direct;
}

/* Of the ports of one GPU, which are the links that its routes begin with. */
static double ports_Bps(const NodeGraph *node, guint gpu)
{
  g_autofree bool *counted = g_new0(bool, node_graph_n_links(node));
  double sum_Bps = 0;

  for (guint dst = 0; dst < node_graph_n_gpus(node); dst++) {
    const NodeRoute route = node_graph_gpu_route(node, gpu, dst);
    if (route.n_links == 0 || counted[route.links[0]])
      continue;
    counted[route.links[0]] = true;
    sum_Bps += node_graph_links(node)[route.links[0]].capacity_Bps;
  }
  return sum_Bps;
}

/* The best connected GPU of a kind. */
static double kind_gpu_Bps(const NodeGraph *node)
{
  double best_Bps = 0;

  for (guint gpu = 0; gpu < node_graph_n_gpus(node); gpu++)
    best_Bps = MAX(best_Bps, ports_Bps(node, gpu));
  return best_Bps > 0 ? best_Bps : INFINITY;
}

double topology_gpu_Bps(const Topology *topology)
{
  double best_Bps = 0;

  for (guint kind = 0; kind < topology_n_kinds(topology); kind++)
    best_Bps = MAX(best_Bps, kind_gpu_Bps(topology_drawing(topology, kind)->graph));
  return best_Bps;
}

double topology_least_gpu_Bps(const Topology *topology)
{
  double least_Bps = INFINITY;

  for (guint kind = 0; kind < topology_n_kinds(topology); kind++)
    least_Bps = MIN(least_Bps, kind_gpu_Bps(topology_drawing(topology, kind)->graph));
  return least_Bps;
}

double topology_least_nic_Bps(const Topology *topology)
{
  return topology->least_nic_Bps;
}

double topology_nic_Bps(const Topology *topology)
{
  double best_Bps = 0;

  for (guint link = topology->first_cable; link < topology->links->len; link++)
    if (topology_links(topology)[link].tier == TIER_NIC)
      best_Bps = MAX(best_Bps, topology_links(topology)[link].capacity_Bps);
  return best_Bps > 0 ? best_Bps : INFINITY;
}
