/**
 * @file sweep.h
 * @brief How every backend is measured: shuffled passes, warm-up, repetitions, summaries.
 *
 * Each pass visits the cells in an order of its own, drawn from a seeded stream, so that
 * drift (heat, clocks, other work) shows as spread between passes and not as a trend over
 * the sizes. A cell is repeated until its times agree or its share of time is spent.
 */
#pragma once

#include "calibrate/backend.h"

typedef struct {
  guint n_passes;     /**< >= 1 */
  guint n_warm_up;    /**< times before the first of each pass, not counted */
  guint n_min, n_max; /**< repetitions of a cell, all passes together; 1 <= min <= max */
  double good_mad;    /**< enough repetitions once MAD / median is below this */
  double cell_s;      /**< or once a cell has taken this long, all passes together [s] */
  guint64 seed;       /**< of the orders */
  const char *const *only; /**< probes to measure, NULL-terminated; NULL: all */
  const GPtrArray *like;   /**< of Sample: cells that one of them is of; NULL: all */

  /**
   * Called after each visit of a cell; NULL for none.
   * @param error  why it could not be measured; NULL if it was
   * @return false to stop: what was measured so far is kept
   */
  bool (*progress)(guint n_done, guint n_visits, const Sample *cell, const GError *error,
                   void *data);
  void *data;
} SweepOptions;

/** 3 passes, 1 warm-up, 21 to 1000 repetitions, until 1 % or 1 s: CALIBRATION's rules. */
#define SWEEP_DEFAULTS                                                                     \
  {                                                                                        \
    .n_passes = 3, .n_warm_up = 1, .n_min = 21, .n_max = 1000, .good_mad = 0.01,           \
    .cell_s = 1, .seed = 1                                                                 \
  }

/** One pass and few repetitions. */
#define SWEEP_QUICK                                                                        \
  {                                                                                        \
    .n_passes = 1, .n_warm_up = 1, .n_min = 5, .n_max = 50, .good_mad = 0.01,              \
    .cell_s = 0.1, .seed = 1                                                               \
  }

/**
 * Measure the cells of @p backend.
 * @return their samples in sample_compare()'s order (GPtrArray of Sample); those that could
 *         not be measured have SAMPLE_FAILED. Transfer: caller unrefs. NULL with
 *         SIM_ERROR_USAGE if @p options.only names a probe that the backend has not.
 */
GPtrArray *sweep_run(const BackendOps *ops, Backend *backend, const SweepOptions *options,
                     GError **error);
