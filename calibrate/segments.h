/**
 * @file segments.h
 * @brief Where to cut a curve, and the straight lines between the cuts.
 */
#pragma once

#include "calibrate/law.h"

/** A line through points first..last, inclusive. */
typedef struct {
  guint first, last;
  double alpha_s, s_per_unit;
} Segment;

/** Cuts of one curve. */
typedef struct {
  const LawKnot *points; /**< by size, borrowed */
  guint n_points;
  guint min_sizes; /**< different sizes in a segment, >= 2 */
  double cap;      /**< the most that one point costs: squared log residual */
} SegmentTask;

/**
 * The best cuts into 1..@p max segments, by dynamic programming.
 * @param segments  max * max of them: row k - 1 gets those of k segments
 * @param cost      max sums of squared log residuals; INFINITY where there is no room
 */
void segments_cut(const SegmentTask *task, guint max, Segment *segments, double *cost);

/** Time at @p size by the segment that holds it; @p n >= 1 [s]. */
double segments_time_s(const SegmentTask *task, const Segment *segments, guint n,
                       double size);
