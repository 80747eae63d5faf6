/**
 * @file robust.h
 * @brief Linear least squares that a few wild points do not move.
 *
 * Iteratively re-weighted with Tukey's bisquare from an L1 start, on GSL's weighted least
 * squares. gsl_multifit_robust() is no help here: rows divided by their time have the same
 * right-hand side, 1, whose spread of 0 makes it take 1 for the least scale of residuals.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** n rows of p columns: x[row * p + column] c[column] = 1. Rows are the terms of a law
 *  divided by the time, so that residuals are relative. */
typedef struct {
  guint n, p;
  const double *x;
} RobustRows;

typedef struct {
  double *value;  /**< p; none below 0: such columns are left out. Owned by the caller */
  double *error;  /**< p standard errors; may be NULL */
  double *weight; /**< n, 0..1: 0 is an outlier; may be NULL */
  double scale;   /**< of the residuals that are none */
  guint n_used;   /**< columns that were not left out */
} RobustFit;

/** @return false if the columns cannot be told apart, or @p rows has fewer rows than
 *  columns */
bool robust_solve(const RobustRows *rows, RobustFit *fit);

/** 97.5 % quantile of Student's distribution: half of a 95 % interval in standard errors.
 */
double robust_quantile(guint n_points, guint n_parameters);
