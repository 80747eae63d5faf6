/**
 * @file fsdp.c
 * @brief PyTorch FullyShardedDataParallel: units gathered before use, gradients scattered.
 *
 * A unit is a block of the model: layers in a row whose names agree up to the last dot, and
 * as many blocks as make min_num_params. With P parameters of b bytes, N GPUs in all, g of
 * them in each of n nodes, one GPU sends per backward
 *
 *     full_shard      all-gather, all-gather again, reduce-scatter   3 (N-1)/N P b
 *     shard_grad_op   parameters stay from forward to backward       2 (N-1)/N P b
 *     hybrid_shard    the three inside the node, 3 (g-1)/g P b, and an all-reduce of its
 *                     g-th part between nodes, 2 (n-1)/n P b / g
 *     hybrid_shard_zero2   the same with one all-gather less
 *
 * Everything is served in the order it was asked for by one communicator. In forward the
 * next unit's all-gather is issued while the one before computes, since the host runs ahead
 * of the GPU; limit_all_gathers holds it at one. In backward backward_pre issues the next
 * all-gather before a unit's gradients are computed, backward_post after.
 *
 * Copies of gradients into the flat buffer of a unit are charged before its
 * reduce-scatter. The host's own time is not.
 *
 * Source: pytorch torch/distributed/fsdp (fully_sharded_data_parallel.py, api.py,
 * _runtime_utils.py, wrap.py), docs/source/notes/fsdp.rst.
 */
#include "models/strategy.h"

#include <string.h>

typedef enum {
  FULL_SHARD,
  SHARD_GRAD_OP,
  HYBRID_SHARD,
  HYBRID_SHARD_ZERO2,
} Sharding;

typedef enum { BACKWARD_PRE, BACKWARD_POST } BackwardPrefetch;

static const char *const sharding_names[] = {
  [FULL_SHARD] = "full_shard",
  [SHARD_GRAD_OP] = "shard_grad_op",
  [HYBRID_SHARD] = "hybrid_shard",
  [HYBRID_SHARD_ZERO2] = "hybrid_shard_zero2",
  NULL,
};

static const char *const prefetch_names[] = {
  [BACKWARD_PRE] = "backward_pre",
  [BACKWARD_POST] = "backward_post",
  NULL,
};

typedef struct {
  guint sharding;          /* Sharding */
  guint backward_prefetch; /* BackwardPrefetch */
  bool limit_all_gathers;
  bool no_sync;
  guint min_num_params;
  double kernel_launch_s;
} FsdpParams;

// clang-format off
static const ParamSpec fsdp_params[] = {
  { .key = "sharding_strategy", .type = PARAM_NAME, .offset = offsetof(FsdpParams, sharding),
    .fallback = "full_shard", .names = sharding_names,
    .help = "what is in parts, and among whom: all GPUs, or those of a node (hybrid)",
    .origin = "pytorch torch/distributed/fsdp, FULL_SHARD" },
  { .key = "backward_prefetch", .type = PARAM_NAME,
    .offset = offsetof(FsdpParams, backward_prefetch), .fallback = "backward_pre",
    .names = prefetch_names,
    .help = "the next all-gather is issued before or after a unit's backward",
    .origin = "pytorch torch/distributed/fsdp, BACKWARD_PRE" },
  { .key = "limit_all_gathers", .type = PARAM_BOOL,
    .offset = offsetof(FsdpParams, limit_all_gathers), .fallback = "true",
    .help = "one unit ahead in forward; false: all of them, and memory for all",
    .origin = "pytorch since 2.1 (PR 104900)" },
  { .key = "no_sync", .type = PARAM_BOOL, .offset = offsetof(FsdpParams, no_sync),
    .fallback = "false",
    .help = "accumulation steps but the last keep whole gradients and exchange none",
    .origin = "pytorch torch/distributed/fsdp: a context that users enter" },
  { .key = "min_num_params", .type = PARAM_COUNT,
    .offset = offsetof(FsdpParams, min_num_params), .fallback = "0", .max = G_MAXUINT,
    .help = "blocks are wrapped together until they have so many parameters",
    .origin = "one unit per block, as transformer_auto_wrap_policy; by size: 100000000" },
  { .key = "kernel_launch", .type = PARAM_SECONDS,
    .offset = offsetof(FsdpParams, kernel_launch_s), .fallback = STRATEGY_KERNEL_LAUNCH,
    .help = "time of a short kernel in a stream; one per tensor copied into a unit's buffer",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN },
  PARAM_END,
};
// clang-format on

