#include "sim/base/bayes.h"

#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdbool.h>

/* What is certain anyway is worth no look: xi of section 2.3.2. */
#define LEAST_IMPROVEMENT 0.01
/* Keeps the variance at a known point above 0. */
#define LEAST_VARIANCE 1e-8
#define N_RESTARTS 25
#define MAX_STEPS 100
/* Of the simplex, relative to the first. */
#define SIMPLEX_END 1e-4
#define FIRST_STEP 0.1
#define FORBIDDEN 1e300

struct Bayes {
  guint n_dimensions;
  BayesBound bounds[BAYES_MAX_DIMENSIONS];
  double noise;
  Rng *rng;
  GArray *x, *y; /* of double */
  double length, scale;
  double *root;    /* the kernel matrix, with noise, is root root^T: lower triangle */
  double *weights; /* its inverse times y */
};

Bayes *bayes_new(const BayesBound *bounds, guint n_dimensions, double noise, Rng *rng)
{
  Bayes *self = g_new0(Bayes, 1);

  g_return_val_if_fail(n_dimensions > 0 && n_dimensions <= BAYES_MAX_DIMENSIONS, self);
  self->n_dimensions = n_dimensions;
  for (guint d = 0; d < n_dimensions; d++)
    self->bounds[d] = bounds[d];
  self->noise = noise;
  self->rng = rng;
  self->x = g_array_new(FALSE, FALSE, sizeof(double));
  self->y = g_array_new(FALSE, FALSE, sizeof(double));
  return self;
}

void bayes_free(Bayes *bayes)
{
  if (bayes == NULL)
    return;
  g_array_unref(bayes->x);
  g_array_unref(bayes->y);
  g_free(bayes->root);
  g_free(bayes->weights);
  g_free(bayes);
}

void bayes_add(Bayes *bayes, const double *x, double y)
{
  g_array_append_vals(bayes->x, x, bayes->n_dimensions);
  g_array_append_val(bayes->y, y);
}

static const double *point(const Bayes *self, guint index)
{
  return &g_array_index(self->x, double, index * self->n_dimensions);
}

static double kernel(const Bayes *self, const double *a, const double *b)
{
  double square = 0;

  for (guint d = 0; d < self->n_dimensions; d++)
    square += (a[d] - b[d]) * (a[d] - b[d]);
  return self->scale * self->scale * exp(-0.5 * square / (self->length * self->length));
}

/* Cholesky. False if rounding has made the matrix singular. */
static bool take_root(Bayes *self)
{
  const guint n = self->y->len;
  double *root = self->root;

  for (guint i = 0; i < n; i++)
    for (guint j = 0; j <= i; j++) {
      double sum = kernel(self, point(self, i), point(self, j));
      sum += i == j ? self->noise * self->noise : 0;
      for (guint k = 0; k < j; k++)
        sum -= root[i * n + k] * root[j * n + k];
      if (i == j && !(sum > 0))
        return false;
      root[i * n + j] = i == j ? sqrt(sum) : sum / root[j * n + j];
    }
  return true;
}

/* Solve root z = v, in place. */
static void solve_lower(const Bayes *self, double *v)
{
  const guint n = self->y->len;

  for (guint i = 0; i < n; i++) {
    for (guint k = 0; k < i; k++)
      v[i] -= self->root[i * n + k] * v[k];
    v[i] /= self->root[i * n + i];
  }
}

/* Solve root^T z = v, in place. */
static void solve_upper(const Bayes *self, double *v)
{
  const guint n = self->y->len;

  for (guint i = n; i-- > 0;) {
    for (guint k = i + 1; k < n; k++)
      v[i] -= self->root[k * n + i] * v[k];
    v[i] /= self->root[i * n + i];
  }
}

/* With these of the kernel; the constant term is left out. */
static double minus_log_likelihood(const gsl_vector *v, void *data)
{
  Bayes *self = data;
  const guint n = self->y->len;
  double sum = 0;

  self->length = gsl_vector_get(v, 0);
  self->scale = gsl_vector_get(v, 1);
  if (!(fabs(self->length) > 0) || !take_root(self))
    return FORBIDDEN;
  for (guint i = 0; i < n; i++)
    self->weights[i] = g_array_index(self->y, double, i);
  solve_lower(self, self->weights);
  for (guint i = 0; i < n; i++)
    sum += 0.5 * self->weights[i] * self->weights[i] + log(self->root[i * n + i]);
  return sum;
}

