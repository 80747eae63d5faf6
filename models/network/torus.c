/**
 * @file torus.c
 * @brief Nodes on a grid whose lines are closed to rings, routed dimension by dimension.
 *
 * Every node is a router with one link each way to its neighbours along each dimension; a
 * dimension of two nodes has one cable, not two. Nodes are numbered along the first
 * dimension first. A path goes the shorter way around the first dimension, then the second,
 * and so on; where both ways are as long, nodes of even coordinate go up and odd ones down,
 * so that both ways carry the same. All NICs of a node lead to its router.
 *
 * Source: W. J. Dally, C. L. Seitz, "The torus routing chip", Distributed Computing 1
 * (1986) 187-196 (dimension order).
 */
#include "models/network/hop.h"
#include "models/network/size.h"
#include "models/topology.h"

/* Fugaku's TofuD has six dimensions; nobody has built more. */
#define MAX_DIMS 6

/* A dimension is at most this long: CLUSTER_MAX_GPUS of one GPU in a row. */
#define MAX_LENGTH CLUSTER_MAX_GPUS

typedef struct {
  char *dims;
  double link_rate_Bps;
  double latency_s;
} TorusParams;

// clang-format off
static const ParamSpec torus_params[] = {
  { .key = "dims", .type = PARAM_TEXT, .offset = offsetof(TorusParams, dims),
    .help = "nodes along each dimension, such as \"4 x 4 x 8\"" },
  { .key = "link_rate", .type = PARAM_RATE, .offset = offsetof(TorusParams, link_rate_Bps),
    .fallback = "0", .max = 1e15,
    .help = "nominal rate of a link to one neighbour, each way; 0: one NIC's",
    .origin = "one NIC's rate" },
  HOP_LATENCY_PARAM(TorusParams, latency_s),
  PARAM_END,
};
// clang-format on

typedef struct {
  guint n_dims;
  guint length[MAX_DIMS];
  guint first_of[MAX_DIMS]; /* number of a dimension's first link among those of a node */
  guint links_per_node;
  guint32 first;
} Torus;

/* Up and down; two nodes share one cable. */
static guint links_along(guint length)
{
  return length > 2 ? 2 : length - 1;
}

static bool parse_dims(const char *text, Torus *torus)
{
  g_auto(GStrv) parts = g_strsplit(text, "x", -1);

  for (guint d = 0; parts[d] != NULL; d++) {
    guint64 length = 0;
    if (d == MAX_DIMS ||
        !g_ascii_string_to_unsigned(g_strstrip(parts[d]), 10, 1, MAX_LENGTH, &length, NULL))
      return false;
    torus->length[d] = (guint)length;
    torus->first_of[d] = torus->links_per_node;
    torus->links_per_node += links_along((guint)length);
    torus->n_dims++;
  }
  return torus->n_dims > 0;
}

/* Never overflows: stops where no cluster can follow. */
static guint64 n_nodes_of(const Torus *torus)
{
  guint64 n = 1;

  for (guint d = 0; d < torus->n_dims && n <= G_MAXUINT; d++)
    n *= torus->length[d];
  return n;
}

static bool resolve(const TorusParams *params, const NetworkPorts *ports, Torus *torus,
                    GError **error)
{
  *torus = (Torus){ 0 };
  if (!parse_dims(params->dims, torus)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "dims '%s' are not one to %d lengths such as \"4 x 4 x 8\"", params->dims,
                MAX_DIMS);
    return false;
  }
  if (n_nodes_of(torus) != ports->n_nodes) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "dims %s hold %" G_GUINT64_FORMAT " nodes, the cluster has %u",
                params->dims, n_nodes_of(torus), ports->n_nodes);
    return false;
  }
  return network_links_fit((guint64)ports->n_nodes * torus->links_per_node, error);
}

static bool torus_check(const void *params, const NetworkPorts *ports, GError **error)
{
  Torus torus;
  return resolve(params, ports, &torus, error);
}

static void *torus_build(const void *data, const NetworkPorts *ports, GArray *links,
                         GError **error)
{
  const TorusParams *params = data;
  const double rate_Bps = params->link_rate_Bps * ports->goodput;
  const Link link = { .tier = TIER_TORUS,
                      .capacity_Bps = rate_Bps > 0 ? rate_Bps : ports->nic_Bps,
                      .latency_s = params->latency_s };
  Torus torus;

  if (!resolve(params, ports, &torus, error))
    return NULL;
  torus.first = links->len;
  for (guint i = 0; i < ports->n_nodes * torus.links_per_node; i++)
    g_array_append_val(links, link);
  return g_memdup2(&torus, sizeof torus);
}

/* Is the way up from @p from to @p to along a ring the one to take? */
static bool goes_up(guint from, guint to, guint length)
{
  const guint up = (to + length - from) % length, down = length - up;

  if (up != down || length == 2)
    return up <= down;
  return from % 2 == 0;
}

static void torus_route(const void *state, guint src_node, guint src_nic G_GNUC_UNUSED,
                        guint dst_node, guint dst_nic G_GNUC_UNUSED,
                        guint64 hash G_GNUC_UNUSED, GArray *path)
{
  const Torus *torus = state;
  guint node = src_node, stride = 1;

  for (guint d = 0; d < torus->n_dims; d++) {
    const guint length = torus->length[d];
    const guint to = dst_node / stride % length;
    guint at = node / stride % length;
    const bool up = goes_up(at, to, length);

    while (at != to) {
      const guint32 link =
        torus->first + node * torus->links_per_node + torus->first_of[d] + (up ? 0 : 1);
      const guint next = (up ? at + 1 : at + length - 1) % length;
      g_array_append_val(path, link);
      node = node - at * stride + next * stride;
      at = next;
    }
    stride *= length;
  }
}

static double torus_port_latency_s(const void *data)
{
  const TorusParams *params = data;
  return hop_port_latency_s(params->latency_s);
}

const NetworkOps network_torus = {
  .info = {
    .name = "torus",
    .summary = "nodes on a grid closed to rings, routed dimension by dimension",
    .source = "Dally & Seitz, Distributed Computing 1 (1986) 187-196",
    .params = torus_params,
    .params_size = sizeof(TorusParams),
  },
  .check = torus_check,
  .build = torus_build,
  .free = g_free,
  .route = torus_route,
  .port_latency_s = torus_port_latency_s,
};
