/**
 * @file in_network.c
 * @brief All-reduce by switches that sum: NVLink SHARP inside nodes, SHARP between them.
 *
 * Inside a node every rank owns a block. The switch loads that block from all, sums it and
 * gives it to the owner, who stores the result to all through the switch (NVLS: multimem
 * loads and stores). Between nodes the owners of a block send it to a switch of the network
 * and get the sum back: the buffer goes up once and down once. All in chunks, all steps at
 * once. R. L. Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC
 * 2016; NCCL 2.30.7 src/device/all_reduce.h, NVLS.
 *
 * Ports of a rank carry the buffer and its own block each way, NICs the buffer. Each flow
 * of phases() stands for what one rank sends up and what the next gets down: the same
 * ports, and the same uplinks, if neighbours share switches.
 */
#include "models/collective/grid.h"

static Grid grid_of(const CollCall *call)
{
  return (Grid){ call->group->n_nodes, call->group->first_rank,
                 group_max_local(call->group) };
}

/* One for every node, as ranks n.., and one between the nodes. */
static guint in_network_n_switches(const CollCall *call)
{
  return call->group->n_nodes + 1;
}

static guint in_network_n_chunks(const CollCall *call, double size_B)
{
  return group_max_local(call->group) * coll_n_chunks(size_B, call->chunk_B);
}

/* One chunk of one block on its way. */
typedef struct {
  const CollCall *call;
  guint chunk;
  double size_B;
  guint *owner;    /* of each node */
  guint *at_owner; /* of each node: the message that brought the owner its latest sum */
  Plan *plan;
} Parcel;

static guint send(const Parcel *parcel, guint src, guint dst, bool reduce, guint after)
{
  return plan_add(parcel->plan, (PlanStep){ .src = src,
                                            .dst = dst,
                                            .first_chunk = parcel->chunk,
                                            .n_chunks = 1,
                                            .after = after,
                                            .reduce = reduce,
                                            .size_B = parcel->size_B });
}

/* All ranks of a node to its switch, the sum to the owner. */
static void load(const Parcel *parcel, guint node)
{
  const Group *group = parcel->call->group;
  const guint n = group_n_local(group, node), hub = group->n_ranks + node;
  guint last = PLAN_START;

  if (n == 1)
    return;
  for (guint i = 0; i < n; i++)
    last = send(parcel, group->first_rank[node] + i, hub, true, PLAN_START);
  parcel->at_owner[node] = send(parcel, hub, parcel->owner[node], false, last);
  for (guint i = 1; i < n; i++)
    plan_also_after(parcel->plan, last - i);
}

/* The owner to the switch, which hands it to all. */
static void store(const Parcel *parcel, guint node)
{
  const Group *group = parcel->call->group;
  const guint n = group_n_local(group, node), hub = group->n_ranks + node;
  guint put = PLAN_START;

  if (n == 1)
    return;
  put = send(parcel, parcel->owner[node], hub, false, parcel->at_owner[node]);
  for (guint i = 0; i < n; i++)
    send(parcel, hub, group->first_rank[node] + i, false, put);
}

