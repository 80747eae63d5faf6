/**
 * @file workload.h
 * @brief One iteration on one GPU: how long it computes and when each gradient is ready.
 */
#pragma once

#include "models/cluster.h"
#include "models/model.h"

typedef enum {
  PRECISION_FP32,
  PRECISION_TF32,
  PRECISION_AMP,  /**< fp16 arithmetic, fp32 master weights and gradients */
  PRECISION_FP16, /**< fp16 arithmetic and gradients, fp32 master weights */
  PRECISION_BF16, /**< bf16 arithmetic and gradients, fp32 master weights */
} Precision;

extern const char *const precision_names[];

typedef enum { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM } Optimizer;

extern const char *const optimizer_names[];

/** Measured times of one layer, for the whole batch. */
typedef struct {
  char *name;
  double forward_s, backward_s;
} ComputeLayer;

/** What a scenario says about computing. At most one of the first three is given; with
 *  none, the model's published baseline for this GPU and precision, else an assumed
 *  efficiency. */
typedef struct {
  double samples_per_s; /**< measured on one GPU at this batch; 0 if not given */
  double efficiency;    /**< share of the peak FLOP/s; 0 if not given */
  GArray *layers;       /**< of ComputeLayer; empty if not given */
  double jitter;        /**< standard deviation of one GPU's step over its mean */
} ComputeSpec;

extern const ParamSpec compute_params[];

typedef struct {
  guint batch_per_gpu;
  guint precision; /**< Precision */
  guint optimizer; /**< Optimizer */
  guint sequence;  /**< tokens in a sample; 0: the model's own */
} WorkloadSpec;

extern const ParamSpec workload_params[];

typedef struct {
  guint tensor;   /**< index into the model's tensors */
  guint layer;
  double size_B;
  double ready_s; /**< after the start of backward [s] */
} Gradient;

typedef struct {
  const char *name;
  double forward_s, backward_s;
} LayerTime;

typedef struct {
  const Model *model; /**< borrowed */
  guint batch_per_gpu;
  Precision precision;
  Optimizer optimizer;
  double forward_s, backward_s, optimizer_s;
  double jitter;
  double gradient_B;       /**< all gradients of one GPU */
  GArray *gradients;       /**< of Gradient, in the order backward produces them */
  GArray *layer_times;     /**< of LayerTime, forward order */
  char *compute_source;    /**< where the compute time comes from */
  bool compute_is_assumed; /**< true if an efficiency was assumed, not given or measured */
} Workload;

/**
 * Spread the compute time over the layers (roofline weights: FLOPs over the peak, moved
 * bytes over the memory bandwidth, whichever is longer), backward twice forward.
 * The model must outlive it. Transfer: caller frees with workload_free().
 * @return NULL with SIM_ERROR_VALUE if the GPU cannot do the precision or a measured
 *         model lacks layers
 */
Workload *workload_new(const Model *model, const WorkloadSpec *spec,
                       const ComputeSpec *compute, const GpuSpec *gpu, GError **error);
void workload_free(Workload *workload);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Workload, workload_free)

/** Duration of one iteration on one GPU without communication [s]. */
double workload_compute_s(const Workload *workload);

const Gradient *workload_gradient(const Workload *workload, guint index);
guint workload_n_gradients(const Workload *workload);
