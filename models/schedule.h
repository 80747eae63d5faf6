/**
 * @file schedule.h
 * @brief Which gradients travel together, and when. State lives only here.
 */
#pragma once

#include "models/workload.h"

/** Gradients that travel as one message. */
typedef struct {
  GArray *gradients; /**< of guint32: indices into the workload's gradients; owned */
  double size_B;
} Unit;

void unit_init(Unit *unit);
void unit_clear(Unit *unit);

typedef enum {
  SCHEDULE_UNIT,  /**< a unit goes on the wire now */
  SCHEDULE_LATER, /**< ask again at the returned time, or when a gradient is ready */
  SCHEDULE_IDLE,  /**< nothing until another gradient is ready */
} ScheduleAnswer;

typedef struct {
  ModuleInfo info; /**< no params of its own: a strategy passes its own struct */

  /** @p params is what the strategy documents. Transfer: freed with free(). Required. */
  void *(*new)(const void *params, const Workload *workload);
  void (*free)(void *self);

  /** An iteration begins (0, 1, ...): nothing is ready. Required. */
  void (*begin)(void *self, guint iteration, double now_s);

  /** The backward pass has finished gradient @p index of the workload. Required. */
  void (*ready)(void *self, guint index, double now_s);

  /** What to send now. @p unit is empty at entry and filled for SCHEDULE_UNIT;
   *  @p again_s is set for SCHEDULE_LATER, later than @p now_s. Required. */
  ScheduleAnswer (*next)(void *self, double now_s, Unit *unit, double *again_s);
} ScheduleOps;
