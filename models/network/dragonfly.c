/**
 * @file dragonfly.c
 * @brief Groups of routers, all linked to all inside; groups linked to one another.
 *
 * Minimal routing: to the router of the own group that holds a cable to the other group,
 * over that cable, to the router of the node: at most three links. Each two groups share
 * "cables" cables, of which a flow takes one by hash; the cables of a group hang on its
 * routers in turn. All NICs of a node lead to one router.
 *
 * Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable
 * dragonfly topology", ISCA 2008.
 */
#include "models/network/hop.h"
#include "models/network/size.h"
#include "models/topology.h"

typedef struct {
  guint groups;
  guint routers_per_group;
  guint nodes_per_router;
  guint cables;
  double local_rate_Bps;
  double global_rate_Bps;
  double latency_s;
  double global_latency_s;
} DragonflyParams;

// clang-format off
static const ParamSpec dragonfly_params[] = {
  { .key = "groups", .type = PARAM_COUNT, .offset = offsetof(DragonflyParams, groups),
    .min = 1, .max = 65536, .help = "groups of routers" },
  { .key = "routers_per_group", .type = PARAM_COUNT,
    .offset = offsetof(DragonflyParams, routers_per_group), .min = 1, .max = 4096,
    .help = "routers of a group, each linked to each" },
  { .key = "nodes_per_router", .type = PARAM_COUNT,
    .offset = offsetof(DragonflyParams, nodes_per_router), .min = 1, .max = 65536,
    .help = "nodes on one router, with all their NICs" },
  { .key = "cables", .type = PARAM_COUNT, .offset = offsetof(DragonflyParams, cables),
    .fallback = "1", .min = 1, .max = 4096,
    .help = "cables between each two groups; a flow takes one of them by hash",
    .origin = "the largest dragonfly of its routers" },
  { .key = "local_rate", .type = PARAM_RATE,
    .offset = offsetof(DragonflyParams, local_rate_Bps), .fallback = "0", .max = 1e15,
    .help = "nominal rate between two routers of a group, each way; 0: one NIC's",
    .origin = "one NIC's rate" },
  { .key = "global_rate", .type = PARAM_RATE,
    .offset = offsetof(DragonflyParams, global_rate_Bps), .fallback = "0", .max = 1e15,
    .help = "nominal rate of one cable between groups, each way; 0: one NIC's",
    .origin = "one NIC's rate" },
  HOP_LATENCY_PARAM(DragonflyParams, latency_s),
  { .key = "global_latency", .type = PARAM_SECONDS,
    .offset = offsetof(DragonflyParams, global_latency_s), .fallback = "0.5 us", .min = 0,
    .max = 1, .help = "of one switch and a cable between groups, one way",
    .origin = "assumed: a switch hop takes 0.1 to 0.5 us" },
  PARAM_END,
};
// clang-format on

/* With a routers: link first_local + (g a + r)(a - 1) + q goes from router r of group g to
 * the q-th of the others; first_global + (g (groups - 1) + h) cables + c is cable c from
 * group g to the h-th of the others. */
typedef struct {
  guint groups, routers, nodes, cables;
  guint32 first_local, first_global;
} Dragonfly;

static bool dragonfly_check(const void *data, const NetworkPorts *ports, GError **error)
{
  const DragonflyParams *params = data;
  const guint64 routers = (guint64)params->groups * params->routers_per_group;
  const guint64 n_nodes = routers * params->nodes_per_router;

  if (ports->n_nodes > n_nodes) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u groups x %u routers x %u nodes hold %" G_GUINT64_FORMAT
                " nodes, the cluster has %u",
                params->groups, params->routers_per_group, params->nodes_per_router,
                n_nodes, ports->n_nodes);
    return false;
  }
  return network_links_fit(routers * (params->routers_per_group - 1) +
                             (guint64)params->groups * (params->groups - 1) *
                               params->cables,
                           error);
}

/* What the transport leaves of a stated rate, or of a NIC. */
static double rate_Bps(double stated_Bps, const NetworkPorts *ports)
{
  return stated_Bps > 0 ? stated_Bps * ports->goodput : ports->nic_Bps;
}

static void *dragonfly_build(const void *data, const NetworkPorts *ports, GArray *links,
                             GError **error)
{
  const DragonflyParams *params = data;

  if (!dragonfly_check(params, ports, error))
    return NULL;
  const Link local = { TIER_LOCAL_LINK, rate_Bps(params->local_rate_Bps, ports),
                       params->latency_s };
  const Link global = { TIER_GLOBAL_LINK, rate_Bps(params->global_rate_Bps, ports),
                        params->global_latency_s };
  Dragonfly self = { .groups = params->groups,
                     .routers = params->routers_per_group,
                     .nodes = params->nodes_per_router,
                     .cables = params->cables };

  self.first_local = links->len;
  for (guint i = 0; i < self.groups * self.routers * (self.routers - 1); i++)
    g_array_append_val(links, local);
  self.first_global = links->len;
  for (guint i = 0; i < self.groups * (self.groups - 1) * self.cables; i++)
    g_array_append_val(links, global);
  return g_memdup2(&self, sizeof self);
}

/* Number of @p other among all but @p self. */
static guint among_others(guint self, guint other)
{
  return other < self ? other : other - 1;
}

/* The router of @p group that holds @p cable to the group @p other. */
static guint gateway(const Dragonfly *self, guint group, guint other, guint cable)
{
  const guint64 port = (guint64)among_others(group, other) * self->cables + cable;
  return (guint)(port % self->routers);
}

static void append_local(const Dragonfly *self, guint group, guint from, guint to,
                         GArray *path)
{
  const guint32 link = self->first_local +
                       (group * self->routers + from) * (self->routers - 1) +
                       among_others(from, to);

  if (from != to)
    g_array_append_val(path, link);
}

static void dragonfly_route(const void *state, guint src_node, guint src_nic G_GNUC_UNUSED,
                            guint dst_node, guint dst_nic G_GNUC_UNUSED, guint64 hash,
                            GArray *path)
{
  const Dragonfly *self = state;
  const guint src = src_node / self->nodes, dst = dst_node / self->nodes;
  const guint src_group = src / self->routers, dst_group = dst / self->routers;

  if (src_group == dst_group) {
    append_local(self, src_group, src % self->routers, dst % self->routers, path);
    return;
  }
  const guint cable = (guint)(hash % self->cables);
  const guint32 pair = src_group * (self->groups - 1) + among_others(src_group, dst_group);
  const guint32 link = self->first_global + pair * self->cables + cable;

  append_local(self, src_group, src % self->routers,
               gateway(self, src_group, dst_group, cable), path);
  g_array_append_val(path, link);
  append_local(self, dst_group, gateway(self, dst_group, src_group, cable),
               dst % self->routers, path);
}

static double dragonfly_port_latency_s(const void *data)
{
  const DragonflyParams *params = data;
  return hop_port_latency_s(params->latency_s);
}

const NetworkOps network_dragonfly = {
  .info = {
    .name = "dragonfly",
    .summary = "groups of routers, all to all inside and between, minimal routing",
    .source = "Kim, Dally, Scott & Abts, ISCA 2008",
    .params = dragonfly_params,
    .params_size = sizeof(DragonflyParams),
  },
  .check = dragonfly_check,
  .build = dragonfly_build,
  .free = g_free,
  .route = dragonfly_route,
  .port_latency_s = dragonfly_port_latency_s,
};
