#include "models/network.h"

/* In the order `list` shows them. */
// clang-format off
const ModuleInfo *const network_table[] = {
  &network_switch.info,
  &network_leaf_spine.info,
  &network_rail_optimised.info,
  &network_fat_tree.info,
  &network_torus.info,
  &network_dragonfly.info,
  &network_graph.info,
  NULL,
};
// clang-format on
