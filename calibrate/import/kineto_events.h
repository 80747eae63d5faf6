/**
 * @file kineto_events.h
 * @brief The events of a profiler's trace that matter here, and what they add up to.
 */
#pragma once

#include "calibrate/import.h"

#define KINETO_NAME_MAX 128
#define KINETO_INPUTS_MAX 4

/** One event while it is read; what nobody said is 0, NULL or false, and -1 of durations
 *  and numbers that link events. */
typedef struct {
  bool is_complete;                        /**< "ph": "X" */
  bool is_kernel, is_annotation;           /**< "cat" */
  bool is_operator, is_runtime, is_python; /**< "cat" */
  bool is_nccl, is_step;                   /**< by its name */
  char name[KINETO_NAME_MAX];              /**< cut off there */
  double begin_us, duration_us;
  double thread;
  double correlation; /**< of a launch and its kernel */
  double external;    /**< of an operator and its kernels */
  double sequence;    /**< of a forward operator and its backward */
  double fwd_thread;  /**< over 0: of the forward operator, for this is backward */
  guint n_inputs;     /**< whose shapes are told */
  double values[KINETO_INPUTS_MAX]; /**< of the first inputs; 0: no tensor */
  char types[KINETO_INPUTS_MAX];    /**< first letter, without "c10::" */
  const char *collective;           /**< as scenarios call it */
  const char *dtype;
  double n_in, n_out; /**< elements of one rank's buffers */
  double n_ranks;
} KinetoEvent;

/** That of which nothing is said. */
#define KINETO_EVENT                                                                       \
  {                                                                                        \
    .duration_us = -1, .thread = -1, .correlation = -1, .external = -1, .sequence = -1     \
  }

typedef struct KinetoEvents KinetoEvents;

KinetoEvents *kineto_events_new(void);
void kineto_events_free(KinetoEvents *events);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KinetoEvents, kineto_events_free)

/** Keep @p event if it is a kernel or a step. */
void kineto_events_add(KinetoEvents *events, const KinetoEvent *event);

/**
 * Samples: "step", "step_compute" (kernels other than NCCL's, overlaps counted once),
 * "step_comm" (NCCL's), "step_exposed" (NCCL's while nothing computes) per iteration, and
 * each collective by type, group and size.
 * @return false with an error if the trace holds no kernel
 */
bool kineto_events_summarise(KinetoEvents *events, ImportInput *input,
                             const ImportOptions *options, Imported *imported,
                             GError **error);

/** Our name of a collective of torch.distributed, or NULL. */
const char *kineto_collective(const char *name);

/** Our name of a type of PyTorch ("Float" is "fp32"), or NULL. */
const char *kineto_dtype(const char *name);
