/**
 * @file workload.h
 * @brief One iteration on one GPU: how long it computes and when each gradient is ready.
 */
#pragma once

#include "models/model.h"
#include "models/precision.h"

/** Larger batches per GPU are refused. */
#define WORKLOAD_MAX_BATCH 1000000u

/** Longer samples are refused. */
#define WORKLOAD_MAX_SEQUENCE 10000000u

/** Measured times of one layer, or of a group of them ("layer1.0"), for the whole batch. */
typedef struct {
  char *name;
  double forward_s, backward_s;
} ComputeLayer;

/** What was measured on one GPU of another type than the first nodes'. */
typedef struct {
  char *gpu;            /**< its name */
  double samples_per_s; /**< 0 if not given */
  double efficiency;    /**< 0 if not given */
} OtherCompute;

/** What a scenario says about computing. At most one of the first three is given; with
 *  none, the model's published baseline for this GPU and precision, else the time that the
 *  layers need at an assumed share of the GPU's peaks. */
typedef struct {
  double samples_per_s;   /**< measured on one GPU at this batch; 0 if not given */
  double efficiency;      /**< share of the peak FLOP/s; 0 if not given */
  GArray *layers;         /**< of ComputeLayer; empty if not given */
  double jitter;          /**< standard deviation of one GPU's step over its mean */
  double gpu_spread;      /**< the same of the means of GPUs of one kind */
  GArray *other_gpus;     /**< of OtherCompute; NULL: none */
  double sms_per_channel; /**< of a collective, see contention.h; 0: no contention */
  double memory_passes;   /**< of a byte on the wire; 0: no contention */
} ComputeSpec;

extern const ParamSpec compute_params[];

/** What of @p compute, which is said of GPUs named @p first, holds for GPUs named @p gpu:
 * all of it for the same GPU; else its own row, and without one what is no measurement.
 * Borrows.
 *  @param first  NULL: the same */
ComputeSpec compute_of_gpu(const ComputeSpec *compute, const char *first, const char *gpu);

typedef struct {
  guint batch_per_gpu;
  guint accumulation_steps; /**< batches whose gradients add up before one update, >= 1 */
  guint precision;          /**< Precision */
  guint optimizer;          /**< Optimizer */
  guint sequence;           /**< tokens in a sample; 0: the model's own */
} WorkloadSpec;

extern const ParamSpec workload_params[];

typedef struct {
  guint tensor; /**< index into the model's tensors */
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
  guint accumulation_steps; /**< batches in an iteration, each with forward and backward */
  Precision precision;
  Optimizer optimizer;
  double forward_s, backward_s; /**< of one batch */
  double optimizer_s;           /**< once per iteration */
  double jitter, gpu_spread;    /**< see ComputeSpec */
  double gradient_B;            /**< all gradients of one GPU */
  GArray *gradients;            /**< of Gradient, in the order backward produces them */
  GArray *layer_times;          /**< of LayerTime, forward order */
  char *compute_source;         /**< where the compute time comes from */
  bool compute_is_assumed; /**< true if an efficiency was assumed, not given or measured */
} Workload;

/**
 * Find the compute time (see ComputeSpec) and spread it over the layers in proportion to
 * their roofline: FLOPs over the usual share of the peak, or moved bytes over the memory
 * bandwidth, whichever is longer; by parameters if the model states no FLOPs. Backward
 * takes twice forward. The optimiser passes over the parameters at memory bandwidth: part
 * of a measured samples_per_s, on top of everything else. The model must outlive it.
 * Transfer: caller frees with workload_free().
 * @return NULL with SIM_ERROR_VALUE if the GPU cannot do the precision, the measured
 *         layers are not the model's, or a measured rate is beyond what memory allows
 */
Workload *workload_new(const Model *model, const WorkloadSpec *spec,
                       const ComputeSpec *compute, const GpuSpec *gpu, GError **error);
void workload_free(Workload *workload);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Workload, workload_free)

/** Duration of one iteration on one GPU without communication [s]. */
double workload_compute_s(const Workload *workload);

/** Samples that one GPU takes per iteration. */
double workload_samples(const Workload *workload);

const Gradient *workload_gradient(const Workload *workload, guint index);
guint workload_n_gradients(const Workload *workload);
