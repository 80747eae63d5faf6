/**
 * @file result.h
 * @brief What a forecast says: quantities with units, and what happened when. No formats.
 *
 * The quantities are defined in README.md, section "What the numbers mean".
 */
#pragma once

#include "models/setup.h"

/** What bounds a message where no link does. */
#define RESULT_BOUND_LATENCY "latency"
#define RESULT_BOUND_CONNECTION "connection"

typedef struct {
  guint tier;
  guint n_links;
  double
    mean; /**< share of the capacity of all links of the tier, over the measured time */
  double peak; /**< highest share of one link's capacity that a transfer takes */
} LinkUse;

/** Seconds per iteration that one stage of the exchange was busy. */
typedef struct {
  char *name;
  double busy_s;
} StageUse;

/** What the last iteration waited for, from one time after its begin to another. */
typedef struct {
  char *name; /**< a stage, or "compute", "schedule", "queue", "optimizer" */
  double start_s, end_s;
} PathStep;

/** Messages that a strategy has sent by one codec and one algorithm, per iteration. */
typedef struct {
  char *codec;     /**< "none", "topk 1 %" */
  char *algorithm; /**< "ring/simple" */
  double messages;
  double size_B; /**< of all of them */
} Decision;

/** A stretch of time on one track of a representative worker. */
typedef struct {
  guint track; /**< index into Result.tracks */
  char *name;
  double start_s, end_s;
} Span;

/** Use of one tier while one transfer ran. */
typedef struct {
  guint tier;
  double start_s, end_s;
  double mean; /**< share of the tier's capacity */
} LinkSpan;

typedef struct {
  char *name;
  char *engine; /**< what simulated it, for the provenance: "folded, SimGrid 3.32" */
  guint n_nodes, n_gpus;
  char *model, *gpu, *strategy, *library, *compute_source;
  guint64 n_parameters;
  guint batch_per_gpu;
  double gradient_B;
  char *codec; /**< "none", "topk", ... */
  char
    *codec_note; /**< what others published about its effect on accuracy; NULL: nothing */
  double message_B; /**< what one GPU's gradients become in messages, per iteration */

  double iteration_time_s;
  double throughput_samples_per_s;
  double throughput_per_gpu_samples_per_s;
  double compute_time_s;
  double comm_busy_share;
  double comm_exposed_share;
  double gpu_utilisation;
  double scaling_efficiency;
  guint max_batch_per_gpu;
  double memory_used_B, memory_capacity_B;
  double retransmission_rate;
  double staleness_updates;    /**< by others between a node's pull and push; servers that
                                    do not wait for all */
  double staleness_iterations; /**< that a node began ahead of the slowest, at most */
  double latency_p50_s, latency_p95_s, latency_p99_s; /**< gradient ready to synchronised */

  double units_per_iteration; /**< messages that one GPU's gradients travel in */
  double floor_s;             /**< least time any all-reduce of the gradients takes */
  char *algorithm;  /**< collective and protocol of the largest unit: "ring/simple" */
  char *bottleneck; /**< tier whose busiest link bounds the largest unit, or
                         one of RESULT_BOUND_... */

  GArray *links;       /**< of LinkUse, tiers in use */
  GArray *stages;      /**< of StageUse, in pipeline order */
  GArray *path;        /**< of PathStep: the critical path of the last iteration */
  char *tuned;         /**< what the strategy has tuned itself to; NULL: nothing */
  GArray *decisions;   /**< of Decision; empty unless the strategy decides */
  guint n_redecisions; /**< how often it has changed its mind, warm-up included */
  GArray *constants;   /**< of Constant */
  GPtrArray *warnings; /**< of char *: sentences that a reader should not miss */

  /** 95 % interval of the mean over replicas; 0 wide with one replica. */
  guint replicas;
  double iteration_time_half_s, throughput_half_samples_per_s;

  GPtrArray *tracks;  /**< of char *: "compute", "nccl stream", ...; empty unless traced */
  GArray *spans;      /**< of Span */
  GArray *link_spans; /**< of LinkSpan */
  /** The stretch of the timeline that is the last measured iteration; both 0 if untraced.
   */
  double last_start_s, last_end_s;
} Result;

typedef enum {
  FIELD_TEXT,     /**< char *, owned; may be NULL */
  FIELD_COUNT,    /**< guint */
  FIELD_COUNT64,  /**< guint64, below 2^53 so that JSON readers keep it exact */
  FIELD_QUANTITY, /**< double, finite, >= 0; its unit ends the key */
  FIELD_SHARE,    /**< double, 0..1 */
} ResultFieldType;

typedef struct {
  const char *key; /**< what files call it */
  ResultFieldType type;
  size_t offset; /**< offsetof(Result, field) */
} ResultField;

/** The plain fields of a Result, in the order in which files list them: the one list of
 *  their names. NULL key at the end. */
extern const ResultField result_fields[];

/** p50, p95, p99 of the latency [s]. NULL key at the end. */
extern const ResultField result_latency_fields[];

/** Zero quantities, empty arrays. Transfer: caller frees with result_free(). */
Result *result_new(void);
void result_free(Result *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Result, result_free)

/** Are gradients compressed? */
bool result_is_coded(const Result *result);

/** Appenders that take copies of the strings. */
void result_add_stage(Result *result, const char *name, double busy_s);
void result_add_path(Result *result, const char *name, double start_s, double end_s);
/** At the begin; what is called the same as the step behind it becomes a part of that. */
void result_prepend_path(Result *result, const char *name, double start_s, double end_s);
void result_add_decision(Result *result, const Decision *decision);
void result_add_constant(Result *result, const Constant *constant);
void result_add_warning(Result *result, const char *sentence);
void result_add_track(Result *result, const char *name);
void result_add_span(Result *result, guint track, const char *name, double start_s,
                     double end_s);

/** Interval of the mean; what it measures cannot be negative. */
typedef struct {
  double low, high;
} Interval;

Interval result_interval(double mean, double half);

/**
 * Does @p result keep its promises: finite, nothing negative, shares in 0..1, quantiles in
 * order, spans on their tracks? Every writer relies on it.
 * @return false with SIM_ERROR_FAULT and the name of the first bad field
 */
bool result_check(const Result *result, GError **error);
