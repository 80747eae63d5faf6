/**
 * @file strategy.h
 * @brief A named way to exchange gradients: a schedule and the stages of a unit.
 */
#pragma once

#include "models/schedule.h"

typedef enum {
  STAGE_WAIT,       /**< takes fixed_s + tensors * per_tensor_s + bytes * per_B_s */
  STAGE_COLLECTIVE, /**< an all-reduce of the unit by the library */
} StageKind;

/** One stage of the way of a unit. Consecutive stages on one resource hold it together. */
typedef struct {
  const char *name;     /**< "copy_in", "all_reduce", ... */
  StageKind kind;
  guint resource;       /**< index into Pipeline.resources */
  bool only_fused;      /**< skipped by units of a single tensor */
  double fixed_s;       /**< STAGE_WAIT [s] */
  double per_tensor_s;  /**< STAGE_WAIT [s] */
  double per_B_s;       /**< STAGE_WAIT [s/B] */
} Stage;

/** A queue, first come first served. */
typedef struct {
  const char *name;  /**< "nccl stream" */
  guint concurrency; /**< units it serves at once, >= 1 */
} Resource;

typedef struct {
  GArray *resources; /**< of Resource */
  GArray *stages;    /**< of Stage, in order */
} Pipeline;

typedef struct {
  const Workload *workload;
  const GpuSpec *gpu;
  guint n_nodes, gpus_per_node;
} StrategyContext;

typedef struct {
  const ScheduleOps *schedule;
  void *schedule_state;    /**< owned; freed with schedule->free() */
  Pipeline pipeline;
  double communication_B;  /**< buffers on one GPU [B] */
} Composition;

typedef struct {
  ModuleInfo info;
  /** Fill @p out, which composition_clear() frees. Required. */
  void (*compose)(const void *params, const StrategyContext *context, Composition *out);
} StrategyOps;

extern const ModuleInfo *const strategy_table[];

void composition_clear(Composition *composition);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Composition, composition_clear)
