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
  double communication_B; /**< the strategy's buffers */
  double library_B;       /**< the library's; memory_use() leaves it 0 */
  double capacity_B;
} MemoryUse;

/** Of how many GPUs one holds only its part; 0 counts as 1: all of it. */
typedef struct {
  guint weights, gradients, optimizer;
} MemoryShards;

/** Leave to one GPU its parts of weights, gradients and optimiser. */
void memory_shard(MemoryUse *use, const MemoryShards *shards);

/** @param communication_B  buffers of the strategy on one GPU [B] */
MemoryUse memory_use(const Workload *workload, const GpuSpec *gpu, double communication_B);

/** Bytes in use at the workload's batch. */
double memory_total_B(const MemoryUse *use, guint batch);

/** The largest batch that fits; 0 if not even one sample does, WORKLOAD_MAX_BATCH if the
 *  model does not say what it keeps of a sample. */
guint memory_max_batch(const MemoryUse *use);

/** "batch 512 takes 43.2 GiB of 15.8 GiB: weights 97.5 MiB + ... = 43.2 GiB; up to 177
 * samples fit". Transfer: caller frees. */
char *memory_explain(const MemoryUse *use, guint batch);
