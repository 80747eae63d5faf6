#include "models/topology.h"

#include "models/network.h"
#include "models/topology/whole.h"

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

/* One node of a kind. */
static NodeGraph *draw_node(const Topology *topology, const ClusterSpec *cluster,
                            const NodeSpec *node, GError **error)
{
  g_autoptr(NodeGraph) graph = node_graph_new(node->n_gpus, node->n_nics);

  node_graph_rule(graph,
                  topology->transport.gpu_direct ? cluster->rules.gdr_level : PATH_LOC,
                  !cluster->rules.no_p2p, topology->transport.host_memory_Bps);
  if (!node->fabric->build(node->fabric_params, node, graph, error))
    return NULL;
  g_return_val_if_fail(node_graph_is_complete(graph), NULL);
  return g_steal_pointer(&graph);
}

/* As many nodes as there are of a kind, and their links. */
static bool draw_kind(Topology *topology, const ClusterSpec *cluster, guint kind,
                      GError **error)
{
  const guint n_nodes =
    cluster_first_node(cluster, kind + 1) - cluster_first_node(cluster, kind);
  const Drawing drawing = { .graph = draw_node(topology, cluster,
                                               cluster_kind(cluster, kind), error),
                            .first_node = cluster_first_node(cluster, kind),
                            .first_link = topology->links->len };
  if (drawing.graph == NULL)
    return false;

  g_array_append_val(topology->kinds, drawing);
  const guint n_links = node_graph_n_links(drawing.graph);
  const guint64 n_cables = 2 * (guint64)cluster->node.n_nics * topology->n_machines;
  if (topology->links->len + (guint64)n_links * n_nodes + n_cables > G_MAXINT32) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u nodes of %u links are more than the %u links that can be numbered",
                n_nodes, n_links, (guint)G_MAXINT32);
    return false;
  }
  for (guint i = 0; i < n_nodes; i++)
    g_array_append_vals(topology->links, node_graph_links(drawing.graph), n_links);
  return true;
}

static bool draw_nodes(Topology *topology, const ClusterSpec *cluster, GError **error)
{
  const Drawing end = { .first_node = cluster->n_nodes };
  bool drawn_all = true;

  topology->kinds = g_array_new(FALSE, FALSE, sizeof(Drawing));
  topology->links = g_array_new(FALSE, FALSE, sizeof(Link));
  for (guint kind = 0; drawn_all && kind < cluster_n_kinds(cluster); kind++)
    drawn_all = draw_kind(topology, cluster, kind, error);
  g_array_append_val(topology->kinds, end);
  topology->node = topology_drawing(topology, 0)->graph;
  topology->first_cable = topology->links->len;
  return drawn_all;
}

static TransportEffect effect_of(const ClusterSpec *cluster, const NodeSpec *node)
{
  const TransportLink link = {
    .nic_rate_Bps = node->nic_rate_Bps,
    .network_latency_s = 2 * cluster->network->port_latency_s(cluster->network_params),
  };
  return cluster->transport->apply(cluster->transport_params, &link);
}

/* The cables of every machine; servers have NICs like the first kind's. */
static void lay_cables(Topology *topology, const ClusterSpec *cluster)
{
  Link cable = {
    .tier = TIER_NIC,
    .latency_s = cluster->network->port_latency_s(cluster->network_params),
  };

  for (guint kind = 0; kind <= topology_n_kinds(topology); kind++) {
    const bool is_server = kind == topology_n_kinds(topology);
    const NodeSpec *node = cluster_kind(cluster, is_server ? 0 : kind);
    const guint end =
      is_server ? topology->n_machines : topology_drawing(topology, kind + 1)->first_node;
    const guint n = 2 * node->n_nics * (end - topology_drawing(topology, kind)->first_node);
    cable.capacity_Bps = node->nic_rate_Bps * effect_of(cluster, node).goodput;
    topology->least_nic_Bps = MIN(topology->least_nic_Bps, cable.capacity_Bps);
    for (guint i = 0; i < n; i++)
      g_array_append_val(topology->links, cable);
  }
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

  lay_cables(topology, cluster);
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

/* Of the slowest NICs, which limit what others send them. */
static TransportEffect effect_on(const ClusterSpec *cluster)
{
  const NodeSpec *slowest = &cluster->node;

  if (cluster->n_nodes + cluster->n_servers == 1)
    return transport_none();
  for (guint kind = 1; kind < cluster_n_kinds(cluster); kind++)
    if (cluster_kind(cluster, kind)->nic_rate_Bps < slowest->nic_rate_Bps)
      slowest = cluster_kind(cluster, kind);
  return effect_of(cluster, slowest);
}

Topology *topology_new(const ClusterSpec *cluster, GError **error)
{
  if (!fits(cluster, error))
    return NULL;

  g_autoptr(Topology) topology = g_new0(Topology, 1);
  topology->n_nodes = cluster->n_nodes;
  topology->n_machines = cluster->n_nodes + cluster->n_servers;
  topology->least_nic_Bps = INFINITY;
  topology->transport = effect_on(cluster);
  if (!draw_nodes(topology, cluster, error))
    return NULL;
  if (topology->n_machines > 1 && !draw_network(topology, cluster, error))
    return NULL;
  draw_servers(topology, cluster->server_sum_Bps);
  guint which;
  return topology_break(topology, cluster, &which, error) ? g_steal_pointer(&topology)
                                                          : NULL;
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
  for (guint kind = 0; topology->kinds != NULL && kind < topology_n_kinds(topology); kind++)
    node_graph_free(topology_drawing(topology, kind)->graph);
  if (topology->kinds != NULL)
    g_array_unref(topology->kinds);
  if (topology->links != NULL)
    g_array_unref(topology->links);
  g_free(topology->failed);
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

guint topology_n_machines(const Topology *topology)
{
  return topology->n_machines;
}

double topology_latency_s(const Topology *topology, const guint32 *links, guint n_links)
{
  double latency_s = 0;

  for (guint i = 0; i < n_links; i++)
    latency_s += topology_links(topology)[links[i]].latency_s;
  return latency_s;
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

bool topology_copies_through_host(const Topology *topology)
{
  g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint32));

  if (topology_gpus_per_node(topology) < 2)
    return false;
  topology_route(topology, 0, 1, 0, 0, route);
  for (guint i = 0; i < route->len; i++)
    if (topology_links(topology)[g_array_index(route, guint32, i)].tier == TIER_HOST)
      return true;
  return false;
}
