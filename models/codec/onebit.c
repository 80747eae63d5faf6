/**
 * @file onebit.c
 * @brief The sign of every value, and a scale: 1-bit SGD, signSGD, EF-signSGD.
 *
 *     message = ceil(d / 32) words of signs + 4 B per scale
 *
 * Encoding passes over the values for their mean size and again to pack the signs; error
 * feedback adds its own passes. Signs do not add up to a sign, so that every worker gets
 * every message: it beats a ring all-reduce of fp32 only below 64 workers,
 * (N - 1) d / 8 < 8 d (N - 1) / N.
 *
 * Source: F. Seide et al., Interspeech 2014 (1-bit SGD: the mean of either sign);
 * J. Bernstein et al., arXiv 1802.04434 (signSGD: no scale); S. P. Karimireddy et al.,
 * ICML 2019 (EF-signSGD: one mean of sizes). Layout: byteps@f5df52fe
 * compressor/impl/onebit.cc.
 */
#include "models/codec.h"

#define SCALE_B 4

static const char *const scale_names[] = { "none", "one", "two", NULL };
static const char *const decoder_names[] = { "fused", "dense", NULL };
enum { DECODER_FUSED, DECODER_DENSE };

typedef struct {
  guint scale;   /* index into scale_names: how many scales a message has */
  guint decoder; /* index into decoder_names */
  bool error_feedback;
  double encode_passes;
  double warmup_share;
} OnebitParams;

// clang-format off
static const ParamSpec onebit_params[] = {
  { .key = "scale", .type = PARAM_NAME, .offset = offsetof(OnebitParams, scale),
    .names = scale_names, .fallback = "one",
    .help = "none: signSGD; one: mean size; two: the means of either sign, 1-bit SGD",
    .origin = "Karimireddy et al., ICML 2019; byteps f5df52fe with scaling" },
  { .key = "decoder", .type = PARAM_NAME, .offset = offsetof(OnebitParams, decoder),
    .names = decoder_names, .fallback = "fused",
    .help = "fused: one kernel sums all messages; dense: each is written out, then added",
    .origin = "assumed: signs are summed in registers" },
  CODEC_FEEDBACK_ROW(OnebitParams, "true", "Karimireddy et al., ICML 2019"),
  CODEC_PASSES_ROW(OnebitParams, "2", "one to find the scale, one to pack the signs"),
  CODEC_WARMUP_ROW(OnebitParams, "0 %", "none"),
  PARAM_END,
};
// clang-format on

static CodecExchange onebit_exchange(const void *params G_GNUC_UNUSED)
{
  return CODEC_GATHER;
}

static double onebit_wire_B(const void *params, const CodecInput *input,
                            guint round G_GNUC_UNUSED)
{
  const OnebitParams *self = params;
  return codec_packed_B(input->n_values, 1) + SCALE_B * self->scale;
}

static CodecWork onebit_encode(const void *params, const CodecInput *input,
                               guint round G_GNUC_UNUSED)
{
  const OnebitParams *self = params;
  CodecWork work = codec_passes(
    input, self->encode_passes + (self->error_feedback ? CODEC_FEEDBACK_PASSES : 0));

  work.moved_B += onebit_wire_B(params, input, 0);
  return work;
}

/* Each message is read; fused, the sum is written once, else each is written out. */
static CodecWork onebit_decode(const void *params, const CodecInput *input)
{
  const OnebitParams *self = params;
  const double n = input->n_workers;
  CodecWork work =
    self->decoder == DECODER_FUSED ? codec_passes(input, 1) : codec_passes(input, n);

  work.moved_B += n * onebit_wire_B(params, input, 0);
  return work;
}

static double onebit_state_B(const void *params, const CodecInput *input)
{
  const OnebitParams *self = params;
  return self->error_feedback ? codec_feedback_B(input) : 0;
}

static double onebit_warmup_share(const void *params)
{
  return ((const OnebitParams *)params)->warmup_share;
}

const CodecOps codec_onebit = {
  .info = {
    .name = "onebit",
    .summary = "the sign of every value and a scale: 32 times less per message",
    .source = "Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019; byteps",
    .note = "ResNet-18 on CIFAR-100: 70.6 % for 71.4 %; ResNet-50 on ImageNet with error "
            "feedback: 76.32 % for 76.91 % (byteps f5df52fe docs/gradient-compression.md)",
    .params = onebit_params,
    .params_size = sizeof(OnebitParams),
  },
  .n_rounds = 1,
  .exchange = onebit_exchange,
  .wire_B = onebit_wire_B,
  .encode = onebit_encode,
  .decode = onebit_decode,
  .state_B = onebit_state_B,
  .warmup_share = onebit_warmup_share,
};
