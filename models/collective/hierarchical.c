/**
 * @file hierarchical.c
 * @brief All-reduce in three phases: inside the nodes, between them, inside again.
 *
 * The g ranks of each node reduce-scatter the buffer around a ring; the ranks with the
 * same place in their nodes all-reduce their g-th of it around a ring of N nodes, g rings
 * that share the NICs; then the nodes all-gather. The slow network carries 2(N-1)/N of the
 * buffer per node, whatever g is, in 2(N-1) hops instead of the flat ring's 2(gN-1).
 *
 * Phases follow one another; nothing is pipelined across them.
 * Source: Horovod's NCCLTorusAllreduce (horovod 0.28.1, ops/nccl_operations.cc).
 */
#include "models/collective/rings.h"

static guint hierarchical_n_chunks(const CollCall *call)
{
  return call->group.n_nodes * call->group.ranks_per_node;
}

/* Rounds of several rings at once. */
static void plan_pass(const PlanRing *rings, guint n_rings, bool reduce, Plan *plan)
{
  for (guint round = 0; round + 1 < rings[0].n; round++)
    for (guint i = 0; i < n_rings; i++)
      rings_plan_round(&rings[i], round, reduce, plan);
}

/* Rank (node, l) owns chunk l N + node in the end; the block of all chunks l N.. is its
 * node's part for the ring between the nodes. */
static void hierarchical_plan(const CollCall *call, double size_B, Plan *plan)
{
  const guint n_nodes = call->group.n_nodes, g = call->group.ranks_per_node;
  const guint n = n_nodes * g;
  g_autofree guint *by_node = g_new(guint, n);  /* ranks, node after node */
  g_autofree guint *by_local = g_new(guint, n); /* ranks, place after place */
  g_autofree guint *blocks = g_new(guint, g);
  g_autofree guint *chunks = g_new(guint, n);
  g_autofree guint *arrived = g_new(guint, n);
  g_autofree PlanRing *inside = g_new(PlanRing, n_nodes);
  g_autofree PlanRing *between = g_new(PlanRing, g);

  for (guint i = 0; i < n; i++) {
    by_node[i] = i;
    by_local[i] = i % n_nodes * g + i / n_nodes;
    chunks[i] = i;
    arrived[i] = PLAN_START;
  }
  for (guint l = 0; l < g; l++)
    blocks[l] = l * n_nodes;
  for (guint node = 0; node < n_nodes; node++)
    inside[node] =
      (PlanRing){ g, &by_node[(gsize)node * g], blocks, n_nodes, size_B / g, arrived };
  for (guint l = 0; l < g; l++)
    between[l] = (PlanRing){
      n_nodes, &by_local[(gsize)l * n_nodes], &chunks[(gsize)l * n_nodes], 1, size_B / n,
      arrived
    };

  plan_pass(inside, n_nodes, true, plan);
  plan_pass(between, g, true, plan);
  plan_pass(between, g, false, plan);
  plan_pass(inside, n_nodes, false, plan);
}

/* The ring of every node, in all ring orders of the fabric. */
static void add_inside(const CollCall *call, const Topology *topology, CollKind kind,
                       const char *name, GArray *phases)
{
  const guint g = call->group.ranks_per_node;
  g_autoptr(Rings) rings = rings_new(call, 1, topology);
  const guint n_channels = rings_n_channels(rings);
  g_autofree guint *ranks = g_new(guint, g);
  g_autofree RingEdge *edges = g_new(RingEdge, g);
  g_autoptr(FlowSet) set = flow_set_new();
  RingChain worst = { 0 };

  for (guint i = 0; i < n_channels * call->group.n_nodes; i++) {
    rings_visit(rings, i % n_channels, i / n_channels, ranks);
    for (guint k = 0; k < g; k++)
      edges[k] = rings_add_flow(call, topology, ranks[k], ranks[(k + 1) % g], 0,
                                rings_share(kind, g) / n_channels, set);
    const RingChain chain = rings_chain(edges, g, rings_n_laps(kind));
    if (i == 0 || chain.latency_s > worst.latency_s)
      worst = chain;
  }
  rings_add_phase(phases, name, g_steal_pointer(&set), worst, topology);
}

