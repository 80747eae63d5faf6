/**
 * @file adaptive.c
 * @brief Buckets of which each takes the codec that ends the iteration soonest.
 *
 * Gradients travel in buckets as in ddp. For each bucket one of the listed codecs is
 * chosen, or none, from when backward makes gradients ready, what encoding and decoding
 * take, and what the library's collectives take on this network (models/unit_plan.h). Only
 * what would be waited for is encoded: a bucket that the rest of backward hides travels as
 * it is. Nothing is encoded unless codecs are listed. The algorithm is the library's
 * choice, anew for every size; the library "adaptive" chooses among all.
 *
 * Times are measured in every iteration: where transfers or backward take so much longer
 * or shorter than the last decision was made with, it is made anew; a decision that gains
 * less than "gain" is not worth a change.
 *
 * Not a real system: what an auto-tuner with a cost model could do. Compare S. Agarwal et
 * al., "On the Utility of Gradient Compression in Distributed Training Systems", MLSys
 * 2022; Z. Wang et al., "Hi-Speed DNN Training with Espresso", EuroSys 2023, which chooses
 * by tensor.
 */
#include "models/strategy.h"

/* bucket_cap_mb counts these, as ddp's does. */
#define MIB_B (1024.0 * 1024.0)

/* One element of "codecs". */
typedef struct {
  char *codec;
  double ratio; /* 0: the codec's default */
} Listed;

typedef struct {
  double bucket_cap_MiB;
  guint64 first_bucket_B;
  GArray *codecs; /* of Listed */
  double drift, gain;
  double kernel_launch_s;
} AdaptiveParams;

// clang-format off
static const ParamSpec listed_params[] = {
  { .key = "codec", .type = PARAM_TEXT, .offset = offsetof(Listed, codec),
    .help = "a codec that buckets may take" },
  { .key = "ratio", .type = PARAM_FRACTION, .offset = offsetof(Listed, ratio),
    .fallback = "0", .help = "of a codec that has one; 0: its default",
    .origin = "the codec's" },
  PARAM_END,
};

static const ParamSpec adaptive_params[] = {
  { .key = "bucket_cap_mb", .type = PARAM_NUMBER,
    .offset = offsetof(AdaptiveParams, bucket_cap_MiB), .fallback = "25", .min = 0, .max = 1e6,
    .help = "a bucket is closed when it reaches this many MiB; 0: one per tensor",
    .origin = "pytorch torch/nn/parallel/distributed.py" },
  { .key = "first_bucket", .type = PARAM_BYTES,
    .offset = offsetof(AdaptiveParams, first_bucket_B), .fallback = "1 MiB",
    .help = "limit of the first bucket",
    .origin = "pytorch reducer.hpp, kDefaultFirstBucketBytes" },
  { .key = "codecs", .type = PARAM_LIST, .offset = offsetof(AdaptiveParams, codecs),
    .fallback = "", .item = listed_params, .item_size = sizeof(Listed),
    .help = "what buckets may take beside travelling as they are",
    .origin = "none: gradients stay exact" },
  { .key = "drift", .type = PARAM_FRACTION, .offset = offsetof(AdaptiveParams, drift),
    .fallback = "20 %", .min = 0, .max = 1,
    .help = "decide anew when measured times differ so much from those decided by",
    .origin = "assumed: more than the noise of an iteration" },
  { .key = "gain", .type = PARAM_FRACTION, .offset = offsetof(AdaptiveParams, gain),
    .fallback = "1 %", .min = 0, .max = 1,
    .help = "least share by which a new decision must end sooner than the old",
    .origin = "assumed: less is not worth a change" },
  { .key = "kernel_launch", .type = PARAM_SECONDS,
    .offset = offsetof(AdaptiveParams, kernel_launch_s), .fallback = STRATEGY_KERNEL_LAUNCH,
    .help = "time of a short kernel in a stream; one per tensor and copy",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN },
  PARAM_END,
};
// clang-format on

static const Listed *listed_at(const AdaptiveParams *self, guint index)
{
  return &g_array_index(self->codecs, Listed, index);
}

static guint n_listed(const AdaptiveParams *self)
{
  return self->codecs == NULL ? 0 : self->codecs->len;
}

