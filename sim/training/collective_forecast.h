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
  bool fold;         /**< see EngineConfig */
  bool messages;     /**< message by message: see sim/engine/messages.h */
  const char *group; /**< see grouping_find(); NULL: all GPUs. Borrowed */
} CollForecast;

/** More groups at once are refused. */
#define COLL_FORECAST_MAX_GROUPS 4096

/**
 * Simulate the collective over all GPUs of @p setup, one size after another; or over its
 * groups of a name, which begin each size together, contend for the links, and count with
 * the one that takes longest. Once per
 * operating-system process: see engine.h. Transfer: caller frees with timings_free().
 * @return NULL with SIM_ERROR_VALUE if there is no such group, the library has no algorithm
 * for it, or the parts do not fit together; or the engine's error
 */
Timings *collective_forecast(const Setup *setup, const CollForecast *forecast,
                             GError **error);
