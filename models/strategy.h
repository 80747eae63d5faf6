/**
 * @file strategy.h
 * @brief A named way to exchange gradients: a schedule and the stages of a unit.
 */
#pragma once

#include "models/compression.h"
#include "models/memory.h"
#include "models/move.h"
#include "models/schedule.h"

typedef enum {
  STAGE_WAIT,       /**< takes what stage_wait_s() says */
  STAGE_COLLECTIVE, /**< a collective of all GPUs by the library; of what a codec makes of
                         the unit, the codec's rounds in its place */
  STAGE_MOVE,       /**< stage_wait_s(), then a movement of models/move.h */
  STAGE_ENCODE,     /**< takes what the codec needs before its first round */
  STAGE_DECODE,     /**< takes what it needs after the last */
  STAGE_SERVE,      /**< stage_wait_s(), and what a server needs to decode, and to encode
                         unless it answers in full */
} StageKind;

/** One stage of the way of a unit. Consecutive stages on one resource hold it together. */
typedef struct {
  const char *name; /**< "copy_in", "all_reduce", ... */
  StageKind kind;
  guint resource;          /**< index into Pipeline.resources */
  guint route;             /**< skipped by units of other routes */
  bool only_fused;         /**< skipped by units of a single tensor */
  bool after_backward;     /**< begins when backward has ended, not before */
  bool only_last;          /**< skipped by all but the last unit of an iteration */
  double fixed_s;          /**< STAGE_WAIT [s] */
  double per_tensor_s;     /**< STAGE_WAIT, per tensor or batch of tensors [s] */
  guint tensors_per_batch; /**< tensors that share one per_tensor_s; 0 counts as 1 */
  double per_B_s;          /**< STAGE_WAIT [s/B] */
  CollKind collective;     /**< STAGE_COLLECTIVE */
  double message_B;        /**< STAGE_COLLECTIVE: its size; 0: the unit's [B] */
  Move move;               /**< STAGE_MOVE; pushes to and pulls from Unit.server */
  bool moves_message;      /**< STAGE_MOVE: what a codec made of the unit, if it did */
  guint n_pushes;          /**< STAGE_SERVE: messages that it decodes */
  bool gathers;            /**< what all nodes sent comes together, unless servers do not
                                wait for all: then this is what one push takes */
  bool answers_in_full;    /**< STAGE_SERVE: what is pulled is not encoded */
  double alpha_s;          /**< STAGE_MOVE, per hop on its longest way, on top of what the
                                transport takes between machines [s] */
} Stage;

/**
 * Duration of a STAGE_WAIT for one unit [s]:
 *     fixed_s + ceil(n_tensors / tensors_per_batch) * per_tensor_s + size_B * per_B_s
 * and 0 for a single tensor if the stage is only for fused units.
 */
double stage_wait_s(const Stage *stage, guint n_tensors, double size_B);

/** A queue: first come first served, or by the priority of the units. */
typedef struct {
  const char *name;  /**< "nccl stream" */
  guint concurrency; /**< units it serves at once, >= 1 */
  bool by_priority;  /**< the smallest Unit.priority first; among equals the first come */
  double credit_B;   /**< units it has taken and that have not yet left stage
                          @ref credit_stage may hold so much, and one unit more; 0: any */
  double
    exclusive_B; /**< units of gradients so large or larger are served alone; 0: none */
  guint credit_stage; /**< index of a stage; beyond the last: until synchronised */
  bool per_server;    /**< every server has such a queue: Unit.server picks; no credit */
  bool is_servers;    /**< the queue is the server's own, common to all nodes */
} Resource;

typedef struct {
  GArray *resources; /**< of Resource */
  GArray *stages;    /**< of Stage, in order */
} Pipeline;

/** Routes of a pipeline: every stage and every unit is on one. */
#define ROUTE_GRADIENTS 0
#define ROUTE_FETCHES 1

