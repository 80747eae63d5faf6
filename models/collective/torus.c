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
#include "models/collective/front.h"
#include "models/collective/grid.h"

#include <string.h>

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

/* A row or a column. */
typedef struct {
  guint start, n, stride; /* its ranks */
  guint n_laps;           /* of n - 1 rounds */
} Ring;

static guint ring_rank(const Ring *ring, guint place)
{
  return ring->start + place % ring->n * ring->stride;
}

/* All rings of one phase, one after another. */
typedef struct {
  guint n_rings, n_rounds;
  const Ring *rings;
  double share; /* of the message that a ring carries */
} Stage;

/* @param hops  of each rank: to the next of its ring, with the bytes of a round; filled in
 */
static void add_stage(const CollCall *call, const Topology *topology, const Stage *stage,
                      const char *name, Chain *hops, GArray *phases)
{
  Draft *draft = draft_new(call, topology);
  g_autofree guint *first = g_new0(guint, call->group->n_ranks);

  for (guint r = 0; r < stage->n_rings; r++) {
    const Ring *ring = &stage->rings[r];
    for (guint i = 0; i < ring->n; i++) {
      const guint src = ring_rank(ring, i);
      first[src] = draft_n_flows(draft);
      hops[src] = draft_add_message(draft, src, ring_rank(ring, i + 1),
                                    stage->share * stage->n_rounds / ring->n);
    }
  }
  draft_limit(draft);
  g_autofree double *loads = draft_loads(draft, 0);
  for (guint rank = 0; rank < call->group->n_ranks; rank++)
    hops[rank].s_per_B =
      draft_slowest_s_per_B(draft, loads, first[rank], call->n_rails) / stage->n_rounds;
  draft_finish(draft, name, (Chain){ 0 }, 0, phases);
}

static Chain times(Chain chain, guint n)
{
  return (Chain){ n * chain.n_local_hops, n * chain.n_net_hops, n * chain.latency_s,
                  n * chain.s_per_B };
}

static Chain without(Chain chain, Chain part)
{
  return (Chain){ chain.n_local_hops - part.n_local_hops,
                  chain.n_net_hops - part.n_net_hops, chain.latency_s - part.latency_s,
                  chain.s_per_B - part.s_per_B };
}

/* The chains to a rank of a ring that @p done lead to the begin of: with the message all
 * the way; twice around to where it began, waiting there at the rank's own hop for the rest
 * of the rounds; or at the hop that takes longest, in every round. */
static void walk_ring(const Ring *ring, const Chain *hops, const Front *done, Front *next)
{
  const guint n_rounds = ring->n_laps * (ring->n - 1);
  Chain lap = { 0 }, slowest = { 0 };
  Front all = { 0 };

  for (guint i = 0; i < ring->n; i++) {
    const Chain hop = hops[ring_rank(ring, i)];
    lap = chain_join(lap, hop);
    if (hop.s_per_B > slowest.s_per_B)
      slowest = hop;
    front_add_extended(&all, &done[ring_rank(ring, i)], (Chain){ 0 });
  }
  slowest.s_per_B *= n_rounds;
  for (guint i = 0; i < ring->n; i++) {
    const guint rank = ring_rank(ring, i);
    Chain way = times(lap, ring->n_laps), round = lap;
    for (guint k = 0; k < ring->n_laps; k++)
      way = without(way, hops[ring_rank(ring, i + k)]);
    front_add_extended(&next[rank], &done[ring_rank(ring, i + ring->n_laps)], way);
    round.s_per_B += (n_rounds - ring->n) * hops[rank].s_per_B;
    if (ring->n_laps > 1)
      front_add_extended(&next[rank], &done[rank], round);
    front_add_extended(&next[rank], &all, slowest);
  }
}

/* @p done becomes the chains to the end of the stage. */
static void walk_stage(const Stage *stage, guint n_ranks, const Chain *hops, Front *done)
{
  g_autofree Front *next = g_new0(Front, n_ranks);

  for (guint r = 0; r < stage->n_rings; r++)
    walk_ring(&stage->rings[r], hops, done, next);
  memcpy(done, next, n_ranks * sizeof *done);
}

/* The longest chains through all phases: a rank goes on to its column once its own row is
 * done, and back. */
static void add_chains(const Front *done, guint n_ranks, guint first_phase, GArray *phases)
{
  CollPhase *phase = &g_array_index(phases, CollPhase, first_phase);
  Front longest = { 0 };

  for (guint rank = 0; rank < n_ranks; rank++)
    front_add_extended(&longest, &done[rank], (Chain){ 0 });
  phase->chains = front_chains_new(&longest);
  for (guint p = first_phase; p < phases->len; p++)
    phase->chains_bound_s_per_B += g_array_index(phases, CollPhase, p).bound_s_per_B;
}

static void torus_phases(const CollCall *call, const Topology *topology, GArray *phases)
{
  const guint n = call->group->n_ranks, x = row_length(n), y = n / x;
  const guint first_phase = phases->len;
  if (rows_are_nodes(call)) {
    coll_hierarchical.phases(call, topology, phases);
    return;
  }
  if (n == 1)
    return;

  g_autofree Ring *rows = g_new(Ring, y), *columns = g_new(Ring, x);
  g_autofree Chain *hops = g_new0(Chain, n);
  g_autofree Front *done = g_new0(Front, n);
  for (guint row = 0; row < y; row++)
    rows[row] = (Ring){ row * x, x, 1, 1 };
  for (guint column = 0; column < x; column++)
    columns[column] = (Ring){ column, y, x, 2 };
  const Stage along = { y, x - 1, rows, 1 };
  const Stage across = { x, 2 * (y - 1), columns, 1.0 / x };

  for (guint s = 0; s < 3; s++) {
    static const char *const names[] = { "rows", "columns", "rows_gather" };
    const Stage *stage = s == 1 ? &across : &along;
    if (stage->n_rounds == 0)
      continue;
    add_stage(call, topology, stage, names[s], hops, phases);
    walk_stage(stage, n, hops, done);
  }
  add_chains(done, n, first_phase, phases);
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
