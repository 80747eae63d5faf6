/**
 * @file extrapolation.c
 * @brief What the simulator predicts of more nodes than a profile measured.
 *
 * Tables of few nodes are given to the simulator as a profile; tables of more nodes are
 * predicted, once without and once with it.
 *
 * Usage: extrapolation [--rows] [FOLDER]
 */
#include "calibrate/fit.h"
#include "sim/base/stats.h"
#include "sim/scenario/scenario.h"
#include "sim/training/exchange.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

static const double large_B = 1 << 20;
typedef struct {
  const char *title;
  const char *fitted[5], *predicted[3];
} Case;

static const Case cases[] = {
#define ALPS(run)                                                                          \
  {                                                                                        \
    "GH200 " run ", 1-4 nodes",                                                            \
      { "alps-gh200-N001-allreduce-" run, "alps-gh200-N002-allreduce-" run,                \
        "alps-gh200-N004-allreduce-" run },                                                \
    {                                                                                      \
      "alps-gh200-N008-allreduce-" run, "alps-gh200-N016-allreduce-" run                   \
    }                                                                                      \
  }
  ALPS("crossnic1"),
  ALPS("devmem16M-fixedhsn"),
  ALPS("ofi1.13.0-default"),
  { "H100 all-to-all, 1-2 nodes",
    { "h100-N01xG4-alltoall", "h100-N02xG1-alltoall", "h100-N02xG2-alltoall" },
    { "h100-N10xG1-alltoall", "h100-N10xG2-alltoall" } },
  { "H100 sends to a neighbour, 1-2 nodes",
    { "h100-N01xG4-sendrecv", "h100-N02xG1-sendrecv", "h100-N02xG2-sendrecv" },
    { "h100-N10xG1-sendrecv", "h100-N10xG2-sendrecv" } },
  { "H100 all-reduce, 1-2 nodes",
    { "h100-N01xG4-allreduce", "h100-N01xG8-allreduce", "h100-smoke-N02xG1-allreduce" },
    { "h100-N10xG1-allreduce", "h100-N10xG2-allreduce" } },
};

static cJSON *read_json(const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;

  if (!g_file_get_contents(path, &text, NULL, &error))
    g_error("%s", error->message);
  return cJSON_Parse(text);
}

static cJSON *read_table(const char *folder, const char *name)
{
  g_autofree char *path = g_strdup_printf("tables/%s.json", name);
  return read_json(folder, path);
}

