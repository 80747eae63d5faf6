/**
 * @file zero.c
 * @brief ZeRO as DeepSpeed does it: optimiser, gradients and parameters in N parts.
 *
 * With P parameters of b bytes and N GPUs, per GPU and iteration:
 *
 *     stage 1, 2   reduce-scatter of gradients, all-gather of what the optimiser updated:
 *                  2 (N-1)/N P b, as an all-reduce
 *     stage 3      all-gather before forward, again before backward, reduce-scatter:
 *                  3 (N-1)/N P b
 *
 * Each GPU updates its own N-th. Gradients are copied into buckets, which are reduced after
 * backward, or during it with overlap_comm. Stage 1 reduces in the last accumulation step,
 * stages 2 and 3 in every one.
 *
 * In stage 3 parameters are gathered layer by layer. While a layer computes, the next are
 * asked for: until the prefetch bucket is full, and prefetch_units of them in any case,
 * which is how PyTorch's FSDP goes ahead. Layers whose parameters are used again within
 * stage3_max_reuse_distance are kept from forward to backward; tensors up to the
 * persistence threshold are whole everywhere and gathered after the update. Gathers and
 * reductions are served first come first served by one communicator.
 *
 * Reductions of a bucket without overlap stop backward where it is; here they follow it,
 * which takes as long. Tracing the first iteration and the host's work are not charged.
 *
 * Source: Rajbhandari et al., "ZeRO", SC 2020; DeepSpeed runtime/zero/config.py,
 * stage_1_and_2.py, stage3.py, partitioned_param_coordinator.py.
 */
#include "models/strategy.h"

typedef enum { OVERLAP_AUTO, OVERLAP_FALSE, OVERLAP_TRUE } Overlap;

static const char *const overlap_names[] = {
  [OVERLAP_AUTO] = "auto",
  [OVERLAP_FALSE] = "false",
  [OVERLAP_TRUE] = "true",
  NULL,
};

typedef struct {
  guint stage;
  guint overlap_comm; /* Overlap */
  guint reduce_bucket, allgather_bucket;
  guint prefetch_bucket, persistence_threshold, max_reuse_distance;
  guint prefetch_units;
  double kernel_launch_s;
} ZeroParams;

#define CONFIG_ORIGIN "DeepSpeed runtime/zero/config.py"

// clang-format off
static const ParamSpec zero_params[] = {
  { .key = "stage", .type = PARAM_COUNT, .offset = offsetof(ZeroParams, stage),
    .fallback = "2", .min = 1, .max = 3,
    .help = "1: the optimiser in parts, 2: gradients as well, 3: parameters as well",
    .origin = "our choice: DeepSpeed's is off" },
  { .key = "overlap_comm", .type = PARAM_NAME, .offset = offsetof(ZeroParams, overlap_comm),
    .fallback = "auto", .names = overlap_names,
    .help = "reduce during backward; auto: in stage 3 only", .origin = CONFIG_ORIGIN },
  { .key = "reduce_bucket_size", .type = PARAM_COUNT,
    .offset = offsetof(ZeroParams, reduce_bucket), .fallback = "500000000", .min = 1,
    .max = G_MAXUINT, .help = "parameters whose gradients are reduced together",
    .origin = CONFIG_ORIGIN },
  { .key = "allgather_bucket_size", .type = PARAM_COUNT,
    .offset = offsetof(ZeroParams, allgather_bucket), .fallback = "500000000", .min = 1,
    .max = G_MAXUINT, .help = "parameters that are gathered together after the update",
    .origin = CONFIG_ORIGIN },
  { .key = "stage3_prefetch_bucket_size", .type = PARAM_COUNT,
    .offset = offsetof(ZeroParams, prefetch_bucket), .fallback = "50000000",
    .help = "parameters to gather ahead of the layer that computes", .origin = CONFIG_ORIGIN },
  { .key = "stage3_param_persistence_threshold", .type = PARAM_COUNT,
    .offset = offsetof(ZeroParams, persistence_threshold), .fallback = "100000",
    .help = "smaller tensors are never in parts", .origin = CONFIG_ORIGIN },
  { .key = "stage3_max_reuse_distance", .type = PARAM_COUNT,
    .offset = offsetof(ZeroParams, max_reuse_distance), .fallback = "1000000000",
    .help = "parameters used between two uses of one that is kept; 0: none is",
    .origin = CONFIG_ORIGIN },
  { .key = "prefetch_units", .type = PARAM_COUNT,
    .offset = offsetof(ZeroParams, prefetch_units), .fallback = "0",
    .help = "layers to gather ahead in any case; FSDP: 1",
    .origin = "DeepSpeed: the bucket alone decides" },
  { .key = "kernel_launch", .type = PARAM_SECONDS,
    .offset = offsetof(ZeroParams, kernel_launch_s), .fallback = STRATEGY_KERNEL_LAUNCH,
    .help = "time of a short kernel in a stream; one per tensor copied into a bucket",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN },
  PARAM_END,
};
// clang-format on

/* What the parameters of one layer come to. */
typedef struct {
  double sharded; /* parameters in parts */
  double whole;   /* that persist */
} LayerParameters;

static double element_B(const StrategyContext *context)
{
  return precision_traits(context->workload->precision)->gradient_B;
}

