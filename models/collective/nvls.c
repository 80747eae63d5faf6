#include "models/collective/nvls.h"

Grid nvls_grid(const CollCall *call)
{
  return (Grid){ call->group->n_nodes, call->group->first_rank,
                 group_max_local(call->group) };
}

guint nvls_n_switches(const CollCall *call)
{
  return call->group->n_nodes + 1;
}

guint nvls_n_chunks(const CollCall *call, double size_B)
{
  return group_max_local(call->group) * coll_n_chunks(size_B, call->chunk_B);
}

guint nvls_send(const NvlsParcel *parcel, guint src, guint dst, bool reduce, guint after)
{
  return plan_add(parcel->plan, (PlanStep){ .src = src,
                                            .dst = dst,
                                            .first_chunk = parcel->chunk,
                                            .n_chunks = 1,
                                            .after = after,
                                            .reduce = reduce,
                                            .size_B = parcel->chunk_B });
}

void nvls_load(const NvlsParcel *parcel, guint node)
{
  const Group *group = parcel->call->group;
  const guint n = group_n_local(group, node), hub = group->n_ranks + node;
  guint last = PLAN_START;

  if (n == 1)
    return;
  for (guint i = 0; i < n; i++)
    last = nvls_send(parcel, group->first_rank[node] + i, hub, true, PLAN_START);
  parcel->at_owner[node] = nvls_send(parcel, hub, parcel->owner[node], false, last);
  for (guint i = 1; i < n; i++)
    plan_also_after(parcel->plan, last - i);
}

void nvls_store(const NvlsParcel *parcel, guint node, guint also)
{
  const Group *group = parcel->call->group;
  const guint n = group_n_local(group, node), hub = group->n_ranks + node;
  guint put = PLAN_START;

  if (n == 1)
    return;
  put = nvls_send(parcel, parcel->owner[node], hub, false, parcel->at_owner[node]);
  plan_also_after(parcel->plan, also);
  for (guint i = 0; i < n; i++)
    nvls_send(parcel, hub, group->first_rank[node] + i, false, put);
}

/* Part of the buffer that a rank owns. */
static double own_part(const Grid *grid, guint node, guint place)
{
  return (double)(grid_first_block(grid, node, place + 1) -
                  grid_first_block(grid, node, place)) /
         grid->n_blocks;
}

Chain nvls_add_flows(const CollCall *call, const Topology *topology, Draft *draft)
{
  const Grid grid = nvls_grid(call);
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

double nvls_longest_s_per_B(const Draft *draft, guint first, guint last)
{
  g_autofree double *loads = draft_loads(draft, 0);
  double s_per_B = 0;

  for (guint i = first; i < last; i++)
    s_per_B = MAX(s_per_B, draft_flow_s_per_B(draft, loads, i));
  return s_per_B;
}

double nvls_ideal_s(const CollCall *call, double size_B, const CollCost *cost,
                    double net_hops, double net_share, double net_way)
{
  const Grid grid = nvls_grid(call);
  const bool inside = grid.n_blocks > 1, between = grid.n_rows > 1;
  double most = 0;

  for (guint node = 0; node < grid.n_rows; node++)
    if (group_n_local(call->group, node) > 1)
      most = MAX(most, 1 + own_part(&grid, node, group_n_local(call->group, node) - 1));
  const double local_s_per_B = inside ? most / cost->local.bandwidth_Bps : 0;
  const double net_s_per_B = between ? 1 / (call->n_rails * cost->net.bandwidth_Bps) : 0;
  const double bound_s_per_B = MAX(local_s_per_B, net_share * net_s_per_B);
  const double fill_s_per_B = 2 * local_s_per_B + net_way * net_s_per_B - bound_s_per_B;

  return (inside ? 2 * cost->local.alpha_s : 0) +
         (between ? net_hops * cost->net.alpha_s : 0) + bound_s_per_B * size_B +
         MAX(0, fill_s_per_B) * coll_chunk_B(size_B, call->chunk_B);
}
