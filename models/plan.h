/**
 * @file plan.h
 * @brief A communication plan: who sends what to whom, and after which message.
 *
 * The first of the three views of a collective, for any small number of ranks.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define PLAN_START G_MAXUINT /**< "after nothing": the message may leave at once */

typedef struct {
  guint src, dst;              /**< ranks */
  guint first_chunk, n_chunks; /**< which parts of the buffer travel */
  guint after;                 /**< id of the message that must have arrived at src */
  bool reduce;                 /**< summed into what dst holds; otherwise replaces it */
  double size_B;               /**< payload [B] */
} PlanStep;

typedef struct Plan Plan;

Plan *plan_new(guint n_ranks, guint n_chunks);
void plan_free(Plan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plan, plan_free)

/** Append @p step and return its id; ids count up from 0. */
guint plan_add(Plan *plan, PlanStep step);
guint plan_n_ranks(const Plan *plan);
guint plan_n_chunks(const Plan *plan);
guint plan_n_steps(const Plan *plan);
const PlanStep *plan_step(const Plan *plan, guint id);

/** Cost of one message on one link: alpha + size / bandwidth. The link is busy for
 *  size / bandwidth; alpha delays the message and not the next one. */
typedef struct {
  double alpha_s;       /**< fixed cost per message [s] */
  double bandwidth_Bps; /**< [B/s] */
} LinkCost;

/** Finish time when each rank sends one message at a time on a link of its own [s].
 *  @param cost_of  the link of a message from src to dst; borrowed */
double plan_critical_path_s(const Plan *plan,
                            const LinkCost *(*cost_of)(guint src, guint dst, void *data),
                            void *data);
