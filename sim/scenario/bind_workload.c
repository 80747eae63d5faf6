#include "models/assembly.h"
#include "sim/scenario/bind.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/include.h"
#include "sim/scenario/model_file.h"

#include <string.h>

static const char *const workload_parts[] = { "model", "compute", NULL };

#define MODEL_PATH "workload.model"

static Model *read_model(Binder *binder, const char *name, const char *text, gsize length,
                         guint sequence)
{
  cJSON *root = documents_parse(binder->documents, name, text, length, binder->problems);
  return root == NULL
           ? NULL
           : model_file_bind(root, "", binder->documents, binder->problems, sequence);
}

/* The path of a model's file, as the file that names it sees it. */
static char *model_path(const Binder *binder, const cJSON *item)
{
  const char *from = documents_file(binder->documents, item);
  return include_resolve(from == NULL ? binder->file : from, item->valuestring);
}

static Model *model_from_file(Binder *binder, const Section *workload, const cJSON *item,
                              guint sequence)
{
  g_autoptr(GError) error = NULL;
  gsize length = 0;
  g_autofree char *path = model_path(binder, item);
  g_autofree char *text = include_read_part(path, &length, &error);

  if (text == NULL) {
    bind_blame(binder, workload, "model", item, error->message);
    return NULL;
  }
  return read_model(binder, path, text, length, sequence);
}

static Model *model_from_catalogue(Binder *binder, const Section *workload,
                                   const cJSON *item, guint sequence)
{
  gsize length = 0;
  const char *text = catalogue_text("model", item->valuestring, &length);

  if (text == NULL) {
    g_auto(GStrv) names = catalogue_names("model");
    g_autofree char *suggestion =
      registry_suggestion((const char *const *)names, item->valuestring);
    g_autofree char *cause =
      g_strdup_printf("unknown model '%s'%s", item->valuestring, suggestion);
    bind_blame(binder, workload, "model", item, cause);
    return NULL;
  }
  g_autofree char *file = g_strdup_printf("catalogue/model/%s.json", item->valuestring);
  return read_model(binder, file, text, length, sequence);
}

static Model *bind_model(Binder *binder, const Section *workload, guint sequence)
{
  const cJSON *item = bind_member(workload, "model");

  if (cJSON_IsObject(item))
    return model_file_bind(item, MODEL_PATH, binder->documents, binder->problems, sequence);
  if (!cJSON_IsString(item)) {
    g_autofree char *cause = g_strconcat(item == NULL ? "missing: " : "expected ",
                                         "a name from the catalogue, such as \"resnet50\", "
                                         "a path to a .json file, or an object",
                                         NULL);
    bind_blame(binder, workload, "model", item, cause);
    return NULL;
  }
  return g_str_has_suffix(item->valuestring, ".json")
           ? model_from_file(binder, workload, item, sequence)
           : model_from_catalogue(binder, workload, item, sequence);
}

/* A path from another folder than the scenario's is noted in full, so that what `show`
 * prints means the same file. */
static void note_model(Binder *binder, const cJSON *item)
{
  const char *from = documents_file(binder->documents, item);
  g_autofree char *line = documents_line(binder->documents, item);
  g_autoptr(cJSON) shown = cJSON_Duplicate(item, true);

  if (cJSON_IsString(item) && from != NULL &&
      g_str_has_suffix(item->valuestring, ".json")) {
    g_autofree char *folder = g_path_get_dirname(from);
    g_autofree char *own_folder = g_path_get_dirname(binder->file);
    g_autofree char *path = model_path(binder, item);
    g_autofree char *full = g_canonicalize_filename(path, NULL);
    if (strcmp(folder, own_folder) != 0)
      cJSON_SetValuestring(shown, full);
  }
  char *json = cJSON_PrintUnformatted(shown);
  effective_add(binder->effective, "model", json, line);
  cJSON_free(json);
}

/* Measured rate, efficiency and measured layers exclude one another. */
static void bind_compute(Binder *binder, const Section *workload, ComputeSpec *compute)
{
  g_autofree char *path = NULL;
  const Section section = bind_section(binder, workload, "compute", NULL, &path);

  effective_open(binder->effective, "compute");
  param_set_defaults(compute_params, compute);
  bind_params(binder, &section, compute_params, compute);
  bind_check_keys(binder, &section, compute_params, NULL);
  effective_close(binder->effective);

  const int n_ways =
    (compute->samples_per_s > 0) + (compute->efficiency > 0) + (compute->layers->len > 0);
  if (n_ways > 1)
    bind_blame(binder, &section, "", NULL,
               "give only one of \"samples_per_s\", \"efficiency\" and \"layers\"");
}

/* What only the whole workload can show: a precision that the GPU lacks, a layer that was
 * not measured. */
static void check_workload(const Binder *binder, const Section *section, const Setup *setup)
{
  for (guint kind = 0;
       problems_count(binder->problems) == 0 && kind < cluster_n_kinds(&setup->cluster);
       kind++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Workload) workload = assembly_workload(setup, kind, &error);
    if (workload == NULL)
      bind_blame(binder, section, "", NULL, error->message);
  }
}

static bool has_gpu(const ClusterSpec *cluster, const char *name)
{
  for (guint kind = 1; kind < cluster_n_kinds(cluster); kind++)
    if (g_strcmp0(cluster_kind(cluster, kind)->gpu.name, name) == 0)
      return g_strcmp0(cluster->node.gpu.name, name) != 0;
  return false;
}

/* A rate of a GPU that is not there would be ignored. */
static void check_other_gpus(const Binder *binder, const Section *workload,
                             const Setup *setup)
{
  g_autofree char *path = NULL;
  const Section section = bind_section(binder, workload, "compute", NULL, &path);
  const GArray *rows = setup->compute.other_gpus;

  for (guint i = 0; problems_count(binder->problems) == 0 && i < rows->len; i++) {
    const char *gpu = g_array_index(rows, OtherCompute, i).gpu;
    if (has_gpu(&setup->cluster, gpu))
      continue;
    g_autofree char *cause = g_strdup_printf(
      "no node of \"cluster.other_nodes\" has GPUs named '%s', other than the first nodes'",
      gpu);
    bind_blame_element(binder, &section, "other_gpus", i, cause);
  }
}

void bind_workload(Binder *binder, const Section *root, Setup *setup)
{
  g_autofree char *path = NULL;
  const Section section = bind_section(binder, root, "workload", NULL, &path);

  if (section.object == NULL) {
    if (bind_member(root, "workload") == NULL)
      bind_blame(binder, root, "workload", NULL,
                 "missing: an object with at least \"model\" and \"batch_per_gpu\"");
    return;
  }
  effective_open(binder->effective, "workload");
  if (bind_member(&section, "model") != NULL)
    note_model(binder, bind_member(&section, "model"));
  param_set_defaults(workload_params, &setup->workload);
  bind_params(binder, &section, workload_params, &setup->workload);
  setup->model = bind_model(binder, &section, setup->workload.sequence);
  bind_compute(binder, &section, &setup->compute);
  bind_check_keys(binder, &section, workload_params, workload_parts);
  effective_close(binder->effective);
  check_other_gpus(binder, &section, setup);
  check_workload(binder, &section, setup);
}
