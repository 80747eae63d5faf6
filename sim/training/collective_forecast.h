/**
 * @file collective_forecast.h
 * @brief How long one collective takes on an idle cluster, at several sizes.
 */
#pragma once

#include "models/collective.h"
#include "models/timings.h"

typedef struct {
  CollKind kind;
  const double *sizes_B; /**< ascending or not; borrowed */
  guint n_sizes;
  bool fold;     /**< see EngineConfig */
  bool messages; /**< message by message: see sim/engine/messages.h */
} CollForecast;

/**
 * Simulate the collective over all GPUs of @p setup, one size after another. Once per
 * operating-system process: see engine.h. Transfer: caller frees with timings_free().
 * @return NULL with SIM_ERROR_VALUE if the library has no algorithm for it, or the parts
 *         do not fit together; or the engine's error
 */
Timings *collective_forecast(const Setup *setup, const CollForecast *forecast,
                             GError **error);
