/**
 * @file model.h
 * @brief A neural network as training sees it: layers with work, tensors with gradients.
 */
#pragma once

#include <glib.h>

typedef struct {
  char *name;
  guint64 n_values; /**< parameters, and so gradient elements, > 0 */
  guint64 n_rows;   /**< the first dimension of its shape; 0 if nobody says */
} ModelTensor;

/** In forward order. Work per sample; training adds twice the forward for backward. */
typedef struct {
  char *name;
  double forward_flops; /**< multiply and add counted as two */
  double moved_values;  /**< elements read and written by its forward pass */
  double saved_values;  /**< activation elements kept for backward */
  double saved_B;       /**< kept bytes that do not depend on precision (masks, indices) */
  double buffer_B;      /**< kept between iterations and not learnt: running statistics */
  guint first_tensor, n_tensors;
} ModelLayer;

typedef struct {
  char *gpu;       /**< catalogue name of the GPU */
  char *precision; /**< "fp32", "amp", ... */
  double samples_per_s;
  char *source;
} ModelBaseline;

typedef struct {
  char *name;
  char *sample; /**< what one sample is: "image 224x224", "sequence of 128 tokens" */
  char *source;
  guint sequence;    /**< tokens in a sample; 0 if it has none */
  GArray *layers;    /**< of ModelLayer */
  GArray *tensors;   /**< of ModelTensor, layer after layer */
  GArray *baselines; /**< of ModelBaseline: published one-GPU rates */
} Model;

/** Empty model. Transfer: caller frees with model_free(). */
Model *model_new(void);
void model_free(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_free)

guint64 model_n_parameters(const Model *model);
double model_forward_flops(const Model *model); /**< per sample */
double model_buffer_B(const Model *model);
const ModelLayer *model_layer(const Model *model, guint index);
const ModelTensor *model_tensor(const Model *model, guint index);
