/**
 * @file journal.h
 * @brief What one iteration exchanged, collective by collective, for other simulators.
 */
#pragma once

#include "models/setup.h"

/** A collective, in the order in which they began. Times are from the begin of the
 *  iteration [s]. */
typedef struct {
  CollKind kind;
  const CollOps *collective;
  double size_B;
  double chunk_B; /**< as in CollCall */
  guint64 unit;   /**< those of one message have the same number, and follow one another */
  guint stream;   /**< those of one stream follow one another too */
  bool is_fetch;  /**< before the first forward; else of gradients */
  double ready_s; /**< the worker has computed the last gradient of the message; 0: fetch */
  double start_s; /**< the first message leaves */
  double end_s;   /**< the last has arrived */
  double done_s;  /**< the message has passed all stages */
} JournalEntry;

typedef struct {
  GArray *entries;    /**< of JournalEntry */
  double compute_s;   /**< forward and backward of all accumulation steps */
  double optimizer_s; /**< after everything */
} Journal;

void journal_init(Journal *journal);
void journal_clear(Journal *journal);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Journal, journal_clear)

/**
 * Can an iteration be told so: computing without a pause, alike on all ranks, and nothing
 * but collectives between them?
 * @param n_workers  that compute unlike one another
 * @return false with SIM_ERROR_VALUE
 */
bool journal_check(const Setup *setup, const Composition *composition, guint n_workers,
                   GError **error);
