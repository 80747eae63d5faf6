#include "models/topology.h"

#include "models/network.h"
#include "models/topology/node_graph.h"

#include <math.h>

const char *const topology_tier_names[] = {
  [TIER_NVLINK] = "nvlink",
  [TIER_PCIE] = "pcie",
  [TIER_HOST] = "host",
  [TIER_NIC] = "nic",
  [TIER_LEAF_UPLINK] = "leaf_uplink",
  [TIER_CORE_UPLINK] = "core_uplink",
  [TIER_TORUS] = "torus",
  [TIER_LOCAL_LINK] = "local_link",
  [TIER_GLOBAL_LINK] = "global_link",
  [TIER_SERVER] = "server",
  [TIER_FABRIC] = "fabric",
  [TIER_N] = NULL,
};

/* Links are numbered node after node as the fabric drew one, then the two cables of each
 * NIC (up, down), node after node, then the network's own. */
struct Topology {
  guint n_nodes, n_machines;
  NodeGraph *node;
  GArray *links; /* of Link */
  guint32 first_cable;
  guint32 first_sum; /* of each machine, behind all others; 0: none */
  const NetworkOps *network;
  void *network_state;
  TransportEffect transport;
};

static bool fits(const ClusterSpec *cluster, GError **error)
{
  const guint64 n_gpus = (guint64)cluster->n_nodes * cluster->node.n_gpus;

  if (cluster->n_nodes == 0 || cluster->node.n_gpus == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "a cluster needs at least one GPU");
    return false;
  }
  if (n_gpus > CLUSTER_MAX_GPUS) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u nodes of %u GPUs are %" G_GUINT64_FORMAT
                " GPUs; at most %u are simulated",
                cluster->n_nodes, cluster->node.n_gpus, n_gpus, CLUSTER_MAX_GPUS);
    return false;
  }
  if (cluster->n_nodes + cluster->n_servers > 1 && cluster->node.n_nics == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u nodes without NICs cannot reach one another", cluster->n_nodes);
    return false;
  }
  if (cluster->n_nodes + cluster->n_servers > 1 && !(cluster->node.nic_rate_Bps > 0)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%u nodes need NICs with a rate above 0",
                cluster->n_nodes);
    return false;
  }
  return true;
}

static bool draw_nodes(Topology *topology, const ClusterSpec *cluster, GError **error)
{
  const NodeSpec *node = &cluster->node;

  topology->node = node_graph_new(node->n_gpus, node->n_nics);
  node_graph_rule(topology->node,
                  topology->transport.gpu_direct ? cluster->rules.gdr_level : PATH_LOC,
                  !cluster->rules.no_p2p, topology->transport.host_memory_Bps);
  if (!node->fabric->build(node->fabric_params, node, topology->node, error))
    return false;
  g_return_val_if_fail(node_graph_is_complete(topology->node), false);

  const guint n_links = node_graph_n_links(topology->node);
  const guint64 n_cables = 2 * (guint64)node->n_nics * topology->n_machines;
  const guint64 n_all = (guint64)n_links * cluster->n_nodes + n_cables;
  if (n_all > G_MAXINT32) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u nodes of %u links are more than the %u links that can be numbered",
                cluster->n_nodes, n_links, (guint)G_MAXINT32);
    return false;
  }
  topology->links = g_array_sized_new(FALSE, FALSE, sizeof(Link), (guint)n_all);
  for (guint i = 0; i < cluster->n_nodes; i++)
    g_array_append_vals(topology->links, node_graph_links(topology->node), n_links);
  topology->first_cable = topology->links->len;
  return true;
}

