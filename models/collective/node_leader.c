/**
 * @file node_leader.c
 * @brief All-reduce by one leader per node: reduce to it, ring of leaders, broadcast.
 *
 * The first rank of every node is its leader. Inside, the buffer comes and goes along a
 * chain in chunks; between, leaders run a ring of the whole buffer. The phases do not
 * overlap. Open MPI's "han" does it so, with other algorithms on both levels: X. Luo et
 * al., "HAN: a hierarchical autotuned collective communication framework", CLUSTER 2020.
 */
#include "models/collective/rings.h"
#include "models/collective/tree.h"

/* Every node a chain that begins at its leader. */
static void chains_init(Tree *tree, const CollCall *call, const Rings *rings)
{
  const Group *group = call->group;
  g_autofree guint *ranks = g_new(guint, group->n_ranks);
  guint *parent = g_new(guint, group->n_ranks);

  rings_visit_all(rings, 0, ranks);
  for (guint node = 0; node < group->n_nodes; node++) {
    const guint first = group->first_rank[node], n = group_n_local(group, node);
    guint leader = 0; /* where its ring passes the first rank */
    while (ranks[first + leader] != first)
      leader++;
    parent[first] = TREE_ROOT;
    for (guint i = 1; i < n; i++)
      parent[ranks[first + (leader + i) % n]] = ranks[first + (leader + i - 1) % n];
  }
  tree_init(tree, group->n_ranks, parent);
}

static guint n_steps(const CollCall *call, double size_B)
{
  return group_max_local(call->group) > 1 ? coll_n_chunks(size_B, call->chunk_B) : 1;
}

static guint node_leader_n_chunks(const CollCall *call, double size_B)
{
  return n_steps(call, size_B) * call->group->n_nodes;
}

/* @p arrived: of every leader: its last sum from its node; then the last of the ring */
static void plan_leaders(const CollCall *call, double size_B, guint *arrived, Plan *plan)
{
  const guint n = call->group->n_nodes, width = n_steps(call, size_B);
  g_autofree guint *own = g_new(guint, n + 1); /* 0, 1, 2, ... */
  g_autofree guint *chunks = g_new(guint, n);
  g_autofree guint *widths = g_new(guint, n);
  g_autofree guint *last = g_new(guint, n);
  g_autofree guint *started = g_new(guint, n);

  for (guint node = 0; node < n; node++) {
    own[node] = node;
    chunks[node] = node * width;
    widths[node] = width;
    started[node] = last[node] = arrived[call->group->first_rank[node]];
  }
  own[n] = n;
  const PlanRing ring = { .n = n,
                          .ranks = call->group->first_rank,
                          .first_chunks = chunks,
                          .n_chunks = widths,
                          .chunk_B = size_B / n / width,
                          .arrived = last,
                          .stride = 1 };
  const PlanRingWait wait = { own, started };
  for (guint pass = 0; pass < 2; pass++)
    for (guint round = 0; round + 1 < n; round++)
      rings_plan_round(&ring, round, pass == 0, &wait, plan);
  for (guint node = 0; node < n; node++)
    arrived[call->group->first_rank[node]] = last[node];
}

static void node_leader_plan(const CollCall *call, double size_B, Plan *plan)
{
  const guint n = call->group->n_ranks, n_nodes = call->group->n_nodes;
  const guint steps = n_steps(call, size_B);
  g_autoptr(Rings) rings = rings_new_chains(call, 1, NULL);
  g_autofree guint *arrived = g_new(guint, n);
  Tree chains;

  chains_init(&chains, call, rings);
  for (guint rank = 0; rank < n; rank++)
    arrived[rank] = PLAN_START;
  const PlanTree pipe = { .tree = &chains,
                          .width = n_nodes,
                          .chunk_B = size_B / steps / n_nodes,
                          .root_after = arrived };
  for (guint step = 0; step < steps; step++)
    tree_plan_chunk(&pipe, 1, step, true, false, arrived, plan);
  plan_leaders(call, size_B, arrived, plan);
  for (guint step = 0; step < steps; step++)
    tree_plan_chunk(&pipe, 1, step, false, true, NULL, plan);
  tree_clear(&chains);
}

static void add_inside(const CollCall *call, const Topology *topology, bool up,
                       GArray *phases)
{
  g_autoptr(Rings) rings = rings_new_chains(call, 1, topology);
  g_autofree Chain *hops = g_new(Chain, call->group->n_ranks);
  Draft *draft = draft_new(call, topology);
  Tree chains;

  chains_init(&chains, call, rings);
  tree_add_flows(&chains, up, 0, 1, draft, hops);
  g_autofree double *loads = draft_loads(draft, 0);
  const TreePath path = tree_longest_path(&chains, draft, 0, hops, loads);
  draft_finish(draft, up ? "reduce" : "broadcast", path.chain, path.fill_s_per_B, phases);
  tree_clear(&chains);
}

static void add_leaders(const CollCall *call, const Topology *topology, GArray *phases)
{
  const guint n = call->group->n_nodes, n_laps = rings_n_laps(COLL_ALL_REDUCE);
  g_autofree Chain *hops = g_new(Chain, n);
  Draft *draft = draft_new(call, topology);

  for (guint node = 0; node < n; node++)
    hops[node] = draft_add_message(draft, call->group->first_rank[node],
                                   call->group->first_rank[(node + 1) % n],
                                   rings_share(COLL_ALL_REDUCE, n));
  g_autofree double *loads = draft_loads(draft, 0);
  const Chain chain = rings_chain_of_flows(draft, loads, 0, call->n_rails, hops, n, n_laps);
  draft_finish(draft, "ring", chain, 0, phases);
}

static void node_leader_phases(const CollCall *call, const Topology *topology,
                               GArray *phases)
{
  add_inside(call, topology, true, phases);
  if (call->group->n_nodes > 1)
    add_leaders(call, topology, phases);
  add_inside(call, topology, false, phases);
}

static double node_leader_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const double n = call->group->n_nodes, g = group_max_local(call->group);
  const double net_Bps = call->n_rails * cost->net.bandwidth_Bps;
  const double chunk_B = coll_chunk_B(size_B, call->chunk_B);
  double time_s = 0;

  if (g > 1)
    time_s += 2 * ((g - 1) * cost->local.alpha_s +
                   (size_B + (g - 2) * chunk_B) / cost->local.bandwidth_Bps);
  if (n > 1)
    time_s += 2 * ((n - 1) * cost->net.alpha_s + (n - 1) / n * size_B / net_Bps);
  return time_s;
}

const CollOps coll_node_leader = {
  .info = {
    .name = "node_leader",
    .summary = "reduce to one rank of each node, ring of those, broadcast",
    .source = "Luo et al., HAN, CLUSTER 2020",
  },
  .kinds = COLL_ALL_REDUCE,
  .exact = true,
  .plan = node_leader_plan,
  .n_chunks = node_leader_n_chunks,
  .phases = node_leader_phases,
  .ideal_s = node_leader_ideal_s,
};