/* Layers in a row that are gathered together. */
typedef struct {
  guint first_layer, last_layer;
  guint32 end_gradient; /* in the order of backward, the number after its last */
  double size_B;
} FsdpUnit;

static bool is_hybrid(const FsdpParams *self)
{
  return self->sharding == HYBRID_SHARD || self->sharding == HYBRID_SHARD_ZERO2;
}

/* Are parameters gathered again for backward? */
static bool gathers_twice(const FsdpParams *self)
{
  return self->sharding == FULL_SHARD || self->sharding == HYBRID_SHARD;
}

static bool same_block(const char *name, const char *other)
{
  const char *dot = strrchr(name, '.'), *other_dot = strrchr(other, '.');

  return dot != NULL && other_dot != NULL && dot - name == other_dot - other &&
         strncmp(name, other, (size_t)(dot - name)) == 0;
}

static const char *layer_name(const Workload *workload, guint layer)
{
  return g_array_index(workload->layer_times, LayerTime, layer).name;
}

/* Cut in the order of backward. Transfer: caller unrefs the GArray of FsdpUnit. */
static GArray *cut_units(const FsdpParams *self, const Workload *workload)
{
  GArray *units = g_array_new(FALSE, FALSE, sizeof(FsdpUnit));
  const double limit_B =
    self->min_num_params * precision_traits(workload->precision)->gradient_B;
  FsdpUnit *unit = NULL;

  for (guint32 i = 0; i < workload_n_gradients(workload); i++) {
    const Gradient *gradient = workload_gradient(workload, i);
    const bool joins =
      unit != NULL && (gradient->layer == unit->first_layer || unit->size_B < limit_B ||
                       same_block(layer_name(workload, gradient->layer),
                                  layer_name(workload, unit->first_layer)));
    if (!joins) {
      g_array_set_size(units, units->len + 1);
      unit = &g_array_index(units, FsdpUnit, units->len - 1);
      *unit = (FsdpUnit){ .last_layer = gradient->layer };
    }
    unit->first_layer = gradient->layer;
    unit->end_gradient = i + 1;
    unit->size_B += gradient->size_B;
  }
  return units;
}

static void add_fetches(const FsdpParams *self, const GArray *units, Composition *out)
{
  for (guint u = units->len; u-- > 0;) {
    const FsdpUnit *unit = &g_array_index(units, FsdpUnit, u);
    composition_add_fetch(out,
                          &(Fetch){ .layer = unit->first_layer, .size_B = unit->size_B });
  }
  for (guint u = 0; u < units->len && gathers_twice(self); u++) {
    const FsdpUnit *unit = &g_array_index(units, FsdpUnit, u);
    composition_add_fetch(
      out, &(Fetch){ .layer = unit->last_layer, .backward = true, .size_B = unit->size_B });
  }
  out->ahead_units = self->limit_all_gathers ? 1 : units->len;
  out->ahead_backward_units = self->backward_prefetch == BACKWARD_PRE ? 1 : 0;
}

/* Whole parameters that are there at once, and the buffer of a unit's gradients. */
static double buffers_B(const FsdpParams *self, const GArray *units)
{
  double largest_B = 0, all_B = 0;

  for (guint u = 0; u < units->len; u++) {
    const double size_B = g_array_index(units, FsdpUnit, u).size_B;
    largest_B = MAX(largest_B, size_B);
    all_B += size_B;
  }
  if (!gathers_twice(self) || !self->limit_all_gathers)
    return all_B + largest_B;
  return MIN(2 * largest_B, all_B) + largest_B;
}

