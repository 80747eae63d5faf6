#include "models/unit_plan.h"

/* Ends nearer than this, relative, are the same. */
#define SAME_END 1e-9
/* Each pass over all units ends sooner than the one before; few are ever needed. */
#define MAX_PASSES 8

static const WayCost *cost_of(const UnitPlan *plan, const guint *ways, guint unit)
{
  return &plan->costs[unit * plan->n_ways + ways[unit]];
}

double unit_plan_end_s(const UnitPlan *plan, const guint *ways)
{
  g_autofree double *arrived_s = g_new(double, plan->n_units + 1);
  double free_s = 0, wire_s = 0; /* when the first queue, and the exchange, are free */
  guint n_before = 0, n_after = 0;

  while (n_after < plan->n_units) {
    const bool sends =
      n_before < plan->n_units &&
      (n_after == n_before || plan->ready_s[n_before] <= arrived_s[n_after]);
    if (sends) {
      const WayCost *cost = cost_of(plan, ways, n_before);
      free_s = MAX(free_s, plan->ready_s[n_before]) + cost->before_s;
      wire_s = MAX(wire_s, free_s) + cost->exchange_s;
      arrived_s[n_before++] = wire_s;
    } else {
      free_s = MAX(free_s, arrived_s[n_after]) + cost_of(plan, ways, n_after)->after_s;
      n_after++;
    }
  }
  return free_s;
}

static bool is_sooner(double end_s, double than_s)
{
  return end_s < than_s * (1 - SAME_END);
}

/* The same way for all. */
static double choose_one(const UnitPlan *plan, guint *ways)
{
  guint best = 0;
  double best_s = G_MAXDOUBLE;

  for (guint way = 0; way < plan->n_ways; way++) {
    for (guint u = 0; u < plan->n_units; u++)
      ways[u] = way;
    const double end_s = unit_plan_end_s(plan, ways);
    if (way == 0 || is_sooner(end_s, best_s)) {
      best = way;
      best_s = end_s;
    }
  }
  for (guint u = 0; u < plan->n_units; u++)
    ways[u] = best;
  return best_s;
}

/* Let @p unit change; returns the new end. */
static double improve(const UnitPlan *plan, guint *ways, guint unit, double best_s)
{
  guint best = ways[unit];

  for (guint way = 0; way < plan->n_ways; way++) {
    ways[unit] = way;
    const double end_s = unit_plan_end_s(plan, ways);
    if (is_sooner(end_s, best_s)) {
      best = way;
      best_s = end_s;
    }
  }
  ways[unit] = best;
  return best_s;
}

/* Back to way 0 where that ends as soon. */
static void spare(const UnitPlan *plan, guint *ways, double best_s)
{
  for (guint u = 0; u < plan->n_units; u++) {
    const guint way = ways[u];
    ways[u] = 0;
    if (unit_plan_end_s(plan, ways) > best_s * (1 + SAME_END))
      ways[u] = way;
  }
}

double unit_plan_choose(const UnitPlan *plan, guint *ways)
{
  double best_s = choose_one(plan, ways);
  bool changes = plan->n_ways > 1;

  for (guint pass = 0; pass < MAX_PASSES && changes; pass++) {
    const double before_s = best_s;
    for (guint u = plan->n_units; u-- > 0;) /* the last ones decide most */
      best_s = improve(plan, ways, u, best_s);
    changes = best_s < before_s;
  }
  spare(plan, ways, best_s);
  return unit_plan_end_s(plan, ways);
}
