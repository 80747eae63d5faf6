/**
 * @file rail_optimised.c
 * @brief NIC j of every node on rail j, with leaf switches of its own per rail.
 *
 * The nodes stand in groups of nodes_per_leaf; each group has one leaf switch per rail.
 * Traffic between NICs of one rail and group stays on that leaf. All else, to another
 * group or another rail, crosses the spines, over uplinks of nodes_per_leaf NICs divided
 * by the oversubscription, each way and leaf; paths through the spines are ideal.
 *
 * Source: NVIDIA DGX SuperPOD reference architecture (rail-optimised, full fat tree).
 */
#include "models/network/hop.h"
#include "models/topology.h"

typedef struct {
  guint nodes_per_leaf;
  double oversubscription;
  double latency_s;
} RailParams;

static const ParamSpec rail_params[] = {
  LEAF_PARAMS(RailParams, nodes_per_leaf, oversubscription),
  HOP_LATENCY_PARAM(RailParams, latency_s),
  PARAM_END,
};

/* The uplink of leaf (group, rail) is link first + 2 (group n_rails + rail); its downlink
 * is the next. */
typedef struct {
  guint nodes_per_leaf;
  guint n_rails;
  guint32 first;
} Rails;

static void *rail_build(const void *data, const NetworkPorts *ports, GArray *links,
                        GError **error G_GNUC_UNUSED)
{
  const RailParams *params = data;
  Rails *self = g_new0(Rails, 1);
  const guint n_groups = (ports->n_nodes - 1) / params->nodes_per_leaf + 1;
  const guint64 n_leaves = (guint64)n_groups * ports->nics_per_node;

  self->nodes_per_leaf = params->nodes_per_leaf;
  self->n_rails = ports->nics_per_node;
  self->first = links->len;
  if (n_leaves == 1)
    return self;

  const Link link = {
    .tier = TIER_LEAF_UPLINK,
    .capacity_Bps = params->nodes_per_leaf * ports->nic_Bps / params->oversubscription,
    .latency_s = params->latency_s,
  };
  for (guint64 i = 0; i < 2 * n_leaves; i++)
    g_array_append_val(links, link);
  return self;
}

static void rail_route(const void *state, guint src_node, guint src_nic, guint dst_node,
                       guint dst_nic, guint64 hash G_GNUC_UNUSED, GArray *path)
{
  const Rails *self = state;
  const guint src_leaf = src_node / self->nodes_per_leaf * self->n_rails + src_nic;
  const guint dst_leaf = dst_node / self->nodes_per_leaf * self->n_rails + dst_nic;

  if (src_leaf == dst_leaf)
    return;
  const guint32 up = self->first + 2 * src_leaf, down = self->first + 2 * dst_leaf + 1;
  g_array_append_val(path, up);
  g_array_append_val(path, down);
}

static double rail_port_latency_s(const void *data)
{
  const RailParams *params = data;
  return hop_port_latency_s(params->latency_s);
}

const NetworkOps network_rail_optimised = {
  .info = {
    .name = "rail_optimised",
    .summary = "NIC j of every node on leaf switches of rail j, rails meet at spines",
    .source = "NVIDIA DGX SuperPOD reference architecture",
    .params = rail_params,
    .params_size = sizeof(RailParams),
  },
  .build = rail_build,
  .free = g_free,
  .route = rail_route,
  .port_latency_s = rail_port_latency_s,
};