/** What must have arrived before a layer is computed: parameters, buffers. It passes the
 *  stages of ROUTE_FETCHES. */
typedef struct {
  guint layer;
  bool backward; /**< before the layer's backward; false: before its forward */
  bool once;     /**< in the first accumulation step of an iteration only */
  double size_B;
} Fetch;

typedef struct {
  const Workload *workload; /**< as the schedule sees it: with COMPRESS_TENSORS, gradients
                                 are as large as their messages */
  const GpuSpec *gpu;
  guint n_nodes, gpus_per_node;
  const Compression *compression; /**< NULL: gradients travel as they are */
} StrategyContext;

/** A codec that units may take. */
typedef struct {
  const CodecOps *codec;
  void *params; /**< its own; owned */
  char *name;   /**< with what tells it from others: "topk 1 %"; owned */
} CodecChoice;

void codec_choice_clear(CodecChoice *choice);

/** What a strategy leaves to be chosen for every unit, in every iteration. */
typedef struct {
  GArray *codecs; /**< of CodecChoice, beside travelling as they are; NULL: there is
                       nothing to choose */
  GArray *ends;   /**< guint32 per unit: the number after its last gradient */
  double drift;   /**< decide anew when measured times differ so much */
  double gain;    /**< share by which a new decision must end sooner than the old */
} Choices;

/** When servers answer. */
typedef enum {
  CONSISTENCY_SYNC,  /**< all nodes have pushed */
  CONSISTENCY_ASYNC, /**< a push has been applied: nobody waits for others */
  CONSISTENCY_SSP,   /**< the same, but nobody is more than Composition.staleness iterations
                          ahead of the slowest: stale synchronous parallel */
} Consistency;

extern const char *const consistency_names[];

typedef struct {
  const ScheduleOps *schedule;
  void *schedule_state; /**< owned; freed with schedule->free() */
  Pipeline pipeline;
  double communication_B;  /**< buffers on one GPU [B] */
  const char *algorithm;   /**< what its moves come to, for the report; NULL: servers */
  double stall_warning_s;  /**< longer iterations deserve a warning; 0: never */
  double server_sum_Bps;   /**< what one server adds of what it receives; 0: no limit */
  guint n_servers;         /**< that units may name; 0 without STAGE_MOVE to servers */
  guint n_extra_servers;   /**< of them, the first so many run on machines of their own, the
                                others on the nodes in turn */
  bool *serves;            /**< of each server: pieces lie on it; owned */
  Consistency consistency; /**< of servers */
  guint staleness;         /**< CONSISTENCY_SSP */
  guint n_pieces;          /**< that servers hold; see Unit.piece */
  guint rack_nodes;        /**< nodes that share an aggregator; see MoveSpec */
  guint switch_gpus;       /**< GPUs that sum among themselves; see MoveSpec */
  bool crosses_iterations; /**< a layer's next forward waits for its own gradients only;
                                false: for all, after every backward */
  bool every_backward;     /**< gradients travel in every accumulation step, not in the last
                                alone */
  GArray *fetches;         /**< of Fetch, in the order of need: forward, then backward */
  guint ahead_units;       /**< so many fetches are asked for before their turn, ... */
  guint ahead_backward_units; /**< ... so many of those before a layer's backward, ... */
  double ahead_B;             /**< ... or more, until they make so many bytes */
  guint tuning_iterations;    /**< run before warm-up, while the schedule tunes itself */
  bool cuts_messages;    /**< some gradient, as large as its message, travels in pieces */
  guint optimizer_ranks; /**< GPUs that share one optimizer step; 0: each takes it all */
  MemoryShards shards;   /**< what a GPU holds of the model */
  Choices choices;       /**< codecs, where the strategy itself chooses them */
} Composition;

