#include "calibrate/sweep.h"

#include "sim/base/rng.h"
#include "sim/base/stats.h"

#include <math.h>

/* What a cell has seen so far. */
typedef struct {
  Sample *cell;        /* borrowed */
  GArray *time_s;      /* of all passes */
  GArray *pass_median; /* [s] */
  bool has_failed;
} Visit;

typedef struct {
  const BackendOps *ops;
  Backend *backend;
  const SweepOptions *options;
} Sweep;

static void visit_clear(void *data)
{
  Visit *visit = data;

  g_array_unref(visit->time_s);
  g_array_unref(visit->pass_median);
}

static GArray *visits_new(const GPtrArray *cells)
{
  GArray *visits = g_array_new(FALSE, TRUE, sizeof(Visit));

  g_array_set_clear_func(visits, visit_clear);
  for (guint i = 0; i < cells->len; i++) {
    const Visit visit = {
      .cell = g_ptr_array_index(cells, i),
      .time_s = g_array_new(FALSE, TRUE, sizeof(double)),
      .pass_median = g_array_new(FALSE, TRUE, sizeof(double)),
    };
    g_array_append_val(visits, visit);
  }
  return visits;
}

static const double *times_of(const Visit *visit)
{
  return (const double *)(void *)visit->time_s->data;
}

/* Times @p n calls; once more if the machine was slowed down while they ran. */
static bool measure(const Sweep *sweep, Visit *visit, double *time_s, guint n,
                    GError **error)
{
  guint flags = 0;

  if (!sweep->ops->measure(sweep->backend, visit->cell, time_s, n, &flags, error))
    return false;
  if (flags & SAMPLE_THROTTLED) {
    flags = 0;
    if (!sweep->ops->measure(sweep->backend, visit->cell, time_s, n, &flags, error))
      return false;
  }
  for (guint i = 0; i < n; i++)
    if (!(time_s[i] > 0 && isfinite(time_s[i]))) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "a time of %g s was measured",
                  time_s[i]);
      return false;
    }
  visit->cell->flags |= flags;
  return true;
}

static bool times_agree(const Sweep *sweep, const Visit *visit, guint from)
{
  g_autoptr(Sample) summary = sample_new("");

  sample_summarise(summary, times_of(visit) + from, visit->time_s->len - from);
  return summary->mad_s <= sweep->options->good_mad * summary->median_s;
}

/* One pass of one cell: at least its share of the repetitions, and more while they
 * disagree, as far as its share of the time goes. */
static bool visit_cell(const Sweep *sweep, Visit *visit, GError **error)
{
  const SweepOptions *options = sweep->options;
  const guint n_least = (options->n_min + options->n_passes - 1) / options->n_passes;
  const guint n_most = MAX(n_least, options->n_max / options->n_passes);
  const double limit_s = options->cell_s / options->n_passes;
  const guint from = visit->time_s->len;
  g_autofree double *batch_s = g_new(double, MAX(n_least, options->n_warm_up));
  double spent_s = 0;

  if (options->n_warm_up > 0 && !measure(sweep, visit, batch_s, options->n_warm_up, error))
    return false;
  do {
    const guint n = MIN(n_least, n_most - (visit->time_s->len - from));
    if (!measure(sweep, visit, batch_s, n, error))
      return false;
    g_array_append_vals(visit->time_s, batch_s, n);
    for (guint i = 0; i < n; i++)
      spent_s += batch_s[i];
  } while (visit->time_s->len - from < n_most && spent_s < limit_s &&
           !times_agree(sweep, visit, from));

  g_autoptr(Sample) pass = sample_new("");
  sample_summarise(pass, times_of(visit) + from, visit->time_s->len - from);
  g_array_append_val(visit->pass_median, pass->median_s);
  return true;
}

/* A permutation of 0..n-1 for each pass: Fisher and Yates. */
static guint *shuffled(guint n, guint64 seed, guint pass)
{
  g_autofree char *name = g_strdup_printf("sweep.pass.%u", pass);
  g_autoptr(Rng) rng = rng_stream(seed, name);
  guint *order = g_new(guint, MAX(n, 1));

  for (guint i = 0; i < n; i++)
    order[i] = i;
  for (guint i = n; i > 1; i--) {
    const guint j = rng_below(rng, i);
    const guint swapped = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swapped;
  }
  return order;
}