/* Owners to the switch between nodes, and back. */
static void sum_nodes(const Parcel *parcel)
{
  const guint n = parcel->call->group->n_nodes;
  const guint hub = parcel->call->group->n_ranks + n;
  const guint first = plan_n_steps(parcel->plan);

  for (guint node = 0; n > 1 && node < n; node++)
    send(parcel, parcel->owner[node], hub, true, parcel->at_owner[node]);
  for (guint node = 0; n > 1 && node < n; node++) {
    parcel->at_owner[node] = send(parcel, hub, parcel->owner[node], false, PLAN_START);
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
  const Grid grid = grid_of(call);
  g_autofree guint *owner = g_new(guint, n_nodes);
  g_autofree guint *at_owner = g_new(guint, n_nodes);

  for (guint chunk = 0; chunk < plan_n_chunks(plan); chunk++) {
    const Parcel parcel = {
      call, chunk, size_B / plan_n_chunks(plan), owner, at_owner, plan
    };
    for (guint node = 0; node < n_nodes; node++) {
      owner[node] = grid_owner(&grid, node, chunk % grid.n_blocks);
      at_owner[node] = PLAN_START;
      load(&parcel, node);
    }
    sum_nodes(&parcel);
    for (guint node = 0; node < n_nodes; node++)
      store(&parcel, node);
  }
}

/* Part of the buffer that a rank owns. */
static double own_part(const Grid *grid, guint node, guint place)
{
  return (double)(grid_first_block(grid, node, place + 1) -
                  grid_first_block(grid, node, place)) /
         grid->n_blocks;
}

/* Twice through the switch of every node. */
static Chain add_inside(const CollCall *call, const Topology *topology, Draft *draft)
{
  const Grid grid = grid_of(call);
  g_autoptr(Rings) rings = rings_new(call, 1, topology);
  g_autofree guint *ranks = g_new(guint, grid.n_blocks);
  Chain slowest = { 0 };

  for (guint node = 0; node < grid.n_rows; node++) {
    const guint n = group_n_local(call->group, node);
    rings_visit(rings, 0, node, ranks);
    for (guint i = 0; n > 1 && i < n; i++) {
      const double share = 1 + own_part(&grid, node, ranks[i] - grid.first[node]);
      const Chain hop = draft_add_flow(draft, ranks[i], ranks[(i + 1) % n], 0, share);
      if (chain_is_longer(hop, slowest))
        slowest = hop;
    }
  }
  return chain_join(slowest, slowest);
}

/* Once through the switches between nodes, blocks spread over rails as in hierarchical.c.
 */
static Chain add_between(const CollCall *call, Draft *draft)
{
  const Grid grid = grid_of(call);
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

/* The longest that any of the flows from @p first to @p last - 1 needs for its bytes. */
static double longest_s_per_B(const Draft *draft, const double *loads, guint first,
                              guint last)
{
  double s_per_B = 0;
  for (guint i = first; i < last; i++)
    s_per_B = MAX(s_per_B, draft_flow_s_per_B(draft, loads, i));
  return s_per_B;
}

static void in_network_phases(const CollCall *call, const Topology *topology,
                              GArray *phases)
{
  if (call->group->n_ranks == 1)
    return;

  Draft *draft = draft_new(call, topology);
  const Chain inside = add_inside(call, topology, draft);
  const guint n_inside = draft_n_flows(draft);
  const Chain between = add_between(call, draft);
  g_autofree double *loads = draft_loads(draft, 0);
  const double way_s_per_B = 2 * longest_s_per_B(draft, loads, 0, n_inside) +
                             longest_s_per_B(draft, loads, n_inside, draft_n_flows(draft));

  draft_finish(draft, "in_network", chain_join(inside, between), way_s_per_B, phases);
}

static double in_network_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const Grid grid = grid_of(call);
  const bool inside = grid.n_blocks > 1, between = grid.n_rows > 1;
  double most = 0;

  for (guint node = 0; node < grid.n_rows; node++)
    if (group_n_local(call->group, node) > 1)
      most = MAX(most, 1 + own_part(&grid, node, group_n_local(call->group, node) - 1));
  const double local_s_per_B = inside ? most / cost->local.bandwidth_Bps : 0;
  const double net_s_per_B = between ? 1 / (call->n_rails * cost->net.bandwidth_Bps) : 0;
  const double bound_s_per_B = MAX(local_s_per_B, net_s_per_B);
  const double fill_s_per_B = 2 * local_s_per_B + net_s_per_B - bound_s_per_B;

  return (inside ? 2 * cost->local.alpha_s : 0) + (between ? cost->net.alpha_s : 0) +
         bound_s_per_B * size_B + fill_s_per_B * coll_chunk_B(size_B, call->chunk_B);
}

const CollOps coll_in_network = {
  .info = {
    .name = "in_network",
    .summary = "switches sum: NVLink SHARP inside nodes, SHARP between them",
    .source = "Graham et al., COMHPC 2016; NCCL 2.30.7",
  },
  .kinds = COLL_ALL_REDUCE,
  .n_switches = in_network_n_switches,
  .plan = in_network_plan,
  .n_chunks = in_network_n_chunks,
  .phases = in_network_phases,
  .ideal_s = in_network_ideal_s,
};
