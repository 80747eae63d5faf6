#include "calibrate/import/kineto_weights.h"

#include <string.h>

/* Which inputs are parameters, by the signatures of native_functions.yaml; -1: none. */
static const struct {
  const char *name;
  gint weight, bias;
} operators[] = {
  { "aten::linear", 1, 2 },      { "aten::addmm", 2, 0 },
  { "aten::conv1d", 1, 2 },      { "aten::conv2d", 1, 2 },
  { "aten::conv3d", 1, 2 },      { "aten::conv_transpose2d", 1, 2 },
  { "aten::convolution", 1, 2 }, { "aten::embedding", 0, -1 },
  { "aten::layer_norm", 2, 3 },  { "aten::native_layer_norm", 2, 3 },
  { "aten::rms_norm", 2, -1 },   { "aten::group_norm", 2, 3 },
  { "aten::batch_norm", 1, 2 },  { "aten::prelu", 1, -1 },
};

static gint find(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(operators); i++)
    if (strcmp(operators[i].name, name) == 0)
      return (gint)i;
  return -1;
}

bool kineto_has_weights(const char *name)
{
  return find(name) >= 0;
}

static double values_of(const KinetoEvent *event, gint input)
{
  const bool is_told = input >= 0 && (guint)input < MIN(event->n_inputs, KINETO_INPUTS_MAX);

  return is_told && event->values[input] >= 1 ? event->values[input] : 0;
}

KinetoWeights kineto_weights(const KinetoEvent *event)
{
  const gint at = find(event->name);

  if (at < 0)
    return (KinetoWeights){ 0 };
  return (KinetoWeights){ .weight = values_of(event, operators[at].weight),
                          .bias = values_of(event, operators[at].bias),
                          .type = event->types[operators[at].weight] };
}
