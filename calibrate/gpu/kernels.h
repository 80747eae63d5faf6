/**
 * @file kernels.h
 * @brief The list of kernels: one row each, read by both compilers.
 */
#pragma once

#include "calibrate/gpu/kernel_codec.h"
#include "calibrate/gpu/kernel_move.h"
#include "calibrate/gpu/kernel_topk.h"

/** X(name, type of its arguments, type of its shared memory): kernel_NAME() is the body. */
#define GPU_KERNELS(X)                                                                     \
  X(null, NullArgs, NoShared)                                                              \
  X(copy, CopyArgs, NoShared)                                                              \
  X(flush, FlushArgs, NoShared)                                                            \
  X(reduce, ReduceArgs, NoShared)                                                          \
  X(narrow, NarrowArgs, NoShared)                                                          \
  X(widen, WidenArgs, NoShared)                                                            \
  X(paced, PacedArgs, PacedShared)                                                         \
  X(onebit_encode, OnebitEncodeArgs, SumShared)                                            \
  X(onebit_decode, OnebitDecodeArgs, NoShared)                                             \
  X(randomk_encode, RandomkEncodeArgs, NoShared)                                           \
  X(randomk_decode, RandomkDecodeArgs, NoShared)                                           \
  X(gram_schmidt, GramSchmidtArgs, SumShared)                                              \
  X(topk_histogram, TopkHistogramArgs, TopkShared)                                         \
  X(topk_pick, TopkPickArgs, TopkShared)                                                   \
  X(topk_sample, TopkSampleArgs, TopkSampleShared)                                         \
  X(topk_select, TopkSelectArgs, NoShared)

#define GPU_KERNEL_ENUM(name, Args, Shared) KERNEL_##name,
typedef enum { GPU_KERNELS(GPU_KERNEL_ENUM) KERNEL_N } KernelId;

/** Room for any kernel's arguments. */
#define GPU_KERNEL_UNION(name, Args, Shared) Args name;
typedef union {
  GPU_KERNELS(GPU_KERNEL_UNION)
} KernelArgs;

/** One start of one kernel. */
typedef struct {
  KernelId kernel;
  uint32_t n_blocks;
  uint32_t n_threads; /**< of a block: a multiple of SIMT_WARP, at most 1024 */
  KernelArgs args;
} KernelLaunch;
