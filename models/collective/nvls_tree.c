/**
 * @file nvls_tree.c
 * @brief All-reduce by the switches of nodes, and double binary trees between them.
 *
 * The ranks that have the sum of a block in their nodes, see nvls.h, run the two trees of
 * dtree.h; chunks go to the trees in turn. NCCL 2.30.7 src/device/all_reduce.h, NVLSTree.
 */
#include "models/collective/nvls.h"
#include "models/collective/owner_trees.h"

static guint nvls_tree_n_chunks(const CollCall *call, double size_B)
{
  return DTREE_N * nvls_n_chunks(call, size_B);
}

/* Chunks go to blocks and trees in turn. */
static void nvls_tree_plan(const CollCall *call, double size_B, Plan *plan)
{
  const guint n = call->group->n_ranks, n_nodes = call->group->n_nodes;
  const Grid grid = nvls_grid(call);
  g_autofree guint *owner = g_new(guint, n_nodes);
  g_autofree guint *at_owner = g_new(guint, n_nodes);
  g_autofree guint *loaded = g_new(guint, n);

  for (guint chunk = 0; chunk < plan_n_chunks(plan); chunk++) {
    const guint block = chunk / DTREE_N % grid.n_blocks;
    const double chunk_B = size_B / plan_n_chunks(plan);
    const NvlsParcel parcel = { call, chunk, chunk_B, owner, at_owner, plan };
    Tree tree;
    for (guint node = 0; node < n_nodes; node++) {
      owner[node] = grid_owner(&grid, node, block);
      at_owner[node] = PLAN_START;
      nvls_load(&parcel, node);
      loaded[owner[node]] = at_owner[node];
    }
    owner_tree_init(&tree, call, &grid, block, chunk % DTREE_N);
    const PlanTree pipe = { .tree = &tree,
                            .first_chunk = chunk,
                            .width = 1,
                            .chunk_B = chunk_B,
                            .own_after = loaded };
    g_autofree guint *arrived = g_memdup2(loaded, n * sizeof(guint));
    tree_plan_chunk(&pipe, 1, 0, true, true, arrived, plan);
    for (guint node = 0; node < n_nodes; node++) {
      at_owner[node] = arrived[owner[node]];
      nvls_store(&parcel, node, loaded[owner[node]]);
    }
    tree_clear(&tree);
  }
}

static void nvls_tree_phases(const CollCall *call, const Topology *topology, GArray *phases)
{
  if (call->group->n_ranks == 1)
    return;

  const Grid grid = nvls_grid(call);
  Draft *draft = draft_new(call, topology);
  const Chain inside = nvls_add_flows(call, topology, draft);
  const guint n_inside = draft_n_flows(draft);
  const TreePath up = owner_trees_add(call, &grid, true, draft);
  const TreePath down = owner_trees_add(call, &grid, false, draft);
  const double way_s_per_B =
    2 * nvls_longest_s_per_B(draft, 0, n_inside) + up.fill_s_per_B + down.fill_s_per_B;

  draft_finish(draft, "nvls_tree", chain_join(inside, chain_join(up.chain, down.chain)),
               way_s_per_B, phases);
}

static double nvls_tree_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const guint n = call->group->n_nodes;
  return nvls_ideal_s(call, size_B, cost, 2 * dtree_depth(n), dtree_share(n),
                      2 * dtree_way(n));
}

const CollOps coll_nvls_tree = {
  .info = {
    .name = "nvls_tree",
    .summary = "NVLink SHARP inside nodes, double binary trees between them",
    .source = "NCCL 2.30.7 src/device/all_reduce.h, NVLSTree",
  },
  .kinds = COLL_ALL_REDUCE,
  .n_switches = nvls_n_switches,
  .plan = nvls_tree_plan,
  .n_chunks = nvls_tree_n_chunks,
  .phases = nvls_tree_phases,
  .ideal_s = nvls_tree_ideal_s,
};
