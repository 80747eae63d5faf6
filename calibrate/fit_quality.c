#include "calibrate/fit_quality.h"

#include "sim/base/stats.h"

#include <math.h>

static const double mad_to_sigma = 1.4826;
/* Beyond so many sigmas, and never within a percent, a point is called an outlier. */
static const double outlier_sigmas = 5, least_outlier = 0.01;

void quality_hold_second_sizes(const LawKnot *points, guint n, bool *held_out)
{
  guint size_index = 0;

  for (guint i = 0; i < n; i++) {
    if (i > 0 && points[i].size > points[i - 1].size)
      size_index++;
    held_out[i] = size_index % 2 == 1 && points[i].size < points[n - 1].size;
  }
}

static double autocorrelation(const double *residual, guint n)
{
  const double mean = stats_mean(residual, n);
  double together = 0, squares = 0;

  for (guint i = 0; i < n; i++) {
    squares += (residual[i] - mean) * (residual[i] - mean);
    if (i > 0)
      together += (residual[i] - mean) * (residual[i - 1] - mean);
  }
  return squares > 0 ? together / squares : 0;
}

void quality_of_times(LawFit *fit, const double *time_s, const double *fitted_s, guint n)
{
  g_autofree double *residual = g_new(double, MAX(n, 1));
  g_autofree double *size = g_new(double, MAX(n, 1));
  double squares = 0;

  fit->n_points = n;
  if (n == 0)
    return;
  for (guint i = 0; i < n; i++) {
    residual[i] = fitted_s[i] / time_s[i] - 1;
    size[i] = fabs(residual[i]);
    squares += residual[i] * residual[i];
  }
  fit->autocorrelation = autocorrelation(residual, n);
  fit->rms = sqrt(squares / n);
  stats_sort(size, n);
  fit->median = stats_quantile(size, n, 0.5);
  fit->max = size[n - 1];
  const double limit = MAX(least_outlier, outlier_sigmas * mad_to_sigma * fit->median);
  fit->n_outliers = 0;
  for (guint i = 0; i < n; i++)
    fit->n_outliers += size[i] > limit;
}

/* One knot for each size: the median of its points. */
static void fill_knots(Law *law, const GArray *points)
{
  g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < points->len; i++) {
    const LawKnot *point = &g_array_index(points, LawKnot, i);
    g_array_append_val(times, point->time_s);
    if (i + 1 < points->len && g_array_index(points, LawKnot, i + 1).size == point->size)
      continue;
    double *sorted = (double *)(void *)times->data;
    stats_sort(sorted, times->len);
    const LawKnot knot = { point->size, stats_quantile(sorted, times->len, 0.5) };
    if (point->size > 0)
      g_array_append_val(law->knots, knot);
    g_array_set_size(times, 0);
  }
}

/* Isotonic regression of the logarithms: neighbours that fall are pooled (pool adjacent
 * violators: Barlow, Bartholomew, Bremner, Brunk 1972). */
static void make_monotone(Law *law)
{
  const guint n = law->knots->len;
  g_autofree double *sum = g_new(double, MAX(n, 1));
  g_autofree guint *count = g_new(guint, MAX(n, 1));
  guint n_blocks = 0, at = 0;

  for (guint i = 0; i < n; i++) {
    sum[n_blocks] = log(g_array_index(law->knots, LawKnot, i).time_s);
    count[n_blocks++] = 1;
    while (n_blocks > 1 && sum[n_blocks - 1] / count[n_blocks - 1] <
                             sum[n_blocks - 2] / count[n_blocks - 2]) {
      sum[n_blocks - 2] += sum[n_blocks - 1];
      count[n_blocks - 2] += count[n_blocks - 1];
      n_blocks--;
    }
  }
  for (guint b = 0; b < n_blocks; b++)
    for (guint i = 0; i < count[b]; i++) {
      LawKnot *knot = &g_array_index(law->knots, LawKnot, at++);
      const double pooled_s = count[b] == 1 ? knot->time_s : exp(sum[b] / count[b]);
      law->knots_change = MAX(law->knots_change, fabs(pooled_s / knot->time_s - 1));
      knot->time_s = pooled_s;
    }
}

/* Every second knot, between the others: straight in logarithms. */
static double cv_median(const GArray *knots)
{
  g_autofree double *error = g_new(double, MAX(knots->len, 1));
  guint n = 0;

  for (guint i = 1; i + 1 < knots->len; i += 2) {
    const LawKnot *a = &g_array_index(knots, LawKnot, i - 1);
    const LawKnot *b = &g_array_index(knots, LawKnot, i);
    const LawKnot *c = &g_array_index(knots, LawKnot, i + 1);
    const double share = log(b->size / a->size) / log(c->size / a->size);
    error[n++] = fabs(a->time_s * pow(c->time_s / a->time_s, share) / b->time_s - 1);
  }
  stats_sort(error, n);
  return n == 0 ? NAN : stats_quantile(error, n, 0.5);
}

void quality_fill(Law *law, const GArray *points, bool monotone)
{
  const guint n = points->len;
  g_autofree double *time_s = g_new(double, MAX(n, 1));
  g_autofree double *fitted_s = g_new(double, MAX(n, 1));

  for (guint i = 0; i < n; i++) {
    const LawKnot *point = &g_array_index(points, LawKnot, i);
    time_s[i] = point->time_s;
    fitted_s[i] = law_formula_s(law, point->size, 0, 0);
  }
  quality_of_times(&law->fit, time_s, fitted_s, n);
  fill_knots(law, points);
  law->fit.cv_median = cv_median(law->knots);
  law->fit.cv_rms = law->fit.cv_last_rms = NAN;
  if (monotone)
    make_monotone(law);
  if (law->knots->len > 0) {
    law->valid_from = g_array_index(law->knots, LawKnot, 0).size;
    law->valid_to = g_array_index(law->knots, LawKnot, law->knots->len - 1).size;
  }
}
