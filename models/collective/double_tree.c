/**
 * @file double_tree.c
 * @brief All-reduce through two binary trees of nodes at once, chunk after chunk.
 *
 * Each tree carries half of the buffer, in chunks: summed up to the root, handed down
 * again, all hops busy at once. A node with children in one tree has none in the other, so
 * its NIC sends and receives about twice the buffer in all: nearly the bandwidth of a ring
 * with 2 log2 N hops. P. Sanders, J. Speck, J. L. Traff, "Two-tree algorithms for full
 * bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009) 581-594.
 *
 * Trees, chains and where they meet are NCCL's (2.30.7, src/graph/trees.cc and connect.cc,
 * pattern BALANCED_TREE): inside a node the ranks form a chain that begins near the NIC of
 * its rail; its first rank talks to the parent and the second child, its second rank to the
 * first child, where two ranks or more share a NIC and it is as near to both.
 *
 * The fill lets the first chunk meet, on every hop, the chunks of all trees that are as
 * many hops on their way: the two of a node's children arrive together.
 */
#include "models/collective/dtree.h"
#include "models/collective/rings.h"
#include "models/collective/tree.h"

static guint n_channels_of_plan(const CollCall *call)
{
  return call->group->n_nodes > 1 ? call->n_rails : 1;
}

static bool ranks_share_nics(guint n_local, guint n_rails)
{
  return n_local >= 2 * n_rails;
}

/* Does the first child of a node come in at the second rank of its chain? If ranks share
 * NICs, and it reaches that of @p rail as directly as the first rank does. */
static bool uses_second(const CollCall *call, const Topology *topology, guint node,
                        guint rail, const guint *chain)
{
  const Group *group = call->group;
  if (!ranks_share_nics(group_n_local(group, node), n_channels_of_plan(call)))
    return false;
  if (topology == NULL)
    return true;

  const guint other = group->gpus[group->first_rank[(node + 1) % group->n_nodes]];
  guint lengths[2];
  for (guint i = 0; i < 2; i++) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    topology_route(topology, group->gpus[chain[i]], other, coll_nic(call, rail), 0, links);
    lengths[i] = links->len;
  }
  return lengths[1] <= lengths[0];
}

/* Tree @p t of the ranks in the order of a channel. */
static void double_tree_init(Tree *tree, const CollCall *call, const Topology *topology,
                             guint t, guint rail, const guint *ranks)
{
  const Group *group = call->group;
  guint *parent = g_new(guint, group->n_ranks);

  for (guint node = 0; node < group->n_nodes; node++) {
    const guint *chain = &ranks[group->first_rank[node]];
    bool is_first_child = false;
    const guint up = dtree_parent(t, node, group->n_nodes, &is_first_child);
    for (guint i = 1; i < group_n_local(group, node); i++)
      parent[chain[i]] = chain[i - 1];
    parent[chain[0]] = TREE_ROOT;
    if (up == TREE_ROOT)
      continue;
    const guint *above = &ranks[group->first_rank[up]];
    parent[chain[0]] =
      above[is_first_child && uses_second(call, topology, up, rail, above)];
  }
  tree_init(tree, group->n_ranks, parent);
}

/* Both trees of every channel. Transfer: caller frees with trees_free(). */
static Tree *trees_new(const CollCall *call, const Rings *rings, const Topology *topology)
{
  const guint n_channels = rings_n_channels(rings);
  Tree *trees = g_new(Tree, (gsize)n_channels * DTREE_N);
  g_autofree guint *ranks = g_new(guint, call->group->n_ranks);

  for (guint c = 0; c < n_channels; c++) {
    rings_visit_all(rings, c, ranks);
    for (guint t = 0; t < DTREE_N; t++)
      double_tree_init(&trees[c * DTREE_N + t], call, topology, t, rings_rail(rings, c),
                       ranks);
  }
  return trees;
}

static void trees_free(Tree *trees, guint n_trees)
{
  for (guint i = 0; i < n_trees; i++)
    tree_clear(&trees[i]);
  g_free(trees);
}

/* Transfer: caller frees with rings_free(). */
static Rings *plan_rings_new(const CollCall *call)
{
  return rings_new_chains(call, n_channels_of_plan(call), call->layout);
}

static guint double_tree_n_chunks(const CollCall *call, double size_B)
{
  g_autoptr(Rings) rings = plan_rings_new(call);
  return rings_n_channels(rings) * DTREE_N * coll_n_chunks(size_B, call->chunk_B);
}

static void double_tree_plan(const CollCall *call, double size_B, Plan *plan)
{
  g_autoptr(Rings) rings = plan_rings_new(call);
  const guint n_trees = rings_n_channels(rings) * DTREE_N;
  const guint n_chunks = coll_n_chunks(size_B, call->chunk_B);
  g_autofree PlanTree *pipes = g_new(PlanTree, n_trees);
  Tree *trees = trees_new(call, rings, call->layout);

  for (guint i = 0; i < n_trees; i++)
    pipes[i] =
      (PlanTree){ .tree = &trees[i],
                  .first_chunk = i * n_chunks,
                  .width = 1,
                  .chunk_B = coll_chunk_B(size_B, call->chunk_B) / n_trees,
                  .channel = i,
                  .rail =
                    call->group->n_nodes > 1 ? 1 + rings_rail(rings, i / DTREE_N) : 0 };
  for (guint chunk = 0; chunk < n_chunks; chunk++)
    tree_plan_chunk(pipes, n_trees, chunk, true, true, NULL, plan);
  trees_free(trees, n_trees);
}

