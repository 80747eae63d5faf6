/**
 * @file fit_hops.c
 * @brief One law for all sizes of cluster: a time per step and per byte of each kind of
 *        link, so that 1 to 4 nodes tell something about 200.
 *
 * What a few cluster sizes cannot tell apart is left out, in this order: the time to add
 * up (needs operations with and without sums), the launch (needs several numbers of steps).
 */
#include "calibrate/fit.h"
#include "calibrate/fit_quality.h"
#include "calibrate/hops.h"
#include "calibrate/robust.h"

#include <math.h>
#include <string.h>

enum { N_COLUMNS = 6 };

/* In the order in which they are worth having. */
static const struct {
  const char *name;
  size_t offset; /* in Hops */
} columns[N_COLUMNS] = {
  { "intra_s", offsetof(Hops, intra) },
  { "inter_s", offsetof(Hops, inter) },
  { "local_s_per_B", offsetof(Hops, local_B) },
  { "net_s_per_B", offsetof(Hops, net_B) },
  { "launch_s", offsetof(Hops, launch) },
  { "reduce_s_per_B", offsetof(Hops, reduced_B) },
};

/* Columns that others explain to within this tell nothing of their own. */
static const double independent = 1e-3;

typedef struct {
  guint n;      /* rows */
  double *full; /* n x N_COLUMNS, divided by the times */
  guint used[N_COLUMNS];
  guint n_used;
} Design;

static double hop_value(const Hops *hops, guint column)
{
  return *(const double *)(const void *)((const char *)hops + columns[column].offset);
}

static void fill(Design *design, const GPtrArray *samples)
{
  design->n = samples->len;
  design->full = g_new(double, samples->len *N_COLUMNS);
  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    const Hops hops = hops_of(sample, sample->size, sample->ranks, sample->nodes);
    for (guint j = 0; j < N_COLUMNS; j++)
      design->full[i * N_COLUMNS + j] = hop_value(&hops, j) / sample->median_s;
  }
}

static double dot(const double *a, const double *b, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* What is left of a column after those before it: Gram and Schmidt. */
static void choose_columns(Design *design)
{
  const guint n = design->n;
  g_autofree double *basis = g_new(double, N_COLUMNS *n);

  for (guint j = 0; j < N_COLUMNS; j++) {
    double *rest = basis + design->n_used * n;
    for (guint i = 0; i < n; i++)
      rest[i] = design->full[i * N_COLUMNS + j];
    const double size = sqrt(dot(rest, rest, n));
    for (guint twice = 0; twice < 2; twice++)
      for (guint k = 0; k < design->n_used; k++) {
        const double share = dot(rest, basis + k * n, n);
        for (guint i = 0; i < n; i++)
          rest[i] -= share * basis[k * n + i];
      }
    const double left = sqrt(dot(rest, rest, n));
    if (!(left > independent * size) || design->n_used + 1 > n)
      continue;
    for (guint i = 0; i < n; i++)
      rest[i] /= left;
    design->used[design->n_used++] = j;
  }
}

static bool solve(const Design *design, double *value, double *error)
{
  g_autofree double *x = g_new(double, design->n * design->n_used);
  RobustFit fit = { .value = value, .error = error };

  for (guint i = 0; i < design->n; i++)
    for (guint j = 0; j < design->n_used; j++)
      x[i * design->n_used + j] = design->full[i * N_COLUMNS + design->used[j]];
  return robust_solve(&(RobustRows){ design->n, design->n_used, x }, &fit);
}

static void measure_quality(Law *law, const GPtrArray *samples)
{
  g_autofree double *time_s = g_new(double, samples->len);
  g_autofree double *fitted_s = g_new(double, samples->len);

  law->fit.cv_median = law->fit.cv_rms = law->fit.cv_last_rms = NAN;
  law->valid_from = INFINITY;
  law->nodes_from = G_MAXUINT;
  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    const Hops hops = hops_of(sample, sample->size, sample->ranks, sample->nodes);
    fitted_s[i] = 0;
    for (guint j = 0; j < N_COLUMNS; j++) {
      const Estimate *parameter = law_parameter(law, columns[j].name);
      fitted_s[i] += parameter == NULL ? 0 : parameter->value * hop_value(&hops, j);
    }
    time_s[i] = sample->median_s;
    law->valid_from = MIN(law->valid_from, sample->size);
    law->valid_to = MAX(law->valid_to, sample->size);
    law->nodes_from = MIN(law->nodes_from, sample->nodes);
    law->nodes_to = MAX(law->nodes_to, sample->nodes);
  }
  quality_of_times(&law->fit, time_s, fitted_s, samples->len);
}

Law *fit_hops(const Sample *key, const GPtrArray *samples,
              const FitOptions *options G_GNUC_UNUSED)
{
  double value[N_COLUMNS] = { 0 }, error[N_COLUMNS] = { 0 };
  Design design = { 0 };

  if (samples->len == 0)
    return NULL;
  fill(&design, samples);
  choose_columns(&design);
  const bool solved = design.n > design.n_used && solve(&design, value, error);
  g_free(design.full);
  if (!solved)
    return NULL;
  Law *law = law_new(key, LAW_HOPS);
  law->key->ranks = law->key->nodes = 0;
  for (guint j = 0; j < design.n_used; j++) {
    const double half = robust_quantile(design.n, design.n_used) * error[j];
    law_add_parameter(law, columns[design.used[j]].name,
                      (Estimate){ value[j], MAX(0, value[j] - half), value[j] + half });
  }
  measure_quality(law, samples);
  return law;
}