static CodecChoice choice_of(const Listed *listed, const CodecOps *codec)
{
  const ParamSpec *ratio = param_find(codec->info.params, "ratio");
  CodecChoice choice = { .codec = codec,
                         .params = g_malloc0(MAX(codec->info.params_size, 1)) };

  param_set_defaults(codec->info.params, choice.params);
  if (!(listed->ratio > 0) || ratio == NULL) {
    choice.name = g_strdup(codec->info.name);
    return choice;
  }
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  param_set(ratio, choice.params, g_ascii_dtostr(text, sizeof text, listed->ratio), NULL);
  g_autofree char *share = param_format(ratio, choice.params);
  choice.name = g_strdup_printf("%s %s", codec->info.name, share);
  return choice;
}

static bool check_listed(const Listed *listed, GError **error)
{
  const CodecOps *codec =
    (const CodecOps *)registry_find("codec", codec_table, listed->codec, error);
  const char *cause = NULL;

  if (codec == NULL)
    return false;
  if (codec == &codec_none)
    cause = "to travel as it is need not be listed: leave \"none\" out";
  else if (codec->after_backward)
    cause = "this codec encodes what is known only after backward: choose another, or give "
            "it as compression.codec of ddp";
  else if (listed->ratio > 0 && param_find(codec->info.params, "ratio") == NULL)
    cause = "this codec has no ratio: leave it out";
  if (cause != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s: %s", codec->info.name, cause);
    return false;
  }
  CodecChoice choice = choice_of(listed, codec);
  const bool fits = codec->check == NULL || codec->check(choice.params, error);
  codec_choice_clear(&choice);
  return fits;
}

static bool adaptive_check(const void *params, GError **error)
{
  const AdaptiveParams *self = params;

  for (guint i = 0; i < n_listed(self); i++)
    if (!check_listed(listed_at(self, i), error)) {
      g_prefix_error(error, "codecs[%u]: ", i);
      return false;
    }
  return true;
}

static void add_stages(const AdaptiveParams *self, const GpuSpec *gpu, Pipeline *pipeline)
{
  const guint copies = pipeline_add_resource(pipeline, "bucket copies", 1);
  const guint stream = pipeline_add_resource(pipeline, "nccl stream", 1);
  Stage copy = {
    .name = "copy_in",
    .kind = STAGE_WAIT,
    .resource = copies,
    .per_tensor_s = self->kernel_launch_s,
    .per_B_s = strategy_copy_s_per_B(gpu),
  };

  pipeline_add_stage(pipeline, &copy);
  pipeline_add_stage(
    pipeline, &(Stage){ .name = "encode", .kind = STAGE_ENCODE, .resource = copies });
  pipeline_add_stage(pipeline, &(Stage){ .name = "all_reduce",
                                         .kind = STAGE_COLLECTIVE,
                                         .collective = COLL_ALL_REDUCE,
                                         .resource = stream });
  pipeline_add_stage(
    pipeline, &(Stage){ .name = "decode", .kind = STAGE_DECODE, .resource = copies });
  copy.name = "copy_out";
  pipeline_add_stage(pipeline, &copy);
}

static void adaptive_compose(const void *params, const StrategyContext *context,
                             Composition *out)
{
  const AdaptiveParams *self = params;
  const DdpBucketRule rule = {
    .first_bucket_B = (double)self->first_bucket_B,
    .bucket_cap_B = self->bucket_cap_MiB * MIB_B,
    .from_start = true,
  };

  add_stages(self, context->gpu, &out->pipeline);
  out->choices = (Choices){
    .codecs = g_array_new(FALSE, FALSE, sizeof(CodecChoice)),
    .ends = schedule_cut_buckets(context->workload, rule.first_bucket_B, rule.bucket_cap_B),
    .drift = self->drift,
    .gain = self->gain,
  };
  for (guint i = 0; i < n_listed(self); i++) {
    const Listed *listed = listed_at(self, i);
    const CodecChoice choice = choice_of(
      listed, (const CodecOps *)registry_find("codec", codec_table, listed->codec, NULL));
    g_array_append_val(out->choices.codecs, choice);
  }
  out->communication_B = context->workload->gradient_B;
  out->every_backward = true;
  out->schedule = &schedule_ddp_bucket;
  out->schedule_state = out->schedule->new (&rule, context->workload);
}

const StrategyOps strategy_adaptive = {
  .info = {
    .name = "adaptive",
    .summary = "buckets of which each takes the codec that ends the iteration soonest",
    .source = "an auto-tuner; compare Wang et al., Espresso, EuroSys 2023",
    .params = adaptive_params,
    .params_size = sizeof(AdaptiveParams),
  },
  .chooses = true,
  .check = adaptive_check,
  .compose = adaptive_compose,
};
