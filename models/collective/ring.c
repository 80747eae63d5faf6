/**
 * @file ring.c
 * @brief One ring through all ranks, node after node; one chunk per rank goes around.
 *
 * In each of n-1 rounds every rank sends one chunk to its right-hand neighbour, which
 * adds its own (reduce-scatter); n-1 further rounds hand the sums around (all-gather).
 * Together they are an all-reduce. Every rank sends 2(n-1)/n of the buffer, the least any
 * algorithm can: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for
 * clusters of workstations", J. Parallel Distrib. Comput. 69 (2009) 117-124.
 *
 * A broadcast or reduction is a pipeline along the ring, see line.h.
 *
 * Several rails: each carries a ring of its own with its part of the buffer (rings.h).
 * The critical path is that of the chunk whose 2(n-1) hops cross most nodes: 2 N of N
 * nodes if they have three ranks or more. NCCL's tuner counts 2 (N-1).
 */
#include "models/collective/line.h"

static guint n_plan_rails(const CollCall *call)
{
  return call->group->n_nodes > 1 ? call->n_rails : 1;
}

static bool is_line(const CollCall *call)
{
  return call->kind & (COLL_BROADCAST | COLL_REDUCE);
}

static guint ring_n_chunks(const CollCall *call, double size_B)
{
  if (is_line(call))
    return line_n_chunks(call, size_B);
  g_autoptr(Rings) rings = rings_new(call, n_plan_rails(call), call->layout);
  return call->group->n_ranks * rings_n_channels(rings);
}

/* Positions of a ring have the rails of their ranks. */
static void visit(const Rings *rings, guint channel, guint n, guint *ranks, guint *rails)
{
  g_autofree guint *rail_of = g_new(guint, n);

  rings_visit_all(rings, channel, ranks);
  rings_plan_rails(rings, channel, rail_of);
  for (guint p = 0; p < n; p++)
    rails[p] = rail_of[ranks[p]];
}

static void plan_laps(const CollCall *call, double size_B, Plan *plan)
{
  g_autoptr(Rings) rings = rings_new(call, n_plan_rails(call), call->layout);
  const guint n = call->group->n_ranks, n_channels = rings_n_channels(rings);
  const gsize n_all = (gsize)n * n_channels;
  g_autofree guint *ranks = g_new(guint, n_all);
  g_autofree guint *rails = g_new(guint, n_all);
  g_autofree guint *chunks = g_new(guint, n_all);
  g_autofree guint *ones = g_new(guint, n);
  g_autofree guint *arrived = g_new(guint, n_all);
  g_autofree PlanRing *ring = g_new(PlanRing, n_channels);

  for (guint i = 0; i < n; i++)
    ones[i] = 1;
  for (guint c = 0; c < n_channels; c++) {
    const gsize first = (gsize)c * n;
    visit(rings, c, n, &ranks[first], &rails[first]);
    for (gsize i = first; i < first + n; i++) {
      chunks[i] = c * n + ranks[i];
      arrived[i] = PLAN_START;
    }
    ring[c] = (PlanRing){ .n = n,
                          .ranks = &ranks[first],
                          .first_chunks = &chunks[first],
                          .n_chunks = ones,
                          .chunk_B = size_B / (double)n_all,
                          .arrived = &arrived[first],
                          .stride = 1,
                          .channel = c,
                          .rails = &rails[first] };
  }
  for (guint pass = 0; pass < 2; pass++) {
    if (!(call->kind &
          (COLL_ALL_REDUCE | (pass == 0 ? COLL_REDUCE_SCATTER : COLL_ALL_GATHER))))
      continue;
    for (guint round = 0; round + 1 < n; round++)
      for (guint c = 0; c < n_channels; c++)
        rings_plan_round(&ring[c], round, pass == 0, NULL, plan);
  }
}

static void ring_plan(const CollCall *call, double size_B, Plan *plan)
{
  if (is_line(call))
    line_plan(call, size_B, plan);
  else
    plan_laps(call, size_B, plan);
}

static void ring_phases(const CollCall *call, const Topology *topology, GArray *phases)
{
  const guint n = call->group->n_ranks;
  if (n == 1)
    return;
  if (is_line(call)) {
    line_phases(call, topology, phases);
    return;
  }

  g_autoptr(Rings) rings = rings_new(call, n_plan_rails(call), topology);
  g_autofree guint *ranks = g_new(guint, n);
  const guint n_channels = rings_n_channels(rings), n_laps = rings_n_laps(call->kind);
  g_autofree Chain *hops = g_new(Chain, (gsize)n * n_channels);
  const double share = rings_share(call->kind, n) / n_channels;
  Draft *draft = draft_new(call, topology);
  Chain worst = { 0 };

  for (guint channel = 0; channel < n_channels; channel++) {
    rings_visit_all(rings, channel, ranks);
    for (guint p = 0; p < n; p++)
      hops[channel * n + p] =
        draft_add_flow(draft, ranks[p], ranks[(p + 1) % n],
                       rings_rail_out(rings, channel, call->group->node[ranks[p]]), share);
  }
  g_autofree double *loads = draft_loads(draft, 0);
  for (guint first = 0; first < n * n_channels; first += n) {
    const Chain chain =
      rings_chain_of_flows(draft, loads, first, 1, &hops[first], n, n_laps);
    if (chain_is_longer(chain, worst))
      worst = chain;
  }
  draft_finish(draft, "ring", worst, 0, phases);
}

/* Hops between nodes of the longest chain: those of n_laps laps, less those that cannot
 * be avoided among n_laps neighbouring hops. */
static guint n_net_hops(const CollCall *call)
{
  const guint n_nodes = call->group->n_nodes, n_local = group_max_local(call->group);
  const guint n_laps = rings_n_laps(call->kind);

  if (n_nodes == 1)
    return 0;
  return n_laps * n_nodes - (n_local > n_laps ? 0 : n_laps - (n_local - 1));
}

static double ring_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const guint n = call->group->n_ranks;
  if (n == 1)
    return 0;
  if (is_line(call))
    return line_ideal_s(call, size_B, cost);

  const guint n_net = n_net_hops(call);
  const guint n_local = rings_n_laps(call->kind) * (n - 1) - n_net;
  const double net_Bps = call->n_rails * cost->net.bandwidth_Bps;
  double s_per_B = 0;

  if (group_max_local(call->group) > 1)
    s_per_B = 1 / cost->local.bandwidth_Bps;
  if (call->group->n_nodes > 1)
    s_per_B = MAX(s_per_B, 1 / net_Bps);
  return n_local * cost->local.alpha_s + n_net * cost->net.alpha_s +
         rings_share(call->kind, n) * size_B * s_per_B;
}

const CollOps coll_ring = {
  .info = {
    .name = "ring",
    .summary = "one chunk per rank around one ring of all ranks; bandwidth-optimal",
    .source = "Patarasuk & Yuan 2009",
  },
  .kinds = COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_ALL_GATHER | COLL_BROADCAST |
           COLL_REDUCE,
  .exact = true,
  .plan = ring_plan,
  .n_chunks = ring_n_chunks,
  .phases = ring_phases,
  .ideal_s = ring_ideal_s,
};
