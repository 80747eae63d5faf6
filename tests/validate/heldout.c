/**
 * @file heldout.c
 * @brief What the fits of calibrate predict of times that they did not see.
 *
 * Held-out sizes: of every log of tests/reference/nccl-tests/raw each curve is fitted on
 * every second size, and the others predicted. Extrapolation: LAW_HOPS fitted on few nodes,
 * predicted on more. The logs do not say which algorithm NCCL chose, so that each is tried
 * as if it were one algorithm throughout.
 *
 * Usage: heldout [FOLDER]
 */
#include "calibrate/fit.h"
#include "calibrate/fit_quality.h"
#include "calibrate/hops.h"
#include "calibrate/import.h"
#include "sim/base/stats.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

static const double target = 0.05; /* median relative error */
static const FitOptions options = {
  .seed = 1, .n_bootstrap = 0, .max_segments = FIT_MAX_SEGMENTS, .monotone = true
};

static const struct {
  const char *title;
  const char *algo[3]; /* assumed */
  const char *fitted[5], *predicted[3];
} cases[] = {
#define ALPS(run)                                                                          \
  {                                                                                        \
    "GH200 " run ", 1-4 nodes", { "ring", "tree" },                                        \
      { "alps-gh200-N001-allreduce-" run, "alps-gh200-N002-allreduce-" run,                \
        "alps-gh200-N004-allreduce-" run },                                                \
    {                                                                                      \
      "alps-gh200-N008-allreduce-" run, "alps-gh200-N016-allreduce-" run                   \
    }                                                                                      \
  }
  ALPS("crossnic1-run0"),
  ALPS("devmem16M-fixedhsn-run0"),
  ALPS("ofi1.13.0-default"),
  { "H100 all-to-all, 1-2 nodes",
    { "direct" },
    { "h100-N01xG4-alltoall", "h100-N02xG1-alltoall", "h100-N02xG2-alltoall" },
    { "h100-N10xG1-alltoall", "h100-N10xG2-alltoall" } },
  { "H100 all-reduce, 1-2 nodes",
    { "ring", "tree" },
    { "h100-N01xG4-allreduce", "h100-N01xG8-allreduce", "h100-smoke-N02xG1-allreduce" },
    { "h100-N10xG1-allreduce", "h100-N10xG2-allreduce" } },
};

static double median_of(GArray *errors)
{
  stats_sort((double *)(void *)errors->data, errors->len);
  return stats_quantile((double *)(void *)errors->data, errors->len, 0.5);
}

/* What not every log says stands in the table beside it. */
static cJSON *read_table(const char *folder, const char *name)
{
  g_autofree char *table = g_strdup(name);
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < 2; i++) {
    const char *const ends[] = { ".txt", "-run0" };
    if (g_str_has_suffix(table, ends[i]))
      table[strlen(table) - strlen(ends[i])] = '\0';
  }
  g_autofree char *path = g_strdup_printf("%s/../tables/%s.json", folder, table);
  if (!g_file_get_contents(path, &text, NULL, &error))
    g_error("%s", error->message);
  return cJSON_Parse(text);
}

static guint count_of(const cJSON *table, const char *key)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(table, key);

  return cJSON_IsNumber(item) ? (guint)item->valueint : 0;
}

static Imported *read_log(const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autoptr(cJSON) table = read_table(folder, name);
  const cJSON *collective = cJSON_GetObjectItemCaseSensitive(table, "collective");
  const ImportOptions said = { .collective = cJSON_GetStringValue(collective),
                               .ranks = count_of(table, "ranks"),
                               .nodes = count_of(table, "nodes") };
  g_autoptr(GError) error = NULL;
  Imported *log = import_file(path, &said, NULL, &error);

  if (log == NULL)
    g_error("%s", error->message);
  return log;
}

/* Append the errors of one curve's second sizes. */
static void hold_out(const GPtrArray *curve, GArray *errors)
{
  g_autoptr(GArray) points = fit_points(curve);
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(LawKnot));
  const LawKnot *point = (const LawKnot *)(void *)points->data;
  g_autofree bool *held_out = g_new0(bool, MAX(points->len, 1));

  if (points->len == 0)
    return;
  quality_hold_second_sizes(point, points->len, held_out);
  for (guint i = 0; i < points->len; i++)
    if (!held_out[i])
      g_array_append_val(kept, point[i]);
  g_autoptr(Law) law = fit_piecewise(g_ptr_array_index(curve, 0), kept, &options);
  for (guint i = 0; law != NULL && i < points->len; i++) {
    const double error = fabs(law_time_s(law, point[i].size, 0, 0) / point[i].time_s - 1);
    if (held_out[i])
      g_array_append_val(errors, error);
  }
}

static gint compare_samples(gconstpointer a, gconstpointer b)
{
  return sample_compare(*(const Sample *const *)a, *(const Sample *const *)b);
}

