/**
 * @file fit_forms.c
 * @brief Laws of one device: a floor and a line, saturation, contention.
 */
#include "calibrate/fit.h"
#include "calibrate/fit_quality.h"
#include "calibrate/robust.h"

#include "sim/base/stats.h"

#include <math.h>

static const double mad_to_sigma = 1.4826;
/* Standard error of a median over that of a mean, where the noise is normal. */
static const double median_penalty = 1.2533;
/* Times have five digits at the most. */
static const double least_sigma = 1e-4;

static const LawKnot *at(const GArray *points, guint i)
{
  return &g_array_index(points, LawKnot, i);
}

/* Never below 0, where nothing of the kind can be. */
static Estimate around(double value, double half)
{
  return (Estimate){ value, MAX(0, value - half), value + half };
}

/* ---- floor ------------------------------------------------------------------------- */

typedef struct {
  guint n_floor; /* points on the floor: 0, or at least 2 */
  Estimate floor_s, alpha_s, s_per_unit;
  double bic;
} Floor;

static Estimate median_of(const GArray *points, guint n)
{
  g_autofree double *x = g_new(double, n);
  g_autofree double *off = g_new(double, n);

  for (guint i = 0; i < n; i++)
    x[i] = at(points, i)->time_s;
  stats_sort(x, n);
  const double median = stats_quantile(x, n, 0.5);
  for (guint i = 0; i < n; i++)
    off[i] = fabs(x[i] - median);
  stats_sort(off, n);
  const double sigma =
    MAX(least_sigma * median, mad_to_sigma * stats_quantile(off, n, 0.5));
  return around(median, robust_quantile(n, 1) * median_penalty * sigma / sqrt(n));
}

static bool fit_line(const GArray *points, guint first, Floor *floor)
{
  const guint n = points->len - first;
  g_autofree double *x = g_new(double, 2 * n);
  double value[2], error[2];
  RobustFit fit = { .value = value, .error = error };

  for (guint i = 0; i < n; i++) {
    x[2 * i] = 1 / at(points, first + i)->time_s;
    x[2 * i + 1] = at(points, first + i)->size / at(points, first + i)->time_s;
  }
  if (!robust_solve(&(RobustRows){ n, 2, x }, &fit))
    return false;
  const double quantile = robust_quantile(n, 2);
  floor->alpha_s = around(value[0], quantile * error[0]);
  floor->s_per_unit = around(value[1], quantile * error[1]);
  return true;
}

static double floor_time_s(const Floor *floor, double size)
{
  return MAX(floor->floor_s.value, floor->alpha_s.value + floor->s_per_unit.value * size);
}

/* A floor is a coefficient and a place more. */
static double floor_bic(const Floor *floor, const GArray *points, double cap)
{
  const guint n = points->len;
  double squares = 0;

  for (guint i = 0; i < n; i++) {
    const double r = log(at(points, i)->time_s / floor_time_s(floor, at(points, i)->size));
    squares += isfinite(r) ? MIN(cap, r * r) : cap;
  }
  return n * log(MAX(least_sigma * least_sigma, squares / n)) +
         (floor->n_floor > 0 ? 4 : 2) * log(n);
}

Law *fit_floor(const Sample *key, const GArray *points, const FitOptions *options)
{
  static const double cap = 0.5;
  static const guint min_line = 3;
  const guint n = points->len;
  Floor best = { .bic = INFINITY };

  if (n == 0)
    return NULL;
  if (n <= min_line || at(points, 0)->size == at(points, n - 1)->size)
    best = (Floor){ .n_floor = n, .floor_s = median_of(points, n), .bic = 0 };
  for (guint k = 0; n > min_line && k + min_line <= n; k += k == 0 ? 2 : 1) {
    Floor floor = { .n_floor = k };
    if (k > 0)
      floor.floor_s = median_of(points, k);
    if (!fit_line(points, k, &floor))
      continue;
    floor.bic = floor_bic(&floor, points, cap);
    if (floor.bic < best.bic)
      best = floor;
  }
  if (!isfinite(best.bic))
    return NULL;
  Law *law = law_new(key, LAW_FLOOR);
  law_add_parameter(law, "floor_s", best.floor_s);
  law_add_parameter(law, "alpha_s", best.alpha_s);
  law_add_parameter(law, "s_per_unit", best.s_per_unit);
  quality_fill(law, points, options->monotone);
  return law;
}

/* ---- contention -------------------------------------------------------------------- */

/* 1 / t = 1 / idle - share size / idle, which is linear. */
Law *fit_contention(const Sample *key, const GArray *points, const FitOptions *options)
{
  const guint n = points->len;
  g_autofree double *x = g_new(double, MAX(1, 2 * n));
  double value[2] = { 0 }, error[2] = { 0 };
  RobustFit fit = { .value = value, .error = error };

  for (guint i = 0; i < n; i++) {
    x[2 * i] = at(points, i)->time_s;
    x[2 * i + 1] = -at(points, i)->size * at(points, i)->time_s;
  }
  if (n < 3 || !robust_solve(&(RobustRows){ n, 2, x }, &fit) || !(value[0] > 0))
    return NULL;
  const double quantile = robust_quantile(n, 2);
  const double idle_s = 1 / value[0], share = value[1] / value[0];
  const double idle_error = error[0] / value[0];
  const double share_error =
    value[1] > 0 ? share * hypot(error[1] / value[1], idle_error) : error[1] / value[0];
  Law *law = law_new(key, LAW_CONTENTION);
  law_add_parameter(law, "idle_s", around(idle_s, quantile * idle_error * idle_s));
  law_add_parameter(law, "share_per_unit", around(share, quantile * share_error));
  quality_fill(law, points, options->monotone);
  return law;
}