static const cJSON *member(const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Its points, as a profile has them. */
static void add_curve(const char *folder, const char *name, GArray *curves)
{
  g_autoptr(cJSON) table = read_table(folder, name);
  g_autoptr(GPtrArray) samples = sample_list_new();
  CalibrationCurve curve = { .n_nodes = (guint)member(table, "nodes")->valueint,
                             .n_ranks = (guint)member(table, "ranks")->valueint,
                             .knots = g_array_new(FALSE, FALSE, sizeof(CalibrationKnot)) };
  const cJSON *row;

  if (!coll_kind_find(member(table, "collective")->valuestring, &curve.kind, NULL))
    g_error("%s: no collective", name);
  cJSON_ArrayForEach(row, member(table, "rows"))
  {
    Sample *sample = sample_new(member(table, "collective")->valuestring);
    sample->size = cJSON_GetArrayItem(row, 0)->valuedouble;
    sample->median_s = cJSON_GetArrayItem(row, 1)->valuedouble * 1e-6;
    sample->ranks = curve.n_ranks;
    sample->nodes = curve.n_nodes;
    g_ptr_array_add(samples, sample);
  }
  g_autoptr(GArray) points = fit_points(samples);
  for (guint i = 0; i < points->len; i++) {
    const LawKnot *knot = &g_array_index(points, LawKnot, i);
    const CalibrationKnot copy = { knot->size, knot->time_s };
    g_array_append_val(curve.knots, copy);
  }
  g_array_append_val(curves, curve);
}

static const cJSON *entry_of(const cJSON *index, const char *name)
{
  const cJSON *entry;

  cJSON_ArrayForEach(entry, index)
  {
    if (strcmp(member(entry, "table")->valuestring, name) == 0)
      return entry;
  }
  g_error("%s: not in the index", name);
}

static Scenario *load(const char *folder, const cJSON *entry)
{
  g_autofree char *path =
    g_strdup_printf("%s/clusters/%s.json", folder, member(entry, "cluster")->valuestring);
  g_autoptr(GPtrArray) settings = g_ptr_array_new();
  g_autoptr(GError) error = NULL;
  const cJSON *set;

  cJSON_ArrayForEach(set, member(entry, "set")) g_ptr_array_add(settings, set->valuestring);
  g_ptr_array_add(settings, NULL);
  Scenario *scenario =
    scenario_load_cluster(path, (const char *const *)settings->pdata, &error);
  if (scenario == NULL)
    g_error("%s", error->message);
  return scenario;
}

static Exchange *lay(const Setup *setup, const GArray *curves, CollKind kind)
{
  Setup with = *setup;
  const ExchangeNeeds needs = { .kinds = kind };
  g_autoptr(GError) error = NULL;

  with.curves = (GArray *)curves;
  Exchange *exchange = exchange_new(&with, &needs, &error);
  if (exchange == NULL)
    g_error("%s", error->message);
  return exchange;
}

/* "median / 90th percentile" */
static void print_errors(GArray *errors)
{
  double *data = (double *)(void *)errors->data;

  if (errors->len == 0) {
    printf(" %12s", "-");
    return;
  }
  stats_sort(data, errors->len);
  printf(" %5.1f /%5.1f", 100 * stats_quantile(data, errors->len, 0.5),
         100 * stats_quantile(data, errors->len, 0.9));
}

enum { BELOW, ABOVE, ALL, N_PARTS };

/** A way to predict a table, and how far off it was. */
typedef struct {
  Exchange *exchange;
  GArray *errors[N_PARTS];
} Way;

static void way_init(Way *way, const Setup *setup, const GArray *curves, CollKind kind)
{
  way->exchange = lay(setup, curves, kind);
  for (guint part = 0; part < N_PARTS; part++)
    way->errors[part] = g_array_new(FALSE, FALSE, sizeof(double));
}

static void way_clear(Way *way)
{
  exchange_free(way->exchange);
  for (guint part = 0; part < N_PARTS; part++)
    g_array_unref(way->errors[part]);
}

/* How far off, -1 and more. */
static double predict(Way *way, CollKind kind, double size_B, double measured_s)
{
  const double off = exchange_idle_s(way->exchange, kind, size_B) / measured_s - 1;
  const double error = fabs(off);

  g_array_append_val(way->errors[size_B < large_B ? BELOW : ABOVE], error);
  g_array_append_val(way->errors[ALL], error);
  return off;
}

static void print_predicted(const char *folder, const cJSON *index, const char *name,
                            const GArray *curves, bool rows)
{
  g_autoptr(cJSON) table = read_table(folder, name);
  g_autoptr(Scenario) scenario = load(folder, entry_of(index, name));
  g_autoptr(GArray) none = calibration_new();
  Way alone, with;
  CollKind kind;
  const cJSON *row;

  if (!coll_kind_find(member(table, "collective")->valuestring, &kind, NULL))
    g_error("%s: no collective", name);
  way_init(&alone, scenario_setup(scenario), none, kind);
  way_init(&with, scenario_setup(scenario), curves, kind);
  cJSON_ArrayForEach(row, member(table, "rows"))
  {
    const double size_B = cJSON_GetArrayItem(row, 0)->valuedouble;
    const double measured_s = cJSON_GetArrayItem(row, 1)->valuedouble * 1e-6;
    const double off = predict(&alone, kind, size_B, measured_s);
    const double off_with = predict(&with, kind, size_B, measured_s);
    if (rows)
      printf("    %12.0f B %12.1f us %+6.0f %% %+6.0f %%\n", size_B, measured_s * 1e6,
             100 * off, 100 * off_with);
  }
  printf("  %-46s", name);
  for (guint part = 0; part < N_PARTS; part++)
    print_errors(alone.errors[part]);
  printf(" ");
  for (guint part = 0; part < N_PARTS; part++)
    print_errors(with.errors[part]);
  printf("\n");
  way_clear(&alone);
  way_clear(&with);
}

int main(int argc, char **argv)
{
  const bool rows = argc > 1 && strcmp(argv[1], "--rows") == 0;
  const char *folder = argc > 1 + rows ? argv[1 + rows] : "tests/reference/nccl-tests";
  g_autoptr(cJSON) index = read_json(folder, "index.json");

  printf(
    "More nodes than a profile measured: median / 90th percentile of errors [%%], below "
    "1 MiB, above, all\n  %-46s %39s  %39s\n",
    "", "simulator alone", "with the profile");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GArray) curves = calibration_new();
    printf("%s\n", cases[i].title);
    for (guint k = 0; cases[i].fitted[k] != NULL; k++)
      add_curve(folder, cases[i].fitted[k], curves);
    for (guint k = 0; cases[i].predicted[k] != NULL; k++)
      print_predicted(folder, index, cases[i].predicted[k], curves, rows);
  }
  return 0;
}