/* Returns false if the caller wants no more. */
static bool run_pass(const Sweep *sweep, GArray *visits, guint pass)
{
  g_autofree guint *order = shuffled(visits->len, sweep->options->seed, pass);
  const guint n_visits = visits->len * sweep->options->n_passes;

  for (guint i = 0; i < visits->len; i++) {
    Visit *visit = &g_array_index(visits, Visit, order[i]);
    g_autoptr(GError) error = NULL;
    if (!visit->has_failed && !visit_cell(sweep, visit, &error))
      visit->has_failed = true;
    if (sweep->options->progress != NULL &&
        !sweep->options->progress(pass * visits->len + i + 1, n_visits, visit->cell, error,
                                  sweep->options->data))
      return false;
  }
  return true;
}

static void summarise(const Visit *visit)
{
  Sample *cell = visit->cell;
  const double *median_s = (const double *)(void *)visit->pass_median->data;
  double least_s = INFINITY, most_s = 0;

  if (visit->has_failed) {
    cell->flags |= SAMPLE_FAILED;
    return;
  }
  sample_summarise(cell, times_of(visit), visit->time_s->len);
  for (guint i = 0; i < visit->pass_median->len; i++) {
    least_s = fmin(least_s, median_s[i]);
    most_s = fmax(most_s, median_s[i]);
  }
  cell->run_spread = (most_s - least_s) / cell->median_s;
}

static bool is_like(const GPtrArray *samples, const Sample *cell)
{
  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    if (sample->size == cell->size && sample_same_curve(sample, cell))
      return true;
  }
  return false;
}

static bool wants(const SweepOptions *options, const Sample *cell)
{
  return (options->only == NULL || g_strv_contains(options->only, cell->probe)) &&
         (options->like == NULL || is_like(options->like, cell));
}

static bool check_only(const SweepOptions *options, const GPtrArray *cells, GError **error)
{
  g_autoptr(GPtrArray) probes = g_ptr_array_new();

  for (guint i = 0; i < cells->len; i++) {
    const Sample *cell = g_ptr_array_index(cells, i);
    g_ptr_array_add(probes, NULL);
    const bool is_new = !g_strv_contains((const char *const *)probes->pdata, cell->probe);
    g_ptr_array_set_size(probes, (int)probes->len - 1);
    if (is_new)
      g_ptr_array_add(probes, cell->probe);
  }
  g_ptr_array_add(probes, NULL);
  for (const char *const *probe = options->only; probe != NULL && *probe != NULL; probe++)
    if (!g_strv_contains((const char *const *)probes->pdata, *probe)) {
      g_autofree char *suggestion =
        registry_suggestion((const char *const *)probes->pdata, *probe);
      g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "unknown probe '%s'%s", *probe,
                  suggestion);
      return false;
    }
  return true;
}

static gint compare_samples(gconstpointer a, gconstpointer b)
{
  return sample_compare(*(const Sample *const *)a, *(const Sample *const *)b);
}

GPtrArray *sweep_run(const BackendOps *ops, Backend *backend, const SweepOptions *options,
                     GError **error)
{
  const Sweep sweep = { ops, backend, options };
  g_autoptr(GPtrArray) cells = ops->cells(backend);
  g_autoptr(GPtrArray) samples = sample_list_new();

  if (!check_only(options, cells, error))
    return NULL;
  for (guint i = 0; i < cells->len; i++)
    if (wants(options, g_ptr_array_index(cells, i)))
      g_ptr_array_add(samples, sample_copy(g_ptr_array_index(cells, i)));
  g_ptr_array_sort(samples, compare_samples);

  g_autoptr(GArray) visits = visits_new(samples);
  for (guint pass = 0; pass < options->n_passes; pass++)
    if (!run_pass(&sweep, visits, pass))
      break;
  for (guint i = visits->len; i-- > 0;) {
    const Visit *visit = &g_array_index(visits, Visit, i);
    if (visit->time_s->len > 0 || visit->has_failed)
      summarise(visit);
    else
      g_ptr_array_remove_index(samples, i);
  }
  return g_steal_pointer(&samples);
}
