#include "calibrate/robust.h"

#include "sim/base/stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>

enum { N_L1_ROUNDS = 8, N_ROUNDS = 40 };

/* 95 % of the efficiency of least squares where the noise is normal: J. W. Tukey's
 * bisquare; P. J. Huber, E. M. Ronchetti, "Robust Statistics", 2009. */
static const double bisquare_tuning = 4.685;
static const double efficiency = 0.95;
/* E[w r^2] / E[w] of normal residuals of variance 1 at that tuning: weights shrink squares.
 */
static const double shrinkage = 0.828;
static const double mad_to_sigma = 1.4826;
/* Times are printed with five digits at most. */
static const double least_scale = 1e-6;
static const double converged = 1e-9;

/* What the rounds work on: the columns in use. */
typedef struct {
  const RobustRows *rows;
  guint *columns;
  guint n_columns;
  gsl_matrix *x, *covariance;
  gsl_vector *y, *weight, *value;
  gsl_multifit_linear_workspace *work;
} Solver;

static void solver_clear(Solver *solver)
{
  gsl_matrix_free(solver->x);
  gsl_matrix_free(solver->covariance);
  gsl_vector_free(solver->y);
  gsl_vector_free(solver->weight);
  gsl_vector_free(solver->value);
  gsl_multifit_linear_free(solver->work);
}

static void solver_init(Solver *solver)
{
  const guint n = solver->rows->n, p = solver->n_columns;

  solver->x = gsl_matrix_alloc(n, p);
  solver->covariance = gsl_matrix_alloc(p, p);
  solver->y = gsl_vector_alloc(n);
  solver->weight = gsl_vector_alloc(n);
  solver->value = gsl_vector_calloc(p);
  solver->work = gsl_multifit_linear_alloc(n, p);
  gsl_vector_set_all(solver->y, 1);
  gsl_vector_set_all(solver->weight, 1);
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < p; j++)
      gsl_matrix_set(solver->x, i, j,
                     solver->rows->x[i * solver->rows->p + solver->columns[j]]);
}

static double residual_of(const Solver *solver, guint i)
{
  double sum = 1;

  for (guint j = 0; j < solver->n_columns; j++)
    sum -= gsl_matrix_get(solver->x, i, j) * gsl_vector_get(solver->value, j);
  return sum;
}

static double scale_of(const Solver *solver)
{
  const guint n = solver->rows->n, p = solver->n_columns;
  g_autofree double *size = g_new(double, n);

  for (guint i = 0; i < n; i++)
    size[i] = fabs(residual_of(solver, i));
  stats_sort(size, n);
  /* A fit bends towards its points; p of the residuals are as good as 0. */
  const guint first = MIN(p, n - 1);
  return MAX(least_scale, mad_to_sigma * stats_quantile(size + first, n - first, 0.5));
}

static double bisquare(double residual, double scale)
{
  const double u = residual / (bisquare_tuning * scale);

  return fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
}

/* One round; the largest relative change of a coefficient, or -1. */
static double solve_round(Solver *solver, bool is_l1)
{
  const double scale = scale_of(solver);
  g_autofree double *before = g_new(double, solver->n_columns);
  double sum_of_squares, change = 0;

  for (guint i = 0; i < solver->rows->n; i++) {
    const double r = residual_of(solver, i);
    gsl_vector_set(solver->weight, i,
                   is_l1 ? 1 / MAX(fabs(r), least_scale) : bisquare(r, scale));
  }
  for (guint j = 0; j < solver->n_columns; j++)
    before[j] = gsl_vector_get(solver->value, j);
  if (gsl_multifit_wlinear(solver->x, solver->weight, solver->y, solver->value,
                           solver->covariance, &sum_of_squares, solver->work) != 0)
    return -1;
  for (guint j = 0; j < solver->n_columns; j++) {
    const double value = gsl_vector_get(solver->value, j);
    if (!isfinite(value))
      return -1;
    change = MAX(change, fabs(value - before[j]) / MAX(fabs(value), G_MINDOUBLE));
  }
  return change;
}

