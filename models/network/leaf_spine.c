/**
 * @file leaf_spine.c
 * @brief Leaf switches under spine switches, with ideal or hashed multipath.
 *
 * A leaf of m nodes with k NICs of rate B has uplinks of m k B / oversubscription in all,
 * each way. Ideal multipath spreads every flow over all of them, so they are one link.
 * Hashed multipath (ECMP) pins a flow to one spine, up and down: each leaf has one link
 * per spine with its part of the capacity.
 *
 * Source: A. Singh et al., "Jupiter Rising", SIGCOMM 2015; C. Hopps, RFC 2992 (ECMP).
 */
#include "models/network/hop.h"
#include "models/topology.h"

typedef enum { ECMP_IDEAL, ECMP_HASHED } Ecmp;

static const char *const ecmp_names[] = { "ideal", "hashed", NULL };

typedef struct {
  guint nodes_per_leaf;
  double oversubscription;
  guint spines;
  guint ecmp; /* Ecmp */
  double latency_s;
} LeafSpineParams;

// clang-format off
static const ParamSpec leaf_spine_params[] = {
  LEAF_PARAMS(LeafSpineParams, nodes_per_leaf, oversubscription),
  { .key = "ecmp", .type = PARAM_NAME, .offset = offsetof(LeafSpineParams, ecmp),
    .names = ecmp_names, .fallback = "ideal",
    .help = "ideal: flows use all uplinks; hashed: each flow is pinned to one spine",
    .origin = "assumed: adaptive routing or many small flows" },
  { .key = "spines", .type = PARAM_COUNT, .offset = offsetof(LeafSpineParams, spines),
    .fallback = "4", .min = 1, .max = 1024,
    .help = "spine switches, and so uplinks of a leaf; matters with hashed ecmp only",
    .origin = "assumed" },
  HOP_LATENCY_PARAM(LeafSpineParams, latency_s),
  PARAM_END,
};
// clang-format on

/* Uplink u of leaf l is link first + 2 (l n_uplinks + u); its downlink is the next. */
typedef struct {
  guint nodes_per_leaf;
  guint n_uplinks; /* per leaf */
  guint32 first;
} LeafSpine;

static void *leaf_spine_build(const void *data, const NetworkPorts *ports, GArray *links,
                              GError **error G_GNUC_UNUSED)
{
  const LeafSpineParams *params = data;
  LeafSpine *self = g_new0(LeafSpine, 1);
  const guint n_leaves = (ports->n_nodes - 1) / params->nodes_per_leaf + 1;

  self->nodes_per_leaf = params->nodes_per_leaf;
  self->n_uplinks = params->ecmp == ECMP_HASHED ? params->spines : 1;
  self->first = links->len;
  if (n_leaves == 1)
    return self;

  const double leaf_Bps = (double)params->nodes_per_leaf * ports->nics_per_node *
                          ports->nic_Bps / params->oversubscription;
  const Link link = {
    .tier = TIER_LEAF_UPLINK,
    .capacity_Bps = leaf_Bps / self->n_uplinks,
    .latency_s = params->latency_s,
  };
  for (guint64 i = 0; i < 2 * (guint64)n_leaves * self->n_uplinks; i++)
    g_array_append_val(links, link);
  return self;
}

static void leaf_spine_route(const void *state, guint src_node, guint src_nic G_GNUC_UNUSED,
                             guint dst_node, guint dst_nic G_GNUC_UNUSED, guint64 hash,
                             GArray *path)
{
  const LeafSpine *self = state;
  const guint src_leaf = src_node / self->nodes_per_leaf;
  const guint dst_leaf = dst_node / self->nodes_per_leaf;

  if (src_leaf == dst_leaf)
    return;
  const guint spine = (guint)(hash % self->n_uplinks);
  const guint32 up = self->first + 2 * (src_leaf * self->n_uplinks + spine);
  const guint32 down = self->first + 2 * (dst_leaf * self->n_uplinks + spine) + 1;
  g_array_append_val(path, up);
  g_array_append_val(path, down);
}

static double leaf_spine_port_latency_s(const void *data)
{
  const LeafSpineParams *params = data;
  return hop_port_latency_s(params->latency_s);
}

const NetworkOps network_leaf_spine = {
  .info = {
    .name = "leaf_spine",
    .summary = "leaf switches under spines, oversubscription, ideal or hashed ECMP",
    .source = "Singh et al., SIGCOMM 2015; RFC 2992",
    .params = leaf_spine_params,
    .params_size = sizeof(LeafSpineParams),
  },
  .build = leaf_spine_build,
  .free = g_free,
  .route = leaf_spine_route,
  .port_latency_s = leaf_spine_port_latency_s,
};
