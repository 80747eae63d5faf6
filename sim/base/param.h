/**
 * @file param.h
 * @brief One table per module: its keys, types, defaults, ranges and help.
 *
 * The same row parses the key, fills the default, checks the range, prints
 * `help`, and is echoed by `show`. There is no second list.
 */
#pragma once

#include "sim/base/registry.h"

typedef enum {
  PARAM_COUNT,    /**< guint           a bare whole number, >= 0; G_MAXUINT if not given and
                       the fallback is "" */
  PARAM_NUMBER,   /**< double          a bare finite number; its unit is in the key */
  PARAM_BOOL,     /**< bool            true or false */
  PARAM_BYTES,    /**< guint64  [B]    "64 MiB", "25 MB" */
  PARAM_SECONDS,  /**< double   [s]    "3 us"; >= 0 */
  PARAM_RATE,     /**< double   [B/s]  "25 GB/s", "200 Gbit/s"; > 0, or >= 0 if the row's
                       range begins at 0 */
  PARAM_FLOPS,    /**< double   [FLOP/s] "125 TFLOP/s"; >= 0 */
  PARAM_FRACTION, /**< double   0..1   "35 %" or 0.35 */
  PARAM_NAME,     /**< guint    index into @ref ParamSpec.names */
  PARAM_TEXT,     /**< char *   free text, owned by the params struct; NULL if empty */
  PARAM_LIST,     /**< GArray * of structs laid out by @ref ParamSpec.item: [{...}, ...] */
} ParamType;

struct ParamSpec {
  const char *key;
  ParamType type;
  size_t offset;        /**< offsetof(the module's params struct, field) */
  const char *fallback; /**< default, as a user would write it; NULL: required; "" for an
                             empty PARAM_LIST, no PARAM_TEXT, no PARAM_COUNT */
  double min, max;      /**< inclusive, in SI; both 0: no range beyond the type's own */
  const char *const *names; /**< PARAM_NAME only, NULL-terminated */
  const ParamSpec *item;    /**< PARAM_LIST only: the keys of one element */
  size_t item_size;         /**< PARAM_LIST only: sizeof one element [B] */
  const char *help;         /**< one line, ends without a full stop */
  const char *origin; /**< where the default comes from: "horovod 0.28.1"; NULL: ours */
};

#define PARAM_END                                                                          \
  {                                                                                        \
    .key = NULL                                                                            \
  }

/** Length of @p specs without its end mark; 0 for NULL. */
guint param_count(const ParamSpec *specs);

/** The row of @p key, or NULL. */
const ParamSpec *param_find(const ParamSpec *specs, const char *key);

/**
 * Parse @p text and store it in its field of @p params. Not for PARAM_LIST, whose
 * elements are bound one by one.
 * @param text  the value as a user writes it: "64 MiB", "5", "true", "djb2"
 * @return false with SIM_ERROR_VALUE: the cause and the remedy, without the key
 */
bool param_set(const ParamSpec *spec, void *params, const char *text, GError **error);

/** The value in @p params as a user would write it, exact when read again.
 *  Transfer: caller frees. */
char *param_format(const ParamSpec *spec, const void *params);

/** Does a value of this type stand in quotes in JSON? */
bool param_is_quoted(const ParamSpec *spec);

/** "bytes, such as \"64 MiB\"": what a value of this type looks like. Borrowed. */
const char *param_type_example(ParamType type);

/** The range of a number in SI, inclusive: the row's, else the type's own. */
void param_range(const ParamSpec *spec, double *min, double *max);

/** "between 1 us and 1 s", "at least 1"; NULL if any value will do. Transfer: caller frees.
 */
char *param_format_range(const ParamSpec *spec);

/** Fill every field that has a default. Fields without one are left alone. */
void param_set_defaults(const ParamSpec *specs, void *params);

/** Free what PARAM_TEXT and PARAM_LIST rows own; the struct itself stays. */
void param_clear(const ParamSpec *specs, void *params);
