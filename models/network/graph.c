/**
 * @file graph.c
 * @brief A network as a file describes it, link by link.
 *
 * Paths are shortest in links; where several are, a hash pins each flow to one (ECMP).
 * Every link of the file is one of the network's, those of the NICs too: in series with the
 * cable that topology.c lays they change nothing, since both have the same rate.
 *
 * Source: C. Hopps, RFC 2992 (ECMP).
 */
#include "models/network/graph.h"

#include "models/topology.h"
#include "sim/base/units.h"

#include <math.h>

const char *const graph_format_names[] = {
  [GRAPH_SIMAI] = "simai",
  [GRAPH_SIMGRID] = "simgrid",
  NULL,
};

/* Rates are the same that differ by rounding alone. */
#define SAME_RATE 1e-9

// clang-format off
static const ParamSpec graph_params[] = {
  { .key = "format", .type = PARAM_NAME, .offset = offsetof(GraphParams, format),
    .names = graph_format_names,
    .help = "simai: topology text of SimAI and ns-3; simgrid: platform XML" },
  { .key = "file", .type = PARAM_TEXT, .offset = offsetof(GraphParams, file),
    .help = "path of the file, relative to the scenario's" },
  PARAM_END,
};
// clang-format on

typedef struct {
  NetworkGraph *graph;
  guint nics_per_node;
  guint32 first;
} Graph;

static bool check_ports(const NetworkGraph *graph, const NetworkPorts *ports,
                        GError **error)
{
  const guint64 n_nics = (guint64)ports->n_nodes * ports->nics_per_node;
  const double nic_Bps = ports->nic_Bps / ports->goodput;

  if (network_graph_n_ports(graph) != n_nics) {
    g_set_error(
      error, SIM_ERROR, SIM_ERROR_VALUE,
      "the file has ports for %u NICs; %u nodes of %u NICs have %" G_GUINT64_FORMAT,
      network_graph_n_ports(graph), ports->n_nodes, ports->nics_per_node, n_nics);
    return false;
  }
  for (guint port = 0; port < n_nics; port++) {
    const double rate_Bps = network_graph_port_rate_Bps(graph, port);
    if (rate_Bps <= 0 || fabs(rate_Bps - nic_Bps) <= SAME_RATE * nic_Bps)
      continue;
    g_autofree char *wanted = units_format_rate(rate_Bps);
    g_autofree char *given = units_format_rate(nic_Bps);
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "NIC %u of node %u has %s in the file, but %s in the cluster",
                port % ports->nics_per_node, port / ports->nics_per_node, wanted, given);
    return false;
  }
  return true;
}

/* A link that each flow has for itself can be left out of the sharing if the NICs are
 * slower anyway. */
static bool check_links(const NetworkGraph *graph, const NetworkPorts *ports,
                        GError **error)
{
  const double nic_Bps = ports->nic_Bps / ports->goodput;

  for (guint i = 0; i < network_graph_n_links(graph); i++) {
    const GraphLink *link = network_graph_link(graph, i);
    if (link->is_shared || link->rate_Bps >= nic_Bps * (1 - SAME_RATE))
      continue;
    g_autofree char *rate = units_format_rate(link->rate_Bps);
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "a link that gives every flow %s is slower than the NICs: it cannot be "
                "represented",
                rate);
    return false;
  }
  return true;
}

static bool check_pair(const NetworkGraph *graph, guint n_nics, guint src, guint dst,
                       GError **error)
{
  if (network_graph_reaches(graph, src, dst))
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "no path leads from NIC %u of node %u to NIC %u of node %u", src % n_nics,
              src / n_nics, dst % n_nics, dst / n_nics);
  return false;
}

/* NICs of one number talk to one another. Of those that hang on the same switches one
 * speaks for all. */
static bool check_paths(const NetworkGraph *graph, guint nic, guint n_nics, GError **error)
{
  g_autoptr(GArray) speakers = g_array_new(FALSE, FALSE, sizeof(guint));

  for (guint port = nic; port < network_graph_n_ports(graph); port += n_nics) {
    guint i = 0;
    while (i < speakers->len &&
           !network_graph_alike(graph, g_array_index(speakers, guint, i), port))
      i++;
    if (i < speakers->len) {
      if (!check_pair(graph, n_nics, g_array_index(speakers, guint, i), port, error))
        return false;
      continue;
    }
    for (i = 0; i < speakers->len; i++) {
      const guint other = g_array_index(speakers, guint, i);
      if (!check_pair(graph, n_nics, other, port, error) ||
          !check_pair(graph, n_nics, port, other, error))
        return false;
    }
    g_array_append_val(speakers, port);
  }
  return true;
}

static bool graph_check(const void *data, const NetworkPorts *ports, GError **error)
{
  const GraphParams *params = data;

  if (params->graph == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "the file was not read");
    return false;
  }
  if (!check_ports(params->graph, ports, error) ||
      !check_links(params->graph, ports, error))
    return false;
  for (guint nic = 0; nic < ports->nics_per_node; nic++)
    if (!check_paths(params->graph, nic, ports->nics_per_node, error))
      return false;
  return true;
}

static void *graph_build(const void *data, const NetworkPorts *ports, GArray *links,
                         GError **error)
{
  const GraphParams *params = data;

  if (!graph_check(params, ports, error))
    return NULL;
  Graph *self = g_new0(Graph, 1);
  self->graph = network_graph_ref(params->graph);
  self->nics_per_node = ports->nics_per_node;
  self->first = links->len;
  for (guint i = 0; i < network_graph_n_links(self->graph); i++) {
    const GraphLink *link = network_graph_link(self->graph, i);
    /* Never the bottleneck: all NICs together cannot fill it. */
    const double n_flows = link->is_shared ? 1 : network_graph_n_ports(self->graph);
    const Link laid = { TIER_FABRIC, link->rate_Bps * ports->goodput * n_flows,
                        link->latency_s };
    g_array_append_val(links, laid);
  }
  return self;
}

static void graph_free(void *state)
{
  Graph *self = state;

  network_graph_unref(self->graph);
  g_free(self);
}

static void graph_clear(void *data)
{
  GraphParams *params = data;
  g_clear_pointer(&params->graph, network_graph_unref);
}

static void graph_route(const void *state, guint src_node, guint src_nic, guint dst_node,
                        guint dst_nic, guint64 hash, GArray *path)
{
  const Graph *self = state;

  network_graph_route(self->graph, src_node * self->nics_per_node + src_nic,
                      dst_node * self->nics_per_node + dst_nic, hash, self->first, path);
}

/* The file's links have latencies of their own, those of the NICs too. */
static double graph_port_latency_s(const void *data G_GNUC_UNUSED)
{
  return 0;
}

const NetworkOps network_graph = {
  .info = {
    .name = "graph",
    .summary = "links and switches of a file, shortest paths, hashed ECMP",
    .source = "RFC 2992",
    .params = graph_params,
    .params_size = sizeof(GraphParams),
  },
  .clear = graph_clear,
  .check = graph_check,
  .build = graph_build,
  .free = graph_free,
  .route = graph_route,
  .port_latency_s = graph_port_latency_s,
};
