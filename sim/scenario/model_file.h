/**
 * @file model_file.h
 * @brief From the JSON of a model to a Model.
 *
 *     { "name", "sample", "source", "sequence": 128, "max_sequence": 512,
 *       "layers": [ LAYER, ... ],
 *       "baselines": [ {"gpu", "precision", "samples_per_s", "sequence", "source"}, ... ] }
 *
 * A LAYER is work and tensors, {"name", "flops", "moved", "saved", "saved_bytes",
 * "tensors": [{"name", "values"}]}, or a group, {"name", "layers": [...]}. The four
 * amounts are per sample; with the suffix _per_token or _per_token_pair they are multiplied
 * by the sequence length or its square, and they add up. "values": 1000 stands for one
 * tensor that bears the layer's name. "repeat": 96 writes a layer or group 96 times, with
 * {i} in its name counting from "first" (0). Full names join group, layer and tensor with
 * dots: "h3.c_attn.w".
 */
#pragma once

#include "models/model.h"
#include "sim/scenario/document.h"

/**
 * Bind @p root. All problems are reported.
 * @param key       where the model stands in the scenario: "workload.model"; may be ""
 * @param sequence  tokens in a sample; 0: the model's own. Published rates for another
 *                  length are left out
 * @return NULL if there were any problems. Transfer: caller frees with model_free().
 */
Model *model_file_bind(const cJSON *root, const char *key, const Documents *documents,
                       Problems *problems, guint sequence);
