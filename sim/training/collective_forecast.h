/**
 * @file collective_forecast.h
 * @brief How long one collective takes on an idle cluster, at several sizes.
 */
#pragma once

#include "models/collective.h"
#include "models/timings.h"

/** What a thread of the host takes to launch a collective on one GPU of several. Fitted:
 *  dgx2-v100x12-allreduce, where one thread and twelve GPUs take 61 us for 8 B. Held
 * against other tables of one process: 23 us for four V100, 48 us for eight, 35 to 41 us
 * for eight H100 [s] */
#define COLL_LAUNCH_S 5.1e-6

typedef struct {
  CollKind kind;
  const double *sizes_B; /**< ascending or not; borrowed */
  guint n_sizes;
  bool fold;         /**< see EngineConfig */
  bool messages;     /**< message by message: see sim/engine/messages.h */
  const char *group; /**< see grouping_find(); NULL: all GPUs. Borrowed */
  double launch_s;   /**< what a thread of the host needs between two of them, for the GPUs
                          that it launches on; 0: it is ahead of them [s] */
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
