/**
 * @file timings.h
 * @brief How long one collective takes at several sizes: what nccl-tests measures.
 */
#pragma once

#include "models/setup.h"

typedef struct {
  double
    size_B; /**< as nccl-tests counts it: the larger of what a rank sends and receives */
  double time_s;
  double algbw_Bps; /**< size / time */
  double busbw_Bps; /**< algbw times what the busiest port of any algorithm must carry */
  char *algorithm;  /**< "ring" */
  char *protocol;   /**< "simple"; "" where there is only one */
  double floor_s;   /**< least time of any algorithm */
  char *bottleneck; /**< tier whose busiest link bounds it, "latency", or "launch" */
} Timing;

typedef struct {
  char *collective;       /**< "all_reduce" */
  char *cluster;          /**< what the scenario is called */
  char *engine;           /**< what simulated it */
  char *group;            /**< which groups communicated, all at once; NULL: all ranks */
  guint n_groups;         /**< >= 1 */
  guint n_ranks, n_nodes; /**< of the largest group, of that on most nodes */
  guint min_ranks;        /**< of the smallest */
  const char *type;       /**< of elements: "float"; static */
  const char *op;         /**< "sum", or "none" where nothing is reduced; static */
  guint element_B;
  int root;          /**< -1: the collective has none */
  GArray *rows;      /**< of Timing, by size */
  GArray *constants; /**< of Constant */
} Timings;

/** Transfer: caller frees with timings_free(). */
Timings *timings_new(void);
void timings_free(Timings *timings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Timings, timings_free)

/** Mean of the bus bandwidths, as nccl-tests closes its table [B/s]. */
double timings_mean_busbw_Bps(const Timings *timings);