/* Let a simplex walk from @p x to a minimum; returns it. */
static double minimise(gsl_multimin_function *f, double *x, const double *step)
{
  gsl_multimin_fminimizer *walker =
    gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, f->n);
  gsl_vector_view from = gsl_vector_view_array(x, f->n);
  gsl_vector_const_view steps = gsl_vector_const_view_array(step, f->n);

  gsl_multimin_fminimizer_set(walker, f, &from.vector, &steps.vector);
  const double first = gsl_multimin_fminimizer_size(walker);
  for (guint i = 0; i < MAX_STEPS && gsl_multimin_fminimizer_iterate(walker) == 0; i++)
    if (gsl_multimin_fminimizer_size(walker) < SIMPLEX_END * first)
      break;
  gsl_vector_memcpy(&from.vector, walker->x);
  const double least = walker->fval;
  gsl_multimin_fminimizer_free(walker);
  return least;
}

static void fit(Bayes *self)
{
  static const double one[] = { 1, 1 };
  double x[] = { 1, 1 };
  const guint n = self->y->len;
  gsl_multimin_function f = { .f = minus_log_likelihood, .n = 2, .params = self };

  g_free(self->root);
  g_free(self->weights);
  self->root = g_new0(double, n *n);
  self->weights = g_new0(double, n);
  minimise(&f, x, one);
  minus_log_likelihood(&(gsl_vector){ .size = 2, .stride = 1, .data = x }, self);
  solve_upper(self, self->weights);
}

/* What the process believes of @p x. */
static double expect(const Bayes *self, const double *x, double *deviation)
{
  const guint n = self->y->len;
  g_autofree double *k = g_new(double, n);
  double mean = 0, variance = self->scale * self->scale + LEAST_VARIANCE;

  for (guint i = 0; i < n; i++) {
    k[i] = kernel(self, x, point(self, i));
    mean += k[i] * self->weights[i];
  }
  solve_lower(self, k);
  for (guint i = 0; i < n; i++)
    variance -= k[i] * k[i];
  *deviation = sqrt(MAX(variance, LEAST_VARIANCE));
  return mean;
}

typedef struct {
  const Bayes *self;
  double best; /* what it believes of the best point so far */
} Search;

static double minus_improvement(const gsl_vector *v, void *data)
{
  const Search *search = data;
  double x[BAYES_MAX_DIMENSIONS], deviation;

  for (guint d = 0; d < search->self->n_dimensions; d++) {
    const BayesBound *bound = &search->self->bounds[d];
    x[d] = gsl_vector_get(v, d);
    if (x[d] < bound->low || x[d] > bound->high)
      return FORBIDDEN;
  }
  const double more =
    expect(search->self, x, &deviation) - search->best - LEAST_IMPROVEMENT;
  const double z = more / deviation;
  return -(more * 0.5 * erfc(-z * M_SQRT1_2) +
           deviation * exp(-z * z / 2) / sqrt(2 * M_PI));
}

void bayes_next(Bayes *bayes, double *x)
{
  Search search = { .self = bayes, .best = -FORBIDDEN };
  gsl_multimin_function f = { .f = minus_improvement,
                              .n = bayes->n_dimensions,
                              .params = &search };
  double from[BAYES_MAX_DIMENSIONS], step[BAYES_MAX_DIMENSIONS], ignored;
  double least = FORBIDDEN;

  fit(bayes);
  for (guint i = 0; i < bayes->y->len; i++)
    search.best = MAX(search.best, expect(bayes, point(bayes, i), &ignored));
  for (guint i = 0; i < N_RESTARTS; i++) {
    for (guint d = 0; d < bayes->n_dimensions; d++) {
      const double range = bayes->bounds[d].high - bayes->bounds[d].low;
      from[d] = bayes->bounds[d].low + rng_uniform(bayes->rng) * range;
      step[d] = FIRST_STEP * range;
    }
    const double value = minimise(&f, from, step);
    if (value < least || i == 0) {
      least = value;
      for (guint d = 0; d < bayes->n_dimensions; d++)
        x[d] = from[d];
    }
  }
}
