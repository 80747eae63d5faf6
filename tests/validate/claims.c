/**
 * @file claims.c
 * @brief Reported beside predicted: scenarios/claims.
 *
 * A figure is a quantity of one scenario, or its change against another's. Hardware is
 * chosen and stated in the scenarios; nothing is tuned to a claim.
 *
 * Usage: claims [FOLDER]
 */
#include "sim/command/farm.h"
#include "sim/scenario/scenario.h"
#include "sim/training/training.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

/** A quantity that a figure may name. */
typedef struct {
  const char *key;
  size_t offset; /**< of a double in Result */
  double scale;  /**< from SI to what is printed */
  const char *unit;
} Quantity;

static const Quantity quantities[] = {
  { "iteration_time_s", offsetof(Result, iteration_time_s), 1e3, "ms" },
  { "throughput_samples_per_s", offsetof(Result, throughput_samples_per_s), 1, "/s" },
  { "throughput_per_gpu_samples_per_s", offsetof(Result, throughput_per_gpu_samples_per_s),
    1, "/s" },
  { "comm_busy_share", offsetof(Result, comm_busy_share), 100, "%" },
  { "comm_exposed_share", offsetof(Result, comm_exposed_share), 100, "%" },
  { "gpu_utilisation", offsetof(Result, gpu_utilisation), 100, "%" },
};
#define N_QUANTITIES G_N_ELEMENTS(quantities)

typedef struct {
  const char *folder;
  GPtrArray *names; /* of scenarios, each once */
} Job;

static const char *text_of(const cJSON *json, const char *key)
{
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));
}

static cJSON *read_claims(const char *folder)
{
  g_autofree char *path = g_build_filename(folder, "claims.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;

  if (!g_file_get_contents(path, &text, NULL, &error))
    g_error("%s", error->message);
  cJSON *claims = cJSON_Parse(text);
  if (claims == NULL)
    g_error("%s: not JSON", path);
  return claims;
}

static guint index_of(GPtrArray *names, const char *name)
{
  guint i;

  if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, &i)) {
    i = names->len;
    g_ptr_array_add(names, (gpointer)name);
  }
  return i;
}

/* In a child: every quantity of one scenario. */
static bool predict(guint index, void *data, GString *out, GError **error)
{
  const Job *job = data;
  g_autofree char *file =
    g_strconcat((const char *)g_ptr_array_index(job->names, index), ".json", NULL);
  g_autofree char *path = g_build_filename(job->folder, file, NULL);
  const TrainingConfig config = { .fold = true };
  g_autoptr(Scenario) scenario = scenario_load(path, NULL, error);

  if (scenario == NULL)
    return false;
  g_autoptr(Result) result = training_forecast(scenario_setup(scenario), &config, error);
  if (result == NULL)
    return false;
  for (guint q = 0; q < N_QUANTITIES; q++)
    g_string_append_printf(
      out, "%.17g ",
      G_STRUCT_MEMBER(double, result, quantities[q].offset)); /* in the table's order */
  return true;
}

static double value_of(GPtrArray *answers, guint scenario, guint quantity)
{
  g_auto(GStrv) word =
    g_strsplit(((const GString *)g_ptr_array_index(answers, scenario))->str, " ", 0);

  return g_ascii_strtod(word[quantity], NULL);
}

static guint find_quantity(const char *key)
{
  for (guint q = 0; q < N_QUANTITIES; q++)
    if (g_strcmp0(quantities[q].key, key) == 0)
      return q;
  g_error("no quantity '%s'", key);
}

static void print_figure(const cJSON *figure, const Job *job, GPtrArray *answers)
{
  const guint q = find_quantity(text_of(figure, "key"));
  const char *against = text_of(figure, "against");
  const double value = value_of(answers, index_of(job->names, text_of(figure, "of")), q);
  g_autofree char *predicted = NULL;

  if (against == NULL)
    predicted = g_strdup_printf("%.4g %s", value * quantities[q].scale, quantities[q].unit);
  else
    predicted = g_strdup_printf(
      "%+.0f %%", (value / value_of(answers, index_of(job->names, against), q) - 1) * 100);
  printf("  %-58s %14s %14s\n", text_of(figure, "what"), text_of(figure, "reported"),
         predicted);
}

static void print_claim(const cJSON *claim, const Job *job, GPtrArray *answers)
{
  const cJSON *figure;

  printf("\n%s  %s\n  chosen: %s\n  %-58s %14s %14s\n", text_of(claim, "id"),
         text_of(claim, "claim"), text_of(claim, "chosen"), "", "reported", "predicted");
  cJSON_ArrayForEach(figure, cJSON_GetObjectItemCaseSensitive(claim, "figures"))
    print_figure(figure, job, answers);
  printf("  %s\n", text_of(claim, "says"));
}

int main(int argc, char **argv)
{
  Job job = { .folder = argc > 1 ? argv[1] : "scenarios/claims",
              .names = g_ptr_array_new() };
  g_autoptr(cJSON) claims = read_claims(job.folder);
  g_autoptr(GError) error = NULL;
  const cJSON *claim, *figure;

  cJSON_ArrayForEach(claim, claims)
  {
    cJSON_ArrayForEach(figure, cJSON_GetObjectItemCaseSensitive(claim, "figures"))
    {
      index_of(job.names, text_of(figure, "of"));
      if (text_of(figure, "against") != NULL)
        index_of(job.names, text_of(figure, "against"));
    }
  }
  const Farm farm = { .n_tasks = job.names->len,
                      .n_workers = g_get_num_processors(),
                      .work = predict,
                      .data = &job };
  g_autoptr(GPtrArray) answers = farm_run(&farm, &error);
  if (answers == NULL) {
    fprintf(stderr, "claims: %s\n", error->message);
    return 1;
  }
  cJSON_ArrayForEach(claim, claims) print_claim(claim, &job, answers);
  g_ptr_array_unref(job.names);
  return 0;
}
