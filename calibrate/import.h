/**
 * @file import.h
 * @brief Logs that people already have, read into samples.
 *
 * An importer knows its kind of file by its content, never by its name, is strict about
 * structure and tolerant about noise: lines of other programs between the rows are normal,
 * a row that contradicts itself is kept and flagged or rejected and counted, and a file
 * that is not what it claims to be is refused with file, line and reason.
 */
#pragma once

#include "calibrate/backend.h"

#include <gio/gio.h>

/** What the user said about the files; 0 and NULL: nothing. */
typedef struct {
  const char *kind;       /**< name of an importer: no detection */
  const char *collective; /**< for logs that do not say: "all_reduce" */
  guint ranks, nodes;     /**< for logs that do not say */
  double time_unit_s;     /**< of workloads that do not say, [s]; 0: nobody said */
  bool only_gradients;    /**< of workloads: leave out what no scenario can hold */
} ImportOptions;

/** In a file; both from 1. Column 0: all of the line; line 0: all of the file. */
typedef struct {
  guint line, column;
} ImportPlace;

/** A file being read, unpacked if it is gzip. */
typedef struct ImportInput ImportInput;

/** What one file gave. */
typedef struct {
  GPtrArray *samples; /**< Sample */
  GPtrArray *facts;   /**< BackendFact: library version, GPU, hosts ... */
  GPtrArray *notes;   /**< char *: "file:line: what was left out or assumed, and why" */
  char *scenario;     /**< JSON of a part of a scenario; NULL: the file holds none */
  guint n_unreadable; /**< rows or cells that were no row or contradict themselves */
} Imported;

typedef struct {
  ModuleInfo info;

  /** Is this the importer's kind of file? @p head is its first 64 KiB, NUL-terminated. */
  bool (*recognises)(const char *head);

  /**
   * Read all of @p input into @p imported.
   * @return false with an error "file:line: why" if it is not what it claims to be
   */
  bool (*read)(ImportInput *input, const ImportOptions *options, Imported *imported,
               GError **error);
} ImporterOps;

/** NULL-terminated; the order in which they are asked whether they recognise a file. */
extern const ModuleInfo *const importer_table[];

extern const ImporterOps importer_nccl_tests;
extern const ImporterOps importer_nccl_json;
extern const ImporterOps importer_osu;
extern const ImporterOps importer_perftest;
extern const ImporterOps importer_iperf3;
extern const ImporterOps importer_nvidia_topo;
extern const ImporterOps importer_nccl_tuning;
extern const ImporterOps importer_kineto;
extern const ImporterOps importer_astra;
extern const ImporterOps importer_chakra;

/**
 * Read one file with the importer that recognises it.
 * @param path     "-" is standard input
 * @param options  what the user said
 * @param importer set to the one that read it; may be NULL
 * @return NULL with an error if nobody recognises it or it cannot be read.
 *         Transfer: imported_free()
 */
Imported *import_file(const char *path, const ImportOptions *options,
                      const ImporterOps **importer, GError **error);

/** The same for a text in memory; @p name stands in messages. */
Imported *import_text(const char *name, const char *text, gsize length,
                      const ImportOptions *options, const ImporterOps **importer,
                      GError **error);

void imported_free(Imported *imported);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Imported, imported_free)

/* --- for importers --- */

/**
 * The next line without its end.
 * @param line  borrowed until the next call; NULL at the end of the file
 * @return false with an error if the file cannot be read or a line has over 1 MiB
 */
bool import_next_line(ImportInput *input, const char **line, GError **error);

/** Up to @p size bytes of what follows, for files without lines. 0 at the end, -1 and an
 *  error if the file cannot be read. */
gssize import_next_bytes(ImportInput *input, char *bytes, gsize size, GError **error);

/** All that follows, text; an error if it is over @p limit_B. Transfer: caller frees. */
char *import_read_all(ImportInput *input, gsize limit_B, GError **error);

/** The finite numbers of a line that holds nothing else; 0 if it holds anything else or
 *  more than @p n_max. */
guint import_numbers(const char *line, double *value, guint n_max);

/** What stands in messages, and the line last returned (from 1). */
const char *import_name(const ImportInput *input);
guint import_line_number(const ImportInput *input);

/** Add the fact, unless one of that name is there. */
void imported_add_fact(Imported *imported, const char *name, const char *value);

/** Add the note "file:line: ..." of the current line. */
void imported_note(Imported *imported, const ImportInput *input, const char *format, ...)
  G_GNUC_PRINTF(3, 4);

/** The same of @p place, "file:line:column: ..." if it has a column. */
void imported_note_at(Imported *imported, const ImportInput *input, ImportPlace place,
                      const char *format, ...) G_GNUC_PRINTF(4, 5);

/** "file:line: ..." as an error of the current line. Returns false. */
bool import_fail(const ImportInput *input, GError **error, const char *format, ...)
  G_GNUC_PRINTF(3, 4);

/** The same of @p place. Returns false. */
bool import_fail_at(const ImportInput *input, ImportPlace place, GError **error,
                    const char *format, ...) G_GNUC_PRINTF(4, 5);
