/**
 * @file switch.c
 * @brief One switch without contention inside: a star of NICs.
 */
#include "models/network/hop.h"

typedef struct {
  double latency_s;
} SwitchParams;

static const ParamSpec switch_params[] = {
  HOP_LATENCY_PARAM(SwitchParams, latency_s),
  PARAM_END,
};

static void *switch_build(const void *data G_GNUC_UNUSED,
                          const NetworkPorts *ports G_GNUC_UNUSED,
                          GArray *links G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  return g_new0(NetworkPorts, 1); /* nothing to remember, but NULL would mean failure */
}

static void switch_route(const void *state G_GNUC_UNUSED, guint src_node G_GNUC_UNUSED,
                         guint src_nic G_GNUC_UNUSED, guint dst_node G_GNUC_UNUSED,
                         guint dst_nic G_GNUC_UNUSED, guint64 hash G_GNUC_UNUSED,
                         GArray *path G_GNUC_UNUSED)
{
}

static double switch_port_latency_s(const void *data)
{
  const SwitchParams *params = data;
  return hop_port_latency_s(params->latency_s);
}

const NetworkOps network_switch = {
  .info = {
    .name = "switch",
    .summary = "one switch that never blocks",
    .source = "R. W. Hockney, Parallel Computing 20 (1994) 389-398",
    .params = switch_params,
    .params_size = sizeof(SwitchParams),
  },
  .build = switch_build,
  .free = g_free,
  .route = switch_route,
  .port_latency_s = switch_port_latency_s,
};
