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
