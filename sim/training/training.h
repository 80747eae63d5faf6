/**
 * @file training.h
 * @brief From a Setup to a Result: simulate the iterations and measure them.
 */
#pragma once

#include "models/result.h"
#include "sim/training/journal.h"

typedef struct {
  bool fold;                 /**< see EngineConfig */
  bool messages;             /**< collectives message by message: sim/engine/messages.h */
  bool traced;               /**< keep spans for a timeline */
  guint replica;             /**< which draws of the random streams */
  const char *dump_platform; /**< see EngineConfig; NULL: do not */
  Journal *journal; /**< takes what the measured iterations exchange; NULL: not wanted */
} TrainingConfig;

/**
 * Simulate @p setup once. Once per operating-system process: see engine.h.
 * Transfer: caller frees with result_free().
 * @return NULL with SIM_ERROR_VALUE if the parts do not fit together, or the engine's error
 */
Result *training_forecast(const Setup *setup, const TrainingConfig *config, GError **error);

/**
 * One result for @p n replicas of a setup: means, and the 95 % interval of what varies.
 * The timeline and all that is not a quantity are the first one's.
 * Transfer: takes the replicas; caller frees the result.
 */
Result *training_merge(Result **replicas, guint n);
