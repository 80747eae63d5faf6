/**
 * @file kineto_sweep.h
 * @brief The CPU's timeline of a trace: which layer was open when each kernel was launched.
 */
#pragma once

#include "calibrate/import/kineto_weights.h"

typedef enum {
  KINETO_RANGE,     /**< a module or a record_function: a layer */
  KINETO_OPERATOR,  /**< forward */
  KINETO_BACKWARD,  /**< an operator of the autograd engine */
  KINETO_OPTIMIZER, /**< its step: no layer's */
  KINETO_LAUNCH,    /**< of a kernel; has no length */
} KinetoItemKind;

/** Something on a thread of the CPU. */
typedef struct {
  KinetoItemKind kind;
  double thread, begin_us, end_us;
  double sequence;       /**< -1: none */
  const char *name;      /**< of ranges, and of operators, which may be the layers */
  KinetoWeights weights; /**< of operators that have some */
  double kernel_us;      /**< of launches: how long the kernel ran */
} KinetoItem;

typedef struct {
  double begin_us, end_us;
} KinetoStep;

/** Of one step. */
typedef struct {
  double forward_us, backward_us;
} KinetoTimes;

typedef struct {
  const char *name;
  double first_us;  /**< where it began first, forward; INFINITY: never */
  guint first_call; /**< of whose operators the parameters are counted */
  GArray *steps;    /**< KinetoTimes, up to the last step in which it ran */
  GArray *weights;  /**< KinetoWeights */
} KinetoLayer;

typedef struct {
  const GArray *steps; /**< KinetoStep, ascending; empty: all is one */
  bool by_operator;    /**< no ranges: outermost forward operators are the layers */
  GPtrArray *layers;   /**< KinetoLayer, in no order of theirs */
  KinetoLayer *rest;   /**< what no layer has */
  double optimizer_us; /**< of all steps */
  GStringChunk *names;
  GHashTable *by_name;  /**< -> index + 1 */
  GHashTable *forwards; /**< sequence -> its operator */
  GHashTable *n_named;  /**< how often an operator ran in this step */
  guint named_step;
  GArray *pending; /**< kernels of backward whose layer is not known yet */
} KinetoSweep;

/** @p steps  borrowed, as long as the sweep lives */
void kineto_sweep_init(KinetoSweep *sweep, const GArray *steps, bool by_operator);
void kineto_sweep_clear(KinetoSweep *sweep);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(KinetoSweep, kineto_sweep_clear)

/** Give each launch among @p items (KinetoItem, sorted in place) to its layer. */
void kineto_sweep_run(KinetoSweep *sweep, GArray *items);
