/**
 * @file model.c
 * @brief Storage of a model: layers, tensors, published rates.
 */
#include "models/model.h"

static void tensor_clear(gpointer data)
{
  g_free(((ModelTensor *)data)->name);
}

static void layer_clear(gpointer data)
{
  g_free(((ModelLayer *)data)->name);
}

static void baseline_clear(gpointer data)
{
  ModelBaseline *baseline = data;

  g_free(baseline->gpu);
  g_free(baseline->precision);
  g_free(baseline->source);
}

Model *model_new(void)
{
  Model *model = g_new0(Model, 1);

  model->layers = g_array_new(FALSE, TRUE, sizeof(ModelLayer));
  model->tensors = g_array_new(FALSE, TRUE, sizeof(ModelTensor));
  model->baselines = g_array_new(FALSE, TRUE, sizeof(ModelBaseline));
  g_array_set_clear_func(model->layers, layer_clear);
  g_array_set_clear_func(model->tensors, tensor_clear);
  g_array_set_clear_func(model->baselines, baseline_clear);
  return model;
}

void model_free(Model *model)
{
  if (model == NULL)
    return;
  g_free(model->name);
  g_free(model->sample);
  g_free(model->source);
  g_array_unref(model->layers);
  g_array_unref(model->tensors);
  g_array_unref(model->baselines);
  g_free(model);
}

guint64 model_n_parameters(const Model *model)
{
  guint64 total = 0;

  for (guint i = 0; i < model->tensors->len; i++)
    total += model_tensor(model, i)->n_values;
  return total;
}

double model_forward_flops(const Model *model)
{
  double total = 0;

  for (guint i = 0; i < model->layers->len; i++)
    total += model_layer(model, i)->forward_flops;
  return total;
}

const ModelLayer *model_layer(const Model *model, guint index)
{
  g_return_val_if_fail(index < model->layers->len, NULL);
  return &g_array_index(model->layers, ModelLayer, index);
}

const ModelTensor *model_tensor(const Model *model, guint index)
{
  g_return_val_if_fail(index < model->tensors->len, NULL);
  return &g_array_index(model->tensors, ModelTensor, index);
}

double model_buffer_B(const Model *model)
{
  double total_B = 0;

  for (guint i = 0; i < model->layers->len; i++)
    total_B += model_layer(model, i)->buffer_B;
  return total_B;
}
