/* The time that no algorithm beats. */
#include "models/collective.h"

#include <math.h>

/* Bytes that n parties must send in all, per byte of the message: each of n pieces has n-1
 * journeys to make to be summed, and n-1 to be known everywhere. Two for an all-reduce; a
 * broadcast or reduction moves the whole n-1 times.
 * R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004. */
static double total_share(CollKind kind, double n)
{
  if (kind == COLL_SEND_RECV)
    return n > 1 ? n : 0;
  return (kind == COLL_ALL_REDUCE ? 2 : 1) * (n - 1);
}

/* Of them, what must cross between nodes. All-to-all: a rank has 1/n for each other. */
static double net_share(const CollCall *call)
{
  const Group *group = call->group;
  double share = 0;

  if (call->kind != COLL_ALL_TO_ALL)
    return total_share(call->kind, group->n_nodes);
  for (guint node = 0; node < group->n_nodes; node++) {
    const double n_local = group_n_local(group, node);
    share += n_local * (group->n_ranks - n_local) / group->n_ranks;
  }
  return share;
}

/* What the rank that hears most must receive; a reduction turned around: must send. */
static double rank_share(CollKind kind, double n)
{
  if (kind == COLL_BROADCAST || kind == COLL_REDUCE || kind == COLL_SEND_RECV)
    return 1;
  return total_share(kind, n) / n;
}

static double local_Bps(const CollCall *call, const CollCost *cost)
{
  return group_max_local(call->group) > 1 ? cost->local.bandwidth_Bps : 0;
}

static double node_Bps(const CollCall *call, const CollCost *cost)
{
  return call->group->n_nodes > 1 ? call->n_rails * cost->net.bandwidth_Bps : 0;
}

static double least_alpha_s(const CollCall *call, const CollCost *cost)
{
  if (call->group->n_nodes == 1)
    return cost->local.alpha_s;
  if (group_max_local(call->group) == 1)
    return cost->net.alpha_s;
  return MIN(cost->local.alpha_s, cost->net.alpha_s);
}

double coll_floor_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const double n_nodes = call->group->n_nodes, n = call->group->n_ranks;
  if (n < 2)
    return 0;

  const bool hears_of_all = !(call->kind & (COLL_ALL_TO_ALL | COLL_SEND_RECV));
  const double port_Bps = local_Bps(call, cost) + node_Bps(call, cost);
  const double cluster_Bps = n * local_Bps(call, cost) + n_nodes * node_Bps(call, cost);
  const double alpha_s = least_alpha_s(call, cost);
  double floor_s = total_share(call->kind, n) * size_B / cluster_Bps;

  floor_s = MAX(floor_s, rank_share(call->kind, n) * size_B / port_Bps) + alpha_s;
  if (hears_of_all)
    floor_s = MAX(floor_s, ceil(log2(n)) * alpha_s);
  if (n_nodes > 1) {
    const double nics_s = net_share(call) * size_B / (n_nodes * node_Bps(call, cost));
    floor_s = MAX(floor_s, nics_s + cost->net.alpha_s);
  }
  return floor_s;
}

double coll_floor_of_s(const CollOps *ops, const CollCall *call, double size_B,
                       const CollCost *cost)
{
  if (ops->n_switches == NULL || call->group->n_ranks < 2)
    return coll_floor_s(call, size_B, cost);
  if (call->group->n_nodes > 1)
    return size_B / node_Bps(call, cost) + cost->net.alpha_s;
  return size_B / local_Bps(call, cost) + cost->local.alpha_s;
}
