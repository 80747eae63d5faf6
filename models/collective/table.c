#include "models/collective.h"

#include <math.h>

/* In the order `list` shows them. */
const ModuleInfo *const coll_table[] = {
  &coll_ring.info,
  &coll_hierarchical.info,
  NULL,
};

const CollOps *coll_find(const char *name, GError **error)
{
  return (const CollOps *)registry_find("collective", coll_table, name, error);
}

static void phase_clear(CollPhase *phase)
{
  flow_set_free(phase->set);
}

GArray *coll_phases_new(void)
{
  GArray *phases = g_array_new(FALSE, FALSE, sizeof(CollPhase));
  g_array_set_clear_func(phases, (GDestroyNotify)phase_clear);
  return phases;
}

/* Bytes that n parties must send in all, per byte of the message: each of the n pieces
 * has n-1 journeys to make to be summed, and n-1 to be known everywhere. Two for an
 * all-reduce. R. Rabenseifner, "Optimization of collective reduction operations",
 * ICCS 2004. */
static double total_share(CollKind kind, double n)
{
  return (kind == COLL_ALL_REDUCE ? 2 : 1) * (n - 1);
}

static double local_Bps(const CollCall *call, const CollCost *cost)
{
  return call->group.ranks_per_node > 1 ? cost->local.bandwidth_Bps : 0;
}

static double node_Bps(const CollCall *call, const CollCost *cost)
{
  return call->group.n_nodes > 1 ? call->n_rails * cost->net.bandwidth_Bps : 0;
}

static double least_alpha_s(const CollCall *call, const CollCost *cost)
{
  if (call->group.n_nodes == 1)
    return cost->local.alpha_s;
  if (call->group.ranks_per_node == 1)
    return cost->net.alpha_s;
  return MIN(cost->local.alpha_s, cost->net.alpha_s);
}

double coll_floor_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const double n_nodes = call->group.n_nodes;
  const double n = n_nodes * call->group.ranks_per_node;
  if (n < 2)
    return 0;

  const double cluster_Bps = n * local_Bps(call, cost) + n_nodes * node_Bps(call, cost);
  const double alpha_s = least_alpha_s(call, cost);
  double floor_s = total_share(call->kind, n) * size_B / cluster_Bps + alpha_s;
  floor_s = MAX(floor_s, ceil(log2(n)) * alpha_s);
  if (call->group.n_nodes > 1) {
    const double nics_s =
      total_share(call->kind, n_nodes) * size_B / (n_nodes * node_Bps(call, cost));
    floor_s = MAX(floor_s, nics_s + cost->net.alpha_s);
  }
  return floor_s;
}
