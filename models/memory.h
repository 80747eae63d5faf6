/**
 * @file memory.h
 * @brief What fits into a GPU: weights, gradients, optimiser, activations, buffers.
 */
#pragma once

#include "models/workload.h"

typedef struct {
  double weights_B; /**< all copies that forward and backward read */
  double gradients_B;
  double optimizer_B; /**< its state and an fp32 master copy where precision needs one */
  double activations_per_sample_B;
  double workspace_B;     /**< context, kernels, convolution workspace */
  double communication_B; /**< the strategy's and the library's buffers */
  double capacity_B;
} MemoryUse;

/** @param communication_B  buffers of strategy and library on one GPU [B] */
MemoryUse memory_use(const Workload *workload, const GpuSpec *gpu, double communication_B);

/** Bytes in use at the workload's batch. */
double memory_total_B(const MemoryUse *use, guint batch);

/** The largest batch that fits; 0 if not even one sample does, WORKLOAD_MAX_BATCH if the
 *  model does not say what it keeps of a sample. */
guint memory_max_batch(const MemoryUse *use);
