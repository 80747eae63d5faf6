/**
 * @file fit_quality.h
 * @brief How well a law holds, and the knots beside it.
 */
#pragma once

#include "calibrate/law.h"

/** Fill fit, knots, knots_change and the valid sizes of @p law from the points (LawKnot by
 *  size) that it was fitted to. */
void quality_fill(Law *law, const GArray *points, bool monotone);

/** The same figures from times that were predicted elsewhere: GArrays of double. */
void quality_of_times(LawFit *fit, const double *time_s, const double *fitted_s, guint n);

/** Mark every second of the different sizes, but neither the first nor the last. */
void quality_hold_second_sizes(const LawKnot *points, guint n, bool *held_out);