static bool draw_network(Topology *topology, const ClusterSpec *cluster, GError **error)
{
  const TransportEffect *effect = &topology->transport;
  const NetworkPorts ports = {
    .n_nodes = topology->n_machines,
    .nics_per_node = cluster->node.n_nics,
    .nic_Bps = cluster->node.nic_rate_Bps * effect->goodput,
    .goodput = effect->goodput,
  };
  const Link cable = {
    .tier = TIER_NIC,
    .capacity_Bps = ports.nic_Bps,
    .latency_s = cluster->network->port_latency_s(cluster->network_params),
  };

  for (guint i = 0; i < 2 * ports.n_nodes * ports.nics_per_node; i++)
    g_array_append_val(topology->links, cable);
  topology->network = cluster->network;
  topology->network_state =
    cluster->network->build(cluster->network_params, &ports, topology->links, error);
  for (guint i = topology->first_cable; i < topology->links->len; i++)
    g_array_index(topology->links, Link, i).latency_s += effect->link_latency_s;
  return topology->network_state != NULL;
}

static void draw_servers(Topology *topology, double sum_Bps)
{
  const Link link = { .tier = TIER_SERVER, .capacity_Bps = sum_Bps };

  if (!(sum_Bps > 0))
    return;
  topology->first_sum = topology->links->len;
  for (guint i = 0; i < topology->n_machines; i++)
    g_array_append_val(topology->links, link);
}

static TransportEffect effect_on(const ClusterSpec *cluster)
{
  if (cluster->n_nodes + cluster->n_servers == 1)
    return transport_none();
  const TransportLink link = {
    .nic_rate_Bps = cluster->node.nic_rate_Bps,
    .network_latency_s = 2 * cluster->network->port_latency_s(cluster->network_params),
  };
  return cluster->transport->apply(cluster->transport_params, &link);
}

Topology *topology_new(const ClusterSpec *cluster, GError **error)
{
  if (!fits(cluster, error))
    return NULL;

  g_autoptr(Topology) topology = g_new0(Topology, 1);
  topology->n_nodes = cluster->n_nodes;
  topology->n_machines = cluster->n_nodes + cluster->n_servers;
  topology->transport = effect_on(cluster);
  if (!draw_nodes(topology, cluster, error))
    return NULL;
  if (topology->n_machines > 1 && !draw_network(topology, cluster, error))
    return NULL;
  draw_servers(topology, cluster->server_sum_Bps);
  return g_steal_pointer(&topology);
}

bool topology_sum_link(const Topology *topology, guint machine, guint32 *link)
{
  *link = topology->first_sum + machine;
  return topology->first_sum > 0;
}

void topology_free(Topology *topology)
{
  if (topology == NULL)
    return;
  if (topology->network_state != NULL)
    topology->network->free(topology->network_state);
  node_graph_free(topology->node);
  if (topology->links != NULL)
    g_array_unref(topology->links);
  g_free(topology);
}

guint topology_n_nodes(const Topology *topology)
{
  return topology->n_nodes;
}

guint topology_gpus_per_node(const Topology *topology)
{
  return node_graph_n_gpus(topology->node);
}

guint topology_nics_per_node(const Topology *topology)
{
  return node_graph_n_nics(topology->node);
}

guint topology_n_gpus(const Topology *topology)
{
  return topology->n_nodes * node_graph_n_gpus(topology->node);
}

guint topology_n_links(const Topology *topology)
{
  return topology->links->len;
}

const Link *topology_links(const Topology *topology)
{
  return &g_array_index(topology->links, Link, 0);
}

void topology_set_capacity(Topology *topology, guint link, double capacity_Bps)
{
  g_return_if_fail(link < topology->links->len && capacity_Bps > 0);
  g_array_index(topology->links, Link, link).capacity_Bps = capacity_Bps;
}

static void append_in_node(const Topology *topology, guint node, NodeRoute route,
                           GArray *links)
{
  const guint32 base = node * node_graph_n_links(topology->node);

  for (guint i = 0; i < route.n_links; i++) {
    const guint32 link = base + route.links[i];
    g_array_append_val(links, link);
  }
}

