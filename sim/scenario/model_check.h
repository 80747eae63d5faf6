/**
 * @file model_check.h
 * @brief What is wrong with the layers of a model's JSON. A part of model_file.c.
 */
#pragma once

#include "sim/scenario/model_reader.h"

/** What a repeated layer's name says where its number goes. */
#define MODEL_PLACEHOLDER "{i}"

/** Check the layers of @p root as they are written, before any is repeated, and how many
 *  they will become. */
void model_check_layers(ModelReader *reader, const cJSON *root);
