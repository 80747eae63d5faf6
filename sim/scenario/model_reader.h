/**
 * @file model_reader.h
 * @brief Reading values of a model's JSON, with blame for what is wrong. A part of
 *        model_file.c.
 */
#pragma once

#include "sim/scenario/document.h"
#include "sim/scenario/model_keys.h"

typedef struct {
  const Documents *documents;
  Problems *problems;
  GString *path;       /**< of the value at hand, in the scenario */
  double own_sequence; /**< tokens in a sample, as the model says; 0 if it has none */
  double sequence;     /**< the same, as the scenario wants it */
} ModelReader;

/** Step into member @p key or element @p index; give the returned mark to
 *  model_reader_leave(). */
gsize model_reader_enter(ModelReader *reader, const char *key);
gsize model_reader_enter_element(ModelReader *reader, guint index);
void model_reader_leave(ModelReader *reader, gsize mark);

/** Note that @p item, at the path entered, is wrong. */
void model_reader_blame(ModelReader *reader, const cJSON *item, const char *format, ...)
  G_GNUC_PRINTF(3, 4);

/** Is @p object an object with no keys but @p keys? Blames what is not. */
void model_reader_check_keys(ModelReader *reader, const cJSON *object,
                             const ModelKey *keys);

/** The text @p key of @p object; NULL if it is missing or wrong. Borrowed. */
const char *model_reader_text(ModelReader *reader, const cJSON *object, const char *key,
                              bool required);

/** The whole number @p key of @p object in @p min..@p max; @p fallback if missing. */
double model_reader_count(ModelReader *reader, const cJSON *object, const char *key,
                          double min, double max, double fallback);

/** The same for any finite number. */
double model_reader_number(ModelReader *reader, const cJSON *object, const char *key,
                           double min, double max, double fallback);

/** The first element of @p list; NULL if that is NULL or empty. */
const cJSON *model_reader_first(const cJSON *list);

/** The list @p key of @p object; NULL if it is missing or wrong. Borrowed. */
const cJSON *model_reader_list(ModelReader *reader, const cJSON *object, const char *key,
                               bool required);
