/**
 * @file calibration.h
 * @brief What collectives took when somebody measured them.
 *
 * Where the cluster of a scenario has the shape of a measured one, the choice of the
 * library is scaled so that it takes the measured time on idle links: launch, hops and
 * bytes alike, so that overlapping transfers still share the links.
 */
#pragma once

#include "models/library.h"

typedef struct {
  double size_B, time_s;
} CalibrationKnot;

/** One operation on one shape of cluster. */
typedef struct {
  CollKind kind;
  guint n_nodes, n_ranks;
  GArray *knots;  /**< of CalibrationKnot, by size, at least 2; owned */
  double scatter; /**< standard deviation of the logarithm of times about it; 0: unknown */
  const char *by; /**< "measured", "imported": how the times were come by; static */
} CalibrationCurve;

/** An array that owns its curves. Transfer: caller unrefs. */
GArray *calibration_new(void);

/** The curve of @p kind on that shape, or NULL. */
const CalibrationCurve *calibration_find(const GArray *curves, CollKind kind, guint n_nodes,
                                         guint n_ranks);

/** Straight in logarithms between knots; 0 outside what was measured [s]. */
double calibration_time_s(const CalibrationCurve *curve, double size_B);

/** Make everything of @p choice take @p factor times as long. */
void calibration_scale(LibraryChoice *choice, double factor);
