#include "calibrate/import/workload.h"

#include <cjson/cJSON.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

struct ImportWorkload {
  cJSON *layers, *times; /* of the model, of the compute section */
  cJSON *last;           /* of the layers */
  GHashTable *n_named;   /* how often a name was used */
};

ImportWorkload *import_workload_new(void)
{
  ImportWorkload *workload = g_new0(ImportWorkload, 1);

  workload->layers = cJSON_CreateArray();
  workload->times = cJSON_CreateArray();
  workload->n_named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  return workload;
}

void import_workload_free(ImportWorkload *workload)
{
  if (workload == NULL)
    return;
  cJSON_Delete(workload->layers);
  cJSON_Delete(workload->times);
  g_hash_table_unref(workload->n_named);
  g_free(workload);
}

/* Names repeat in these files: "attention", "attention_2". */
static char *unique_name(ImportWorkload *workload, const char *name)
{
  g_autofree char *plain = g_strdelimit(g_utf8_make_valid(name, -1), ".", '_');
  const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(workload->n_named, plain)) + 1;

  g_hash_table_insert(workload->n_named, g_strdup(plain), GUINT_TO_POINTER(n));
  return n == 1 ? g_steal_pointer(&plain) : g_strdup_printf("%s_%u", plain, n);
}

static void add_time(cJSON *row, const char *key, double time_s)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *text =
    g_strdup_printf("%s us", g_ascii_formatd(number, sizeof number, "%.9g", time_s * 1e6));

  cJSON_AddStringToObject(row, key, text);
}

void import_workload_add(ImportWorkload *workload, const char *name, double forward_s,
                         double backward_s)
{
  g_autofree char *unique = unique_name(workload, name);
  cJSON *row = cJSON_CreateObject();

  workload->last = cJSON_CreateObject();
  cJSON_AddStringToObject(workload->last, "name", unique);
  cJSON_AddItemToArray(workload->layers, workload->last);
  cJSON_AddStringToObject(row, "name", unique);
  add_time(row, "forward", forward_s);
  add_time(row, "backward", backward_s);
  cJSON_AddItemToArray(workload->times, row);
}

void import_workload_add_tensor(ImportWorkload *workload, const char *name, double values)
{
  cJSON *tensors = cJSON_GetObjectItemCaseSensitive(workload->last, "tensors");
  cJSON *tensor = cJSON_CreateObject();

  if (tensors == NULL)
    tensors = cJSON_AddArrayToObject(workload->last, "tensors");
  cJSON_AddStringToObject(tensor, "name", name);
  cJSON_AddNumberToObject(tensor, "values", values);
  cJSON_AddItemToArray(tensors, tensor);
}

char *import_workload_render(const ImportWorkload *workload, const ImportInput *input,
                             const char *sample, const char *precision)
{
  g_autoptr(cJSON) root = cJSON_CreateObject();
  g_autofree char *base = g_path_get_basename(import_name(input));
  g_autofree char *source = g_strdup_printf("imported from %s", base);
  cJSON *part = cJSON_AddObjectToObject(root, "workload");
  cJSON *model = cJSON_AddObjectToObject(part, "model");

  cJSON_AddStringToObject(model, "name", base);
  cJSON_AddStringToObject(model, "sample", sample);
  cJSON_AddStringToObject(model, "source", source);
  cJSON_AddItemToObject(model, "layers", cJSON_Duplicate(workload->layers, true));
  cJSON_AddStringToObject(part, "precision", precision);
  cJSON_AddItemToObject(cJSON_AddObjectToObject(part, "compute"), "layers",
                        cJSON_Duplicate(workload->times, true));
  char *text = cJSON_Print(root);
  char *copy = g_strconcat(text, "\n", NULL);
  cJSON_free(text);
  return copy;
}
