/**
 * @file training.c
 * @brief Predicted against measured: published throughput of training on several GPUs, from
 *        that on the fewest: tests/reference/training.
 *
 * Usage: training [--rows] [FOLDER]
 */
#include "sim/training/training.h"
#include "sim/base/rng.h"
#include "sim/base/stats.h"
#include "sim/command/farm.h"
#include "sim/scenario/scenario.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

#define N_WORST 5

/** One point of a column. */
typedef struct {
  const cJSON *column, *point; /* of the index; borrowed */
  double predicted;            /* samples/s */
} Point;

static const cJSON *member(const cJSON *json, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(json, key);
}

static const char *text_of(const cJSON *json, const char *key)
{
  return cJSON_GetStringValue(member(json, key));
}

static double number_of(const cJSON *json, const char *key)
{
  return cJSON_GetNumberValue(member(json, key));
}

static cJSON *read_index(const char *folder)
{
  g_autofree char *path = g_build_filename(folder, "index.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;

  if (!g_file_get_contents(path, &text, NULL, &error))
    g_error("%s", error->message);
  cJSON *index = cJSON_Parse(text);
  if (index == NULL)
    g_error("%s: not JSON", path);
  return index;
}

static GArray *list_points(const cJSON *index)
{
  GArray *points = g_array_new(FALSE, FALSE, sizeof(Point));
  const cJSON *column, *point;

  cJSON_ArrayForEach(column, index)
  {
    cJSON_ArrayForEach(point, member(column, "points"))
    {
      const Point one = { .column = column, .point = point };
      g_array_append_val(points, one);
    }
  }
  return points;
}

/* What an average GPU does, as a setting. A rate that was measured on several GPUs is that
 * of the slowest of them. */
static char *average_rate(const cJSON *column)
{
  const cJSON *compute = member(member(member(column, "scenario"), "workload"), "compute");
  ComputeSpec usual = { 0 };

  param_set_defaults(compute_params, &usual);
  const double lag =
    1 + usual.gpu_spread * rng_mean_max_normal(number_of(column, "from_gpus"));
  param_clear(compute_params, &usual);
  return g_strdup_printf("workload.compute.samples_per_s=%.9g",
                         number_of(compute, "samples_per_s") *
                           (number_of(column, "from_gpus") > 1 ? lag : 1));
}

/* In a child: the throughput. */
static bool predict(guint index, void *data, GString *out, GError **error)
{
  const Point *one = &g_array_index((GArray *)data, Point, index);
  g_autoptr(GPtrArray) settings = g_ptr_array_new();
  const TrainingConfig config = { .fold = true };
  const cJSON *set;

  cJSON_ArrayForEach(set, member(one->point, "set"))
    g_ptr_array_add(settings, set->valuestring);
  g_autofree char *rate = average_rate(one->column);
  g_ptr_array_add(settings, rate);
  g_ptr_array_add(settings, NULL);
  char *text = cJSON_PrintUnformatted(member(one->column, "scenario"));
  g_autoptr(Scenario) scenario =
    scenario_parse(text_of(one->column, "name"), text, strlen(text),
                   (const char *const *)settings->pdata, error);
  cJSON_free(text);
  if (scenario == NULL)
    return false;
  g_autoptr(Result) result = training_forecast(scenario_setup(scenario), &config, error);
  if (result == NULL)
    return false;
  g_string_append_printf(out, "%.17g", result->throughput_samples_per_s);
  return true;
}

static double relative(const Point *one)
{
  return one->predicted / number_of(one->point, "measured") - 1;
}

/* Of all points, or of those of one system. */
static void print_line(const GArray *points, const char *system)
{
  g_autofree double *errors = g_new(double, points->len);
  guint n = 0;
  double sum = 0;

  for (guint i = 0; i < points->len; i++) {
    const Point *one = &g_array_index(points, Point, i);
    if (system != NULL && strcmp(text_of(one->column, "system"), system) != 0)
      continue;
    sum += relative(one) * 100;
    errors[n++] = fabs(relative(one)) * 100;
  }
  stats_sort(errors, n);
  printf("%-26s %4u  %6.1f  %6.1f  %6.1f  %+6.1f\n", system == NULL ? "all" : system, n,
         stats_quantile(errors, n, 0.5), stats_quantile(errors, n, 0.9), errors[n - 1],
         sum / n);
}

static void print_table(const GArray *points)
{
  const char *last = "";

  printf("|predicted / measured - 1| of throughput in %%\n\n");
  printf("%-26s %4s  %6s  %6s  %6s  %6s\n", "system", "n", "median", "90th", "worst",
         "mean");
  for (guint i = 0; i < points->len; i++) {
    const char *system = text_of(g_array_index(points, Point, i).column, "system");
    if (strcmp(system, last) != 0)
      print_line(points, system);
    last = system;
  }
  print_line(points, NULL);
}

static void print_point(const Point *one)
{
  const cJSON *scenario = member(one->column, "scenario");

  printf("  %-24s %-46s %4.0f GPUs %-10s %10.1f measured %10.1f predicted (%+.1f %%)\n",
         text_of(one->column, "system"), text_of(one->column, "name"),
         number_of(one->point, "gpus"), text_of(member(scenario, "workload"), "model"),
         number_of(one->point, "measured"), one->predicted, relative(one) * 100);
}

static int compare_badness(gconstpointer a, gconstpointer b)
{
  const double x = fabs(relative(a)), y = fabs(relative(b));
  return (x < y) - (x > y);
}

/* The worst point of each of the worst columns. */
static void print_worst(GArray *points)
{
  g_autoptr(GPtrArray) told = g_ptr_array_new();

  printf("\nworst point of the %u worst columns, and what is known about it:\n", N_WORST);
  g_array_sort(points, compare_badness);
  for (guint i = 0; i < points->len && told->len < N_WORST; i++) {
    const Point *one = &g_array_index(points, Point, i);
    if (g_ptr_array_find(told, one->column, NULL))
      continue;
    g_ptr_array_add(told, (gpointer)one->column);
    print_point(one);
    const char *known = text_of(one->column, "known");
    printf("    %s\n", known == NULL ? "not understood" : known);
  }
}

int main(int argc, char **argv)
{
  const bool all_rows = argc > 1 && strcmp(argv[1], "--rows") == 0;
  const char *folder =
    argc > 1 + all_rows ? argv[1 + all_rows] : "tests/reference/training";
  g_autoptr(cJSON) index = read_index(folder);
  g_autoptr(GArray) points = list_points(index);
  g_autoptr(GError) error = NULL;
  const Farm farm = { .n_tasks = points->len,
                      .n_workers = g_get_num_processors(),
                      .work = predict,
                      .data = points };
  g_autoptr(GPtrArray) answers = farm_run(&farm, &error);

  if (answers == NULL) {
    fprintf(stderr, "training: %s\n", error->message);
    return 1;
  }
  for (guint i = 0; i < points->len; i++) {
    Point *one = &g_array_index(points, Point, i);
    one->predicted =
      g_ascii_strtod(((const GString *)g_ptr_array_index(answers, i))->str, NULL);
    if (all_rows)
      print_point(one);
  }
  print_table(points);
  print_worst(points);
  return 0;
}
