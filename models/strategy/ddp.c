/**
 * @file ddp.c
 * @brief PyTorch DistributedDataParallel: buckets, launched in order during backward.
 *
 * Every gradient is divided by the number of GPUs on its way into its bucket, by a kernel
 * of its own (in place if gradients are views of the bucket). Buckets are reduced one after
 * another on NCCL's stream. Unless gradients are views, they are copied back.
 *
 * The copies run on the compute stream. They are charged to their bucket here, all at its
 * end, and not to the backward pass they interrupt: the last bucket's count fully, those of
 * the others only if they hold up the next.
 *
 * A codec is a communication hook: it encodes a full bucket at once, after the copies into
 * it and on the same stream, and decodes it before the copies out.
 *
 * Buffers (the running statistics of batch normalisation) are broadcast from rank 0 before
 * forward, in one message.
 *
 * find_unused_parameters walks the graph in every iteration, which costs the host time that
 * nobody measured and that is not charged.
 *
 * Source: pytorch torch/csrc/distributed/c10d/reducer.cpp (mark_variable_ready_dense,
 * finalize_bucket_dense), torch/nn/parallel/distributed.py.
 */
#include "models/strategy.h"

/* bucket_cap_mb counts these: int(bucket_cap_mb * 1024 * 1024), distributed.py. */
#define MIB_B (1024.0 * 1024.0)
/* An int32 per variable: local_used_map_, reducer.cpp. */
#define USED_MAP_B 4.0

typedef struct {
  double bucket_cap_MiB;
  guint64 first_bucket_B;
  bool gradient_as_bucket_view;
  bool find_unused_parameters;
  bool broadcast_buffers;
  bool no_sync;
  double kernel_launch_s;
} DdpParams;

static const ParamSpec ddp_params[] = {
  {
    .key = "bucket_cap_mb",
    .type = PARAM_NUMBER,
    .offset = offsetof(DdpParams, bucket_cap_MiB),
    .fallback = "25",
    .min = 0,
    .max = 1e6,
    .help = "a bucket is closed when it reaches this many MiB",
    .origin = "pytorch torch/nn/parallel/distributed.py",
  },
  {
    .key = "first_bucket",
    .type = PARAM_BYTES,
    .offset = offsetof(DdpParams, first_bucket_B),
    .fallback = "1 MiB",
    .help = "limit of the first bucket; recent PyTorch: bucket_cap_mb where that is given",
    .origin = "pytorch reducer.hpp, kDefaultFirstBucketBytes",
  },
  {
    .key = "gradient_as_bucket_view",
    .type = PARAM_BOOL,
    .offset = offsetof(DdpParams, gradient_as_bucket_view),
    .fallback = "false",
    .help = "gradients live in the buckets: nothing copied back, no memory for buckets",
    .origin = "pytorch torch/nn/parallel/distributed.py",
  },
  {
    .key = "find_unused_parameters",
    .type = PARAM_BOOL,
    .offset = offsetof(DdpParams, find_unused_parameters),
    .fallback = "false",
    .help =
      "all-reduce 4 B per parameter tensor after the last bucket; buckets stay as cut",
    .origin = "pytorch torch/nn/parallel/distributed.py",
  },
  {
    .key = "broadcast_buffers",
    .type = PARAM_BOOL,
    .offset = offsetof(DdpParams, broadcast_buffers),
    .fallback = "true",
    .help = "rank 0 sends running statistics before forward, if the model has any",
    .origin = "pytorch torch/nn/parallel/distributed.py",
  },
  {
    .key = "no_sync",
    .type = PARAM_BOOL,
    .offset = offsetof(DdpParams, no_sync),
    .fallback = "false",
    .help = "accumulation steps but the last run under no_sync() and exchange nothing",
    .origin = "pytorch torch/nn/parallel/distributed.py: a context that users enter",
  },
  {
    .key = "kernel_launch",
    .type = PARAM_SECONDS,
    .offset = offsetof(DdpParams, kernel_launch_s),
    .fallback = STRATEGY_KERNEL_LAUNCH,
    .help = "time of a short kernel in a stream; one per tensor and copy",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN,
  },
  PARAM_END,
};

/* Forward waits: _sync_buffers() returns when the broadcast is done. Under no_sync() only
 * the first step of an iteration has one. */
static void broadcast_buffers(const StrategyContext *context, guint stream,
                              Composition *out)
{
  const double buffer_B =
    context->workload->model == NULL ? 0 : model_buffer_B(context->workload->model);

  if (!(buffer_B > 0))
    return;
  pipeline_add_stage(&out->pipeline, &(Stage){
                                       .name = "buffers",
                                       .kind = STAGE_COLLECTIVE,
                                       .collective = COLL_BROADCAST,
                                       .resource = stream,
                                       .route = ROUTE_FETCHES,
                                     });
  composition_add_fetch(out, &(Fetch){ .once = !out->every_backward, .size_B = buffer_B });
}

static void ddp_compose(const void *params, const StrategyContext *context,
                        Composition *out)
{
  const DdpParams *self = params;
  const DdpBucketRule rule = {
    .first_bucket_B = (double)self->first_bucket_B,
    .bucket_cap_B = self->bucket_cap_MiB * MIB_B,
    .registered = self->find_unused_parameters,
  };
  Pipeline *pipeline = &out->pipeline;
  const guint copies = pipeline_add_resource(pipeline, "bucket copies", 1);
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", 1);
  Stage copy = {
    .name = self->gradient_as_bucket_view ? "average" : "copy_in",
    .kind = STAGE_WAIT,
    .resource = copies,
    .per_tensor_s = self->kernel_launch_s,
    .per_B_s = strategy_copy_s_per_B(context->gpu),
  };

  pipeline_add_stage(pipeline, &copy);
  strategy_add_encode(pipeline, context, copies);
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "all_reduce",
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = COLL_ALL_REDUCE,
                                 .resource = stream,
                               });
  if (self->find_unused_parameters)
    pipeline_add_stage(pipeline,
                       &(Stage){
                         .name = "used_map",
                         .kind = STAGE_COLLECTIVE,
                         .collective = COLL_ALL_REDUCE,
                         .resource = stream,
                         .only_last = true,
                         .message_B = USED_MAP_B * workload_n_gradients(context->workload),
                       });
  strategy_add_decode(pipeline, context, copies, false);
  if (!self->gradient_as_bucket_view) {
    copy.name = "copy_out";
    pipeline_add_stage(pipeline, &copy);
    out->communication_B = context->workload->gradient_B;
  }
  out->every_backward = !self->no_sync;
  if (self->broadcast_buffers)
    broadcast_buffers(context, stream, out);
  out->schedule = &schedule_ddp_bucket;
  out->schedule_state = out->schedule->new (&rule, context->workload);
}

const StrategyOps strategy_ddp = {
  .info = {
    .name = "ddp",
    .summary = "PyTorch DistributedDataParallel: buckets that overlap backward",
    .source = "pytorch reducer.cpp, distributed.py; Li et al., VLDB 2020",
    .params = ddp_params,
    .params_size = sizeof(DdpParams),
  },
  .place = COMPRESS_UNITS,
  .compose = ddp_compose,
};
