/**
 * @file nvswitch.c
 * @brief GPUs on NVSwitches: one port each way per GPU, no contention inside the switches.
 *
 * A GPU spreads every transfer over all its NVLinks and the switches carry any pattern of
 * them, so the ports alone limit.
 */
#include "models/fabric/pcie_tree.h"
#include "models/topology.h"

typedef struct {
  double port_rate_Bps;
  double port_latency_s;
  PcieParams pcie;
} NvswitchParams;

// clang-format off
static const ParamSpec nvswitch_params[] = {
  { .key = "port_rate", .type = PARAM_RATE, .offset = offsetof(NvswitchParams, port_rate_Bps),
    .min = 1e6, .max = 1e15,
    .help = "what all NVLinks of one GPU carry together in each direction" },
  { .key = "port_latency", .type = PARAM_SECONDS,
    .offset = offsetof(NvswitchParams, port_latency_s), .fallback = "0 s", .min = 0, .max = 1,
    .help = "one way through the switch, on top of the library's latency per hop",
    .origin = "contained in the library's latency per hop" },
  PCIE_PARAMS(NvswitchParams, pcie),
  PARAM_END,
};
// clang-format on

static void draw_ports(const NvswitchParams *params, NodeGraph *graph)
{
  const guint n = node_graph_n_gpus(graph);
  g_autofree guint32 *up = g_new(guint32, n);
  g_autofree guint32 *down = g_new(guint32, n);

  for (guint gpu = 0; gpu < n; gpu++) {
    up[gpu] = node_graph_add_link(graph, TIER_NVLINK, params->port_rate_Bps,
                                  params->port_latency_s);
    down[gpu] = node_graph_add_link(graph, TIER_NVLINK, params->port_rate_Bps, 0);
  }
  for (guint src = 0; src < n; src++)
    for (guint dst = 0; dst < n; dst++)
      if (src != dst)
        node_graph_set_gpu_route(graph, src, dst, (guint32[]){ up[src], down[dst] }, 2);
}

static bool nvswitch_build(const void *data, const NodeSpec *node G_GNUC_UNUSED,
                           NodeGraph *graph, GError **error)
{
  const NvswitchParams *params = data;
  const guint n = node_graph_n_gpus(graph);
  const bool through_host = !node_graph_has_p2p(graph) && n > 1;
  g_autofree guint *order = g_new(guint, n);

  if (!pcie_params_check(&params->pcie, error))
    return false;
  if (!through_host)
    draw_ports(params, graph);
  g_autoptr(PcieTree) tree = pcie_tree_new(&params->pcie, graph, through_host);
  if (through_host)
    pcie_tree_set_gpu_routes(tree, graph);
  pcie_tree_set_nic_routes(tree, graph);
  pcie_tree_set_host_ways(tree, graph);
  /* Both ways around where several GPUs and NICs share a PCIe switch: of two such GPUs each
   * then sends to one NIC and hears from the other. */
  const guint n_ways = n > 2 && pcie_tree_switches_have_nics(tree) ? 2 : 1;
  for (guint way = 0; way < n_ways; way++) {
    for (guint gpu = 0; gpu < n; gpu++)
      order[gpu] = way == 0 ? gpu : n - 1 - gpu;
    node_graph_add_ring_order(graph, order);
  }
  return true;
}

const FabricOps fabric_nvswitch = {
  .info = {
    .name = "nvswitch",
    .summary = "NVSwitch: every GPU at full rate to every other",
    .source = "NVIDIA DGX-2, DGX A100 and DGX H100 system architectures",
    .params = nvswitch_params,
    .params_size = sizeof(NvswitchParams),
  },
  .uses = pcie_uses_with_p2p,
  .build = nvswitch_build,
};
