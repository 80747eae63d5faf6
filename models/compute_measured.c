/**
 * @file compute_measured.c
 * @brief Measured times of layers, or of groups of them, laid over a model.
 */
#include "models/compute.h"

/* The row that covers layer @p name: its own, else that of the nearest group around it. */
static const ComputeLayer *find_row(GHashTable *rows, const char *name)
{
  g_autofree char *prefix = g_strdup(name);

  for (;;) {
    const ComputeLayer *row = g_hash_table_lookup(rows, prefix);
    char *dot = strrchr(prefix, '.');
    if (row != NULL || dot == NULL)
      return row;
    *dot = '\0';
  }
}

static GHashTable *index_rows(const GArray *layers, GError **error)
{
  g_autoptr(GHashTable) rows = g_hash_table_new(g_str_hash, g_str_equal);

  for (guint i = 0; i < layers->len; i++) {
    ComputeLayer *row = &g_array_index(layers, ComputeLayer, i);
    if (!g_hash_table_insert(rows, row->name, row)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "layer '%s' was measured twice",
                  row->name);
      return NULL;
    }
  }
  return g_steal_pointer(&rows);
}

typedef struct {
  double weight; /**< of all layers that a row covers */
  guint n_layers;
} Cover;

static bool check_cover(const GArray *layers, const Cover *covers, const Model *model,
                        GError **error)
{
  for (guint i = 0; i < layers->len; i++) {
    if (covers[i].n_layers > 0)
      continue;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint l = 0; l < model->layers->len; l++)
      g_ptr_array_add(names, model_layer(model, l)->name);
    g_ptr_array_add(names, NULL);
    const char *name = g_array_index(layers, ComputeLayer, i).name;
    const char *nearest = registry_nearest((const char *const *)names->pdata, name);
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "model '%s' has no layer '%s' left to time%s%s%s", model->name, name,
                nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                nearest != NULL ? "'?" : "");
    return false;
  }
  return true;
}

/* Layers of a group that nobody can weigh share its time equally. */
static double cover_share(const Cover *cover, double weight)
{
  return cover->weight > 0 ? weight / cover->weight : 1.0 / cover->n_layers;
}

static void time_layer(Workload *workload, const ComputeLayer *row, double share,
                       guint index)
{
  const LayerTime time = {
    .name = model_layer(workload->model, index)->name,
    .forward_s = share * row->forward_s,
    .backward_s = share * row->backward_s,
  };
  g_array_append_val(workload->layer_times, time);
}

bool compute_fill_measured(Workload *workload, const GArray *layers, const double *weights,
                           GError **error)
{
  const Model *model = workload->model;
  g_autofree Cover *covers = g_new0(Cover, layers->len);
  g_autofree const ComputeLayer **row_of = g_new(const ComputeLayer *, model->layers->len);
  g_autoptr(GHashTable) rows = index_rows(layers, error);

  if (rows == NULL)
    return false;
  const ComputeLayer *first = &g_array_index(layers, ComputeLayer, 0);
  for (guint i = 0; i < model->layers->len; i++) {
    const char *name = model_layer(model, i)->name;
    row_of[i] = find_row(rows, name);
    if (row_of[i] == NULL) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "no time for layer '%s' of model '%s'; name it or a group around it",
                  name, model->name);
      return false;
    }
    covers[row_of[i] - first].weight += weights[i];
    covers[row_of[i] - first].n_layers++;
  }
  if (!check_cover(layers, covers, model, error))
    return false;
  for (guint i = 0; i < model->layers->len; i++)
    time_layer(workload, row_of[i], cover_share(&covers[row_of[i] - first], weights[i]), i);
  workload->compute_source =
    g_strdup_printf("scenario: %u layers measured on one GPU", layers->len);
  return true;
}
