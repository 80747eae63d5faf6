/**
 * @file predictive.c
 * @brief All-reduces in an order planned from the known timeline of an iteration.
 *
 * Not a real system's strategy: what a scheduler could do that knew when backward makes
 * every gradient ready, when forward needs it, and what an all-reduce takes. Merged
 * gradients are copied into one buffer and out of it, on the communication stream.
 */
#include "models/strategy/merge_keys.h"

typedef struct {
  MergeKeys merge;
  bool cross_barrier;
  double kernel_launch_s;
} PredictiveParams;

static const ParamSpec predictive_params[] = {
  MERGE_KEYS(PredictiveParams),
  {
    .key = "cross_barrier",
    .type = PARAM_BOOL,
    .offset = offsetof(PredictiveParams, cross_barrier),
    .fallback = "true",
    .help = "a layer's next forward waits for its own gradients, not for all",
    .origin = "Peng et al., ByteScheduler, SOSP 2019",
  },
  {
    .key = "kernel_launch",
    .type = PARAM_SECONDS,
    .offset = offsetof(PredictiveParams, kernel_launch_s),
    .fallback = STRATEGY_KERNEL_LAUNCH,
    .help = "time of a short kernel in a stream; one per merged tensor and copy",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN,
  },
  PARAM_END,
};

static void predictive_compose(const void *params, const StrategyContext *context,
                               Composition *out)
{
  const PredictiveParams *self = params;
  const MergeRule rule = merge_keys_rule(&self->merge);
  Pipeline *pipeline = &out->pipeline;
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", 1);
  Stage copy = {
    .name = "copy_in",
    .kind = STAGE_WAIT,
    .resource = stream,
    .only_fused = true,
    .per_tensor_s = self->kernel_launch_s,
    .per_B_s = strategy_copy_s_per_B(context->gpu),
  };

  pipeline_add_stage(pipeline, &copy);
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "all_reduce",
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = COLL_ALL_REDUCE,
                                 .resource = stream,
                               });
  copy.name = "copy_out";
  pipeline_add_stage(pipeline, &copy);
  out->communication_B = context->workload->gradient_B;
  out->crosses_iterations = self->cross_barrier;
  out->schedule = &schedule_predictive;
  out->schedule_state = out->schedule->new (&rule, context->workload);
}

const StrategyOps strategy_predictive = {
  .info = {
    .name = "predictive",
    .summary = "an order planned from known times, pieces cut to let urgent ones pass",
    .source = "Hashemi et al., TicTac, MLSys 2019; Shi et al., MG-WFBP, INFOCOM 2019",
    .params = predictive_params,
    .params_size = sizeof(PredictiveParams),
  },
  .compose = predictive_compose,
};
