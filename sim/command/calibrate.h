/**
 * @file calibrate.h
 * @brief What `stepcast calibrate` does: one file and one row each.
 *
 * A subcommand is a Command whose name begins with "calibrate ".
 */
#pragma once

#include "calibrate/profile.h"
#include "calibrate/sweep.h"
#include "sim/command/options.h"

/** NULL-terminated, in the order --help shows them. */
extern const Command *const calibrate_table[];

extern const Command calibrate_host;
extern const Command calibrate_synthetic;
extern const Command calibrate_gpu;
extern const Command calibrate_import;
extern const Command calibrate_show;
extern const Command calibrate_check;

/** Options of every subcommand that measures. */
typedef struct {
  char *only;          /**< "gemm,launch"; NULL: all probes */
  char **outputs;      /**< paths of profiles (.json), samples (.csv); or NULL */
  int quick;           /**< GLib's truth: one pass, few repetitions */
  int quiet;           /**< likewise: no progress, no table */
  double time_limit_s; /**< what was measured by then is kept; 0: none */

  /** Further sweeps by the same rules, whose samples are added; NULL: none.
   *  @param data  more_data */
  bool (*more)(GPtrArray *samples, const SweepOptions *rules, void *data, GError **error);
  void *more_data;
} CalibrateOptions;

/** Rows for options_parse(); the strings are freed by calibrate_options_clear(). */
#define CALIBRATE_ENTRIES(options)                                                         \
  { "output",                                                                              \
    'o',                                                                                   \
    0,                                                                                     \
    G_OPTION_ARG_FILENAME_ARRAY,                                                           \
    &(options)->outputs,                                                                   \
    "write PATH: a profile (.json), samples (.csv)",                                       \
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

/** @return false with SIM_ERROR_USAGE unless every path of @p outputs (NULL-terminated, or
 *          NULL) names a kind of file that calibrate writes */
bool calibrate_check_outputs(char *const *outputs, GError **error);

/** A new profile of what a command measured or read: named after the first output, dated.
 *  Transfer: caller frees */
Profile *calibrate_new_profile(char *const *outputs, const char *fallback_name);

/** "2026-11-30", or with a time: as a profile holds it. "unknown" gives "".
 *  @param option  what stands in the message. Transfer: caller frees @p utc */
bool calibrate_parse_date(const char *option, const char *text, char **utc, GError **error);

/** Read the profile at @p path, to be fitted anew: its laws must have their samples.
 *  Transfer: caller frees */
Profile *calibrate_open_profile(const char *path, GError **error);

/** Write a file, aside first; the message of an error begins with its path. */
bool calibrate_save(const char *path, const char *text, gsize length, GError **error);

/** Write @p profile, fitted, to every path, whole or not at all: profiles (.json) or their
 *  samples (.csv). */
bool calibrate_write(char *const *outputs, const Profile *profile, GError **error);

/** A line for each curve and each of its points. */
void calibrate_append_samples(const GPtrArray *samples, GString *out);
