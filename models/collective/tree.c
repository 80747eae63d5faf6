#include "models/collective/tree.h"

/* Ranks level by level: those whose parents are placed. Children of one parent stay
 * together, in ascending order. */
void tree_init(Tree *tree, guint n, guint *parent)
{
  g_autofree guint *first_child = g_new0(guint, n + 1);
  g_autofree guint *children = g_new(guint, n);
  guint n_placed = 0;

  tree->n = n;
  tree->parent = parent;
  tree->order = g_new(guint, n);
  for (guint rank = 0; rank < n; rank++) {
    if (parent[rank] == TREE_ROOT)
      tree->order[n_placed++] = rank;
    else
      first_child[parent[rank] + 1]++;
  }
  tree->n_roots = n_placed;
  for (guint rank = 0; rank < n; rank++)
    first_child[rank + 1] += first_child[rank];
  g_autofree guint *fill = g_memdup2(first_child, n * sizeof(guint));
  for (guint rank = 0; rank < n; rank++)
    if (parent[rank] != TREE_ROOT)
      children[fill[parent[rank]]++] = rank;
  for (guint i = 0; i < n_placed; i++) {
    const guint rank = tree->order[i];
    for (guint c = first_child[rank]; c < first_child[rank + 1]; c++)
      tree->order[n_placed++] = children[c];
  }
}

void tree_clear(Tree *tree)
{
  g_free(tree->parent);
  g_free(tree->order);
}

/* Up and down are connections of their own. */
static PlanStep chunk_step(const PlanTree *pipe, guint index, guint src, guint dst, bool up)
{
  return (PlanStep){ .src = src,
                     .dst = dst,
                     .first_chunk = pipe->first_chunk + index * pipe->width,
                     .n_chunks = pipe->width,
                     .after = PLAN_START,
                     .reduce = up,
                     .channel = 2 * pipe->channel + !up,
                     .rail = pipe->rails == NULL ? pipe->rail : pipe->rails[src],
                     .size_B = pipe->width * pipe->chunk_B };
}

/* @p sent: per rank, the message up that it sent. A parent waits for all its children,
 * which stand next to one another in the order. */
static void plan_up(const PlanTree *pipe, guint index, guint *sent, guint *arrived,
                    Plan *plan)
{
  const Tree *tree = pipe->tree;
  guint end = tree->n; /* children of ranks before order[i] end before it */

  for (guint i = tree->n; i-- > 0;) {
    const guint rank = tree->order[i], parent = tree->parent[rank];
    guint first = end;
    while (first > i + 1 && tree->parent[tree->order[first - 1]] == rank)
      first--;
    if (parent != TREE_ROOT) {
      PlanStep step = chunk_step(pipe, index, rank, parent, true);
      sent[rank] = plan_add(plan, step);
      for (guint c = first; c < end; c++)
        plan_also_after(plan, sent[tree->order[c]]);
      if (pipe->own_after != NULL) {
        plan_also_after(plan, pipe->own_after[rank]);
        plan_also_after(plan, pipe->own_after[parent]);
      }
      if (arrived != NULL && tree->parent[parent] == TREE_ROOT)
        arrived[parent] = sent[rank];
    }
    end = first;
  }
}

/* The step added last is a root's: it waits for its children, or for what it is told. */
static void wait_as_root(const PlanTree *pipe, guint root, const guint *sent, Plan *plan)
{
  const Tree *tree = pipe->tree;

  if (pipe->own_after != NULL)
    plan_also_after(plan, pipe->own_after[root]);
  if (pipe->root_after != NULL) {
    plan_also_after(plan, pipe->root_after[root]);
    return;
  }
  for (guint c = tree->n_roots; sent != NULL && c < tree->n; c++)
    if (tree->parent[tree->order[c]] == root)
      plan_also_after(plan, sent[tree->order[c]]);
}

/* @p sent: NULL if nothing went up. */
static void plan_down(const PlanTree *pipe, guint index, const guint *sent, guint *arrived,
                      Plan *plan)
{
  const Tree *tree = pipe->tree;
  g_autofree guint *came = g_new(guint, tree->n); /* to each rank: the message down */

  for (guint i = tree->n_roots; i < tree->n; i++) {
    const guint rank = tree->order[i], parent = tree->parent[rank];
    const bool from_root = tree->parent[parent] == TREE_ROOT;
    PlanStep step = chunk_step(pipe, index, parent, rank, false);
    if (!from_root)
      step.after = came[parent];
    came[rank] = plan_add(plan, step);
    if (from_root)
      wait_as_root(pipe, parent, sent, plan);
    if (arrived != NULL)
      arrived[rank] = came[rank];
  }
}

void tree_plan_chunk(const PlanTree *trees, guint n_trees, guint index, bool up, bool down,
                     guint *arrived, Plan *plan)
{
  for (guint t = 0; t < n_trees; t++) {
    g_autofree guint *sent = g_new(guint, trees[t].tree->n);
    if (up)
      plan_up(&trees[t], index, sent, arrived, plan);
    if (down)
      plan_down(&trees[t], index, up ? sent : NULL, arrived, plan);
  }
}

void tree_add_flows(const Tree *tree, bool up, guint rail, double share, Draft *draft,
                    Chain *hops)
{
  for (guint i = tree->n_roots; i < tree->n; i++) {
    const guint rank = tree->order[i], parent = tree->parent[rank];
    hops[i] = up ? draft_add_flow(draft, rank, parent, rail, share)
                 : draft_add_flow(draft, parent, rank, rail, share);
  }
}

