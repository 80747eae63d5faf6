/**
 * @file output.h
 * @brief From Results to text, files and pictures.
 *
 * A writer is pure: the same results always give the same bytes. Writers rely on
 * result_check(), which output_render() asks first.
 */
#pragma once

#include "models/result.h"
#include "models/timings.h"
#include "sim/base/registry.h"

typedef struct {
  ModuleInfo info;
  const char *suffix;  /**< ".json"; the longest that fits a path picks its writer */
  bool wants_timeline; /**< says little without tracks and spans */

  /** Append the rendering of @p n results to @p out. Required. */
  bool (*render)(const Result *const *results, guint n, GString *out, GError **error);

  /** Append the rendering of a collective's timings. NULL if it has none. */
  void (*render_timings)(const Timings *timings, GString *out);
} OutputOps;

extern const ModuleInfo *const output_table[];
extern const OutputOps output_text;
extern const OutputOps output_json;
extern const OutputOps output_csv;
extern const OutputOps output_trace;
extern const OutputOps output_svg;

/**
 * The writer of @p path by its suffix, or by its name in front ("json:/dev/stdout").
 * @param out_file  the path without the name; borrowed from @p path; may be NULL
 * @return NULL with SIM_ERROR_USAGE and a suggestion
 */
const OutputOps *output_find(const char *path, const char **out_file, GError **error);

/** Check the results, then render them. */
bool output_render(const OutputOps *writer, const Result *const *results, guint n,
                   GString *out, GError **error);

/**
 * Before the run: can every one of @p paths (NULL-terminated) be written? Leaves nothing
 * behind.
 * @return false with SIM_ERROR_USAGE (suffix, a path given twice) or SIM_ERROR_IO
 */
bool output_check_all(const char *const *paths, GError **error);

/** Does a writer of @p paths want the timeline? Paths that nobody writes do not. */
bool output_wants_timeline(const char *const *paths);

/**
 * Write the results to every path (NULL-terminated), or change none of the files: all are
 * written aside first and then renamed. Devices, pipes and /dev/stdout are written in
 * place, last before the renames.
 */
bool output_write_all(const char *const *paths, const Result *const *results, guint n,
                      GError **error);

/** The same two for the timings of a collective. */
bool output_check_timings(const char *const *paths, GError **error);
bool output_write_timings(const char *const *paths, const Timings *timings, GError **error);

/** Who communicated: "8 ranks", "group data[0]: 8 ranks", "16 groups data at once, the
 *  slowest counts: each 4 to 8 ranks". Transfer: caller frees. */
char *timings_show_ranks(const Timings *timings);

/** The table of nccl-tests, and beside it what was chosen and what bounds it. */
void text_render_timings(const Timings *timings, GString *out);
void json_render_timings(const Timings *timings, GString *out);
void csv_render_timings(const Timings *timings, GString *out);
void svg_render_timings(const Timings *timings, GString *out);

/** The report of one result, the comparison of several.
 *  @param colour  with ANSI escape sequences */
void text_render(const Result *const *results, guint n, bool colour, GString *out);

/**
 * What bounds this job and why, in a sentence or two, from the numbers of @p result alone.
 * @param best  the fastest of its comparison, to say what it lacks; NULL for none
 * Transfer: caller frees.
 */
char *result_explain(const Result *result, const Result *best);

/** The JSON writer's text with the timeline, exact when read again. */
void result_write_json_private(const Result *const *results, guint n, GString *out);

/**
 * Read what either JSON writer wrote.
 * @return GPtrArray of Result, which it owns; NULL with SIM_ERROR_SYNTAX or
 *         SIM_ERROR_VALUE. Transfer: caller unrefs.
 */
GPtrArray *result_read_json(const char *text, gsize length, GError **error);
