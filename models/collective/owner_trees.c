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

/* Which block, tree and rail the flows of a tree number belong to: those of one tree of the
 * two stand together. */
typedef struct {
  guint block, tree, rail;
  double share; /* 0: none */
} Lane;

static Lane lane_of(const CollCall *call, const Grid *grid, guint index)
{
  Lane lane = { .rail = index % call->n_rails,
                .block = index / call->n_rails % grid->n_blocks,
                .tree = index / call->n_rails / grid->n_blocks };

  lane.share = grid_rail_share(grid, lane.block, lane.rail, call->n_rails) / DTREE_N;
  return lane;
}

/* Lay the trees of all blocks in one direction. @return how many there are */
static guint lay_all(const CollCall *call, const Grid *grid, bool up, Draft *draft,
                     Tree *trees, Chain *hops, LaidTree *laid)
{
  const guint n_lanes = grid->n_blocks * DTREE_N * call->n_rails;
  guint n_laid = 0;

  for (guint i = 0; i < n_lanes; i++) {
    const Lane lane = lane_of(call, grid, i);
    if (!(lane.share > 0))
      continue;
    Tree *tree = &trees[n_laid];
    Chain *own = &hops[(gsize)n_laid * call->group->n_ranks];
    owner_tree_init(tree, call, grid, lane.block, lane.tree);
    laid[n_laid++] = (LaidTree){ tree, draft_n_flows(draft), own };
    tree_add_flows(tree, up, lane.rail, lane.share, draft, own);
  }
  return n_laid;
}

/* First all flows, then how long their chunks need among one another. */
TreePath owner_trees_add(const CollCall *call, const Grid *grid, bool up, Draft *draft)
{
  const guint n_lanes = grid->n_blocks * DTREE_N * call->n_rails;
  const guint before = draft_n_flows(draft);
  g_autofree Chain *hops = g_new(Chain, (gsize)call->group->n_ranks * n_lanes);
  g_autofree Tree *trees = g_new(Tree, n_lanes);
  g_autofree LaidTree *laid = g_new(LaidTree, n_lanes);
  const guint n_laid = lay_all(call, grid, up, draft, trees, hops, laid);
  g_autofree double *loads = draft_loads(draft, before);
  TreePath longest = { 0 };

  for (guint i = 0; i < n_laid; i++) {
    const TreePath path =
      tree_longest_path(&trees[i], draft, laid[i].first_flow, laid[i].hops, loads);
    if (chain_is_longer(path.chain, longest.chain))
      longest.chain = path.chain;
    longest.fill_s_per_B = MAX(longest.fill_s_per_B, path.fill_s_per_B);
  }
  longest.first_s_per_B = tree_first_s_per_B(laid, n_laid, up, draft);
  for (guint i = 0; i < n_laid; i++)
    tree_clear(&trees[i]);
  return longest;
}
