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
#include "models/collective/hierarchical.h"

Grid hierarchical_grid(const CollCall *call)
{
  return (Grid){ call->group->n_nodes, call->group->first_rank,
                 group_max_local(call->group) };
}

static guint hierarchical_n_chunks(const CollCall *call, double size_B G_GNUC_UNUSED)
{
  const Grid grid = hierarchical_grid(call);
  return grid_n_chunks(&grid);
}

static void hierarchical_plan(const CollCall *call, double size_B, Plan *plan)
{
  const Grid grid = hierarchical_grid(call);
  grid_plan(&grid, size_B, plan);
}

void hierarchical_add_inside(const CollCall *call, const Topology *topology, CollKind kind,
                             const char *name, GArray *phases)
{
  const Grid grid = hierarchical_grid(call);
  g_autoptr(Rings) rings = rings_new(call, 1, topology);
  const guint n_channels = rings_n_channels(rings);
  g_autofree guint *ranks = g_new(guint, grid.n_blocks);
  g_autofree Chain *hops = g_new(Chain, grid.n_blocks);
  Draft *draft = draft_new(call, topology);
  Chain worst = { 0 };

  for (guint i = 0; i < n_channels * call->group->n_nodes; i++) {
    const guint node = i / n_channels, g = group_n_local(call->group, node);
    if (g == 1)
      continue;
    rings_visit(rings, i % n_channels, node, ranks);
    for (guint k = 0; k < g; k++) {
      const guint src = ranks[k], dst = ranks[(k + 1) % g];
      const double share =
        grid_row_share(&grid, node, src - grid.first[node], dst - grid.first[node], kind);
      hops[k] = draft_add_flow(draft, src, dst, 0, share / n_channels);
    }
    const Chain chain = rings_chain(hops, g, rings_n_laps(kind));
    if (chain_is_longer(chain, worst))
      worst = chain;
  }
  draft_finish(draft, name, worst, 0, phases);
}

/* The ring of the owners of @p block on rail @p rail: one hop per node. */
static void add_rail(Draft *draft, const Grid *grid, guint block, guint rail, double share,
                     GArray *hops)
{
  const guint n_nodes = grid->n_rows;

  for (guint node = 0; node < n_nodes; node++) {
    const Chain hop =
      draft_add_flow(draft, grid_owner(grid, node, block),
                     grid_owner(grid, (node + 1) % n_nodes, block), rail, share);
    g_array_append_val(hops, hop);
  }
}

static void add_between(const CollCall *call, const Topology *topology, GArray *phases)
{
  const Grid grid = hierarchical_grid(call);
  const guint n_laps = rings_n_laps(COLL_ALL_REDUCE);
  const double share = rings_share(COLL_ALL_REDUCE, call->group->n_nodes);
  g_autoptr(GArray) hops = g_array_new(FALSE, FALSE, sizeof(Chain));
  Draft *draft = draft_new(call, topology);
  Chain worst = { 0 };

  for (guint block = 0; block < grid.n_blocks; block++)
    for (guint rail = 0; rail < call->n_rails; rail++) {
      const double part = grid_rail_share(&grid, block, rail, call->n_rails);
      if (part > 0)
        add_rail(draft, &grid, block, rail, share * part, hops);
    }
  g_autofree double *loads = draft_loads(draft, 0);
  for (guint first = 0; first < hops->len; first += grid.n_rows) {
    const Chain chain = rings_chain_of_flows(
      draft, loads, first, 1, &g_array_index(hops, Chain, first), grid.n_rows, n_laps);
    if (chain_is_longer(chain, worst))
      worst = chain;
  }
  draft_finish(draft, "ring", worst, 0, phases);
}

static void hierarchical_phases(const CollCall *call, const Topology *topology,
                                GArray *phases)
{
  if (call->group->n_nodes == 1) {
    hierarchical_add_inside(call, topology, COLL_ALL_REDUCE, "ring", phases);
    return;
  }
  hierarchical_add_inside(call, topology, COLL_REDUCE_SCATTER, "reduce_scatter", phases);
  add_between(call, topology, phases);
  hierarchical_add_inside(call, topology, COLL_ALL_GATHER, "all_gather", phases);
}

double hierarchical_inside_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const Grid grid = hierarchical_grid(call);
  double longest_s = 0;

  for (guint node = 0; node < grid.n_rows; node++) {
    const guint g = group_n_local(call->group, node);
    const double block_B = size_B / grid.n_blocks;
    const guint most_blocks = (grid.n_blocks + g - 1) / g;
    const double most_B = most_blocks * block_B;
    longest_s =
      MAX(longest_s, (g - 1) * (cost->local.alpha_s + most_B / cost->local.bandwidth_Bps));
  }
  return longest_s;
}

static double hierarchical_ideal_s(const CollCall *call, double size_B,
                                   const CollCost *cost)
{
  const guint n_nodes = call->group->n_nodes;
  const double net_Bps = call->n_rails * cost->net.bandwidth_Bps;
  double time_s =
    group_max_local(call->group) > 1 ? 2 * hierarchical_inside_s(call, size_B, cost) : 0;

  if (n_nodes > 1)
    time_s += 2 * (n_nodes - 1) * cost->net.alpha_s +
              rings_share(COLL_ALL_REDUCE, n_nodes) * size_B / net_Bps;
  return time_s;
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
