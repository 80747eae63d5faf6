/**
 * @file model_file.c
 * @brief Check a model's JSON as it is written, then write its repetitions out.
 */
#include "sim/scenario/model_file.h"

#include "models/precision.h"
#include "models/workload.h"
#include "sim/scenario/model_check.h"

#include <math.h>
#include <string.h>

#define MAX_RATE 1e9

static const char sequence_placeholder[] = "{sequence}";

/* ---- published rates -------------------------------------------------------------- */

static void bind_baseline(ModelReader *reader, const cJSON *item, Model *model)
{
  const double own = model_reader_count(reader, item, "sequence", 1, WORKLOAD_MAX_SEQUENCE,
                                        reader->own_sequence);
  const char *gpu = model_reader_text(reader, item, "gpu", true);
  const char *precision = model_reader_text(reader, item, "precision", true);
  const char *source = model_reader_text(reader, item, "source", true);
  const double rate = model_reader_number(reader, item, "samples_per_s", 0, MAX_RATE, 0);

  model_reader_check_keys(reader, item, model_baseline_keys);
  if (precision != NULL && !g_strv_contains(precision_names, precision)) {
    g_autofree char *suggestion = registry_suggestion(precision_names, precision);
    const gsize mark = model_reader_enter(reader, "precision");
    model_reader_blame(reader, cJSON_GetObjectItemCaseSensitive(item, "precision"),
                       "unknown precision '%s'%s", precision, suggestion);
    model_reader_leave(reader, mark);
  }
  if (rate <= 0)
    model_reader_blame(reader, item, "needs \"samples_per_s\", more than 0");
  if (own != reader->sequence)
    return;
  const ModelBaseline baseline = { .gpu = g_strdup(gpu),
                                   .precision = g_strdup(precision),
                                   .samples_per_s = rate,
                                   .source = g_strdup(source) };
  g_array_append_val(model->baselines, baseline);
}

static void bind_baselines(ModelReader *reader, const cJSON *root, Model *model)
{
  const cJSON *list = model_reader_list(reader, root, "baselines", false);
  guint index = 0;
  const gsize list_mark = model_reader_enter(reader, "baselines");

  for (const cJSON *item = model_reader_first(list); item != NULL; item = item->next) {
    const gsize mark = model_reader_enter_element(reader, index++);
    bind_baseline(reader, item, model);
    model_reader_leave(reader, mark);
  }
  model_reader_leave(reader, list_mark);
}

/* ---- layers ----------------------------------------------------------------------- */

typedef struct {
  ModelReader *reader;
  Model *model;
  GHashTable *names; /* full names of the layers so far; borrowed */
} Expansion;

/* @p text after @p prefix, with @p number in place of every @p placeholder. */
static char *compose(const char *prefix, const char *text, const char *placeholder,
                     guint number)
{
  GString *out = g_string_new(prefix);
  const char *found;

  while ((found = strstr(text, placeholder)) != NULL) {
    g_string_append_len(out, text, found - text);
    g_string_append_printf(out, "%u", number);
    text = found + strlen(placeholder);
  }
  g_string_append(out, text);
  return g_string_free(out, FALSE);
}

static double count_of(const cJSON *object, const char *key, double fallback)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

  return item != NULL ? item->valuedouble : fallback;
}