/* The part of the g-th of rank place @p l that rail @p rail carries: the g parts and the
 * rails are laid side by side, and neighbours meet. */
static double overlap(guint l, guint g, guint rail, guint n_rails)
{
  const guint64 from = MAX((guint64)l * n_rails, (guint64)rail * g);
  const guint64 to = MIN((l + 1ull) * n_rails, (rail + 1ull) * g);
  return to > from ? (double)(to - from) / ((double)g * n_rails) : 0;
}

/* The ring of the ranks at place @p l on rail @p rail. */
static RingChain add_rail(const CollCall *call, const Topology *topology, guint l,
                          guint rail, double share, FlowSet *set)
{
  const guint n_nodes = call->group.n_nodes, g = call->group.ranks_per_node;
  g_autofree RingEdge *edges = g_new(RingEdge, n_nodes);

  for (guint node = 0; node < n_nodes; node++)
    edges[node] = rings_add_flow(call, topology, node * g + l, (node + 1) % n_nodes * g + l,
                                 rail, share, set);
  return rings_chain(edges, n_nodes, rings_n_laps(COLL_ALL_REDUCE));
}

static void add_between(const CollCall *call, const Topology *topology, GArray *phases)
{
  const guint g = call->group.ranks_per_node;
  const double share = rings_share(COLL_ALL_REDUCE, call->group.n_nodes);
  g_autoptr(FlowSet) set = flow_set_new();
  RingChain worst = { 0 };

  for (guint l = 0; l < g; l++) {
    for (guint rail = 0; rail < call->n_rails; rail++) {
      const double part = overlap(l, g, rail, call->n_rails);
      if (!(part > 0))
        continue;
      const RingChain chain = add_rail(call, topology, l, rail, share * part, set);
      if (worst.n_net_hops == 0 || chain.latency_s > worst.latency_s)
        worst = chain;
    }
  }
  rings_add_phase(phases, "ring", g_steal_pointer(&set), worst, topology);
}

static void hierarchical_phases(const CollCall *call, const Topology *topology,
                                GArray *phases)
{
  const bool several_nodes = call->group.n_nodes > 1;

  if (call->group.ranks_per_node == 1) {
    if (several_nodes)
      add_between(call, topology, phases);
    return;
  }
  if (!several_nodes) {
    add_inside(call, topology, COLL_ALL_REDUCE, "ring", phases);
    return;
  }
  add_inside(call, topology, COLL_REDUCE_SCATTER, "reduce_scatter", phases);
  add_between(call, topology, phases);
  add_inside(call, topology, COLL_ALL_GATHER, "all_gather", phases);
}

static double hierarchical_ideal_s(const CollCall *call, double size_B,
                                   const CollCost *cost)
{
  const guint n_nodes = call->group.n_nodes, g = call->group.ranks_per_node;
  const double inside_s =
    2 * ((g - 1) * cost->local.alpha_s +
         rings_share(COLL_ALL_GATHER, g) * size_B / cost->local.bandwidth_Bps);
  const double between_s =
    2 * (n_nodes - 1) * cost->net.alpha_s + rings_share(COLL_ALL_REDUCE, n_nodes) * size_B /
                                              (call->n_rails * cost->net.bandwidth_Bps);

  return (g > 1 ? inside_s : 0) + (n_nodes > 1 ? between_s : 0);
}

const CollOps coll_hierarchical = {
  .info = {
    .name = "hierarchical",
    .summary = "reduce-scatter inside nodes, rings between them, all-gather inside",
    .source = "horovod 0.28.1, NCCLTorusAllreduce",
  },
  .kinds = COLL_ALL_REDUCE,
  .exact = true,
  .plan = hierarchical_plan,
  .n_chunks = hierarchical_n_chunks,
  .phases = hierarchical_phases,
  .ideal_s = hierarchical_ideal_s,
};
