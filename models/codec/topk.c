/**
 * @file topk.c
 * @brief The k largest values and where they were.
 *
 *     message = k (value + index)
 *
 * Either all values are searched for the k-th largest, or, as Deep Gradient Compression
 * does, a threshold is guessed from a sample and corrected a few times. Workers pick
 * different places, so that every worker gets every message: with 8 B an entry that beats
 * a ring all-reduce of fp32 only if k / d < 1 / N. Messages of a sampled threshold vary in
 * length; here each has k entries.
 *
 * Source: A. F. Aji, K. Heafield, EMNLP 2017; Y. Lin et al., "Deep Gradient Compression",
 * ICLR 2018, synxlin/deep-gradient-compression@b929ca7a; byteps@f5df52fe
 * compressor/impl/topk.cc.
 */
#include "models/codec.h"

#include <math.h>

static const char *const select_names[] = { "exact", "sampled", "heap", NULL };
static const char *const value_names[] = { "fp32", "fp16", NULL };
static const char *const index_names[] = { "int32", "int64", NULL };
static const char *const decoder_names[] = { "scatter", "dense", NULL };
enum { DECODER_SCATTER, DECODER_DENSE };

static const double value_sizes_B[] = { 4, 2 };
static const double index_sizes_B[] = { 4, 8 };

/* Passes over the values to select. Assumed: published kernels need 10 to 40 to find the
 * exact k-th largest, 6 to 20 with a sampled threshold; the geometric means. A heap of k
 * on a CPU is slower than packing signs, which takes 2. */
static const double select_passes[] = { 20, 11, 4 };

typedef struct {
  double ratio;
  guint k;      /* 0: by ratio */
  guint select; /* index into select_names */
  guint value, index, decoder;
  bool error_feedback;
  double encode_passes; /* 0: as select says */
  double warmup_share;
} TopkParams;

// clang-format off
static const ParamSpec topk_params[] = {
  { .key = "ratio", .type = PARAM_FRACTION, .offset = offsetof(TopkParams, ratio),
    .fallback = "0.1 %", .min = 0, .max = 1, .help = "share of the values that is sent",
    .origin = "Lin et al., ICLR 2018" },
  { .key = "k", .type = PARAM_COUNT, .offset = offsetof(TopkParams, k), .fallback = "0",
    .help = "values sent of each tensor, or of each bucket, or all it has; 0: by \"ratio\"",
    .origin = "by ratio" },
  { .key = "select", .type = PARAM_NAME, .offset = offsetof(TopkParams, select),
    .names = select_names, .fallback = "exact",
    .help = "how the largest are found: all searched, a threshold from a sample, a CPU's heap",
    .origin = "grace fd3a7f42; deep-gradient-compression samples, byteps has a heap" },
  { .key = "value", .type = PARAM_NAME, .offset = offsetof(TopkParams, value),
    .names = value_names, .fallback = "fp32", .help = "how a value is sent",
    .origin = "byteps f5df52fe, deep-gradient-compression b929ca7a" },
  { .key = "index", .type = PARAM_NAME, .offset = offsetof(TopkParams, index),
    .names = index_names, .fallback = "int32", .help = "how its place is sent",
    .origin = "byteps f5df52fe; deep-gradient-compression: int64" },
  { .key = "decoder", .type = PARAM_NAME, .offset = offsetof(TopkParams, decoder),
    .names = decoder_names, .fallback = "scatter",
    .help = "scatter: entries are added in place; dense: each message is written out first",
    .origin = "deep-gradient-compression b929ca7a; grace: dense" },
  CODEC_FEEDBACK_ROW(TopkParams, "true", "Lin et al., ICLR 2018"),
  { .key = "encode_passes", .type = PARAM_NUMBER, .offset = offsetof(TopkParams, encode_passes),
    .fallback = "0", .min = 0, .max = 1000,
    .help = "times that selecting moves all values; 0: exact 20, sampled 11, heap 4",
    .origin = "assumed: 10 to 40 exact, 6 to 20 sampled" },
  CODEC_WARMUP_ROW(TopkParams, "0 %", "none"),
  PARAM_END,
};
// clang-format on

static bool topk_check(const void *params, GError **error)
{
  const TopkParams *self = params;

  if (self->k > 0 || self->ratio > 0)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "ratio is 0, so that nothing would be sent: give \"ratio\" or \"k\"");
  return false;
}

static char *topk_refuses(const void *params, const CodecInput *input)
{
  const TopkParams *self = params;

  return self->k > input->n_values
           ? g_strdup_printf("k is %u, but it has %.0f values: use \"ratio\", or leave it "
                             "alone with a larger \"min_size\"",
                             self->k, input->n_values)
           : NULL;
}

static double n_sent(const TopkParams *self, const CodecInput *input)
{
  return self->k > 0 ? MIN(self->k, input->n_values)
                     : MAX(1, floor(self->ratio * input->n_values));
}

static double entry_B(const TopkParams *self)
{
  return value_sizes_B[self->value] + index_sizes_B[self->index];
}

static CodecExchange topk_exchange(const void *params G_GNUC_UNUSED)
{
  return CODEC_GATHER;
}

static double topk_wire_B(const void *params, const CodecInput *input,
                          guint round G_GNUC_UNUSED)
{
  return n_sent(params, input) * entry_B(params);
}

static CodecWork topk_encode(const void *params, const CodecInput *input,
                             guint round G_GNUC_UNUSED)
{
  const TopkParams *self = params;
  const double own =
    self->encode_passes > 0 ? self->encode_passes : select_passes[self->select];
  CodecWork work =
    codec_passes(input, own + (self->error_feedback ? CODEC_FEEDBACK_PASSES : 0));

  work.moved_B += topk_wire_B(params, input, 0);
  return work;
}

/* Scatter: the sum is cleared, then each entry is read and its sector read and written. */
static CodecWork topk_decode(const void *params, const CodecInput *input)
{
  const TopkParams *self = params;
  const double n_entries = input->n_workers * n_sent(self, input);
  CodecWork work =
    codec_passes(input, self->decoder == DECODER_SCATTER ? 1 : 1 + input->n_workers);

  work.moved_B += n_entries * (entry_B(self) + 2 * CODEC_SECTOR_B);
  work.n_kernels += self->decoder == DECODER_SCATTER ? 1 : input->n_workers;
  return work;
}

static double topk_state_B(const void *params, const CodecInput *input)
{
  const TopkParams *self = params;
  return self->error_feedback ? codec_feedback_B(input) : 0;
}

static double topk_warmup_share(const void *params)
{
  return ((const TopkParams *)params)->warmup_share;
}

const CodecOps codec_topk = {
  .info = {
    .name = "topk",
    .summary = "the k largest values and their places",
    .source = "Aji & Heafield, EMNLP 2017; Lin et al., ICLR 2018; byteps f5df52fe",
    .note = "ResNet-50 on ImageNet at 0.1 %: 76.6, 76.5, 76.3, 76.8, 75.9 % on 8, 16, 32, "
            "64, 256 GPUs for 76.2 % (deep-gradient-compression b929ca7a, with momentum "
            "correction and warm-up); ResNet-18 on CIFAR-100: 70.4 % for 71.4 % (byteps)",
    .params = topk_params,
    .params_size = sizeof(TopkParams),
  },
  .n_rounds = 1,
  .check = topk_check,
  .refuses = topk_refuses,
  .exchange = topk_exchange,
  .wire_B = topk_wire_B,
  .encode = topk_encode,
  .decode = topk_decode,
  .state_B = topk_state_B,
  .warmup_share = topk_warmup_share,
};