/* Of each layer; transfer: caller frees. */
static LayerParameters *count_parameters(const ZeroParams *self,
                                         const StrategyContext *context)
{
  const Workload *workload = context->workload;
  const guint n_layers = workload->layer_times == NULL ? 0 : workload->layer_times->len;
  LayerParameters *layers = g_new0(LayerParameters, n_layers + 1);

  for (guint i = 0; i < workload_n_gradients(workload); i++) {
    const Gradient *gradient = workload_gradient(workload, i);
    const double n = gradient->size_B / element_B(context);
    if (n < self->persistence_threshold)
      layers[gradient->layer].whole += n;
    else
      layers[gradient->layer].sharded += n;
  }
  return layers;
}

/* Everything in buckets, before the first forward. */
static void gather_updated(const ZeroParams *self, double n_parameters, double size_B,
                           Composition *out)
{
  for (double left = n_parameters; left > 0; left -= self->allgather_bucket)
    composition_add_fetch(
      out, &(Fetch){ .once = true, .size_B = MIN(left, self->allgather_bucket) * size_B });
}

static void gather_layers(const ZeroParams *self, const StrategyContext *context,
                          const LayerParameters *layers, Composition *out)
{
  const guint n_layers = context->workload->layer_times->len;
  const double size_B = element_B(context);
  double behind = 0, largest = 0, kept = 0;

  for (guint l = 0; l < n_layers; l++) {
    if (layers[l].sharded > 0)
      composition_add_fetch(out,
                            &(Fetch){ .layer = l, .size_B = layers[l].sharded * size_B });
    largest = MAX(largest, layers[l].sharded);
  }
  for (guint l = n_layers; l-- > 0;) {
    /* From its forward to its backward all layers behind it are used twice. */
    const bool is_kept = 2 * behind < self->max_reuse_distance;
    behind += layers[l].sharded + layers[l].whole;
    kept += is_kept ? layers[l].sharded : 0;
    if (layers[l].sharded > 0 && !is_kept)
      composition_add_fetch(
        out,
        &(Fetch){ .layer = l, .backward = true, .size_B = layers[l].sharded * size_B });
  }
  out->ahead_B = self->prefetch_bucket * size_B;
  out->ahead_units = self->prefetch_units;
  out->ahead_backward_units = self->prefetch_units;
  out->communication_B +=
    MIN(kept + (1 + self->prefetch_units) * largest + self->prefetch_bucket, behind) *
    size_B;
}

static void add_fetches(const ZeroParams *self, const StrategyContext *context,
                        Composition *out)
{
  const Workload *workload = context->workload;
  g_autofree LayerParameters *layers = count_parameters(self, context);
  const guint n_layers = workload->layer_times == NULL ? 0 : workload->layer_times->len;
  double n_whole = 0;

  if (self->stage < 3) {
    gather_updated(self, workload->gradient_B / element_B(context), element_B(context),
                   out);
    return;
  }
  for (guint l = 0; l < n_layers; l++)
    n_whole += layers[l].whole;
  gather_updated(self, n_whole, element_B(context), out);
  if (n_layers > 0)
    gather_layers(self, context, layers, out);
}

static void set_schedule(const ZeroParams *self, const StrategyContext *context,
                         Composition *out)
{
  const double bucket_B = self->reduce_bucket * element_B(context);
  const bool overlaps = self->overlap_comm == OVERLAP_AUTO
                          ? self->stage == 3
                          : self->overlap_comm == OVERLAP_TRUE;
  const DdpBucketRule during = { .first_bucket_B = bucket_B,
                                 .bucket_cap_B = bucket_B,
                                 .from_start = true };
  const AfterBackwardRule after = { .bucket_cap_B = (guint64)bucket_B };

  out->schedule = overlaps ? &schedule_ddp_bucket : &schedule_after_backward;
  out->schedule_state = out->schedule->new (
    overlaps ? (const void *)&during : (const void *)&after, context->workload);
  out->communication_B += (overlaps ? 2 : 1) * MIN(bucket_B, context->workload->gradient_B);
}

static void zero_compose(const void *params, const StrategyContext *context,
                         Composition *out)
{
  const ZeroParams *self = params;
  const guint n_gpus = context->n_nodes * context->gpus_per_node;
  Pipeline *pipeline = &out->pipeline;
  const guint copies = pipeline_add_resource(pipeline, "bucket copies", 1);
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", 1);

  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "copy_in",
                                 .kind = STAGE_WAIT,
                                 .resource = copies,
                                 .per_tensor_s = self->kernel_launch_s,
                                 .per_B_s = strategy_copy_s_per_B(context->gpu),
                               });
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "reduce_scatter",
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = COLL_REDUCE_SCATTER,
                                 .resource = stream,
                               });
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "all_gather",
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = COLL_ALL_GATHER,
                                 .resource = stream,
                                 .route = ROUTE_FETCHES,
                               });
  set_schedule(self, context, out);
  add_fetches(self, context, out);
  out->every_backward = self->stage >= 2;
  out->optimizer_ranks = n_gpus;
  out->shards = (MemoryShards){
    .optimizer = n_gpus,
    .gradients = self->stage >= 2 ? n_gpus : 1,
    .weights = self->stage >= 3 ? n_gpus : 1,
  };
}

const StrategyOps strategy_zero = {
  .info = {
    .name = "zero",
    .summary = "DeepSpeed ZeRO 1 to 3: optimiser, gradients, parameters in parts",
    .source = "DeepSpeed runtime/zero; Rajbhandari et al., SC 2020",
    .params = zero_params,
    .params_size = sizeof(ZeroParams),
  },
  .compose = zero_compose,
};