typedef struct {
  ModuleInfo info;

  /** Where it encodes. With COMPRESS_TENSORS the pipeline begins with the encode stage,
   *  which tensors pass, one after another, before the schedule hears of them. */
  CompressionPlace place;

  /** It chooses codecs itself (Composition.choices), by the rules of "compression". */
  bool chooses;

  /** Does @p params make sense? For what ParamSpec cannot say (lists). May be NULL. */
  bool (*check)(const void *params, GError **error);

  /** Does the real system begin at all, on so many nodes? @return false with
   *  SIM_ERROR_VALUE. NULL: always */
  bool (*begins)(const void *params, guint n_nodes, GError **error);

  /** Why @p key makes no difference, the other keys being what they are: "..., with
   *  consistency ssp only". NULL: it does. May be NULL: all do. */
  const char *(*ignores)(const void *params, const char *key);

  /** Fill @p out, which composition_clear() frees. Required. */
  void (*compose)(const void *params, const StrategyContext *context, Composition *out);
} StrategyOps;

extern const ModuleInfo *const strategy_table[];
extern const StrategyOps strategy_none;
extern const StrategyOps strategy_wait_free;
extern const StrategyOps strategy_horovod;
extern const StrategyOps strategy_ddp;
extern const StrategyOps strategy_bytescheduler;
extern const StrategyOps strategy_mg_wfbp;
extern const StrategyOps strategy_bandwidth_policy;
extern const StrategyOps strategy_predictive;
extern const StrategyOps strategy_adaptive;
extern const StrategyOps strategy_zero;
extern const StrategyOps strategy_fsdp;
extern const StrategyOps strategy_byteps;
extern const StrategyOps strategy_parameter_server;
extern const StrategyOps strategy_hierarchical_ps;
extern const StrategyOps strategy_p3;

/** Machine that server @p server runs on, of topology_n_machines(). */
guint composition_machine(const Composition *composition, guint n_nodes, guint server);

/** Append to an empty or growing pipeline; returns the number of the resource, which is
 *  first come first served and without credit until pipeline_resource() says otherwise. */
guint pipeline_add_resource(Pipeline *pipeline, const char *name, guint concurrency);
Resource *pipeline_resource(Pipeline *pipeline, guint index);
void pipeline_add_stage(Pipeline *pipeline, const Stage *stage);

/** The stages of a codec on @p resource; none without a codec. */
void strategy_add_encode(Pipeline *pipeline, const StrategyContext *context,
                         guint resource);
void strategy_add_decode(Pipeline *pipeline, const StrategyContext *context, guint resource,
                         bool after_backward);

/** Append to the fetches, in the order of need. */
void composition_add_fetch(Composition *composition, const Fetch *fetch);

/** Seconds per byte of a copy inside the GPU's memory, which reads and writes it [s/B]. */
double strategy_copy_s_per_B(const GpuSpec *gpu);

/** One short kernel in a stream of others, V100: the default of every "kernel_launch". */
#define STRATEGY_KERNEL_LAUNCH "3.8 us"
#define STRATEGY_KERNEL_LAUNCH_ORIGIN                                                      \
  "NVIDIA blog, Getting Started with CUDA Graphs (2019), V100"

/** NCCL's Ring in its Simple protocol, for stages that run a part of a collective: once per
 *  call, per hop over NVLink, per hop between nodes. NCCL 2.30.7 tuning.cc, baseLatencies,
 *  hwLatencies [s] */
#define STRATEGY_NCCL_LAUNCH_S 8.4e-6
#define STRATEGY_NCCL_HOP_S 3.4e-6
#define STRATEGY_NCCL_NET_HOP_S 14e-6

/**
 * Can the pipeline carry what @p compression makes of gradients? Its own steps can only
 * sum; where a library runs a collective, the codec's take its place.
 * @return false with SIM_ERROR_VALUE
 */
bool composition_check(const Composition *composition, const Compression *compression,
                       GError **error);

void composition_clear(Composition *composition);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Composition, composition_clear)
