/**
 * @file fit.c
 * @brief Where the constants come from that were fitted to published tables.
 *
 * Each entry of fit.json names keys of a scenario, the range each may have, and the tables
 * it is fitted to: of one kind of hardware, every row of them. One key after another takes
 * the value between which and its neighbours, on a logarithmic scale, the mean of |ln
 * (predicted / measured)| is least, until nothing changes any more. What comes out is
 * printed beside the default, with the errors of the tables it was fitted to and of those
 * that are held out. Nothing is written: the defaults are in the code, with their source.
 *
 * Usage: fit [FIT.json [FOLDER]]
 */
#include "sim/base/stats.h"
#include "sim/command/farm.h"
#include "tests/validate/cases.h"

#include <math.h>
#include <stdio.h>

enum { MAX_KEYS = 8, N_POINTS = 9, MAX_ROUNDS = 6 };

typedef struct {
  const char *key, *unit; /* borrowed from fit.json */
  double from, to, value;
} Key;

typedef struct {
  Key keys[MAX_KEYS];
  guint n_keys;
} Fit;

/* What one batch of processes predicts: every case with every candidate's keys. */
typedef struct {
  const Cases *cases;
  GPtrArray *tables; /* of const Case, borrowed */
  const Fit *candidates;
  bool defaults; /* the keys are left alone */
} Batch;

static void add_settings(const Fit *fit, GStrvBuilder *settings)
{
  for (guint i = 0; i < fit->n_keys; i++) {
    const Key *key = &fit->keys[i];
    g_autofree char *text =
      *key->unit == '\0'
        ? g_strdup_printf("%s=%.9g", key->key, key->value)
        : g_strdup_printf("%s=\"%.9f %s\"", key->key, key->value, key->unit);
    g_strv_builder_add(settings, text);
  }
}

/* In a child. */
static bool predict(guint index, void *data, GString *out, GError **error)
{
  const Batch *batch = data;
  g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

  if (!batch->defaults)
    add_settings(&batch->candidates[index / batch->tables->len], builder);
  g_auto(GStrv) settings = g_strv_builder_end(builder);
  return cases_predict(batch->cases,
                       g_ptr_array_index(batch->tables, index % batch->tables->len),
                       (const char *const *)settings, out, error);
}

/* ln(predicted / measured) of every row of every table, for each of @p n candidates.
 * Transfer: caller unrefs the GArrays of double and their array. */
static GPtrArray *predict_all(Batch *batch, guint n)
{
  g_autoptr(GError) error = NULL;
  const Farm farm = { .n_tasks = n * batch->tables->len,
                      .n_workers = g_get_num_processors(),
                      .work = predict,
                      .data = batch };
  g_autoptr(GPtrArray) answers = farm_run(&farm, &error);
  GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

  if (answers == NULL)
    g_error("%s", error->message);
  for (guint i = 0; i < answers->len; i++) {
    const Case *one = g_ptr_array_index(batch->tables, i % batch->tables->len);
    g_auto(GStrv) lines =
      g_strsplit(((const GString *)g_ptr_array_index(answers, i))->str, "\n", -1);
    if (i % batch->tables->len == 0)
      g_ptr_array_add(all, g_array_new(FALSE, FALSE, sizeof(double)));
    GArray *logs = g_ptr_array_index(all, all->len - 1);
    for (guint row = 0; row < one->n_rows; row++) {
      const double x = log(g_ascii_strtod(lines[row], NULL) / one->measured_s[row]);
      g_array_append_val(logs, x);
    }
  }
  return all;
}

static double mean_badness(const GArray *logs)
{
  double sum = 0;
  for (guint i = 0; i < logs->len; i++)
    sum += fabs(g_array_index(logs, double, i));
  return sum / logs->len;
}

/* Best of N_POINTS values of key @p which, @p width apart in all (a ratio). */
static bool improve(Batch *batch, Fit *fit, guint which, double width)
{
  Fit candidates[N_POINTS];
  const double before = fit->keys[which].value;
  guint best = N_POINTS / 2;

  for (guint i = 0; i < N_POINTS; i++) {
    Key *key = &candidates[i].keys[which];
    candidates[i] = *fit;
    key->value *= pow(width, (double)i / (N_POINTS - 1) - 0.5);
    key->value = CLAMP(key->value, key->from, key->to);
  }
  batch->candidates = candidates;
  g_autoptr(GPtrArray) all = predict_all(batch, N_POINTS);
  for (guint i = 0; i < N_POINTS; i++)
    if (mean_badness(g_ptr_array_index(all, i)) <
        mean_badness(g_ptr_array_index(all, best)))
      best = i;
  *fit = candidates[best];
  return fit->keys[which].value != before;
}

