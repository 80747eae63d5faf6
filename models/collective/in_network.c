/**
 * @file in_network.c
 * @brief All-reduce by switches that sum: NVLink SHARP inside nodes, SHARP between them.
 *
 * The ranks that have the sum of a block in their nodes, see nvls.h, send it to a switch of
 * the network and get the sum of all nodes back: the buffer goes up once and down once. R.
 * L. Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016.
 *
 * A flow between nodes stands for what one sends up and what the next gets down: the same
 * NICs, and the same uplinks if neighbours share switches.
 */
#include "models/collective/nvls.h"

/* Owners to the switch between nodes, and back. */
static void sum_nodes(const NvlsParcel *parcel)
{
  const guint n = parcel->call->group->n_nodes;
  const guint hub = parcel->call->group->n_ranks + n;
  const guint first = plan_n_steps(parcel->plan);

  for (guint node = 0; n > 1 && node < n; node++)
    nvls_send(parcel, parcel->owner[node], hub, true, parcel->at_owner[node]);
  for (guint node = 0; n > 1 && node < n; node++) {
    parcel->at_owner[node] = nvls_send(parcel, hub, parcel->owner[node], false, PLAN_START);
    if (node > 0)
      plan_also_after_same(parcel->plan, first + n);
    else
      for (guint i = 0; i < n; i++)
        plan_also_after(parcel->plan, first + i);
  }
}

static void in_network_plan(const CollCall *call, double size_B, Plan *plan)
{
  const guint n_nodes = call->group->n_nodes;
  const Grid grid = nvls_grid(call);
  g_autofree guint *owner = g_new(guint, n_nodes);
  g_autofree guint *at_owner = g_new(guint, n_nodes);

  for (guint chunk = 0; chunk < plan_n_chunks(plan); chunk++) {
    const NvlsParcel parcel = { call,  chunk,    size_B / plan_n_chunks(plan),
                                owner, at_owner, plan };
    for (guint node = 0; node < n_nodes; node++) {
      owner[node] = grid_owner(&grid, node, chunk % grid.n_blocks);
      at_owner[node] = PLAN_START;
      nvls_load(&parcel, node);
    }
    sum_nodes(&parcel);
    for (guint node = 0; node < n_nodes; node++)
      nvls_store(&parcel, node, PLAN_START);
  }
}

/* Once through the switches between nodes, blocks spread over rails as in hierarchical.c.
 */
static Chain add_between(const CollCall *call, Draft *draft)
{
  const Grid grid = nvls_grid(call);
  const guint n = grid.n_rows;
  Chain slowest = { 0 };

  for (guint block = 0; n > 1 && block < grid.n_blocks; block++)
    for (guint rail = 0; rail < call->n_rails; rail++) {
      const double part = grid_rail_share(&grid, block, rail, call->n_rails);
      for (guint node = 0; part > 0 && node < n; node++) {
        const Chain hop =
          draft_add_flow(draft, grid_owner(&grid, node, block),
                         grid_owner(&grid, (node + 1) % n, block), rail, part);
        if (chain_is_longer(hop, slowest))
          slowest = hop;
      }
    }
  return slowest;
}

static void in_network_phases(const CollCall *call, const Topology *topology,
                              GArray *phases)
{
  if (call->group->n_ranks == 1)
    return;

  Draft *draft = draft_new(call, topology);
  const Chain inside = nvls_add_flows(call, topology, draft);
  const guint n_inside = draft_n_flows(draft);
  const Chain between = add_between(call, draft);
  const double way_s_per_B = 2 * nvls_longest_s_per_B(draft, 0, n_inside) +
                             nvls_longest_s_per_B(draft, n_inside, draft_n_flows(draft));

  draft_finish(draft, "in_network", chain_join(inside, between), way_s_per_B, phases);
}

static double in_network_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  return nvls_ideal_s(call, size_B, cost, 1, 1, 1);
}

const CollOps coll_in_network = {
  .info = {
    .name = "in_network",
    .summary = "switches sum: NVLink SHARP inside nodes, SHARP between them",
    .source = "Graham et al., COMHPC 2016; NCCL 2.30.7",
  },
  .kinds = COLL_ALL_REDUCE,
  .n_switches = nvls_n_switches,
  .plan = in_network_plan,
  .n_chunks = nvls_n_chunks,
  .phases = in_network_phases,
  .ideal_s = in_network_ideal_s,
};
