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
  guint route;       /**< ROUTE_GRADIENTS or ROUTE_FETCHES */
  guint fetch;       /**< ROUTE_FETCHES: its number */
  guint64 number;    /**< in order of dispatch */
  guint held_credit; /**< bit r: it holds credit of resource r */
  bool is_told;      /**< the schedule knows that the unit has been exchanged */
  bool is_encoded;   /**< a codec made @ref encoding of it */
  Encoding encoding;
} Item;

/** A resource's queue. */
typedef struct {
  GQueue items;          /**< of Item */
  EngineSignal *changed; /**< raised for a server that waits */
  guint n_waiting;       /**< servers that wait */
  guint n_served;        /**< units that servers are busy with */
  bool is_taken;         /**< one of them wants the lane for itself */
  double credit_B;       /**< left; HUGE_VAL without limit */
  bool closing;
} Lane;

/** Track of a trace where the worker computes. */
#define TRACK_COMPUTE 0

typedef struct {
  const Setup *setup;
  const Workload *workload;
  double alone_s; /**< an iteration on one GPU that shares no optimizer step */
  Composition *composition;
  Exchange *exchange;
  const Compression *compression; /**< NULL: gradients travel as they are */
  bool encodes;                   /**< this iteration's gradients are compressed */
  void *full_schedule_state;      /**< of the iterations that are not, if any; else NULL */
  Engine *engine;
  Timeline timeline;
  Rng *jitter;

  GArray *lanes;     /**< of Lane: of each resource one, or one per server */
  guint *first_lane; /**< of each resource */
  guint64 n_dispatched;
  EngineSignal *wake; /**< for the dispatcher */
  bool dispatcher_waits, closing;

  guint n_exchanges; /**< backward passes whose gradients have travelled */

  /* Of the accumulation step under way. */
  guint step;
  bool fetches;         /**< it has any */
  guint *fetch_pending; /**< of each fetch: 0 once it has arrived */
  guint n_asked;        /**< of them, in order */
  guint n_used;
  double ahead_B; /**< of those asked for and not yet used */

  /* Of the iteration whose gradients travel. */
  guint n_pending;         /**< gradients not yet synchronised */
  guint *parts_done;       /**< of each gradient: pieces that have arrived */
  guint *pending_of_layer; /**< gradients of each layer not yet synchronised */
  double *ready_s;         /**< of each gradient */
  double backward_end_s;
  double *optimizer_of_layer_s;
  bool worker_waits;
  EngineSignal *synchronised; /**< raised when a gradient is and the worker waits */

  double measured_from_s, measured_to_s; /**< end of warm-up, end of the last iteration */
  double last_from_s;                    /**< begin of the last iteration */
} Job;

/** Let the dispatcher ask the schedule, if it waits. */
void job_wake_dispatcher(Job *job);

/* encode.c: what a codec does on the way. */

/** The state that the schedule goes by in this iteration. */
void *job_schedule_state(const Job *job);
/** Where units begin: 1 if their tensors passed stage 0 before the schedule knew them. */
guint job_first_stage(const Job *job);
/** Stage 0 of strategies that encode tensors one by one: takes time on the GPU, in the way
 *  of what the worker does next. */
void job_encode_gradient(Job *job, guint32 gradient);
/** What a codec makes of the item, if there is one. */
void job_encode_item(Job *job, Item *item);
/** Stages of encoded units that begin only when backward has ended wait for it. */
void job_await_backward(Job *job, const Stage *stage, const Item *item);

/* lane.c: who is served next. */

/** Let one of the servers that wait look again. */
void lane_notify(Lane *lane);
void lane_put(Lane *lane, const Resource *resource, Item *item);
/** Wait for a unit, for credit and for the lane itself, if the unit wants it alone.
 *  @param number  of the resource @return NULL at closing time */
Item *lane_take(Lane *lane, const Resource *resource, guint number);
/** A server is done with its unit. */
void lane_leave(Lane *lane, const Resource *resource);

/** The first process of the run: spawns the others and computes. @p data is the Job. */
void job_run(void *data);

/** Accumulation step @p step begins: nothing is fetched yet. */
void job_begin_step(Job *job, guint step);
/** Compute, @p factor slower than usual, and wait where a layer must.
 *  @param crosses  layers wait for their gradients of the iteration before, and take their
 *                  optimizer steps in proportion to their parameters
 *  @param travels  gradients are exchanged as they get ready */
void job_forward(Job *job, double factor, bool crosses);
void job_backward(Job *job, double factor, bool travels);
/** Wait until @p pending, a count of what is under way, is zero. */
void job_await(Job *job, const guint *pending);

/** Start one process per resource and server. */
void job_open_pipeline(Job *job);
/** Let the servers end once their queues are empty. */
void job_close_pipeline(Job *job);
/** Free the queues; after the run. */
void job_free_pipeline(Job *job);
/** Send @p unit on its way; it is empty afterwards. */
void job_dispatch(Job *job, Unit *unit);
/** Send for fetch @p index. */
void job_fetch(Job *job, guint index);
