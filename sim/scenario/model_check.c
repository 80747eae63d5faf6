#include "sim/scenario/model_check.h"

#include <math.h>
#include <string.h>

#define MAX_REPEAT 10000.0
#define MAX_LAYERS 1e6
#define MAX_TENSORS 1e6
#define MAX_VALUES 1e12 /* of one tensor: hundreds of times the largest published */
#define MAX_AMOUNT 1e30

/** How much a part of the model becomes once its repetitions are written out. */
typedef struct {
  double n_layers, n_tensors;
} Extent;

/* Dimensions, whose product is the number of values. */
static void check_shape(ModelReader *reader, const cJSON *tensor)
{
  const cJSON *shape = model_reader_list(reader, tensor, "shape", false);
  const cJSON *values = cJSON_GetObjectItemCaseSensitive(tensor, "values");
  double product = 1;

  if (shape == NULL)
    return;
  if (values == NULL)
    model_reader_blame(reader, tensor, "its \"shape\" needs \"values\", their product");
  if (values == NULL || !cJSON_IsNumber(values))
    return;
  for (const cJSON *item = model_reader_first(shape); item != NULL; item = item->next)
    product *= cJSON_IsNumber(item) && item->valuedouble >= 1 &&
                   item->valuedouble == floor(item->valuedouble)
                 ? item->valuedouble
                 : 0;
  if (product == values->valuedouble && cJSON_GetArraySize(shape) > 0)
    return;
  const gsize mark = model_reader_enter(reader, "shape");
  model_reader_blame(reader, shape,
                     "expected whole numbers whose product is \"values\", %.0f",
                     values->valuedouble);
  model_reader_leave(reader, mark);
}

static void check_tensor(ModelReader *reader, const cJSON *tensor, GHashTable *names)
{
  model_reader_check_keys(reader, tensor, model_tensor_keys);

  const char *name = model_reader_text(reader, tensor, "name", true);
  if (name != NULL && !g_hash_table_add(names, (gpointer)name))
    model_reader_blame(reader, tensor, "the layer has another tensor '%s'", name);
  if (cJSON_IsObject(tensor) && cJSON_GetObjectItemCaseSensitive(tensor, "values") == NULL)
    model_reader_blame(reader, tensor, "missing \"values\", how many numbers it holds");
  model_reader_count(reader, tensor, "values", 1, MAX_VALUES, 1);
  check_shape(reader, tensor);
}

static void check_tensors(ModelReader *reader, const cJSON *tensors)
{
  g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
  guint index = 0;
  const gsize list_mark = model_reader_enter(reader, "tensors");

  for (const cJSON *tensor = model_reader_first(tensors); tensor != NULL;
       tensor = tensor->next) {
    const gsize mark = model_reader_enter_element(reader, index++);
    check_tensor(reader, tensor, names);
    model_reader_leave(reader, mark);
  }
  model_reader_leave(reader, list_mark);
}

static void check_amounts(ModelReader *reader, const cJSON *layer)
{
  for (const ModelKey *key = model_layer_keys; key->name != NULL; key++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(layer, key->name);
    if (!key->is_amount || item == NULL)
      continue;
    model_reader_number(reader, layer, key->name, 0, MAX_AMOUNT, 0);
    if (key->power > 0 && reader->sequence <= 0) {
      const gsize mark = model_reader_enter(reader, key->name);
      model_reader_blame(reader, item,
                         "needs a \"sequence\", tokens in a sample, in the model");
      model_reader_leave(reader, mark);
    }
  }
}

static Extent check_leaf(ModelReader *reader, const cJSON *layer)
{
  const cJSON *tensors = model_reader_list(reader, layer, "tensors", false);
  const bool has_values = cJSON_GetObjectItemCaseSensitive(layer, "values") != NULL;

  check_amounts(reader, layer);
  model_reader_count(reader, layer, "values", 1, MAX_VALUES, 1);
  check_shape(reader, layer);
  if (tensors != NULL)
    check_tensors(reader, tensors);
  if (tensors != NULL && has_values)
    model_reader_blame(reader, layer, "give either \"values\" or \"tensors\"");
  return (Extent){ .n_layers = 1,
                   .n_tensors = has_values + (tensors ? cJSON_GetArraySize(tensors) : 0) };
}

static Extent check_layers(ModelReader *reader, const cJSON *parent);

static Extent check_group(ModelReader *reader, const cJSON *group)
{
  for (const cJSON *child = model_reader_first(group); child != NULL; child = child->next) {
    const ModelKey *key = model_key_find(model_layer_keys, child->string);
    if (key == NULL ||
        !(key->is_amount || strcmp(key->name, "values") == 0 ||
          strcmp(key->name, "shape") == 0 || strcmp(key->name, "tensors") == 0))
      continue;
    const gsize mark = model_reader_enter(reader, key->name);
    model_reader_blame(reader, child, "belongs into one of the \"layers\" of this group");
    model_reader_leave(reader, mark);
  }
  return check_layers(reader, group);
}

static Extent check_layer(ModelReader *reader, const cJSON *layer)
{
  model_reader_check_keys(reader, layer, model_layer_keys);

  const char *name = model_reader_text(reader, layer, "name", true);
  const double repeat = model_reader_count(reader, layer, "repeat", 1, MAX_REPEAT, 1);
  model_reader_count(reader, layer, "first", 0, MAX_REPEAT, 0);
  if (repeat > 1 && name != NULL && strstr(name, MODEL_PLACEHOLDER) == NULL)
    model_reader_blame(reader, layer,
                       "its \"repeat\" needs %s in the name, such as \"%s%s\"",
                       MODEL_PLACEHOLDER, name, MODEL_PLACEHOLDER);

  const bool is_group = cJSON_GetObjectItemCaseSensitive(layer, "layers") != NULL;
  const Extent once = is_group ? check_group(reader, layer) : check_leaf(reader, layer);
  return (Extent){ .n_layers = repeat * once.n_layers,
                   .n_tensors = repeat * once.n_tensors };
}

static Extent check_layers(ModelReader *reader, const cJSON *parent)
{
  const cJSON *layers = model_reader_list(reader, parent, "layers", true);
  Extent extent = { 0, 0 };
  guint index = 0;
  const gsize list_mark = model_reader_enter(reader, "layers");

  for (const cJSON *layer = model_reader_first(layers); layer != NULL;
       layer = layer->next) {
    const gsize mark = model_reader_enter_element(reader, index++);
    const Extent part = check_layer(reader, layer);
    model_reader_leave(reader, mark);
    extent.n_layers += part.n_layers;
    extent.n_tensors += part.n_tensors;
  }
  model_reader_leave(reader, list_mark);
  return extent;
}

void model_check_layers(ModelReader *reader, const cJSON *root)
{
  const Extent extent = check_layers(reader, root);

  if (extent.n_layers > MAX_LAYERS || extent.n_tensors > MAX_TENSORS)
    model_reader_blame(
      reader, root, "its layers repeat to %.4g layers and %.4g tensors; at most %.0f each",
      extent.n_layers, extent.n_tensors, MAX_TENSORS);
  else if (extent.n_layers > 0 && extent.n_tensors < 1)
    model_reader_blame(reader, root,
                       "the model has no tensor, so there is nothing to train");
}
