/**
 * @file model_keys.h
 * @brief The keys of a model's JSON, and the amounts among them. A part of model_file.c.
 */
#pragma once

#include "models/model.h"

#include <stdbool.h>

typedef struct {
  const char *name;
  bool is_amount; /**< of a layer: how much it computes, moves or keeps */
  size_t field;   /**< of an amount: offset of a double in ModelLayer */
  guint power;    /**< of an amount: of the sequence length that it is multiplied by */
} ModelKey;

/** Each ends with a NULL name. */
extern const ModelKey model_keys[];
extern const ModelKey model_layer_keys[];
extern const ModelKey model_tensor_keys[];
extern const ModelKey model_baseline_keys[];

/** The row of @p name, or NULL. */
const ModelKey *model_key_find(const ModelKey *keys, const char *name);

/** "; did you mean 'flops'?" or "; known: ..." for @p name. Transfer: caller frees. */
char *model_key_suggestion(const ModelKey *keys, const char *name);
