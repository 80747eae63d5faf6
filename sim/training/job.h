/**
 * @file job.h
 * @brief One simulated training run: the worker, the dispatcher, the pipeline.
 *
 * Synchronous data-parallel workers of one kind behave alike, so one worker stands for
 * all. It computes and reports gradients to the schedule; the dispatcher asks the schedule
 * for units; each resource of the pipeline serves units first come, first served.
 */
#pragma once

#include "sim/base/rng.h"
#include "sim/training/timeline.h"

/** A unit on its way through the pipeline. */
typedef struct {
  Unit unit;
  guint stage;       /**< the next one */
  guint64 number;    /**< in order of dispatch */
  guint held_credit; /**< bit r: it holds credit of resource r */
} Item;

/** A resource's queue. */
typedef struct {
  GQueue items;          /**< of Item */
  EngineSignal *changed; /**< raised for a server that waits */
  guint n_waiting;       /**< servers that wait */
  double credit_B;       /**< left; HUGE_VAL without limit */
  bool closing;
} Lane;

typedef struct {
  const Setup *setup;
  const Workload *workload;
  Composition *composition;
  Exchange *exchange;
  Engine *engine;
  Timeline timeline;
  Rng *jitter;

  GArray *lanes;     /**< of Lane: of each resource one, or one per server */
  guint *first_lane; /**< of each resource */
  guint64 n_dispatched;
  EngineSignal *wake; /**< for the dispatcher */
  bool dispatcher_waits, closing;

  /* Of the iteration whose gradients travel. */
  guint n_pending;         /**< gradients not yet synchronised */
  guint *parts_done;       /**< of each gradient: pieces that have arrived */
  guint *pending_of_layer; /**< gradients of each layer not yet synchronised */
  double *ready_s;         /**< of each gradient */
  double *optimizer_of_layer_s;
  bool worker_waits;
  EngineSignal *synchronised; /**< raised when a gradient is and the worker waits */

  double measured_from_s, measured_to_s; /**< end of warm-up, end of the last iteration */
  double last_from_s;                    /**< begin of the last iteration */
} Job;

/** The first process of the run: spawns the others and computes. @p data is the Job. */
void job_run(void *data);

/** Start one process per resource and server. */
void job_open_pipeline(Job *job);
/** Let the servers end once their queues are empty. */
void job_close_pipeline(Job *job);
/** Free the queues; after the run. */
void job_free_pipeline(Job *job);
/** Send @p unit on its way; it is empty afterwards. */
void job_dispatch(Job *job, Unit *unit);
