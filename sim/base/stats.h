/** @file stats.h  @brief Summaries of samples (GSL). */
#pragma once

#include <glib.h>

double stats_mean(const double *x, guint n);

/** Linear-interpolated quantile of @p sorted (ascending), 0 <= q <= 1; n > 0. */
double stats_quantile(const double *sorted, guint n, double q);

void stats_sort(double *x, guint n);

/** Half-width of the 95 % confidence interval of the mean (Student); 0 for n < 2. */
double stats_mean_half_width(const double *x, guint n);

/** The line with the least squares through @p n >= 2 points with different @p x. */
void stats_fit_line(const double *x, const double *y, guint n, double *intercept,
                    double *slope);
