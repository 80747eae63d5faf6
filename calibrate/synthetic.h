/**
 * @file synthetic.h
 * @brief A machine whose laws are known: what a fit has to find again.
 *
 * Three probes, each with the law of the real thing:
 * - send_recv   alpha + size / bandwidth; below the eager limit another bandwidth, above
 *               it a handshake
 * - all_reduce  a ring of nodes x gpus ranks: 2 (n - 1) steps, of which 2 nodes - 1 leave a
 *               node if there are several; each step costs its hop, and the bytes
 *               2 (n - 1) / n / bandwidth
 * - gemm        size / rate, rate = peak / (1 + (half / size)^sharpness)
 *
 * Every time has log-normal noise, and some are outliers, later by a random factor.
 */
#pragma once

#include "calibrate/backend.h"

typedef struct {
  double alpha_s;       /**< of send_recv */
  double bandwidth_Bps; /**< of send_recv and of the ring */
  guint64 eager_B;      /**< smaller messages are copied, without a handshake */
  double eager_copies;  /**< how much longer their bytes take */
  double handshake_s;   /**< before the others */
  double launch_s;      /**< of all_reduce, once */
  double intra_s;       /**< a step inside a node */
  double inter_s;       /**< a step between nodes */
  guint nodes;          /**< all_reduce is measured on 1, 2, 4 ... so many */
  guint gpus;           /**< of a node */
  double peak_flops;    /**< [FLOP/s] */
  double half_flop;     /**< where half of it is reached [FLOP] */
  double sharpness;
  double noise;          /**< standard deviation of the logarithm */
  double outliers;       /**< share of the times */
  double outlier_factor; /**< the most that one is late by */
  guint seed;
} SyntheticParams;

extern const BackendOps backend_synthetic;

/** The law without noise [s]. */
double synthetic_law_s(const SyntheticParams *params, const Sample *cell);
