#include "sim/base/stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

double stats_mean(const double *x, guint n)
{
  return n == 0 ? 0 : gsl_stats_mean(x, 1, n);
}

double stats_quantile(const double *sorted, guint n, double q)
{
  g_return_val_if_fail(n > 0 && q >= 0 && q <= 1, 0);
  return gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
}

void stats_sort(double *x, guint n)
{
  gsl_sort(x, 1, n);
}

double stats_mean_half_width(const double *x, guint n)
{
  static const double two_sided_95 = 0.975; /* leaves 2.5 % on either side */

  if (n < 2)
    return 0;
  const double standard_error = gsl_stats_sd(x, 1, n) / sqrt(n);
  return standard_error * gsl_cdf_tdist_Pinv(two_sided_95, n - 1);
}

void stats_fit_line(const double *x, const double *y, guint n, double *intercept,
                    double *slope)
{
  double cov00, cov01, cov11, sum_of_squares;

  gsl_fit_linear(x, 1, y, 1, n, intercept, slope, &cov00, &cov01, &cov11, &sum_of_squares);
}
