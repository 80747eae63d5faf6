/**
 * @file schedule.h
 * @brief Which gradients travel together, and when. State lives only here.
 */
#pragma once

#include "models/placement.h"
#include "models/schedule/horovod_autotune.h"
#include "models/workload.h"

/** Gradients that travel as one message, or one piece of a single gradient. */
typedef struct {
  GArray *gradients; /**< of guint32: indices into the workload's gradients; owned */
  double size_B;
  double priority; /**< the smallest first, where a resource minds (Resource.by_priority) */
  guint server;    /**< which server sums it; see Composition.n_servers */
  guint piece;     /**< its number among all pieces that servers hold */
  guint n_parts;   /**< the unit is one of so many pieces of its only gradient; 1: whole */
  bool is_last;    /**< of its iteration: takes the stages that are for this one only */
} Unit;

void unit_init(Unit *unit);
void unit_clear(Unit *unit);

/** Take gradient @p index along, which adds @p size_B to the message. */
void unit_add(Unit *unit, guint32 index, double size_B);

/** Take gradients @p begin up to but not including @p end along as they are. */
void unit_add_range(Unit *unit, const Workload *workload, guint32 begin, guint32 end);

/**
 * Cut the gradients, in the order backward produces them, into buckets: each is closed by
 * the gradient that makes it reach its limit, so that buckets overshoot and none is split.
 * @param first_limit_B  of the first bucket; INFINITY puts everything into it
 * @param limit_B        of the others
 * @return guint32 per bucket: the number after its last gradient.
 *         Transfer: caller unrefs
 */
GArray *schedule_cut_buckets(const Workload *workload, double first_limit_B,
                             double limit_B);

/** The same, but cut in the order in which the model registers its tensors: the smaller
 *  first bucket holds the first layers and leaves last. */
GArray *schedule_cut_buckets_registered(const Workload *workload, double first_limit_B,
                                        double limit_B);

/** Times nearer than this are one instant: a simulated clock may ring that early [s]. */
#define SCHEDULE_INSTANT_S 1e-9

typedef enum {
  SCHEDULE_UNIT,  /**< a unit goes on the wire now */
  SCHEDULE_LATER, /**< ask again at the returned time, or when a gradient is ready */
  SCHEDULE_IDLE,  /**< nothing until another gradient is ready */
} ScheduleAnswer;

/** An all-reduce of S bytes on the idle cluster: startup_s + S * s_per_B. */
typedef struct {
  double startup_s;
  double s_per_B;
} AllReduceCost;

typedef struct {
  ModuleInfo info; /**< no params of its own: a strategy passes its own struct */
  bool forgets;    /**< what it does after begin() depends on nothing before, nor on the
                        time or number of the iteration */

  /** @p params is what the strategy documents. Transfer: freed with free(). Required. */
  void *(*new)(const void *params, const Workload *workload);
  void (*free)(void *self);

  /** What an all-reduce takes, fitted to the library's predictions; once, before the first
   *  iteration begins. NULL: does not ask. */
  void (*learn)(void *self, const AllReduceCost *cost);

  /** Backward begins whose gradients travel, for the first time (0), the second (1), ...:
   *  nothing is ready. Required. */
  void (*begin)(void *self, guint iteration, double now_s);

  /** The backward pass has finished gradient @p index of the workload. Required. */
  void (*ready)(void *self, guint index, double now_s);

  /** What to send now. @p unit is empty at entry and filled for SCHEDULE_UNIT;
   *  @p again_s is set for SCHEDULE_LATER, later than @p now_s by more than
   *  SCHEDULE_INSTANT_S. Required. */
  ScheduleAnswer (*next)(void *self, double now_s, Unit *unit, double *again_s);

  /** A unit has been synchronised, but for decoding it. @return ask next(). NULL: does not
   * mind. */
  bool (*finished)(void *self, const Unit *unit, double now_s);

  /** After the run: "fusion_threshold 31.2 MiB, ...", what it has found out and kept.
   *  NULL: finds nothing out. Transfer: caller frees; NULL if there is nothing to tell. */
  char *(*tell)(const void *self);
} ScheduleOps;

extern const ModuleInfo *const schedule_table[];
extern const ScheduleOps schedule_after_backward;
extern const ScheduleOps schedule_wait_free;
extern const ScheduleOps schedule_horovod_cycle;
extern const ScheduleOps schedule_ddp_bucket;
extern const ScheduleOps schedule_priority_partition;
extern const ScheduleOps schedule_merged;
extern const ScheduleOps schedule_predictive;
extern const ScheduleOps schedule_keyed;

/** Params of schedule_after_backward. */
typedef struct {
  guint64 bucket_cap_B; /**< a message is closed when it reaches this; 0: one message */
} AfterBackwardRule;

/** Params of schedule_ddp_bucket. */
typedef struct {
  double first_bucket_B;
  double bucket_cap_B;
  bool from_start; /**< the first iteration has the buckets of all others */
  bool registered; /**< buckets are cut in the order of registration, and never rebuilt */
  const GArray *ends; /**< guint32 per bucket: the number after its last gradient, in place
                           of the limits; NULL: cut by them. Copied */
} DdpBucketRule;

/** Params of schedule_priority_partition. */
typedef struct {
  double partition_B; /**< largest piece; INFINITY cuts nothing */
} PriorityPartitionRule;

/** The fewest equal pieces of at most @p partition_B that @p size_B is cut into, >= 1. */
guint schedule_n_parts(double size_B, double partition_B);

/** Is any gradient of @p workload larger than @p partition_B? */
bool schedule_cuts_any(const Workload *workload, double partition_B);

/** Params of schedule_merged and schedule_predictive. */
typedef struct {
  bool known; /**< @ref cost is given; false: it comes with learn(), until then 0 */
  AllReduceCost cost;
} MergeRule;

/** The groups of MG-WFBP. @return guint32 per group: the number after its last gradient.
 *  Transfer: caller unrefs */
GArray *schedule_merge(const Workload *workload, const AllReduceCost *cost);
/** Params of schedule_keyed, which takes them and what they own. */
typedef struct {
  GArray *pieces;          /**< of Piece, in the order of the workload's gradients; owned */
  bool first_layers_first; /**< Unit.priority is the place of the tensor in the model */
} KeyedRule;

/** Params of schedule_horovod_cycle. */
typedef struct {
  double cycle_time_s;
  double cached_s;    /**< negotiation when all ranks find every name in their cache [s] */
  double uncached_s;  /**< negotiation through the coordinator [s] */
  double threshold_B; /**< largest fused buffer; 0: nothing is fused */
  double padding_B;   /**< sizes are rounded up to a multiple in a fused buffer; 1: none */
  guint cache_capacity; /**< names the cache holds; 0: no cache */
  bool blocks; /**< the loop runs operations itself and goes on when they are done */
  bool autotunes;
  AutotuneRule autotune;
  double threshold_unit_B; /**< @ref threshold_B is a multiple, tuned or not */
  double no_cache_s;       /**< negotiation without a cache [s] */
} HorovodCycleRule;

/** Will any two neighbours of @p workload ever share a buffer? */
bool horovod_cycle_can_fuse(const HorovodCycleRule *rule, const Workload *workload);
