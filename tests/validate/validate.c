/**
 * @file validate.c
 * @brief Predicted against measured: every public table of tests/reference/nccl-tests.
 *
 * Nothing is calibrated: catalogue, stated hardware and cost model only. Prints errors of
 * time by system and size, of the tables that constants of ours come from and of all
 * others, and the worst rows with what is known about them.
 *
 * Usage: validate [--rows] [FOLDER]
 */
#include "sim/base/stats.h"
#include "sim/command/farm.h"
#include "tests/validate/cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_WORST 5
#define KIB 1024.0
#define MIB (1024 * KIB)

static const struct {
  const char *name;
  double up_to_B;
} classes[] = {
  { "<= 32 KiB", 32 * KIB },
  { "to 512 KiB", 512 * KIB },
  { "to 64 MiB", 64 * MIB },
  { "larger", INFINITY },
};
#define N_CLASSES G_N_ELEMENTS(classes)

typedef struct {
  const Case *of;
  double size_B, measured_s, predicted_s;
  char *chosen;
} Row;

static void add_rows(const Case *one, const char *answer, GArray *rows)
{
  g_auto(GStrv) lines = g_strsplit(answer, "\n", -1);

  for (guint i = 0; i < one->n_rows; i++) {
    char *chosen = strchr(lines[i], ' ');
    const Row row = { .of = one,
                      .size_B = one->size_B[i],
                      .measured_s = one->measured_s[i],
                      .predicted_s = g_ascii_strtod(lines[i], NULL),
                      .chosen = g_strdup(chosen + 1) };
    g_array_append_val(rows, row);
  }
}

static double relative(const Row *row)
{
  return row->predicted_s / row->measured_s - 1;
}

/* Too slow by a factor is as bad as too fast by it. */
static double badness(const Row *row)
{
  return fabs(log(row->predicted_s / row->measured_s));
}

static guint class_of(double size_B)
{
  guint i = 0;
  while (size_B > classes[i].up_to_B)
    i++;
  return i;
}

typedef enum { ANY, FITTED, OTHERS } Which;

static bool is_of(const Row *row, const char *system, Which which)
{
  const cJSON *entry = row->of->entry;

  if (system != NULL)
    return strcmp(cases_text(entry, "system"), system) == 0;
  return which == ANY || (cases_text(entry, "fitted") != NULL) == (which == FITTED);
}

/* "median / 90th percentile / worst" of the rows of a system, or of such tables of all, in
 * one class, or in all. */
static void print_cell(const GArray *rows, const char *system, Which which, guint class)
{
  g_autofree double *errors = g_new(double, rows->len);
  guint n = 0;

  for (guint i = 0; i < rows->len; i++) {
    const Row *row = &g_array_index(rows, Row, i);
    if (is_of(row, system, which) && (class == N_CLASSES || class_of(row->size_B) == class))
      errors[n++] = fabs(relative(row)) * 100;
  }
  if (n == 0) {
    printf("  %15s", "-");
    return;
  }
  stats_sort(errors, n);
  printf("  %4.0f /%4.0f /%4.0f", stats_quantile(errors, n, 0.5),
         stats_quantile(errors, n, 0.9), errors[n - 1]);
}

static void print_line(const GArray *rows, const char *name, const char *system,
                       Which which)
{
  printf("%-36s", name);
  for (guint class = 0; class <= N_CLASSES; class ++)
    print_cell(rows, system, which, class);
  printf("\n");
}

static void print_table(const GArray *rows)
{
  const char *last = "";

  printf("|predicted / measured - 1| of time in %%: median / 90th percentile / worst\n\n");
  printf("%-36s", "system");
  for (guint class = 0; class < N_CLASSES; class ++)
    printf("  %15s", classes[class].name);
  printf("  %15s\n", "all");
  for (guint i = 0; i < rows->len; i++) {
    const char *system = cases_text(g_array_index(rows, Row, i).of->entry, "system");
    if (strcmp(system, last) != 0)
      print_line(rows, system, system, ANY);
    last = system;
  }
  print_line(rows, "tables that a constant comes from", NULL, FITTED);
  print_line(rows, "out of sample: all others", NULL, OTHERS);
  print_line(rows, "all", NULL, ANY);
}

static void print_row(const Row *row)
{
  printf("  %-46s %12.0f B %12.1f us measured %12.1f us predicted (%+.0f %%) %s\n",
         cases_text(row->of->entry, "table"), row->size_B, row->measured_s * 1e6,
         row->predicted_s * 1e6, relative(row) * 100, row->chosen);
}

static int compare_badness(gconstpointer a, gconstpointer b)
{
  const double x = badness(a), y = badness(b);
  return (x < y) - (x > y);
}

static bool is_told(const GPtrArray *told, const Row *row)
{
  for (guint i = 0; i < told->len; i++)
    if (strcmp(g_ptr_array_index(told, i), cases_text(row->of->entry, "system")) == 0)
      return true;
  return false;
}

/* The worst row of each of the worst systems, whose tables have the same reasons. */
static void print_worst(GArray *rows)
{
  g_autoptr(GPtrArray) told = g_ptr_array_new();

  printf("\nworst row of the %u worst systems, and what is known about it:\n", N_WORST);
  g_array_sort(rows, compare_badness);
  for (guint i = 0; i < rows->len && told->len < N_WORST; i++) {
    const Row *row = &g_array_index(rows, Row, i);
    if (is_told(told, row))
      continue;
    g_ptr_array_add(told, (gpointer)cases_text(row->of->entry, "system"));
    print_row(row);
    const char *known = cases_text(row->of->entry, "known");
    printf("    %s\n", known == NULL ? "not understood" : known);
  }
}

static void clear_row(gpointer row)
{
  g_free(((Row *)row)->chosen);
}

/* In a child: "time chosen" per row. */
static bool predict(guint index, void *data, GString *out, GError **error)
{
  const Cases *cases = data;
  return cases_predict(cases, g_ptr_array_index(cases->cases, index), NULL, out, error);
}

int main(int argc, char **argv)
{
  const bool all_rows = argc > 1 && strcmp(argv[1], "--rows") == 0;
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
  g_autoptr(GError) error = NULL;
  Cases cases;

  g_array_set_clear_func(rows, clear_row);
  cases_init(&cases,
             argc > 1 + all_rows ? argv[1 + all_rows] : "tests/reference/nccl-tests");
  const Farm farm = { .n_tasks = cases.cases->len,
                      .n_workers = g_get_num_processors(),
                      .work = predict,
                      .data = &cases };
  g_autoptr(GPtrArray) answers = farm_run(&farm, &error);
  if (answers == NULL) {
    fprintf(stderr, "validate: %s\n", error->message);
    return 1;
  }
  for (guint i = 0; i < cases.cases->len; i++)
    add_rows(g_ptr_array_index(cases.cases, i),
             ((const GString *)g_ptr_array_index(answers, i))->str, rows);
  for (guint i = 0; all_rows && i < rows->len; i++)
    print_row(&g_array_index(rows, Row, i));
  print_table(rows);
  print_worst(rows);
  cases_clear(&cases);
  return 0;
}
