/**
 * @file bandwidth_policy.c
 * @brief Large gradients alone on the wire, small ones side by side, urgent ones first.
 *
 * A gradient of at least "large" bytes has the network to itself: it would be held up by as
 * much as it held up the others. Smaller ones wait for latencies rather than for bandwidth,
 * and so several may share it: as many as there are streams. With preemption the first
 * layers of the model go first; what is on the wire is not taken off it, so a large
 * gradient travels in pieces between which the urgent pass:
 *
 *     an urgent gradient waits for one piece at most
 *
 * A codec encodes each gradient before it is queued: what is large or small is its message.
 *
 * Not a real system's strategy but the rule of three that operators give, made of
 * ByteScheduler's pieces and NCCL's streams.
 */
#include "models/strategy.h"

typedef struct {
  guint64 large_B;
  guint64 partition_B;
  guint streams;
  bool preempt;
  bool cross_barrier;
} PolicyParams;

static const ParamSpec policy_params[] = {
  {
    .key = "large",
    .type = PARAM_BYTES,
    .offset = offsetof(PolicyParams, large_B),
    .fallback = "1 MiB",
    .help = "gradients of so many bytes or more go alone; 0: none does",
    .origin = "assumed: the usual border of small messages",
  },
  {
    .key = "partition",
    .type = PARAM_BYTES,
    .offset = offsetof(PolicyParams, partition_B),
    .fallback = "4096000 B",
    .help = "largest piece of a gradient; 0: whole",
    .origin = "byteps common/global.cc, BYTEPS_PARTITION_BYTES",
  },
  {
    .key = "streams",
    .type = PARAM_COUNT,
    .offset = offsetof(PolicyParams, streams),
    .fallback = "1",
    .min = 1,
    .max = 1024,
    .help = "small gradients in flight at once; each stream needs a communicator",
    .origin = "nccl: a communicator runs one operation at a time",
  },
  {
    .key = "preempt",
    .type = PARAM_BOOL,
    .offset = offsetof(PolicyParams, preempt),
    .fallback = "true",
    .help = "those that the next forward needs first overtake; false: as they get ready",
    .origin = "Peng et al., ByteScheduler, SOSP 2019",
  },
  {
    .key = "cross_barrier",
    .type = PARAM_BOOL,
    .offset = offsetof(PolicyParams, cross_barrier),
    .fallback = "true",
    .help = "a layer's next forward waits for its own gradients, not for all",
    .origin = "Peng et al., ByteScheduler, SOSP 2019",
  },
  PARAM_END,
};

static void policy_compose(const void *params, const StrategyContext *context,
                           Composition *out)
{
  const PolicyParams *self = params;
  const PriorityPartitionRule rule = {
    .partition_B = self->partition_B == 0 ? G_MAXDOUBLE : (double)self->partition_B,
  };
  const guint wire = pipeline_add_resource(&out->pipeline, "wire", self->streams);

  const guint coder = context->compression == NULL
                        ? 0
                        : pipeline_add_resource(&out->pipeline, "codec stream", 1);

  strategy_add_encode(&out->pipeline, context, coder);
  pipeline_resource(&out->pipeline, wire)->by_priority = self->preempt;
  pipeline_resource(&out->pipeline, wire)->exclusive_B = (double)self->large_B;
  pipeline_add_stage(&out->pipeline, &(Stage){
                                       .name = "all_reduce",
                                       .kind = STAGE_COLLECTIVE,
                                       .collective = COLL_ALL_REDUCE,
                                       .resource = wire,
                                     });
  strategy_add_decode(&out->pipeline, context, coder, false);
  out->cuts_messages = schedule_cuts_any(context->workload, rule.partition_B);
  out->crosses_iterations = self->cross_barrier;
  out->schedule = &schedule_priority_partition;
  out->schedule_state = out->schedule->new (&rule, context->workload);
}

const StrategyOps strategy_bandwidth_policy = {
  .info = {
    .name = "bandwidth_policy",
    .summary = "large gradients alone, small ones side by side, urgent ones first",
    .source = "an operators' rule, of the parts of Peng et al., SOSP 2019",
    .params = policy_params,
    .params_size = sizeof(PolicyParams),
  },
  .place = COMPRESS_TENSORS,
  .compose = policy_compose,
};