static void set_schedule(const GArray *units, const Workload *workload, Composition *out)
{
  g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint u = 0; u < units->len; u++)
    g_array_append_val(ends, g_array_index(units, FsdpUnit, u).end_gradient);
  const DdpBucketRule rule = { .ends = ends, .from_start = true };
  out->schedule = &schedule_ddp_bucket;
  out->schedule_state = out->schedule->new (&rule, workload);
}

static void add_move(Pipeline *pipeline, Move move, guint route, guint stream)
{
  const bool cross = move == MOVE_CROSS_ALL_REDUCE;

  pipeline_add_stage(pipeline,
                     &(Stage){
                       .name = move_names[move],
                       .kind = STAGE_MOVE,
                       .move = move,
                       .route = route,
                       .resource = stream,
                       .fixed_s = STRATEGY_NCCL_LAUNCH_S,
                       .alpha_s = cross ? STRATEGY_NCCL_NET_HOP_S : STRATEGY_NCCL_HOP_S,
                     });
}

static void add_collective(Pipeline *pipeline, const char *name, CollKind kind, guint route,
                           guint stream)
{
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = name,
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = kind,
                                 .route = route,
                                 .resource = stream,
                               });
}

static void add_exchange(const FsdpParams *self, const StrategyContext *context,
                         guint stream, Composition *out)
{
  Pipeline *pipeline = &out->pipeline;

  if (!is_hybrid(self)) {
    add_collective(pipeline, "reduce_scatter", COLL_REDUCE_SCATTER, ROUTE_GRADIENTS,
                   stream);
    add_collective(pipeline, "all_gather", COLL_ALL_GATHER, ROUTE_FETCHES, stream);
    return;
  }
  if (context->gpus_per_node > 1)
    add_move(pipeline, MOVE_LOCAL_REDUCE_SCATTER, ROUTE_GRADIENTS, stream);
  if (context->n_nodes > 1)
    add_move(pipeline, MOVE_CROSS_ALL_REDUCE, ROUTE_GRADIENTS, stream);
  if (context->gpus_per_node > 1)
    add_move(pipeline, MOVE_LOCAL_ALL_GATHER, ROUTE_FETCHES, stream);
  out->algorithm = "hybrid";
}

static void fsdp_compose(const void *params, const StrategyContext *context,
                         Composition *out)
{
  const FsdpParams *self = params;
  const guint n_gpus = context->n_nodes * context->gpus_per_node;
  const guint n_parts = is_hybrid(self) ? context->gpus_per_node : n_gpus;
  Pipeline *pipeline = &out->pipeline;
  const guint copies = pipeline_add_resource(pipeline, "unit copies", 1);
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", 1);
  g_autoptr(GArray) units = cut_units(self, context->workload);

  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "copy_in",
                                 .kind = STAGE_WAIT,
                                 .resource = copies,
                                 .per_tensor_s = self->kernel_launch_s,
                                 .per_B_s = strategy_copy_s_per_B(context->gpu),
                               });
  add_exchange(self, context, stream, out);
  set_schedule(units, context->workload, out);
  if (n_parts > 1)
    add_fetches(self, units, out);
  out->communication_B = buffers_B(self, units);
  out->every_backward = !self->no_sync;
  out->optimizer_ranks = n_parts;
  out->shards = (MemoryShards){
    .optimizer = n_parts,
    .gradients = self->no_sync ? 1 : n_parts,
    .weights = n_parts,
  };
}

const StrategyOps strategy_fsdp = {
  .info = {
    .name = "fsdp",
    .summary = "PyTorch FSDP: units gathered before use, whole or inside the node",
    .source = "pytorch torch/distributed/fsdp; Zhao et al., VLDB 2023",
    .params = fsdp_params,
    .params_size = sizeof(FsdpParams),
  },
  .compose = fsdp_compose,
};