TreePath tree_longest_path(const Tree *tree, const Draft *draft, guint first_flow,
                           const Chain *hops, const double *loads)
{
  g_autofree TreePath *paths = g_new0(TreePath, tree->n);
  TreePath longest = { 0 };

  for (guint i = tree->n_roots; i < tree->n; i++) {
    TreePath *path = &paths[tree->order[i]];
    *path = paths[tree->parent[tree->order[i]]];
    path->chain = chain_join(path->chain, hops[i]);
    path->fill_s_per_B += draft_flow_s_per_B(draft, loads, first_flow + i - tree->n_roots);
    if (chain_is_longer(path->chain, longest.chain))
      longest.chain = path->chain;
    longest.fill_s_per_B = MAX(longest.fill_s_per_B, path->fill_s_per_B);
  }
  return longest;
}

/* Places in Tree.order by how far their ranks are from the farthest one below (@p up) or
 * from the root: those of level l are at first[l]..first[l + 1] - 1. */
typedef struct {
  guint n_levels;
  guint *first, *places;
} Levels;

static void levels_init(Levels *levels, const Tree *tree, bool up)
{
  g_autofree guint *level = g_new0(guint, tree->n);
  guint highest = 0;

  for (guint k = tree->n_roots; k < tree->n; k++) {
    const guint rank = tree->order[up ? tree->n - 1 - (k - tree->n_roots) : k];
    const guint parent = tree->parent[rank];
    if (up)
      level[parent] = MAX(level[parent], level[rank] + 1);
    else
      level[rank] = level[parent] + 1;
    highest = MAX(highest, MAX(level[parent], level[rank]));
  }
  levels->n_levels = highest + 1;
  levels->first = g_new0(guint, levels->n_levels + 2);
  levels->places = g_new(guint, tree->n);
  for (guint i = tree->n_roots; i < tree->n; i++)
    levels->first[level[tree->order[i]] + 2]++;
  for (guint l = 2; l < levels->n_levels + 2; l++)
    levels->first[l] += levels->first[l - 1];
  for (guint i = tree->n_roots; i < tree->n; i++)
    levels->places[levels->first[level[tree->order[i]] + 1]++] = i;
}

static void levels_clear(Levels *levels)
{
  g_free(levels->first);
  g_free(levels->places);
}

/* No places beyond the last level. */
static guint level_first(const Levels *levels, guint level)
{
  return levels->first[MIN(level, levels->n_levels)];
}

static guint laid_flow(const LaidTree *laid, guint place)
{
  return laid->first_flow + place - laid->tree->n_roots;
}

/* Add @p times the bytes of the flows at @p level of all trees to @p own. */
static void add_level(const LaidTree *trees, guint n_trees, const Levels *levels,
                      guint level, const Draft *draft, double times, double *own)
{
  for (guint t = 0; t < n_trees; t++)
    for (guint p = level_first(&levels[t], level); p < level_first(&levels[t], level + 1);
         p++)
      draft_add_loads(draft, laid_flow(&trees[t], levels[t].places[p]), times, own);
}

/* What each hop at @p level needs. @p hop_s_per_B: of each place of each tree */
static void time_level(const LaidTree *laid, const Levels *levels, guint level,
                       const Draft *draft, const double *own, double *hop_s_per_B)
{
  for (guint p = level_first(levels, level); p < level_first(levels, level + 1); p++) {
    const guint i = levels->places[p];
    hop_s_per_B[i] = draft_flow_s_per_B(draft, own, laid_flow(laid, i));
  }
}

/* Along the longest way through @p tree, whose hops take @p hop_s_per_B. */
static double longest_way(const Tree *tree, const double *hop_s_per_B)
{
  g_autofree double *way_s_per_B = g_new0(double, tree->n);
  double longest = 0;

  for (guint i = tree->n_roots; i < tree->n; i++) {
    const guint rank = tree->order[i];
    way_s_per_B[rank] = way_s_per_B[tree->parent[rank]] + hop_s_per_B[i];
    longest = MAX(longest, way_s_per_B[rank]);
  }
  return longest;
}

double tree_first_s_per_B(const LaidTree *trees, guint n_trees, bool up, const Draft *draft)
{
  g_autofree double *own = draft_loads(draft, draft_n_flows(draft));
  g_autofree Levels *levels = g_new(Levels, n_trees);
  const guint n = trees[0].tree->n;
  g_autofree double *hop_s_per_B = g_new0(double, (gsize)n_trees *n);
  double longest = 0;
  guint n_levels = 0;

  for (guint t = 0; t < n_trees; t++) {
    levels_init(&levels[t], trees[t].tree, up);
    n_levels = MAX(n_levels, levels[t].n_levels);
  }
  for (guint level = 0; level < n_levels; level++) {
    add_level(trees, n_trees, levels, level, draft, 1, own);
    for (guint t = 0; t < n_trees; t++)
      time_level(&trees[t], &levels[t], level, draft, own, &hop_s_per_B[(gsize)t * n]);
    add_level(trees, n_trees, levels, level, draft, -1, own);
  }
  for (guint t = 0; t < n_trees; t++) {
    longest = MAX(longest, longest_way(trees[t].tree, &hop_s_per_B[(gsize)t * n]));
    levels_clear(&levels[t]);
  }
  return longest;
}

void tree_finish(Draft *draft, const char *name, TreePath up, TreePath down, GArray *phases)
{
  const guint n_phases = phases->len;

  draft_finish(draft, name, chain_join(up.chain, down.chain),
               up.fill_s_per_B + down.fill_s_per_B, phases);
  if (phases->len == n_phases)
    return;
  CollPhase *phase = &g_array_index(phases, CollPhase, n_phases);
  phase->first_s_per_B =
    MAX(0, up.first_s_per_B + down.first_s_per_B - phase->bound_s_per_B);
}
