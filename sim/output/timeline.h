/** @file timeline.h  @brief What trace and picture both read from a timeline. */
#pragma once

#include "models/result.h"

/** From @ref start_s until the next step, a tier is used by @ref share. */
typedef struct {
  double start_s;
  double share;
} UseStep;

/**
 * Use of one tier over time: the sum over the transfers in flight. Each is known by its
 * mean, so that a sum can pass 1 for a moment; it is cut off there.
 * @return GArray of UseStep by time, from one step on; empty if nothing used the tier.
 *         Transfer: caller unrefs.
 */
GArray *timeline_use(const Result *result, guint tier);

/** The stretch that is the last measured iteration; false without a timeline. */
bool timeline_last(const Result *result, double *start_s, double *end_s);