static const char *text_of(const cJSON *object, const char *key)
{
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void add_tensor(Model *model, const char *layer, const char *name, const cJSON *item)
{
  const cJSON *first = model_reader_first(cJSON_GetObjectItemCaseSensitive(item, "shape"));
  const ModelTensor tensor = {
    .name = name != NULL ? g_strconcat(layer, ".", name, NULL) : g_strdup(layer),
    .n_values = (guint64)count_of(item, "values", 1),
    .n_rows = first != NULL ? (guint64)first->valuedouble : 0,
  };
  g_array_append_val(model->tensors, tensor);
}

static void add_amounts(ModelLayer *layer, const cJSON *item, double sequence)
{
  for (const cJSON *child = model_reader_first(item); child != NULL; child = child->next) {
    const ModelKey *key = model_key_find(model_layer_keys, child->string);
    if (!key->is_amount)
      continue;
    G_STRUCT_MEMBER(double, layer, key->field) +=
      child->valuedouble * pow(sequence, key->power);
  }
}

static void add_layer(Expansion *expansion, const cJSON *item, const char *name)
{
  Model *model = expansion->model;
  ModelLayer layer = { .name = g_strdup(name), .first_tensor = model->tensors->len };
  const cJSON *tensor =
    model_reader_first(cJSON_GetObjectItemCaseSensitive(item, "tensors"));

  add_amounts(&layer, item, expansion->reader->sequence);
  if (cJSON_GetObjectItemCaseSensitive(item, "values") != NULL)
    add_tensor(model, name, NULL, item);
  for (; tensor != NULL; tensor = tensor->next)
    add_tensor(model, name, text_of(tensor, "name"), tensor);
  layer.n_tensors = model->tensors->len - layer.first_tensor;
  g_array_append_val(model->layers, layer);
  if (!g_hash_table_add(expansion->names, layer.name))
    model_reader_blame(expansion->reader, item, "the model has another layer '%s'", name);
}

static void expand(Expansion *expansion, const cJSON *layers, const char *prefix)
{
  for (const cJSON *item = model_reader_first(layers); item != NULL; item = item->next) {
    const cJSON *children = cJSON_GetObjectItemCaseSensitive(item, "layers");
    const guint first = (guint)count_of(item, "first", 0);
    const guint repeat = (guint)count_of(item, "repeat", 1);
    const guint n_before = problems_count(expansion->reader->problems);

    /* One problem per layer is enough: its repetitions would only repeat it. */
    for (guint i = first; i < first + repeat; i++) {
      if (problems_count(expansion->reader->problems) > n_before)
        break;
      g_autofree char *name = compose(prefix, text_of(item, "name"), MODEL_PLACEHOLDER, i);
      if (children != NULL) {
        g_autofree char *inner = g_strconcat(name, ".", NULL);
        expand(expansion, children, inner);
      } else {
        add_layer(expansion, item, name);
      }
    }
  }
}

/* ---- the whole -------------------------------------------------------------------- */

static void read_sequence(ModelReader *reader, const cJSON *root, guint wanted)
{
  const double most = model_reader_count(reader, root, "max_sequence", 1,
                                         WORKLOAD_MAX_SEQUENCE, WORKLOAD_MAX_SEQUENCE);

  reader->own_sequence =
    model_reader_count(reader, root, "sequence", 1, WORKLOAD_MAX_SEQUENCE, 0);
  reader->sequence = wanted > 0 ? wanted : reader->own_sequence;
  if (wanted > 0 && reader->own_sequence <= 0)
    model_reader_blame(
      reader, root, "its samples are no sequences, so workload.sequence must not be set");
  if (reader->sequence > most)
    model_reader_blame(reader, root,
                       "a sequence of %.0f tokens is longer than its %.0f positions",
                       reader->sequence, most);
}

static void bind_texts(ModelReader *reader, const cJSON *root, Model *model)
{
  const char *sample = model_reader_text(reader, root, "sample", false);
  const char *source = model_reader_text(reader, root, "source", false);

  model->name = g_strdup(model_reader_text(reader, root, "name", true));
  model->sample = compose("", sample != NULL ? sample : "sample", sequence_placeholder,
                          (guint)reader->sequence);
  model->source = g_strdup(source != NULL ? source : "not stated");
  model->sequence = (guint)reader->sequence;
}

Model *model_file_bind(const cJSON *root, const char *key, const Documents *documents,
                       Problems *problems, guint sequence)
{
  g_autoptr(Model) model = model_new();
  g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
  ModelReader reader = { .documents = documents, .problems = problems };
  Expansion expansion = { .reader = &reader, .model = model, .names = names };
  const guint n_before = problems_count(problems);

  reader.path = g_string_new(key);
  model_reader_check_keys(&reader, root, model_keys);
  if (cJSON_IsObject(root)) {
    read_sequence(&reader, root, sequence);
    bind_texts(&reader, root, model);
    model_check_layers(&reader, root);
    bind_baselines(&reader, root, model);
  }
  if (problems_count(problems) == n_before)
    expand(&expansion, cJSON_GetObjectItemCaseSensitive(root, "layers"), "");
  g_string_free(reader.path, TRUE);
  return problems_count(problems) == n_before ? g_steal_pointer(&model) : NULL;
}
