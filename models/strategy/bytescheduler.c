/**
 * @file bytescheduler.c
 * @brief ByteScheduler on all-reduce: pieces in the order of the next forward pass.
 *
 * The knobs are BYTESCHEDULER_PARTITION and BYTESCHEDULER_CREDIT in lower case, counts of
 * parameters as there. Ready pieces queue by the place of their tensor in the model; the
 * first leaves while credit is left, takes its size and gives it back once synchronised.
 * The communication library serves what left first come first served. So an urgent piece
 * waits for what the credit let out, and at most one piece more:
 *
 *     (credit + partition) / bandwidth
 *
 * Layers of the next forward pass wait for their own gradients only ("cross barrier").
 * A codec encodes each gradient before it is queued, as Horovod's compression does: what is
 * cut, and what credit counts, are messages.
 *
 * Every rank sends in the order of rank 0; telling the others is not charged, it hides
 * behind the pieces under way. The tuner of credit and partition is not modelled.
 *
 * Source: bytedance/byteps bytescheduler/common/bytecore.py, pytorch/horovod.py.
 */
#include "models/strategy.h"

typedef struct {
  guint partition, credit;
  bool cross_barrier;
  double partition_overhead_s;
} ByteschedulerParams;

static const ParamSpec bytescheduler_params[] = {
  {
    .key = "partition",
    .type = PARAM_COUNT,
    .offset = offsetof(ByteschedulerParams, partition),
    .fallback = "1000000",
    .min = 1,
    .max = G_MAXUINT,
    .help = "largest piece of a gradient, in parameters",
    .origin = "bytescheduler bytecore.py, BYTESCHEDULER_PARTITION",
  },
  {
    .key = "credit",
    .type = PARAM_COUNT,
    .offset = offsetof(ByteschedulerParams, credit),
    .fallback = "4000000",
    .min = 1,
    .max = G_MAXUINT,
    .help = "parameters on their way before pieces wait; they may exceed it by a piece",
    .origin = "bytescheduler bytecore.py, BYTESCHEDULER_CREDIT",
  },
  {
    .key = "cross_barrier",
    .type = PARAM_BOOL,
    .offset = offsetof(ByteschedulerParams, cross_barrier),
    .fallback = "true",
    .help = "a layer's next forward waits for its own gradients, not for all",
    .origin = "Peng et al., SOSP 2019: the barrier between iterations is removed",
  },
  {
    .key = "partition_overhead",
    .type = PARAM_SECONDS,
    .offset = offsetof(ByteschedulerParams, partition_overhead_s),
    .fallback = "0 s",
    .min = 0,
    .max = 3600,
    .help = "time of each piece beside the library's launch and latencies",
    .origin = "assumed: the library's own launch and latencies are all",
  },
  PARAM_END,
};

static void bytescheduler_compose(const void *params, const StrategyContext *context,
                                  Composition *out)
{
  const ByteschedulerParams *self = params;
  const double element_B = precision_traits(context->workload->precision)->gradient_B;
  const PriorityPartitionRule rule = { .partition_B = self->partition * element_B };
  Pipeline *pipeline = &out->pipeline;
  const guint gate = pipeline_add_resource(pipeline, "scheduler", 1);
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", 1);
  const guint coder =
    context->compression == NULL ? 0 : pipeline_add_resource(pipeline, "codec stream", 1);

  strategy_add_encode(pipeline, context, coder);
  pipeline_resource(pipeline, gate)->by_priority = true;
  pipeline_resource(pipeline, gate)->credit_B = self->credit * element_B;
  pipeline_resource(pipeline, gate)->credit_stage = G_MAXUINT;
  pipeline_add_stage(pipeline,
                     &(Stage){ .name = "schedule", .kind = STAGE_WAIT, .resource = gate });
  if (self->partition_overhead_s > 0)
    pipeline_add_stage(pipeline, &(Stage){
                                   .name = "overhead",
                                   .kind = STAGE_WAIT,
                                   .resource = stream,
                                   .fixed_s = self->partition_overhead_s,
                                 });
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "all_reduce",
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = COLL_ALL_REDUCE,
                                 .resource = stream,
                               });
  strategy_add_decode(pipeline, context, coder, false);
  out->cuts_messages = schedule_cuts_any(context->workload, rule.partition_B);
  out->crosses_iterations = self->cross_barrier;
  out->schedule = &schedule_priority_partition;
  out->schedule_state = out->schedule->new (&rule, context->workload);
}

const StrategyOps strategy_bytescheduler = {
  .info = {
    .name = "bytescheduler",
    .summary = "ByteScheduler: pieces by priority with credit, across iterations",
    .source = "bytedance/byteps bytescheduler; Peng et al., SOSP 2019",
    .params = bytescheduler_params,
    .params_size = sizeof(ByteschedulerParams),
  },
  .place = COMPRESS_TENSORS,
  .compose = bytescheduler_compose,
};
