/**
 * @file torus.c
 * @brief All-reduce on a two-dimensional grid: along the rows, the columns, the rows.
 *
 * n = X Y ranks. Rows of X reduce-scatter around rings, columns of Y all-reduce their X-th,
 * rows all-gather: 2(X-1) + 2(Y-1) hops instead of 2(XY-1) for the same bytes. H. Mikami et
 * al., "Massively distributed SGD: ImageNet/ResNet-50 training in a flash", arXiv
 * 1811.05233.
 *
 * X is the largest divisor of n that is no more than its root; with a prime number of ranks
 * one ring remains. Nodes of several GPUs are the rows: that is `hierarchical`.
 */
#include "models/collective/grid.h"

static bool rows_are_nodes(const CollCall *call)
{
  return group_max_local(call->group) > 1;
}

static guint row_length(guint n)
{
  guint length = 1;
  for (guint x = 2; (guint64)x * x <= n; x++)
    if (n % x == 0)
      length = x;
  return length;
}

/* @p first: entries for every rank and one more */
static Grid grid_of(const CollCall *call, guint *first)
{
  const guint n = call->group->n_ranks, x = row_length(n);

  for (guint row = 0; row <= n / x; row++)
    first[row] = row * x;
  return (Grid){ .n_rows = n / x, .first = first, .n_blocks = x };
}

static guint torus_n_chunks(const CollCall *call, double size_B)
{
  if (rows_are_nodes(call))
    return coll_hierarchical.n_chunks(call, size_B);
  return call->group->n_ranks;
}

static void torus_plan(const CollCall *call, double size_B, Plan *plan)
{
  if (rows_are_nodes(call)) {
    coll_hierarchical.plan(call, size_B, plan);
    return;
  }
  g_autofree guint *first = g_new(guint, call->group->n_ranks + 1);
  const Grid grid = grid_of(call, first);
  grid_plan(&grid, size_B, plan);
}

/* A ring of @p n ranks: @p start, and each @p stride after the one before. */
static Chain add_ring(guint start, guint n, guint stride, CollKind kind, double share,
                      Draft *draft)
{
  g_autofree Chain *hops = g_new(Chain, n);

  for (guint i = 0; i < n; i++)
    hops[i] = draft_add_message(draft, start + i * stride, start + (i + 1) % n * stride,
                                share * rings_share(kind, n));
  return rings_chain(hops, n, rings_n_laps(kind));
}

static void add_rows(const CollCall *call, const Topology *topology, CollKind kind,
                     GArray *phases)
{
  const guint n = call->group->n_ranks, x = row_length(n);
  Draft *draft = draft_new(call, topology);
  Chain longest = { 0 };

  for (guint row = 0; x > 1 && row < n / x; row++) {
    const Chain chain = add_ring(row * x, x, 1, kind, 1, draft);
    if (chain_is_longer(chain, longest))
      longest = chain;
  }
  draft_finish(draft, kind == COLL_ALL_GATHER ? "rows_gather" : "rows", longest, 0, phases);
}

static void add_columns(const CollCall *call, const Topology *topology, GArray *phases)
{
  const guint n = call->group->n_ranks, x = row_length(n);
  Draft *draft = draft_new(call, topology);
  Chain longest = { 0 };

  for (guint column = 0; n > 1 && column < x; column++) {
    const Chain chain = add_ring(column, n / x, x, COLL_ALL_REDUCE, 1.0 / x, draft);
    if (chain_is_longer(chain, longest))
      longest = chain;
  }
  draft_finish(draft, "columns", longest, 0, phases);
}

static void torus_phases(const CollCall *call, const Topology *topology, GArray *phases)
{
  if (rows_are_nodes(call)) {
    coll_hierarchical.phases(call, topology, phases);
    return;
  }
  add_rows(call, topology, COLL_REDUCE_SCATTER, phases);
  add_columns(call, topology, phases);
  add_rows(call, topology, COLL_ALL_GATHER, phases);
}

static double torus_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  if (rows_are_nodes(call))
    return coll_hierarchical.ideal_s(call, size_B, cost);

  const double n = call->group->n_ranks, x = row_length(call->group->n_ranks), y = n / x;
  const double net_Bps = call->n_rails * cost->net.bandwidth_Bps;
  return 2 * (x - 1 + y - 1) * cost->net.alpha_s + 2 * (n - 1) / n * size_B / net_Bps;
}

const CollOps coll_torus = {
  .info = {
    .name = "torus",
    .summary = "rings along the rows and columns of a grid of ranks",
    .source = "Mikami et al. 2018, arXiv 1811.05233",
  },
  .kinds = COLL_ALL_REDUCE,
  .exact = true,
  .plan = torus_plan,
  .n_chunks = torus_n_chunks,
  .phases = torus_phases,
  .ideal_s = torus_ideal_s,
};
