#include "sim/scenario/model_keys.h"

#include "sim/base/registry.h"

#include <string.h>

#define AMOUNT(key, member, exponent)                                                      \
  {                                                                                        \
    .name = key, .is_amount = true, .field = offsetof(ModelLayer, member),                 \
    .power = exponent                                                                      \
  }
#define AMOUNT_ROWS(key, member)                                                           \
  AMOUNT(key, member, 0), AMOUNT(key "_per_token", member, 1),                             \
    AMOUNT(key "_per_token_pair", member, 2)
#define PLAIN(key)                                                                         \
  {                                                                                        \
    .name = key                                                                            \
  }

const ModelKey model_keys[] = {
  PLAIN("name"),         PLAIN("sample"), PLAIN("source"),    PLAIN("sequence"),
  PLAIN("max_sequence"), PLAIN("layers"), PLAIN("baselines"), PLAIN(NULL),
};

const ModelKey model_layer_keys[] = {
  PLAIN("repeat"),
  PLAIN("first"),
  PLAIN("name"),
  PLAIN("layers"),
  PLAIN("values"),
  PLAIN("shape"),
  PLAIN("tensors"),
  AMOUNT_ROWS("flops", forward_flops),
  AMOUNT_ROWS("moved", moved_values),
  AMOUNT_ROWS("saved", saved_values),
  AMOUNT_ROWS("saved_bytes", saved_B),
  AMOUNT("buffer_bytes", buffer_B, 0),
  PLAIN(NULL),
};

const ModelKey model_tensor_keys[] = { PLAIN("name"), PLAIN("values"), PLAIN("shape"),
                                       PLAIN(NULL) };

const ModelKey model_baseline_keys[] = {
  PLAIN("gpu"),      PLAIN("precision"), PLAIN("samples_per_s"),
  PLAIN("sequence"), PLAIN("source"),    PLAIN(NULL),
};

const ModelKey *model_key_find(const ModelKey *keys, const char *name)
{
  for (; keys->name != NULL; keys++)
    if (strcmp(keys->name, name) == 0)
      return keys;
  return NULL;
}

char *model_key_suggestion(const ModelKey *keys, const char *name)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (; keys->name != NULL; keys++)
    g_ptr_array_add(names, (gpointer)keys->name);
  g_ptr_array_add(names, NULL);
  return registry_suggestion((const char *const *)names->pdata, name);
}
