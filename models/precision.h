/**
 * @file precision.h
 * @brief What arithmetic and optimiser mean in bytes and in peak FLOP/s.
 */
#pragma once

#include "models/cluster.h"

typedef enum {
  PRECISION_FP32,
  PRECISION_TF32,
  PRECISION_AMP,  /**< fp16 arithmetic, fp32 master weights and gradients */
  PRECISION_FP16, /**< fp16 arithmetic and gradients, fp32 master weights */
  PRECISION_BF16, /**< bf16 arithmetic and gradients, fp32 master weights */
  PRECISION_N
} Precision;

/** NULL-terminated. */
extern const char *const precision_names[];

typedef enum { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM, OPTIMIZER_N } Optimizer;

/** NULL-terminated. */
extern const char *const optimizer_names[];

typedef struct {
  double activation_B; /**< one element of an activation */
  double weights_B;    /**< per parameter, all copies that forward and backward read */
  double gradient_B;   /**< per parameter */
  double master_B;     /**< per parameter, fp32 copy that only the optimiser touches */
  double peak_share;   /**< of the peak FLOP/s that kernels reach where nobody measured */
} PrecisionTraits;

const PrecisionTraits *precision_traits(Precision precision);

/** Dense peak of @p gpu; 0 if it has no such unit [FLOP/s]. */
double precision_peak_flops(Precision precision, const GpuSpec *gpu);

/** What the kernels of a model reach where nobody measured the model: a share of the peak,
 *  less on a GPU whose large products were measured below the usual [FLOP/s]. */
double precision_kernel_flops(Precision precision, const GpuSpec *gpu);

/** Are large products measured in this precision? */
bool precision_is_measured(Precision precision, const GpuSpec *gpu);

/** "fp32, amp, fp16": what @p gpu can do. Transfer: caller frees. */
char *precision_list(const GpuSpec *gpu);

/** State that the optimiser keeps per parameter, without a master copy [B]. */
double optimizer_state_B(Optimizer optimizer);

/** Device memory that one step reads and writes per parameter [B]. */
double optimizer_moved_B(Optimizer optimizer);
