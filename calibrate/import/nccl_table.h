/**
 * @file nccl_table.h
 * @brief A table of nccl-tests, from whichever of its formats, checked and made into
 * samples.
 */
#pragma once

#include "calibrate/import.h"

#define NCCL_RANKS_MAX 1000000

/** One half of a row: out of place or in place. */
typedef struct {
  ImportPlace place; /**< of its time */
  bool is_there;     /**< the test has this half */
  bool time_is_read; /**< a number over 0 */
  double time_us;
  bool has_rates;
  double algbw_GBps, algbw_slack_GBps; /**< as printed, and half its last digit */
  double busbw_GBps, busbw_slack_GBps;
  bool is_wrong; /**< results were wrong */
  double n_wrong;
  guint n_digits; /**< of the time */
} NcclHalf;

typedef struct {
  double size_B;
  const char *dtype; /**< as scenarios call it */
  NcclHalf half[2];
} NcclRow;

typedef struct {
  GArray *rows;      /**< NcclRow */
  const char *probe; /**< NULL: nobody said yet */
  char *library;     /**< NULL: nobody said */
  guint n_ranks;     /**< 0: nobody said */
  guint n_hosts;     /**< 0: nobody said */
} NcclTable;

void nccl_table_init(NcclTable *table);
void nccl_table_clear(NcclTable *table);

/**
 * Make samples of the rows and forget the rows; what was said of collective, library, ranks
 * and hosts stays for the next table of the file.
 *
 * Ranks that no line tells are taken from the user, else from busbw / algbw where they
 * leave only one number. Rows that contradict themselves (algbw is not size / time, busbw
 * not algbw x factor) are flagged, and so is a table whose times are exactly proportional
 * to its sizes: those were invented.
 * @return false with an error if it cannot be told what was measured
 */
bool nccl_table_finish(NcclTable *table, const ImportInput *input,
                       const ImportOptions *options, Imported *imported, GError **error);

/** Bytes on the busiest wire per byte of the message: nccl-tests doc/PERFORMANCE.md. */
double nccl_bus_factor(const char *probe, guint ranks);

/** Our name of the collective whose program ("all_reduce_perf") stands in @p text, or NULL.
 */
const char *nccl_probe_of_program(const char *text);

/** Our name of a type ("float" is "fp32"), or NULL. */
const char *nccl_dtype(const char *name);

/** "2.29.2" from "nccl-library=22902" or "NCCL version 2.18.5+cuda12"; NULL if neither
 * stands in @p text. Transfer: caller frees. */
char *nccl_version_in(const char *text);

/** All of @p text as a finite decimal number. */
bool nccl_read_number(const char *text, double *value);

/** Half of the last digit of a decimal number as printed. */
double nccl_half_digit(const char *text);

/** Significant digits of a decimal number as printed. */
guint nccl_count_digits(const char *text);
