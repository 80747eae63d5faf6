#include "tests/validate/cases.h"

#include "sim/scenario/scenario.h"
#include "sim/training/collective_forecast.h"

#include <string.h>

const char *cases_text(const cJSON *object, const char *key)
{
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

cJSON *cases_read_json(const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;

  if (!g_file_get_contents(path, &text, NULL, &error))
    g_error("%s", error->message);
  cJSON *json = cJSON_Parse(text);
  if (json == NULL)
    g_error("%s: not JSON", path);
  return json;
}

static void case_free(Case *one)
{
  cJSON_Delete(one->table);
  g_free(one->size_B);
  g_free(one->measured_s);
  g_free(one);
}

static Case *case_new(const char *folder, cJSON *entry)
{
  g_autofree char *name = g_strdup_printf("tables/%s.json", cases_text(entry, "table"));
  Case *one = g_new0(Case, 1);

  one->entry = entry;
  one->table = cases_read_json(folder, name);
  const cJSON *rows = cJSON_GetObjectItemCaseSensitive(one->table, "rows");
  one->n_rows = (guint)cJSON_GetArraySize(rows);
  one->size_B = g_new(double, one->n_rows);
  one->measured_s = g_new(double, one->n_rows);
  guint i = 0;
  for (const cJSON *row = rows->child; row != NULL; row = row->next, i++) {
    one->size_B[i] = cJSON_GetNumberValue(cJSON_GetArrayItem(row, 0));
    one->measured_s[i] = cJSON_GetNumberValue(cJSON_GetArrayItem(row, 1)) * 1e-6;
  }
  return one;
}

void cases_init(Cases *cases, const char *folder)
{
  cases->folder = folder;
  cases->index = cases_read_json(folder, "index.json");
  cases->cases = g_ptr_array_new_with_free_func((GDestroyNotify)case_free);
  for (cJSON *entry = cases->index->child; entry != NULL; entry = entry->next)
    g_ptr_array_add(cases->cases, case_new(folder, entry));
}

void cases_clear(Cases *cases)
{
  g_clear_pointer(&cases->cases, g_ptr_array_unref);
  g_clear_pointer(&cases->index, cJSON_Delete);
}

const Case *cases_find(const Cases *cases, const char *name)
{
  for (guint i = 0; i < cases->cases->len; i++) {
    const Case *one = g_ptr_array_index(cases->cases, i);
    if (strcmp(cases_text(one->entry, "table"), name) == 0)
      return one;
  }
  g_error("%s/index.json: no table '%s'", cases->folder, name);
}

static Scenario *load(const Cases *cases, const Case *one, const char *const *settings,
                      GError **error)
{
  const cJSON *set = cJSON_GetObjectItemCaseSensitive(one->entry, "set");
  g_autofree char *path = g_strdup_printf("%s/clusters/%s.json", cases->folder,
                                          cases_text(one->entry, "cluster"));
  g_autoptr(GPtrArray) all = g_ptr_array_new();

  for (const cJSON *one_set = set == NULL ? NULL : set->child; one_set != NULL;
       one_set = one_set->next)
    g_ptr_array_add(all, one_set->valuestring);
  for (guint i = 0; settings != NULL && settings[i] != NULL; i++)
    g_ptr_array_add(all, (gpointer)settings[i]);
  g_ptr_array_add(all, NULL);
  return scenario_load_cluster(path, (const char *const *)all->pdata, error);
}

bool cases_predict(const Cases *cases, const Case *one, const char *const *settings,
                   GString *out, GError **error)
{
  CollForecast forecast = { .sizes_B = one->size_B, .n_sizes = one->n_rows, .fold = true };

  if (!coll_kind_find(cases_text(one->table, "collective"), &forecast.kind, error))
    return false;
  const cJSON *n_gpus = cJSON_GetObjectItemCaseSensitive(one->entry, "ngpus");
  forecast.launch_s = n_gpus == NULL ? 0 : cJSON_GetNumberValue(n_gpus) * COLL_LAUNCH_S;
  g_autoptr(Scenario) scenario = load(cases, one, settings, error);
  if (scenario == NULL)
    return false;
  g_autoptr(Timings) timings =
    collective_forecast(scenario_setup(scenario), &forecast, error);
  if (timings == NULL)
    return false;
  for (guint i = 0; i < timings->rows->len; i++) {
    const Timing *timing = &g_array_index(timings->rows, Timing, i);
    g_string_append_printf(out, "%.17g %s/%s\n", timing->time_s, timing->algorithm,
                           timing->protocol);
  }
  return true;
}
