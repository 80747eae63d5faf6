/**
 * @file backend.h
 * @brief Something that can be timed: the host's CPU, a GPU, a cluster in namespaces, a
 *        known law with seeded noise.
 *
 * A backend lists the cells that it can measure and times one of them on demand. Order,
 * warm-up, repetitions, passes, rejection and summaries are the sweep's business, so every
 * backend is measured by the same rules.
 */
#pragma once

#include "calibrate/sample.h"
#include "sim/base/registry.h"

typedef struct Backend Backend;

/** A fact about the machine, for the profile: {"cpu_model", "AMD EPYC"}. */
typedef struct {
  char *name;
  char *value;
} BackendFact;

/** A GPtrArray that frees its BackendFacts. Transfer: g_ptr_array_unref(). */
GPtrArray *backend_facts_new(void);
/** Append copies. */
void backend_facts_add(GPtrArray *facts, const char *name, const char *value);

typedef struct {
  ModuleInfo info; /**< with the keys of @ref open's parameters */

  /**
   * @param params  laid out by info.params; borrowed until close
   * @return NULL with an error that says why this machine cannot be measured
   */
  Backend *(*open)(const void *params, GError **error);

  /** The cells, in any order, times unset: GPtrArray of Sample. Transfer: caller. */
  GPtrArray *(*cells)(Backend *backend);

  /** What it runs on: GPtrArray of BackendFact. Transfer: caller. */
  GPtrArray *(*facts)(Backend *backend);

  /**
   * Time @p cell @p n times, after whatever warm-up the cell needs.
   * @param time_s  filled with @p n times, each for one call [s]
   * @param flags   SampleFlags seen while measuring are added
   * @return false with an error if the cell could not be measured; the sweep marks it and
   *         goes on with the next
   */
  bool (*measure)(Backend *backend, const Sample *cell, double *time_s, guint n,
                  guint *flags, GError **error);

  void (*close)(Backend *backend);
} BackendOps;

/** NULL-terminated. */
extern const ModuleInfo *const backend_table[];
