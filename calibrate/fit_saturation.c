/**
 * @file fit_saturation.c
 * @brief Rates that grow with the work: t = size / peak (1 + (half / size)^sharpness).
 *
 * Nonlinear least squares (GSL's trust region, Levenberg-Marquardt with geodesic
 * acceleration) on the logarithms of times and parameters, re-weighted by the bisquare.
 * Parameters are positive, and their intervals are factors.
 */
#include "calibrate/fit.h"
#include "calibrate/fit_quality.h"
#include "calibrate/robust.h"

#include "sim/base/stats.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>

enum { N_PARAMETERS = 3, N_REWEIGHTS = 12, N_STEPS = 100 };

static const double bisquare_tuning = 4.685, efficiency = 0.95;
/* E[w r^2] / E[w] of normal residuals of variance 1 at that tuning: weights shrink squares.
 */
static const double shrinkage = 0.828;
static const double mad_to_sigma = 1.4826;
static const double least_scale = 1e-5, tolerance = 1e-10;

typedef struct {
  const GArray *points;
  double theta[N_PARAMETERS];      /* logarithms of peak, half, sharpness */
  double covariance[N_PARAMETERS]; /* its diagonal */
  double *weight;
} Saturation;

static const LawKnot *at(const GArray *points, guint i)
{
  return &g_array_index(points, LawKnot, i);
}

static double log_time(const double theta[N_PARAMETERS], double size)
{
  const double power = exp(theta[2]) * (theta[1] - log(size));

  /* log(1 + e^power), without overflow */
  return log(size) - theta[0] + (power > 30 ? power : log1p(exp(power)));
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *f)
{
  const Saturation *saturation = data;
  const double theta[] = { gsl_vector_get(x, 0), gsl_vector_get(x, 1),
                           gsl_vector_get(x, 2) };

  for (guint i = 0; i < saturation->points->len; i++)
    gsl_vector_set(f, i,
                   log_time(theta, at(saturation->points, i)->size) -
                     log(at(saturation->points, i)->time_s));
  return GSL_SUCCESS;
}

static double scale_of(const gsl_vector *f)
{
  const guint n = (guint)f->size;
  g_autofree double *size = g_new(double, n);

  for (guint i = 0; i < n; i++)
    size[i] = fabs(gsl_vector_get(f, i));
  stats_sort(size, n);
  const guint first = MIN(N_PARAMETERS, n - 1);
  return MAX(least_scale, mad_to_sigma * stats_quantile(size + first, n - first, 0.5));
}

static void weigh(const gsl_vector *f, double *weight)
{
  const double scale = scale_of(f);

  for (guint i = 0; i < f->size; i++) {
    const double u = gsl_vector_get(f, i) / (bisquare_tuning * scale);
    weight[i] = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 1e-12;
  }
}

static bool solve_weighted(Saturation *saturation, gsl_multifit_nlinear_workspace *work,
                           gsl_multifit_nlinear_fdf *fdf)
{
  gsl_vector_view start = gsl_vector_view_array(saturation->theta, N_PARAMETERS);
  gsl_vector_view weight =
    gsl_vector_view_array(saturation->weight, saturation->points->len);
  int info = 0;

  if (gsl_multifit_nlinear_winit(&start.vector, &weight.vector, fdf, work) != 0)
    return false;
  gsl_multifit_nlinear_driver(N_STEPS, tolerance, tolerance, 0, NULL, NULL, &info, work);
  for (guint j = 0; j < N_PARAMETERS; j++) {
    saturation->theta[j] = gsl_vector_get(work->x, j);
    if (!isfinite(saturation->theta[j]))
      return false;
  }
  return true;
}

static void fill_covariance(Saturation *saturation, gsl_multifit_nlinear_workspace *work,
                            const gsl_vector *f)
{
  gsl_matrix *covariance = gsl_matrix_calloc(N_PARAMETERS, N_PARAMETERS);
  double weights = 0, squares = 0;

  gsl_multifit_nlinear_covar(work->J, 0, covariance);
  for (guint i = 0; i < f->size; i++) {
    weights += saturation->weight[i];
    squares += saturation->weight[i] * pow(gsl_vector_get(f, i), 2);
  }
  const double spare = MAX(weights - N_PARAMETERS, 0.5);
  for (guint j = 0; j < N_PARAMETERS; j++)
    saturation->covariance[j] = gsl_matrix_get(covariance, j, j) *
                                MAX(squares / spare, least_scale * least_scale) /
                                (efficiency * shrinkage);
  gsl_matrix_free(covariance);
}

static bool solve(Saturation *saturation)
{
  const guint n = saturation->points->len;
  gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
  options.trs = gsl_multifit_nlinear_trs_lmaccel;
  gsl_multifit_nlinear_workspace *work =
    gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, n, N_PARAMETERS);
  gsl_multifit_nlinear_fdf fdf = {
    .f = residuals, .n = n, .p = N_PARAMETERS, .params = saturation
  };
  gsl_vector *f = gsl_vector_alloc(n);
  bool solved = true;

  for (guint i = 0; i < n; i++)
    saturation->weight[i] = 1;
  for (guint round = 0; solved && round < N_REWEIGHTS; round++) {
    solved = solve_weighted(saturation, work, &fdf);
    gsl_vector_view now = gsl_vector_view_array(saturation->theta, N_PARAMETERS);
    residuals(&now.vector, saturation, f);
    if (round + 1 < N_REWEIGHTS)
      weigh(f, saturation->weight);
  }
  if (solved)
    fill_covariance(saturation, work, f);
  gsl_vector_free(f);
  gsl_multifit_nlinear_free(work);
  return solved;
}

/* Start from the fastest rate, and where half of it is reached. */
static void guess(Saturation *saturation)
{
  double peak = 0, half = 0;

  for (guint i = 0; i < saturation->points->len; i++)
    peak = MAX(peak, at(saturation->points, i)->size / at(saturation->points, i)->time_s);
  for (guint i = 0; i < saturation->points->len; i++) {
    const LawKnot *point = at(saturation->points, i);
    if (half == 0 || point->size / point->time_s < peak / 2)
      half = point->size;
  }
  saturation->theta[0] = log(1.05 * peak);
  saturation->theta[1] = log(half);
  saturation->theta[2] = 0;
}

static Estimate factor(double log_value, double half)
{
  return (Estimate){ exp(log_value), exp(log_value - half), exp(log_value + half) };
}

Law *fit_saturation(const Sample *key, const GArray *points, const FitOptions *options)
{
  static const char *const names[] = { "peak_per_s", "half", "sharpness" };
  static const double widest = 50; /* e^50: nobody knows */
  const guint n = points->len;
  g_autofree double *weight = g_new(double, MAX(n, 1));
  Saturation saturation = { .points = points, .weight = weight };

  if (n <= N_PARAMETERS || !(at(points, 0)->size > 0))
    return NULL;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  guess(&saturation);
  const bool solved = solve(&saturation);
  gsl_set_error_handler(handler);
  if (!solved)
    return NULL;
  Law *law = law_new(key, LAW_SATURATION);
  for (guint j = 0; j < N_PARAMETERS; j++) {
    const double error = sqrt(saturation.covariance[j]);
    const double half = robust_quantile(n, N_PARAMETERS) * error;
    law_add_parameter(
      law, names[j],
      factor(saturation.theta[j], isfinite(half) ? MIN(half, widest) : widest));
  }
  quality_fill(law, points, options->monotone);
  return law;
}
