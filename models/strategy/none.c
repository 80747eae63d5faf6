/**
 * @file none.c
 * @brief No overlap: the gradients are exchanged after the backward pass.
 *
 * As NVIDIA apex does with delay_allreduce: gradients are flattened into one buffer,
 * reduced, divided by the number of GPUs and copied back, on one stream.
 *
 * A codec encodes the flattened buffer and decodes it before the division, on that stream.
 *
 * Source: NVIDIA apex, apex/parallel/distributed.py (apply_flat_dist_call).
 */
#include "models/strategy.h"

/* Tensors one kernel of torch.cat takes: CAT_ARRAY_BATCH_SIZE of pytorch
 * aten/src/ATen/native/cuda/Shape.cu. */
#define FLATTEN_BATCH 128

typedef struct {
  guint64 bucket_cap_B;
  double kernel_launch_s;
} NoneParams;

static const ParamSpec none_params[] = {
  {
    .key = "bucket_cap",
    .type = PARAM_BYTES,
    .offset = offsetof(NoneParams, bucket_cap_B),
    .fallback = "0 B",
    .help =
      "a message is closed when it reaches this size; 0: one message of all gradients",
    .origin = "NVIDIA apex, delay_allreduce: one flattened buffer",
  },
  {
    .key = "kernel_launch",
    .type = PARAM_SECONDS,
    .offset = offsetof(NoneParams, kernel_launch_s),
    .fallback = STRATEGY_KERNEL_LAUNCH,
    .help = "time of a short kernel in a stream; copying back takes one per tensor",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN,
  },
  PARAM_END,
};

/* The buffers are freed one after another; the largest counts. */
static double largest_message_B(const NoneParams *self, const Workload *workload)
{
  const double limit_B = self->bucket_cap_B == 0 ? G_MAXDOUBLE : (double)self->bucket_cap_B;
  g_autoptr(GArray) ends = schedule_cut_buckets(workload, limit_B, limit_B);
  double largest_B = 0;
  guint32 index = 0;

  for (guint message = 0; message < ends->len; message++) {
    double size_B = 0;
    for (; index < g_array_index(ends, guint32, message); index++)
      size_B += g_array_index(workload->gradients, Gradient, index).size_B;
    largest_B = MAX(largest_B, size_B);
  }
  return largest_B;
}

static void none_compose(const void *params, const StrategyContext *context,
                         Composition *out)
{
  const NoneParams *self = params;
  const AfterBackwardRule rule = { .bucket_cap_B = self->bucket_cap_B };
  const double copy_s_per_B = strategy_copy_s_per_B(context->gpu);
  Pipeline *pipeline = &out->pipeline;
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", 1);

  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "copy_in",
                                 .kind = STAGE_WAIT,
                                 .resource = stream,
                                 .only_fused = true,
                                 .per_tensor_s = self->kernel_launch_s,
                                 .tensors_per_batch = FLATTEN_BATCH,
                                 .per_B_s = copy_s_per_B,
                               });
  strategy_add_encode(pipeline, context, stream);
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "all_reduce",
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = COLL_ALL_REDUCE,
                                 .resource = stream,
                               });
  strategy_add_decode(pipeline, context, stream, false);
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "average",
                                 .kind = STAGE_WAIT,
                                 .resource = stream,
                                 .fixed_s = self->kernel_launch_s,
                                 .per_B_s = copy_s_per_B,
                               });
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "copy_out",
                                 .kind = STAGE_WAIT,
                                 .resource = stream,
                                 .only_fused = true,
                                 .per_tensor_s = self->kernel_launch_s,
                                 .per_B_s = copy_s_per_B,
                               });
  out->schedule = &schedule_after_backward;
  out->schedule_state = out->schedule->new (&rule, context->workload);
  out->communication_B = largest_message_B(self, context->workload);
}

const StrategyOps strategy_none = {
  .info = {
    .name = "none",
    .summary = "no overlap: everything is exchanged after the backward pass",
    .source = "NVIDIA apex DistributedDataParallel, delay_allreduce",
    .params = none_params,
    .params_size = sizeof(NoneParams),
  },
  .place = COMPRESS_UNITS,
  .compose = none_compose,
};
