/**
 * @file calibrate.h
 * @brief What `stepcast calibrate` does: one file and one row each.
 *
 * A subcommand is a Command whose name begins with "calibrate ".
 */
#pragma once

#include "calibrate/sweep.h"
#include "sim/command/options.h"

/** NULL-terminated, in the order --help shows them. */
extern const Command *const calibrate_table[];

extern const Command calibrate_synthetic;

/** Options of every subcommand that measures. */
typedef struct {
  char *only;     /**< "gemm,launch"; NULL: all probes */
  char **outputs; /**< paths of samples (.csv); NULL: none */
  int quick;      /**< GLib's truth: one pass, few repetitions */
  int quiet;      /**< likewise: no progress, no table */
} CalibrateOptions;

/** Rows for options_parse(); the strings are freed by calibrate_options_clear(). */
#define CALIBRATE_ENTRIES(options)                                                         \
  { "output",                                                                              \
    'o',                                                                                   \
    0,                                                                                     \
    G_OPTION_ARG_FILENAME_ARRAY,                                                           \
    &(options)->outputs,                                                                   \
    "write PATH: samples (.csv)",                                                          \
    "PATH" },                                                                              \
    { "only",     0, 0, G_OPTION_ARG_STRING, &(options)->only, "measure these alone",      \
      "PROBE,..." },                                                                       \
    { "quick", 0, 0, G_OPTION_ARG_NONE, &(options)->quick, "one pass and few repetitions", \
      NULL },                                                                              \
  {                                                                                        \
    "quiet", 'q', 0, G_OPTION_ARG_NONE, &(options)->quiet, "no progress and no table",     \
      NULL                                                                                 \
  }

void calibrate_options_clear(CalibrateOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CalibrateOptions, calibrate_options_clear)

/**
 * Open @p ops, sweep it, write what --output names and append a table to @p out.
 * @param params  of the backend
 */
bool calibrate_measure(const BackendOps *ops, const void *params,
                       const CalibrateOptions *options, GString *out, GError **error);
