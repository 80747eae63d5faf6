/**
 * @file chooser.h
 * @brief Which codec each unit takes, decided from predictions and anew when they fail.
 *
 * Decisions are those of models/unit_plan.h. Predictions are the library's on the idle
 * cluster; what transfers take beyond their latencies is multiplied by what it took in the
 * last round over what was predicted, and so are the times at which gradients get ready.
 * The first round, which is warm-up, is measured to decide by; later ones only change a
 * decision if they drift from it.
 */
#pragma once

#include "models/result.h"
#include "sim/training/exchange.h"

typedef struct Chooser Chooser;

/** All borrowed as long as the chooser lives. */
typedef struct {
  const Composition *composition; /**< with choices */
  const GPtrArray *compressions;  /**< of Compression: of each of its codecs */
  const Workload *workload;
  const Exchange *exchange;
} ChooserConfig;

/** Decide from predictions alone. Transfer: caller frees. */
Chooser *chooser_new(const ChooserConfig *config);
void chooser_free(Chooser *chooser);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Chooser, chooser_free)

/** A backward pass begins: decide anew if the one before was not as predicted.
 *  @param ready_s  when each of its gradients was */
void chooser_begin(Chooser *chooser, double now_s, const double *ready_s);

/** What @p unit becomes. @return false: it travels as it is */
bool chooser_encode(const Chooser *chooser, const Unit *unit, Encoding *encoding);

/** A collective of a unit is over. */
typedef struct {
  const Unit *unit;
  CollKind kind;
  const LibraryChoice *choice;
  double size_B;
  double took_s;
  bool measured; /**< it counts for the report */
} ChooserMessage;

void chooser_observe(Chooser *chooser, const ChooserMessage *message);

/** After the run: what was chosen, per iteration of @p n_measured. */
void chooser_tell(const Chooser *chooser, double n_measured, Result *result);