/* Add the flows of all trees in one direction, and the longest way through any. */
static TreePath add_direction(const CollCall *call, const Rings *rings, const Tree *trees,
                              bool up, Draft *draft)
{
  const guint n = call->group->n_ranks;
  const guint n_trees = rings_n_channels(rings) * DTREE_N;
  const guint first_flow = draft_n_flows(draft);
  g_autofree Chain *hops = g_new(Chain, (gsize)n * n_trees);
  g_autofree LaidTree *laid = g_new(LaidTree, n_trees);
  TreePath longest = { 0 };

  for (guint i = 0; i < n_trees; i++)
    tree_add_flows(&trees[i], up, rings_rail(rings, i / DTREE_N), 1.0 / n_trees, draft,
                   &hops[(gsize)i * n]);
  g_autofree double *loads = draft_loads(draft, first_flow);
  for (guint i = 0; i < n_trees; i++) {
    const TreePath path = tree_longest_path(&trees[i], draft, first_flow + i * (n - 1),
                                            &hops[(gsize)i * n], loads);
    if (chain_is_longer(path.chain, longest.chain))
      longest.chain = path.chain;
    longest.fill_s_per_B = MAX(longest.fill_s_per_B, path.fill_s_per_B);
    laid[i] = (LaidTree){ &trees[i], first_flow + i * (n - 1), &hops[(gsize)i * n] };
  }
  longest.first_s_per_B = tree_first_s_per_B(laid, n_trees, up, draft);
  return longest;
}

static void double_tree_phases(const CollCall *call, const Topology *topology,
                               GArray *phases)
{
  if (call->group->n_ranks == 1)
    return;

  g_autoptr(Rings) rings = rings_new_chains(call, n_channels_of_plan(call), topology);
  Tree *trees = trees_new(call, rings, topology);
  Draft *draft = draft_new(call, topology);
  const TreePath up = add_direction(call, rings, trees, true, draft);
  const TreePath down = add_direction(call, rings, trees, false, draft);

  tree_finish(draft, "double_tree", up, down, phases);
  trees_free(trees, rings_n_channels(rings) * DTREE_N);
}

/* What the busiest rank of a node sends to its neighbours, in parts of the buffer: chunks
 * up unless it is the first of a channel's chain, and down unless it is the last. */
static double chain_share(guint g, guint n_rails)
{
  double most = 0;

  for (guint place = 0; place < g; place++) {
    double n_sends = 0;
    for (guint c = 0; c < n_rails; c++) {
      const guint first = (guint)((guint64)c * g / n_rails);
      n_sends += (place != first) + ((place + 1) % g != first);
    }
    most = MAX(most, n_sends / n_rails);
  }
  return most;
}

/* A chunk goes along a chain of @p n_hops hops that begins with a channel's last rank: a
 * port between two chains misses one of @p n_rails channels. */
static double chain_way(guint n_hops, guint g, guint n_rails)
{
  double way = 0;

  for (guint i = 0; i < n_hops; i++) {
    const guint place = n_hops - i;
    bool meets = false; /* another channel begins where this hop starts */
    for (guint c = 1; c < n_rails; c++)
      meets = meets || (guint)((guint64)c * g / n_rails) == place;
    way += meets ? (n_rails - 1.0) / n_rails : 1;
  }
  return way;
}

/* The longest way: up the chain of a leaf, then through first children, which come in at
 * the second rank of the chain, to the root; and back. */
static double double_tree_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const guint n_nodes = call->group->n_nodes, g = group_max_local(call->group);
  const guint n_rails = n_channels_of_plan(call), depth = dtree_depth(n_nodes);
  const guint n_inner = depth > 1 && ranks_share_nics(g, n_rails) ? depth - 1 : 0;
  const double local_s_per_B = g > 1 ? 1 / cost->local.bandwidth_Bps : 0;
  const double net_s_per_B = 1 / (call->n_rails * cost->net.bandwidth_Bps);
  const double bound_s_per_B =
    MAX(chain_share(g, n_rails) * local_s_per_B, dtree_share(n_nodes) * net_s_per_B);
  const double way_s_per_B = 2 * ((chain_way(g - 1, g, n_rails) + n_inner) * local_s_per_B +
                                  dtree_way(n_nodes) * net_s_per_B);

  return 2 * ((g - 1 + n_inner) * cost->local.alpha_s + depth * cost->net.alpha_s) +
         bound_s_per_B * size_B +
         MAX(0, way_s_per_B - bound_s_per_B) * coll_chunk_B(size_B, call->chunk_B);
}

const CollOps coll_double_tree = {
  .info = {
    .name = "double_tree",
    .summary = "two binary trees of nodes with chains inside, pipelined as in NCCL",
    .source = "Sanders, Speck & Traff 2009; NCCL 2.30.7 src/graph/trees.cc",
  },
  .kinds = COLL_ALL_REDUCE,
  .plan = double_tree_plan,
  .n_chunks = double_tree_n_chunks,
  .phases = double_tree_phases,
  .ideal_s = double_tree_ideal_s,
};
