/**
 * @file unit_plan.h
 * @brief Which way each unit of an iteration travels, so that the last ends soonest.
 *
 * Units pass two queues, both first come, first served: work of the GPU on what is to be
 * sent (copies, encoding), the exchange, and in the first queue again work on what has
 * arrived (decoding, copies). A way is a codec; what it saves in the exchange it may cost
 * in the queue of the GPU, so that times of units alone do not decide.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** What one unit takes by one way [s]. */
typedef struct {
  double before_s, exchange_s, after_s;
} WayCost;

typedef struct {
  guint n_units, n_ways;
  const double *ready_s; /**< of each unit, ascending */
  const WayCost *costs;  /**< of unit u by way w: [u * n_ways + w] */
} UnitPlan;

/** When the last unit has passed, each by its way of @p ways [s]. */
double unit_plan_end_s(const UnitPlan *plan, const guint *ways);

/**
 * Fill @p ways. Begins with the one way for all units that ends soonest, then lets each
 * unit change while that helps; so it never ends later than any one way for all. Where
 * another way would not end sooner, a unit takes way 0.
 * @return when the last unit has passed [s]
 */
double unit_plan_choose(const UnitPlan *plan, guint *ways);
