/**
 * @file hierarchical_tree.c
 * @brief `hierarchical` with double binary trees between the nodes instead of rings.
 *
 * The nodes reduce-scatter around rings; the ranks that own a block in their nodes send its
 * sum up and down the two trees of dtree.h, each half of it, chunk after chunk; the nodes
 * all-gather. Between nodes 2 ceil(log2 N) hops in the place of 2(N - 1), and up to twice
 * the bytes through a NIC. Phases follow one another; only the trees are pipelined.
 * Source: the levels as in Horovod's NCCLTorusAllreduce (0.28.1), the trees as P. Sanders,
 * J. Speck, J. L. Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", Parallel Computing 35 (2009) 581-594.
 */
#include "models/collective/hierarchical.h"
#include "models/collective/owner_trees.h"

static guint n_steps(const CollCall *call, double size_B)
{
  return coll_n_chunks(size_B, call->chunk_B);
}

/* Of the buffer: blocks, each two halves of as many chunks as there are steps. */
static guint hierarchical_tree_n_chunks(const CollCall *call, double size_B)
{
  if (call->group->n_nodes == 1)
    return coll_hierarchical.n_chunks(call, size_B);
  return group_max_local(call->group) * DTREE_N * n_steps(call, size_B);
}

/* ---- the plan ---------------------------------------------------------------------- */

/* @p arrived: of each rank, the message that brought it its last sum or block. */
typedef struct {
  const CollCall *call;
  Grid grid;
  guint width; /* chunks of a block */
  double chunk_B;
  guint *ranks;                   /* 0, 1, 2, ... */
  guint *first_chunks, *n_chunks; /* that a rank owns */
  guint *arrived;
  guint *results; /* [block * n_nodes + node] of DTREE_N: what ended the trees there */
} Draught;

static void draught_init(Draught *draught, const CollCall *call, double size_B)
{
  const guint n = call->group->n_ranks;

  *draught = (Draught){
    .call = call,
    .grid = hierarchical_grid(call),
    .width = DTREE_N * n_steps(call, size_B),
    .chunk_B = size_B / hierarchical_tree_n_chunks(call, size_B),
    .ranks = g_new(guint, n),
    .first_chunks = g_new(guint, n),
    .n_chunks = g_new(guint, n),
    .arrived = g_new(guint, n),
  };
  draught->results =
    g_new(guint, (gsize)draught->grid.n_blocks * call->group->n_nodes * DTREE_N);
  for (guint rank = 0; rank < n; rank++) {
    const guint node = call->group->node[rank];
    const guint place = rank - call->group->first_rank[node];
    const guint first = grid_first_block(&draught->grid, node, place);
    draught->ranks[rank] = rank;
    draught->first_chunks[rank] = first * draught->width;
    draught->n_chunks[rank] =
      (grid_first_block(&draught->grid, node, place + 1) - first) * draught->width;
    draught->arrived[rank] = PLAN_START;
  }
}

static void draught_clear(Draught *draught)
{
  g_free(draught->ranks);
  g_free(draught->first_chunks);
  g_free(draught->n_chunks);
  g_free(draught->arrived);
  g_free(draught->results);
}

/* Where the results of a block end in a node: DTREE_N of them. */
static guint *results_of(const Draught *draught, guint node, guint block)
{
  return &draught->results[((gsize)node * draught->grid.n_blocks + block) * DTREE_N];
}

/* Once around the ring of a node. Before it sends what it owns, a rank waits for the trees
 * of all its blocks. */
static void plan_row(const Draught *draught, guint node, bool reduce, Plan *plan)
{
  const Group *group = draught->call->group;
  const guint first = group->first_rank[node], n = group_n_local(group, node);
  g_autofree guint *results = g_new(guint, n + 1);
  const PlanRing ring = { .n = n,
                          .ranks = &draught->ranks[first],
                          .first_chunks = &draught->first_chunks[first],
                          .n_chunks = &draught->n_chunks[first],
                          .chunk_B = draught->chunk_B,
                          .arrived = &draught->arrived[first],
                          .stride = 1 };

  for (guint place = 0; place <= n; place++)
    results[place] = DTREE_N * grid_first_block(&draught->grid, node, place);
  const PlanRingWait wait = { results, results_of(draught, node, 0) };
  for (guint round = 0; round + 1 < n; round++)
    rings_plan_round(&ring, round, reduce, !reduce && round == 0 ? &wait : NULL, plan);
}

