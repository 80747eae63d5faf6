/**
 * @file interval.h
 * @brief How far from a law the next measurement may lie.
 */
#pragma once

#include "calibrate/law.h"

/**
 * Standard deviation of the logarithm of single times about the law: of a piecewise law
 * every second knot as the others predict it, else the residuals; both by their median, so
 * that a wild cell says nothing. 0 if nobody knows.
 */
double interval_scatter(const Law *law);

/** Is the law asked about what nobody measured: a size beyond its range, or, of a law of
 *  hops, a number of nodes beyond those? */
bool interval_is_outside(const Law *law, double size, guint nodes);

/**
 * The time at @p size on @p ranks and @p nodes (0: the key's) and the 95 % interval of a
 * measurement of it. Between knots that is the scatter; elsewhere the parameters' own
 * intervals add to it, each end of them at once, so that it is rather too wide than too
 * narrow.
 */
Estimate interval_of(const Law *law, double size, guint ranks, guint nodes);

/** Ends of a 95 % interval, in standard deviations. */
#define INTERVAL_SIGMAS 1.96
