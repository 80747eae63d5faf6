/**
 * @file wait_free.c
 * @brief Wait-free back-propagation: an all-reduce per gradient, first come first served.
 */
#include "models/strategy.h"

typedef struct {
  guint streams;
} WaitFreeParams;

static const ParamSpec wait_free_params[] = {
  {
    .key = "streams",
    .type = PARAM_COUNT,
    .offset = offsetof(WaitFreeParams, streams),
    .fallback = "1",
    .min = 1,
    .max = 1024,
    .help = "all-reduces in flight at once, sharing the network",
  },
  PARAM_END,
};

static void wait_free_compose(const void *params, const StrategyContext *context,
                              Composition *out)
{
  const WaitFreeParams *self = params;
  Pipeline *pipeline = &out->pipeline;

  pipeline_add_stage(
    pipeline, &(Stage){
                .name = "all_reduce",
                .kind = STAGE_COLLECTIVE,
                .collective = COLL_ALL_REDUCE,
                .resource = pipeline_add_resource(pipeline, "nccl stream", self->streams),
              });
  out->schedule = &schedule_wait_free;
  out->schedule_state = out->schedule->new (NULL, context->workload);
}

const StrategyOps strategy_wait_free = {
  .info = {
    .name = "wait_free",
    .summary = "every gradient leaves alone as soon as it is ready",
    .source = "Zhang et al., Poseidon, USENIX ATC 2017",
    .params = wait_free_params,
    .params_size = sizeof(WaitFreeParams),
  },
  .compose = wait_free_compose,
};