/* The trees of one block; the blocks share the NICs. */
static void plan_trees(const Draught *draught, guint block, Plan *plan)
{
  const Group *group = draught->call->group;
  const guint n_steps_of_half = draught->width / DTREE_N;

  for (guint t = 0; t < DTREE_N; t++) {
    g_autofree guint *ended = g_memdup2(draught->arrived, group->n_ranks * sizeof(guint));
    Tree tree;
    owner_tree_init(&tree, draught->call, &draught->grid, block, t);
    const PlanTree pipe = { .tree = &tree,
                            .first_chunk = block * draught->width + t * n_steps_of_half,
                            .width = 1,
                            .chunk_B = draught->chunk_B,
                            .own_after = draught->arrived,
                            .channel = 1 + block * DTREE_N + t };
    for (guint step = 0; step < n_steps_of_half; step++)
      tree_plan_chunk(&pipe, 1, step, true, true, ended, plan);
    for (guint node = 0; node < group->n_nodes; node++)
      results_of(draught, node, block)[t] = ended[grid_owner(&draught->grid, node, block)];
    tree_clear(&tree);
  }
}

static void hierarchical_tree_plan(const CollCall *call, double size_B, Plan *plan)
{
  Draught draught;

  if (call->group->n_nodes == 1) {
    coll_hierarchical.plan(call, size_B, plan);
    return;
  }
  draught_init(&draught, call, size_B);
  for (guint node = 0; node < call->group->n_nodes; node++)
    plan_row(&draught, node, true, plan);
  for (guint block = 0; block < draught.grid.n_blocks; block++)
    plan_trees(&draught, block, plan);
  for (guint node = 0; node < call->group->n_nodes; node++)
    plan_row(&draught, node, false, plan);
  draught_clear(&draught);
}

/* ---- phases and form --------------------------------------------------------------- */

static void hierarchical_tree_phases(const CollCall *call, const Topology *topology,
                                     GArray *phases)
{
  if (call->group->n_nodes == 1) {
    coll_hierarchical.phases(call, topology, phases);
    return;
  }
  hierarchical_add_inside(call, topology, COLL_REDUCE_SCATTER, "reduce_scatter", phases);
  const Grid grid = hierarchical_grid(call);
  Draft *draft = draft_new(call, topology);
  const TreePath up = owner_trees_add(call, &grid, true, draft);
  const TreePath down = owner_trees_add(call, &grid, false, draft);
  tree_finish(draft, "double_tree", up, down, phases);
  hierarchical_add_inside(call, topology, COLL_ALL_GATHER, "all_gather", phases);
}

static double hierarchical_tree_ideal_s(const CollCall *call, double size_B,
                                        const CollCost *cost)
{
  const guint n = call->group->n_nodes;
  const double net_s_per_B = 1 / (call->n_rails * cost->net.bandwidth_Bps);
  const double bound_s_per_B = dtree_share(n) * net_s_per_B;
  const double fill_s_per_B = 2 * dtree_way(n) * net_s_per_B - bound_s_per_B;

  if (n == 1)
    return coll_hierarchical.ideal_s(call, size_B, cost);
  return (group_max_local(call->group) > 1 ? 2 * hierarchical_inside_s(call, size_B, cost)
                                           : 0) +
         2 * dtree_depth(n) * cost->net.alpha_s + bound_s_per_B * size_B +
         MAX(0, fill_s_per_B) * coll_chunk_B(size_B, call->chunk_B);
}

const CollOps coll_hierarchical_tree = {
  .info = {
    .name = "hierarchical_tree",
    .summary = "reduce-scatter inside nodes, double trees between, all-gather inside",
    .source = "horovod 0.28.1, NCCLTorusAllreduce; Sanders, Speck & Traff 2009",
  },
  .kinds = COLL_ALL_REDUCE,
  .plan = hierarchical_tree_plan,
  .n_chunks = hierarchical_tree_n_chunks,
  .phases = hierarchical_tree_phases,
  .ideal_s = hierarchical_tree_ideal_s,
};
