#include "models/strategy.h"

double stage_wait_s(const Stage *stage, guint n_tensors, double size_B)
{
  if (stage->only_fused && n_tensors <= 1)
    return 0;

  const guint per_batch = MAX(stage->tensors_per_batch, 1);
  const guint n_batches = (n_tensors + per_batch - 1) / per_batch;
  return stage->fixed_s + n_batches * stage->per_tensor_s + size_B * stage->per_B_s;
}

guint pipeline_add_resource(Pipeline *pipeline, const char *name, guint concurrency)
{
  const Resource resource = { .name = name, .concurrency = concurrency };

  if (pipeline->resources == NULL)
    pipeline->resources = g_array_new(FALSE, FALSE, sizeof(Resource));
  g_array_append_val(pipeline->resources, resource);
  return pipeline->resources->len - 1;
}

Resource *pipeline_resource(Pipeline *pipeline, guint index)
{
  return &g_array_index(pipeline->resources, Resource, index);
}

void pipeline_add_stage(Pipeline *pipeline, const Stage *stage)
{
  if (pipeline->stages == NULL)
    pipeline->stages = g_array_new(FALSE, FALSE, sizeof(Stage));
  g_array_append_vals(pipeline->stages, stage, 1);
}

guint composition_machine(const Composition *composition, guint n_nodes, guint server)
{
  return server < composition->n_extra_servers
           ? n_nodes + server
           : (server - composition->n_extra_servers) % n_nodes;
}

void strategy_add_encode(Pipeline *pipeline, const StrategyContext *context, guint resource)
{
  if (context->compression == NULL)
    return;
  pipeline_add_stage(pipeline, &(Stage){ .name = "encode",
                                         .kind = STAGE_ENCODE,
                                         .resource = resource,
                                         .after_backward = compression_after_backward(
                                           context->compression) });
}

void strategy_add_decode(Pipeline *pipeline, const StrategyContext *context, guint resource,
                         bool after_backward)
{
  if (context->compression == NULL)
    return;
  pipeline_add_stage(pipeline, &(Stage){ .name = "decode",
                                         .kind = STAGE_DECODE,
                                         .resource = resource,
                                         .after_backward = after_backward });
}

void composition_add_fetch(Composition *composition, const Fetch *fetch)
{
  if (composition->fetches == NULL)
    composition->fetches = g_array_new(FALSE, FALSE, sizeof(Fetch));
  g_array_append_vals(composition->fetches, fetch, 1);
}

double strategy_copy_s_per_B(const GpuSpec *gpu)
{
  return 2 / gpu_memory_Bps(gpu);
}

bool composition_check(const Composition *composition, const Compression *compression,
                       GError **error)
{
  const GArray *stages = composition->pipeline.stages;
  bool replaceable = false;

  if (composition->cuts_messages && compression_is_stepwise(compression)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "codec %s sends what depends on a whole message before, but the strategy "
                "cuts messages into pieces: choose a larger partition, or another codec",
                compression_codec(compression));
    return false;
  }
  replaceable = compression_is_plain_sum(compression) ||
                compression_place(compression) == COMPRESS_PIECES;

  for (guint s = 0; s < stages->len; s++) {
    const Stage *stage = &g_array_index(stages, Stage, s);
    replaceable |= stage->kind == STAGE_COLLECTIVE && stage->route == ROUTE_GRADIENTS &&
                   stage->collective == COLL_ALL_REDUCE && !(stage->message_B > 0);
  }
  if (!replaceable)
    g_set_error(
      error, SIM_ERROR, SIM_ERROR_VALUE,
      "codec %s needs its own collectives, but these settings of the strategy sum "
      "gradients in steps of their own",
      compression_codec(compression));
  return replaceable;
}

void codec_choice_clear(CodecChoice *choice)
{
  param_clear(choice->codec->info.params, choice->params);
  g_free(choice->params);
  g_free(choice->name);
}

static void choices_clear(Choices *choices)
{
  for (guint i = 0; choices->codecs != NULL && i < choices->codecs->len; i++)
    codec_choice_clear(&g_array_index(choices->codecs, CodecChoice, i));
  g_clear_pointer(&choices->codecs, g_array_unref);
  g_clear_pointer(&choices->ends, g_array_unref);
}

void composition_clear(Composition *composition)
{
  choices_clear(&composition->choices);
  if (composition->schedule != NULL)
    composition->schedule->free(composition->schedule_state);
  if (composition->pipeline.resources != NULL)
    g_array_unref(composition->pipeline.resources);
  if (composition->pipeline.stages != NULL)
    g_array_unref(composition->pipeline.stages);
  if (composition->fetches != NULL)
    g_array_unref(composition->fetches);
  g_free(composition->serves);
  *composition = (Composition){ 0 };
}
