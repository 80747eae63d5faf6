/**
 * @file plan.h
 * @brief A communication plan: who sends what to whom, and after which messages.
 *
 * The first of the three views of a collective, for any small number of ranks. Ids are in
 * an order in which everything could happen, so a plan cannot deadlock. A message carries
 * what its sender holds when the last of those it waits for has arrived. Messages of one
 * channel from one rank to another arrive in the order of their ids.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define PLAN_START G_MAXUINT /**< "after nothing": the message may leave at once */

typedef struct {
  guint src, dst;              /**< ranks */
  guint first_chunk, n_chunks; /**< which parts of the buffer travel */
  guint after;                 /**< id of a message that must have arrived before */
  bool reduce;                 /**< summed into what dst holds; otherwise replaces it */
  guint channel;               /**< of those from src to dst: the messages of one follow one
                                    another, those of different ones share the way */
  guint rail;                  /**< between nodes: 1 + the rail; 0: all rails, evenly */
  double size_B;               /**< payload [B] */
} PlanStep;

typedef struct Plan Plan;

Plan *plan_new(guint n_ranks, guint n_chunks);
void plan_free(Plan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plan, plan_free)

/** Append @p step and return its id; ids count up from 0. */
guint plan_add(Plan *plan, PlanStep step);

/** The step added last waits for @p dep too: a parent for its second child, a server for
 *  its last worker. PLAN_START adds nothing. */
void plan_also_after(Plan *plan, guint dep);

/** The step added last waits for all that step @p id waits for by plan_also_after() as
 *  well: the list is shared, not copied. Excludes plan_also_after(). */
void plan_also_after_same(Plan *plan, guint id);

/** Append all of @p part, whose rank r is @p ranks [r] of @p plan and whose chunks follow
 *  those of @p plan. Waits for nothing that was there before.
 *  @return the id of its first message */
guint plan_append(Plan *plan, const Plan *part, const guint *ranks);

guint plan_n_ranks(const Plan *plan);
guint plan_n_chunks(const Plan *plan);
guint plan_n_steps(const Plan *plan);
const PlanStep *plan_step(const Plan *plan, guint id);

/** How many messages step @p id waits for, and which: PlanStep.after, if any, and the
 *  others. Each begins or ends at one of the step's two ranks, who know that it arrived. */
guint plan_n_after(const Plan *plan, guint id);
guint plan_after(const Plan *plan, guint id, guint index);

/** Cost of one message on one link: alpha + size / bandwidth. The link is busy for
 *  size / bandwidth; alpha delays the message and not the next one. */
typedef struct {
  double alpha_s;       /**< fixed cost per message [s] */
  double bandwidth_Bps; /**< [B/s] */
} LinkCost;

/** Finish time when each rank sends one message at a time on a link of its own, whichever
 *  may leave first [s].
 *  @param cost_of  the link of a message from src to dst; borrowed */
double plan_critical_path_s(const Plan *plan,
                            const LinkCost *(*cost_of)(guint src, guint dst, void *data),
                            void *data);
