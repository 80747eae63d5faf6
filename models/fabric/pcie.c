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
  bool p2p;
} PcieFabricParams;

// clang-format off
static const ParamSpec pcie_params[] = {
  PCIE_PARAMS(PcieFabricParams, pcie),
  { .key = "p2p", .type = PARAM_BOOL, .offset = offsetof(PcieFabricParams, p2p),
    .fallback = "true", .help = "GPUs copy to one another without host memory",
    .origin = "assumed: data-centre cards have peer access" },
  PARAM_END,
};
// clang-format on

static bool pcie_build(const void *data, const NodeSpec *node G_GNUC_UNUSED,
                       NodeGraph *graph, GError **error)
{
  const PcieFabricParams *params = data;
  const guint n = node_graph_n_gpus(graph);
  const bool through_host = !(params->p2p && node_graph_has_p2p(graph)) && n > 1;
  g_autofree guint *order = g_new(guint, n);

  if (!pcie_params_check(&params->pcie, error))
    return false;
  g_autoptr(PcieTree) tree = pcie_tree_new(&params->pcie, graph, through_host);
  pcie_tree_set_gpu_routes(tree, graph);
  pcie_tree_set_nic_routes(tree, graph);
  pcie_tree_set_host_ways(tree, graph);
  for (guint gpu = 0; gpu < n; gpu++)
    order[gpu] = gpu;
  node_graph_add_ring_order(graph, order);
  return true;
}

static bool pcie_uses(const void *data, const char *key)
{
  const PcieFabricParams *params = data;
  return !params->p2p || pcie_uses_with_p2p(params, key);
}

const FabricOps fabric_pcie = {
  .info = {
    .name = "pcie",
    .summary = "PCIe tree only, with or without peer access",
    .source = "PCI Express Base Specification; NCCL 2.30.7 src/graph/topo.h",
    .params = pcie_params,
    .params_size = sizeof(PcieFabricParams),
  },
  .uses = pcie_uses,
  .build = pcie_build,
};
