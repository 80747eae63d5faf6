/**
 * @file job.h
 * @brief One simulated training run: the worker, the dispatcher, the pipeline.
 *
 * Synchronous data-parallel workers of one crew behave alike, so one worker stands for
 * all of them. Workers compute and report gradients; when the last has reported one, the
 * schedule hears of it; the dispatcher asks the schedule for units; each resource of the
 * pipeline serves units first come, first served.
 */
#pragma once

#include "models/crew.h"
#include "sim/base/rng.h"
#include "sim/training/chooser.h"
#include "sim/training/journal.h"
#include "sim/training/timeline.h"
#include "sim/training/training.h"

typedef struct Job Job;
typedef struct Fleet Fleet;

/** A unit on its way through the pipeline. */
typedef struct {
  Job *job;
  Unit unit;
  guint stage;       /**< the next one */
  guint route;       /**< ROUTE_GRADIENTS or ROUTE_FETCHES */
  guint fetch;       /**< ROUTE_FETCHES: its number */
  guint64 number;    /**< in order of dispatch */
  guint held_credit; /**< bit r: it holds credit of resource r */
  bool is_told;      /**< the schedule knows that the unit has been exchanged */
  bool is_encoded;   /**< a codec made @ref encoding of it */
  Encoding encoding;
  double arrived_s; /**< in the queue of its next stage */
  double ready_s;   /**< when the last of its gradients was, or the fetch was asked for */
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

/** What the workers of a crew have in common. */
typedef struct {
  const Workload *workload;
  const GpuSpec *gpu;
  double slowdown;
  double lag; /**< what its slowest GPU takes over what one takes on average, >= 1 */
  guint n_gpus;
  double *optimizer_of_layer_s;
  Rng *jitter;
  guint n_drawn; /**< iterations that jitter was drawn for */
  double factor; /**< of the last of them: how much longer than usual its slowest takes */
} CrewState;

/** One that computes, for all that behave like it. */
typedef struct {
  Job *job;
  CrewState *crew;
  guint track;          /**< of the picture; NO_TRACK: it is not drawn */
  bool leads;           /**< it tells when iterations begin and end */
  guint iteration;      /**< under way */
  double factor;        /**< how much longer than usual it takes */
  double at_s;          /**< what it has computed so far ends here */
  guint n_rounds;       /**< backward passes begun whose gradients travel */
  guint n_steps;        /**< accumulation steps begun */
  bool first_step;      /**< of the iteration */
  bool fetches;         /**< the step under way has any */
  guint n_asked;        /**< fetches of the step, in order */
  guint n_used;         /**< of them */
  double ahead_B;       /**< of those asked for and not yet used */
  double passed_s;      /**< end of its last backward */
  double contended_s;   /**< measured time lost to kernels of collectives */
  bool computes;        /**< and minds what runs beside it */
  EngineSignal *loaded; /**< raised when that changes; NULL: nothing matters */
  bool waits;
  EngineSignal *woken; /**< raised when something has arrived and the worker waits */
} Worker;

#define NO_TRACK G_MAXUINT

struct Job {
  const Setup *setup;
  const Workload *workload;   /**< of the first kind of nodes */
  const GPtrArray *workloads; /**< of Workload: of every kind */
  double alone_s;             /**< an iteration on one GPU that shares no optimizer step */
  Composition *composition;
  Exchange *exchange;
  const Compression *compression; /**< NULL: gradients travel as they are */
  Chooser *chooser;               /**< of codecs, unit by unit; NULL: none */
  const GPtrArray *choices;       /**< of Compression: what it chooses from; may be empty */
  Journal *journal;               /**< NULL: nobody reads it */
  bool encodes;                   /**< this iteration's gradients are compressed */
  void *full_schedule_state;      /**< of the iterations that are not, if any; else NULL */
  Engine *engine;
  Timeline timeline;

  CrewState *crews;
  guint n_crews;
  Worker *workers; /**< one of each crew, or one of each node */
  guint n_workers;
  guint n_running; /**< workers that have iterations left */

  GArray *loads;   /**< what runs beside computing, see load.c; NULL: nothing matters */
  guint n_kernels; /**< of collectives under way */

  GArray *lanes;     /**< of Lane: of each resource one, or one per server */
  guint *first_lane; /**< of each resource */
  guint64 n_dispatched;
  EngineSignal *wake; /**< for the dispatcher */
  bool dispatcher_waits, closing;
  EngineSignal *traffic_ends; /**< raised for every other job at the end */

  bool *has_gradients; /**< of each layer */
  guint *n_askers;     /**< of each fetch: how often workers have asked for it */
  guint *fetched;      /**< of each fetch: how often it has arrived */

  /* Of the round: the backward pass whose gradients travel. One ends before the next
   * begins, whatever worker begins it. */
  guint n_rounds;          /**< begun */
  guint rounds_done;       /**< all gradients synchronised */
  guint n_pending;         /**< gradients not yet synchronised */
  guint *n_reporters;      /**< of each gradient: workers that have it ready */
  guint *parts_done;       /**< of each gradient: pieces that have arrived */
  guint *pending_of_layer; /**< gradients of each layer not yet synchronised */
  guint *layer_rounds;     /**< of each layer: rounds in which it had all of them */
  double *ready_s;         /**< of each gradient: the slowest worker's */
  guint n_ended;           /**< workers whose backward has ended */
  guint n_awaiting_end;    /**< servers that wait for all of them */
  EngineSignal *backward_ended;

  GArray *passages; /**< of the last iteration, see critical.c; NULL: before it */
  guint64
    decider; /**< unit that ended the last round, as far as the next iteration minds */
  double decided_s; /**< when */

  double measured_from_s, measured_to_s; /**< end of warm-up, end of the last iteration */
  double last_from_s;                    /**< begin of the last iteration */
  double n_measured;                     /**< iterations between them */

  /* See repeat.c. */
  bool may_repeat;
  bool was_idle;   /**< when the last round ended nothing was under way */
  guint resume_at; /**< iterations before this one need not be simulated */

  /* One node's of a fleet (fleet.h). */
  Fleet *fleet; /**< NULL: it is all nodes' */
  Job *lead;    /**< which has the servers' queues; NULL: the job itself */
  guint node;   /**< 1 + the number of the node; 0: all nodes */
};

/* job.c: what a run begins with, and what is left to free. */

/** Who computes. */
typedef struct {
  guint64 seed; /**< of jitter */
  bool fold;    /**< one worker of each crew; false: one of each node */
} JobCrews;

void job_lay_crews(Job *job, const Crews *crews, const JobCrews *what);
/** Inside the first process. */
void job_open(Job *job);
/** After the run; also if it did not begin. */
void job_clear(Job *job);
/** What the GPUs have computed in an iteration, on average; jitter has no effect on it. */
double job_mean_compute_s(const Job *job);

/** Let the dispatcher ask the schedule, if it waits. */
void job_wake_dispatcher(Job *job);

/* measure.c */

/** After the run: fill @p result. */
void job_measure(const Job *job, const TrainingConfig *config, Result *result);

/* traffic.c: other jobs on the same network. */

guint job_n_others(const Job *job);
void job_begin_traffic(Job *job);
/** After Job.closing is set. */
void job_end_traffic(Job *job);
/* repeat.c: iterations that are copies of one another. */

/** Are all iterations but the first the same, whenever nothing is under way between them?
 */
bool job_may_repeat(const Job *job, const TrainingConfig *config);
/** All gradients have been synchronised. */
void job_end_round(Job *job);
/** After the run: those of the iterations that were not simulated. */
void job_repeat_latencies(Job *job);

/* critical.c: what the last iteration waited for. */

/** It begins. */
void job_begin_passages(Job *job);
/** A unit has passed its stage, in which it was served from @p start_s. */
void job_note_passage(Job *job, const Item *item, const Lane *lane, double start_s);
/** After the run. */
void job_tell_critical_path(const Job *job, Result *result);

/* load.c: kernels of collectives slow down what they overlap, if the scenario says so. */

void job_open_loads(Job *job);
void job_begin_kernels(Job *job, const ContentionLoad *load);
void job_end_kernels(Job *job, const ContentionLoad *load);
/** Compute what takes @p alone_s without them; only with Job.loads. */
void worker_compute(Worker *worker, double alone_s);

/* encode.c: what a codec does on the way. */

/** The state that the schedule goes by in this iteration. */
void *job_schedule_state(const Job *job);
/** May any gradient ever be compressed? */
bool job_is_coded(const Job *job);
/** Are the gradients of this iteration compressed? */
bool job_encodes_in(const Job *job, guint iteration);
/** Where units begin: 1 if their tensors passed stage 0 before the schedule knew them. */
guint job_first_stage(const Job *job);
/** Stage 0 of strategies that encode tensors one by one: takes time on the GPU, in the way
 *  of what the worker does next. */
void job_encode_gradient(Worker *worker, guint32 gradient);
/** Does that stage wait until backward has ended? */
bool job_encodes_late(const Job *job);
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

/** Iterations that are run before those that are measured. */
guint job_n_unmeasured(const Job *job);

/** The parts of it, for who runs several: begin, let a worker go through an iteration,
 *  end when no worker will go on. */
void job_start(Job *job);
void worker_iterate(Worker *worker);
void job_stop(Job *job);

/** An accumulation step begins: nothing is fetched yet. */
void worker_begin_step(Worker *worker, bool first);
/** Compute, and wait where a layer must.
 *  @param crosses  layers wait for their gradients of the iteration before, and take their
 *                  optimizer steps in proportion to their parameters
 *  @param travels  gradients are exchanged as they get ready */
void worker_forward(Worker *worker, bool crosses);
void worker_backward(Worker *worker, bool travels);
/** Wait until @p done, a count of what has happened, is @p n or more. */
void worker_await(Worker *worker, const guint *done, guint n);
/** Something has happened that workers may wait for. */
void job_wake_workers(Job *job);

/** Start one process per resource and server. */
void job_open_pipeline(Job *job);
/** Let the servers end once their queues are empty. */
void job_close_pipeline(Job *job);
/** Free the queues; after the run. */
void job_free_pipeline(Job *job);
/** Queue the item for its next stage, or end its way. */
void job_pass_on(Item *item);
/** Send @p unit on its way; it is empty afterwards. */
void job_dispatch(Job *job, Unit *unit);
/** Send for fetch @p index. */
void job_fetch(Job *job, guint index);
