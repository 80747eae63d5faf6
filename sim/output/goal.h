/**
 * @file goal.h
 * @brief A plan as GOAL text, which LogGOPSim and its successors simulate.
 *
 *     num_ranks 2
 *     rank 0 {
 *     s0: send 1048576b to 1 tag 0
 *     r1: recv 1048576b from 1 tag 1
 *     s2: send 1048576b to 1 tag 2
 *     s2 requires r1
 *     }
 *
 * Message i of the plan is sN: send at its source and rN: recv at its destination, N = i.
 *
 * Source: T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP
 * 2009; T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", LSAP 2010.
 */
#pragma once

#include "models/plan.h"

/** @param comment  one line on what it is */
void goal_render(const Plan *plan, const char *comment, GString *out);

#define GOAL_NONE G_MAXUINT

/** A collective of an iteration: some of the plan's messages. */
typedef struct {
  guint first, end;    /**< they are first .. end - 1 of the plan; those of an earlier
                            exchange come before */
  guint after_compute; /**< number of the piece of computing it waits for, or GOAL_NONE */
  guint after[2];      /**< numbers of earlier exchanges it waits for, or GOAL_NONE */
  double wait_s;       /**< from then until its first message leaves [s] */
  double finish_s;     /**< after its last message, beside what follows [s] */
  bool before_compute; /**< the first piece of computing waits for it */
} GoalExchange;

/** One iteration, alike on all GPUs: ranks 0 .. n_gpus - 1; those beyond are switches. */
typedef struct {
  const Plan *plan;
  guint n_gpus;
  const GoalExchange *exchanges;
  guint n_exchanges;
  const double *compute_s; /**< pieces that follow one another [s] */
  guint n_pieces;          /**< >= 1 */
  double optimizer_s;      /**< after all of them and all exchanges [s] */
} GoalIteration;

/**
 * The iteration as GOAL text, times in nanoseconds (at least 1). Of every rank: kI are the
 * pieces of computing on its cpu 0, and o the optimizer; dI on cpu 1 is what exchange I
 * waits before its messages, xI their end, fI on cpu 2 what it needs after them.
 */
void goal_render_iteration(const GoalIteration *iteration, const char *comment,
                           GString *out);
