/**
 * @file pcie.c
 * @brief GPUs that have nothing but PCIe between them.
 *
 * With peer access GPUs copy to one another through the switches and the root. Without it
 * (consumer cards, some hypervisors) a copy goes up into host memory and down again, and
 * all copies of a socket share what its memory carries.
 */
#include "models/fabric/pcie_tree.h"
#include "models/topology.h"

typedef struct {
  PcieParams pcie;
  double host_rate_Bps;
  bool p2p;
} PcieFabricParams;

// clang-format off
static const ParamSpec pcie_params[] = {
  PCIE_PARAMS(PcieFabricParams, pcie),
  { .key = "host_rate", .type = PARAM_RATE, .offset = offsetof(PcieFabricParams, host_rate_Bps),
    .fallback = "7.8 GB/s", .min = 1e6, .max = 1e15,
    .help = "what the copies through one socket's memory carry together; without p2p",
    .origin = "2 x 3.9 GB/s: all-reduce bus bandwidth of 2 A40 without peer access" },
  { .key = "p2p", .type = PARAM_BOOL, .offset = offsetof(PcieFabricParams, p2p),
    .fallback = "true", .help = "GPUs copy to one another without host memory",
    .origin = "assumed: data-centre cards have peer access" },
  PARAM_END,
};
// clang-format on

static void set_gpu_routes(const PcieTree *tree, const guint32 *host_links,
                           NodeGraph *graph)
{
  const guint n = node_graph_n_gpus(graph);
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint src = 0; src < n; src++) {
    for (guint dst = 0; dst < n; dst++) {
      if (src == dst)
        continue;
      g_array_set_size(path, 0);
      if (host_links == NULL)
        pcie_tree_route(tree, src, dst, path);
      else
        pcie_tree_route_through_host(tree, src, dst, host_links, path);
      node_graph_set_gpu_route(graph, src, dst, &g_array_index(path, guint32, 0),
                               path->len);
    }
  }
}

static bool pcie_build(const void *data, const NodeSpec *node G_GNUC_UNUSED,
                       NodeGraph *graph, GError **error G_GNUC_UNUSED)
{
  const PcieFabricParams *params = data;
  const guint n = node_graph_n_gpus(graph);
  const bool through_host = !params->p2p && n > 1;
  g_autofree guint32 *host_links = NULL;
  g_autofree guint *order = g_new(guint, n);
  g_autoptr(PcieTree) tree = pcie_tree_new(&params->pcie, graph, through_host);

  if (through_host) {
    const guint n_used = pcie_tree_socket_of_gpu(tree, n - 1) + 1;
    host_links = g_new(guint32, n_used);
    for (guint socket = 0; socket < n_used; socket++)
      host_links[socket] = node_graph_add_link(graph, TIER_HOST, params->host_rate_Bps, 0);
  }
  set_gpu_routes(tree, host_links, graph);
  pcie_tree_set_nic_routes(tree, graph);
  pcie_tree_set_host_ways(tree, graph);
  for (guint gpu = 0; gpu < n; gpu++)
    order[gpu] = gpu;
  node_graph_add_ring_order(graph, order);
  return true;
}

const FabricOps fabric_pcie = {
  .info = {
    .name = "pcie",
    .summary = "PCIe tree only, with or without peer access",
    .source = "PCI Express Base Specification; NCCL 2.30.7 src/graph/topo.h",
    .params = pcie_params,
    .params_size = sizeof(PcieFabricParams),
  },
  .build = pcie_build,
};
