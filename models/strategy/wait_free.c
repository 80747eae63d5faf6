/**
 * @file wait_free.c
 * @brief Wait-free back-propagation: an all-reduce per gradient, first come first served.
 *
 * A codec encodes each gradient before it leaves and decodes it as it arrives, on a stream
 * of its own.
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
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", self->streams);
  const guint coder =
    context->compression == NULL ? 0 : pipeline_add_resource(pipeline, "codec stream", 1);

  strategy_add_encode(pipeline, context, coder);
  pipeline_add_stage(pipeline, &(Stage){
                                 .name = "all_reduce",
                                 .kind = STAGE_COLLECTIVE,
                                 .collective = COLL_ALL_REDUCE,
                                 .resource = stream,
                               });
  strategy_add_decode(pipeline, context, coder, false);
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
  .place = COMPRESS_TENSORS,
  .compose = wait_free_compose,
};