/* Coarse first: a key moves over its whole range, then over ever less of it. */
static void run_fit(Batch *batch, Fit *fit)
{
  for (guint round = 0; round < MAX_ROUNDS; round++)
    for (guint i = 0; i < fit->n_keys; i++) {
      const double range = fit->keys[i].to / fit->keys[i].from;
      improve(batch, fit, i, pow(range, pow(0.5, round)));
    }
}

static void print_errors(const char *what, const GArray *logs)
{
  g_autofree double *errors = g_new(double, logs->len);

  for (guint i = 0; i < logs->len; i++)
    errors[i] = fabs(expm1(g_array_index(logs, double, i))) * 100;
  stats_sort(errors, logs->len);
  printf("  %-34s %4u rows: median %4.1f %%, 90th percentile %4.1f %%\n", what, logs->len,
         stats_quantile(errors, logs->len, 0.5), stats_quantile(errors, logs->len, 0.9));
}

static GPtrArray *find_tables(const Cases *cases, const cJSON *names)
{
  GPtrArray *tables = g_ptr_array_new();
  for (const cJSON *name = names->child; name != NULL; name = name->next)
    g_ptr_array_add(tables, (gpointer)cases_find(cases, name->valuestring));
  return tables;
}

static void report(const Cases *cases, const cJSON *entry, const char *list,
                   const char *what, const Fit *fit)
{
  g_autoptr(GPtrArray) tables =
    find_tables(cases, cJSON_GetObjectItemCaseSensitive(entry, list));
  Batch batch = { .cases = cases, .tables = tables, .candidates = fit };
  g_autofree char *with_defaults = g_strdup_printf("%s, defaults", what);
  g_autofree char *fitted = g_strdup_printf("%s, as fitted", what);
  g_autoptr(GPtrArray) after = predict_all(&batch, 1);

  batch.defaults = true;
  g_autoptr(GPtrArray) before = predict_all(&batch, 1);
  print_errors(with_defaults, g_ptr_array_index(before, 0));
  print_errors(fitted, g_ptr_array_index(after, 0));
}

static Fit read_fit(const cJSON *entry)
{
  Fit fit = { .n_keys = 0 };
  const cJSON *keys = cJSON_GetObjectItemCaseSensitive(entry, "keys");

  for (const cJSON *row = keys->child; row != NULL && fit.n_keys < MAX_KEYS;
       row = row->next) {
    Key *key = &fit.keys[fit.n_keys++];
    const char *unit = cases_text(row, "unit");
    key->key = cases_text(row, "key");
    key->unit = unit == NULL ? "" : unit;
    key->from = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "from"));
    key->to = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "to"));
    key->value = sqrt(key->from * key->to);
  }
  return fit;
}

int main(int argc, char **argv)
{
  const char *file = argc > 1 ? argv[1] : "tests/validate/fit.json";
  g_autoptr(cJSON) fits = cases_read_json(".", file);
  Cases cases;

  cases_init(&cases, argc > 2 ? argv[2] : "tests/reference/nccl-tests");
  for (const cJSON *entry = fits->child; entry != NULL; entry = entry->next) {
    Fit fit = read_fit(entry);
    g_autoptr(GPtrArray) tables =
      find_tables(&cases, cJSON_GetObjectItemCaseSensitive(entry, "tables"));
    Batch batch = { .cases = &cases, .tables = tables };
    printf("%s\n", cases_text(entry, "name"));
    run_fit(&batch, &fit);
    for (guint i = 0; i < fit.n_keys; i++)
      printf("  %-34s %.3g %s\n", fit.keys[i].key, fit.keys[i].value, fit.keys[i].unit);
    report(&cases, entry, "tables", "fitted to", &fit);
    report(&cases, entry, "held_out", "held out", &fit);
  }
  cases_clear(&cases);
  return 0;
}
