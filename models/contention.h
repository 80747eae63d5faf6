/**
 * @file contention.h
 * @brief How much longer a GPU computes while kernels of collectives run on it.
 *
 *     slowdown = 1 / (1 - C s / SMs) x 1 / (1 - m B / B_hbm)
 *
 * C channels are as many blocks, each on an SM that it does not share with kernels that
 * compute (NVIDIA/nccl issue #689: s = 1); B bytes per second on the wire are m times as
 * many in the GPU's memory (issue #1428: "2-3x"). At most CONTENTION_MAX.
 */
#pragma once

#include "models/workload.h"

/** The most that anybody has published: batch-norm backward beside NCCL, 2 ms became 4 to
 *  8 (NVIDIA/nccl issue #338), elementwise kernels 0.02 ms became 0.05 (issue #1428). */
#define CONTENTION_MAX 2.5

/** What runs on a GPU beside the kernels that compute. */
typedef struct {
  double n_channels;
  double sent_Bps; /**< by one rank, the protocol's bytes included */
} ContentionLoad;

/** Does anything slow computing down? */
bool contention_matters(const ComputeSpec *compute);

/** Time of a kernel over its time alone, >= 1. */
double contention_slowdown(const ComputeSpec *compute, const GpuSpec *gpu,
                           const ContentionLoad *load);
