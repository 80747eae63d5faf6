#include "models/collective/owner_trees.h"

void owner_tree_init(Tree *tree, const CollCall *call, const Grid *grid, guint block,
                     guint t)
{
  guint *parent = g_new(guint, call->group->n_ranks);

  for (guint rank = 0; rank < call->group->n_ranks; rank++)
    parent[rank] = TREE_ROOT;
  for (guint node = 0; node < grid->n_rows; node++) {
    bool is_first_child = false;
    const guint up = dtree_parent(t, node, grid->n_rows, &is_first_child);
    if (up != TREE_ROOT)
      parent[grid_owner(grid, node, block)] = grid_owner(grid, up, block);
  }
  tree_init(tree, call->group->n_ranks, parent);
}

/* Which block, tree and rail the flows of a tree number belong to. */
typedef struct {
  guint block, tree, rail;
  double share; /* 0: none */
} Lane;

static Lane lane_of(const CollCall *call, const Grid *grid, guint index)
{
  Lane lane = { .rail = index % call->n_rails,
                .tree = index / call->n_rails % DTREE_N,
                .block = index / call->n_rails / DTREE_N };

  lane.share = grid_rail_share(grid, lane.block, lane.rail, call->n_rails) / DTREE_N;
  return lane;
}

/* The trees of all blocks in one direction: first all flows, then how long their chunks
 * need among one another. */
TreePath owner_trees_add(const CollCall *call, const Grid *grid, bool up, Draft *draft)
{
  const guint n_lanes = grid->n_blocks * DTREE_N * call->n_rails;
  const guint n = call->group->n_ranks, before = draft_n_flows(draft);
  g_autofree Chain *hops = g_new(Chain, (gsize)n * n_lanes);
  TreePath longest = { 0 };
  guint first = before;
  Tree tree;

  for (guint i = 0; i < n_lanes; i++) {
    const Lane lane = lane_of(call, grid, i);
    if (!(lane.share > 0))
      continue;
    owner_tree_init(&tree, call, grid, lane.block, lane.tree);
    tree_add_flows(&tree, up, lane.rail, lane.share, draft, &hops[(gsize)i * n]);
    tree_clear(&tree);
  }
  g_autofree double *loads = draft_loads(draft, before);
  for (guint i = 0; i < n_lanes; i++) {
    const Lane lane = lane_of(call, grid, i);
    if (!(lane.share > 0))
      continue;
    owner_tree_init(&tree, call, grid, lane.block, lane.tree);
    const TreePath path =
      tree_longest_path(&tree, draft, first, &hops[(gsize)i * n], loads);
    first += tree.n - tree.n_roots;
    if (chain_is_longer(path.chain, longest.chain))
      longest.chain = path.chain;
    longest.fill_s_per_B = MAX(longest.fill_s_per_B, path.fill_s_per_B);
    tree_clear(&tree);
  }
  return longest;
}