static bool solve(Solver *solver)
{
  double sum_of_squares, change = 1;

  if (gsl_multifit_linear(solver->x, solver->y, solver->value, solver->covariance,
                          &sum_of_squares, solver->work) != 0)
    return false;
  for (guint round = 0; round < N_L1_ROUNDS && change >= 0; round++)
    change = solve_round(solver, true);
  if (change < 0)
    return false;
  change = 1;
  for (guint round = 0; round < N_ROUNDS && change > converged; round++)
    change = solve_round(solver, false);
  return change >= 0;
}

/* The column with the most negative coefficient, or its number of columns. */
static guint find_negative(const Solver *solver)
{
  guint worst = solver->n_columns;
  double least = 0;

  for (guint j = 0; j < solver->n_columns; j++) {
    /* In units of what the column contributes on average. */
    double size = 0;
    for (guint i = 0; i < solver->rows->n; i++)
      size += fabs(gsl_matrix_get(solver->x, i, j));
    const double share = gsl_vector_get(solver->value, j) * size;
    if (share < least) {
      least = share;
      worst = j;
    }
  }
  return worst;
}

static void report(const Solver *solver, RobustFit *fit)
{
  const guint n = solver->rows->n;
  double weights = 0, squares = 0;

  fit->n_used = solver->n_columns;
  fit->scale = scale_of(solver);
  for (guint i = 0; i < n; i++) {
    const double r = residual_of(solver, i), w = bisquare(r, fit->scale);
    weights += w;
    squares += w * r * r;
    if (fit->weight != NULL)
      fit->weight[i] = w;
  }
  const double spare = MAX(weights - solver->n_columns, 0.5);
  const double variance =
    MAX(squares / spare, least_scale * least_scale) / (efficiency * shrinkage);
  for (guint j = 0; j < solver->n_columns; j++) {
    fit->value[solver->columns[j]] = gsl_vector_get(solver->value, j);
    if (fit->error != NULL)
      fit->error[solver->columns[j]] =
        sqrt(variance * gsl_matrix_get(solver->covariance, j, j));
  }
}

/* The covariance of weighted least squares takes weights for inverse variances: with the
 * bisquare's it is (X' W X)^-1, which report() multiplies by the variance. */
static bool solve_columns(const RobustRows *rows, guint *columns, guint n_columns,
                          RobustFit *fit, guint *negative)
{
  Solver solver = { .rows = rows, .columns = columns, .n_columns = n_columns };

  solver_init(&solver);
  const bool solved = solve(&solver);
  if (solved) {
    *negative = find_negative(&solver);
    if (*negative == n_columns)
      report(&solver, fit);
  }
  solver_clear(&solver);
  return solved;
}

bool robust_solve(const RobustRows *rows, RobustFit *fit)
{
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  g_autofree guint *columns = g_new(guint, rows->p);
  guint n_columns = rows->p;
  bool solved = rows->n >= rows->p && rows->p > 0;

  for (guint j = 0; j < rows->p; j++) {
    columns[j] = j;
    fit->value[j] = 0;
    if (fit->error != NULL)
      fit->error[j] = 0;
  }
  while (solved && n_columns > 0) {
    guint negative = n_columns;
    solved = solve_columns(rows, columns, n_columns, fit, &negative);
    if (!solved || negative == n_columns)
      break;
    for (guint j = negative; j + 1 < n_columns; j++)
      columns[j] = columns[j + 1];
    n_columns--;
  }
  gsl_set_error_handler(handler);
  return solved && n_columns > 0;
}

double robust_quantile(guint n_points, guint n_parameters)
{
  static const double two_sided_95 = 0.975;

  return gsl_cdf_tdist_Pinv(two_sided_95,
                            n_points > n_parameters ? n_points - n_parameters : 1);
}