/* The median error of all curves of a log; NaN if it has too few sizes. */
static double print_held_out(const char *folder, const char *name)
{
  g_autoptr(Imported) log = read_log(folder, name);
  g_autoptr(GPtrArray) curve = g_ptr_array_new();
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));

  g_ptr_array_sort(log->samples, compare_samples);
  for (guint i = 0; i < log->samples->len; i++) {
    const Sample *sample = g_ptr_array_index(log->samples, i);
    g_ptr_array_add(curve, (gpointer)sample);
    if (i + 1 < log->samples->len &&
        sample_same_curve(sample, g_ptr_array_index(log->samples, i + 1)))
      continue;
    hold_out(curve, errors);
    g_ptr_array_set_size(curve, 0);
  }
  if (errors->len == 0) {
    printf("  %-54s too few sizes\n", name);
    return NAN;
  }
  const double median = median_of(errors);
  printf("  %-54s %4u %8.1f %% %8.1f %%%s\n", name, errors->len, 100 * median,
         100 * g_array_index(errors, double, errors->len - 1),
         median > target ? "  over" : "");
  return median;
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_all_held_out(const char *folder)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GDir) dir = g_dir_open(folder, 0, &error);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  guint n_within = 0, n = 0;

  if (dir == NULL)
    g_error("%s", error->message);
  for (const char *name = g_dir_read_name(dir); name; name = g_dir_read_name(dir))
    if (g_str_has_suffix(name, ".txt"))
      g_ptr_array_add(names, g_strdup(name));
  g_ptr_array_sort(names, compare_names);
  printf("Every second size, predicted from the others\n  %-54s %4s %10s %10s\n", "log",
         "n", "median", "worst");
  for (guint i = 0; i < names->len; i++) {
    const double median = print_held_out(folder, g_ptr_array_index(names, i));
    n += isnan(median) ? 0 : 1;
    n_within += median <= target ? 1 : 0;
  }
  printf("%u of %u logs have a median error of %g %% or less\n", n_within, n, 100 * target);
}

/* Out-of-place rows of a log, as if @p algo had been all that ran. */
static GPtrArray *read_as(const char *folder, const char *table, const char *algo)
{
  g_autofree char *name = g_strconcat(table, ".txt", NULL);
  g_autoptr(Imported) log = read_log(folder, name);
  GPtrArray *samples = sample_list_new();

  for (guint i = 0; i < log->samples->len; i++) {
    Sample *copy = sample_copy(g_ptr_array_index(log->samples, i));
    sample_set(&copy->algo, algo);
    if (strcmp(copy->variant, "in_place") == 0 || copy->median_s <= 0 ||
        (copy->flags & SAMPLE_FAILED) || copy->size <= 0)
      sample_free(copy);
    else
      g_ptr_array_add(samples, copy);
  }
  return samples;
}

static char *percent_of(GArray *errors)
{
  return errors->len == 0 ? g_strdup("-")
                          : g_strdup_printf("%.1f %%", 100 * median_of(errors));
}

static void print_extrapolated(const char *folder, const char *table, const char *algo,
                               const Law *law)
{
  static const double large_B = 1 << 20;
  g_autoptr(GPtrArray) samples = read_as(folder, table, algo);
  g_autoptr(GArray) small = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) large = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < samples->len; i++) {
    const Sample *s = g_ptr_array_index(samples, i);
    const double error =
      fabs(law_time_s(law, s->size, s->ranks, s->nodes) / s->median_s - 1);
    g_array_append_val(s->size < large_B ? small : large, error);
  }
  g_autofree char *below = percent_of(small), *above = percent_of(large);
  printf("  as %-6s -> %-46s %10s %10s\n", algo, table, below, above);
}

static void extrapolate(const char *folder, guint at, const char *algo)
{
  g_autoptr(GPtrArray) samples = sample_list_new();

  for (guint i = 0; cases[at].fitted[i] != NULL; i++) {
    g_autoptr(GPtrArray) more = read_as(folder, cases[at].fitted[i], algo);
    for (guint k = 0; k < more->len; k++)
      g_ptr_array_add(samples, sample_copy(g_ptr_array_index(more, k)));
  }
  const Sample *key = samples->len > 0 ? g_ptr_array_index(samples, 0) : NULL;
  g_autoptr(Law) law =
    key != NULL && hops_known(key) ? fit_hops(key, samples, &options) : NULL;
  if (law == NULL)
    printf("  as %-6s: no law\n", algo);
  for (guint i = 0; law != NULL && cases[at].predicted[i] != NULL; i++)
    print_extrapolated(folder, cases[at].predicted[i], algo, law);
}

int main(int argc, char **argv)
{
  const char *folder = argc > 1 ? argv[1] : "tests/reference/nccl-tests/raw";

  print_all_held_out(folder);
  printf("\nMore nodes than the law was fitted on: median error below 1 MiB, and above\n");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    printf("%s\n", cases[i].title);
    for (guint k = 0; cases[i].algo[k] != NULL; k++)
      extrapolate(folder, i, cases[i].algo[k]);
  }
  return 0;
}