/* From cable to cable. */
static void append_between(const Topology *topology, guint src, guint dst, guint nic,
                           guint64 hash, GArray *links)
{
  const guint n_nics = topology_nics_per_node(topology);
  const guint32 up = topology->first_cable + 2 * (src * n_nics + nic);
  const guint32 down = topology->first_cable + 2 * (dst * n_nics + nic) + 1;

  g_array_append_val(links, up);
  topology->network->route(topology->network_state, src, nic, dst, nic, hash, links);
  g_array_append_val(links, down);
}

void topology_route(const Topology *topology, guint src, guint dst, guint rail,
                    guint64 hash, GArray *links)
{
  const guint n_gpus = topology_gpus_per_node(topology);
  const guint n_nics = topology_nics_per_node(topology);
  const guint src_node = src / n_gpus, dst_node = dst / n_gpus;
  g_return_if_fail(src_node < topology->n_nodes && dst_node < topology->n_nodes);

  if (src_node == dst_node) {
    append_in_node(topology, src_node,
                   node_graph_gpu_route(topology->node, src % n_gpus, dst % n_gpus), links);
    return;
  }
  const guint nic = rail % n_nics;

  append_in_node(topology, src_node, node_graph_nic_out(topology->node, src % n_gpus, nic),
                 links);
  append_between(topology, src_node, dst_node, nic, hash, links);
  append_in_node(topology, dst_node, node_graph_nic_in(topology->node, nic, dst % n_gpus),
                 links);
}

guint topology_n_machines(const Topology *topology)
{
  return topology->n_machines;
}

void topology_route_hosts(const Topology *topology, guint src, guint dst, guint rail,
                          guint64 hash, GArray *links)
{
  g_return_if_fail(src < topology->n_machines && dst < topology->n_machines);
  if (src == dst)
    return;

  const guint nic = rail % topology_nics_per_node(topology);
  if (src < topology->n_nodes)
    append_in_node(topology, src, node_graph_host_way(topology->node, HOST_TO_NIC, nic),
                   links);
  append_between(topology, src, dst, nic, hash, links);
  if (dst < topology->n_nodes)
    append_in_node(topology, dst, node_graph_host_way(topology->node, HOST_FROM_NIC, nic),
                   links);
}

void topology_route_staging(const Topology *topology, guint gpu, bool to_host,
                            GArray *links)
{
  const guint n_gpus = topology_gpus_per_node(topology);

  append_in_node(topology, gpu / n_gpus,
                 node_graph_host_way(topology->node, to_host ? HOST_FROM_GPU : HOST_TO_GPU,
                                     gpu % n_gpus),
                 links);
}

double topology_latency_s(const Topology *topology, const guint32 *links, guint n_links)
{
  double latency_s = 0;

  for (guint i = 0; i < n_links; i++)
    latency_s += topology_links(topology)[links[i]].latency_s;
  return latency_s;
}

guint topology_n_ring_orders(const Topology *topology)
{
  return node_graph_n_ring_orders(topology->node);
}

const guint *topology_ring_order(const Topology *topology, guint index)
{
  return node_graph_ring_order(topology->node, index);
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

const TransportEffect *topology_transport(const Topology *topology)
{
  return &topology->transport;
}

double topology_flow_cap_Bps(const Topology *topology)
{
  return topology->transport.flow_cap_Bps;
}

double topology_message_latency_s(const Topology *topology)
{
  return topology->transport.message_latency_s;
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

double topology_gpu_Bps(const Topology *topology)
{
  double best_Bps = 0;

  for (guint gpu = 0; gpu < topology_gpus_per_node(topology); gpu++)
    best_Bps = MAX(best_Bps, ports_Bps(topology->node, gpu));
  return best_Bps > 0 ? best_Bps : INFINITY;
}

double topology_nic_Bps(const Topology *topology)
{
  double best_Bps = 0;

  for (guint link = topology->first_cable; link < topology->links->len; link++)
    if (topology_links(topology)[link].tier == TIER_NIC)
      best_Bps = MAX(best_Bps, topology_links(topology)[link].capacity_Bps);
  return best_Bps > 0 ? best_Bps : INFINITY;
}
