/**
 * @file terngrad.c
 * @brief TernGrad: each value becomes -1, 0 or 1 times the largest, at random.
 *
 *     message = d 2 bits + 4 B; unpacked, as GRACE sends it, d bytes + 4 B
 *
 * With a scale that all workers share, sums of ternary values fit log2(2 N + 1) bits and an
 * all-reduce adds them, after one of the scale that costs a pass here and no bytes to
 * speak of; else every worker gets every message.
 *
 * Source: W. Wen et al., "TernGrad", NeurIPS 2017; sands-lab/grace@fd3a7f42.
 */
#include "models/codec.h"

#include <math.h>

#define SCALE_B 4
#define TERNARY_BITS 2
#define BYTE_BITS 8

typedef struct {
  bool shared_scale;
  bool packed;
  bool error_feedback;
  double encode_passes;
} TerngradParams;

// clang-format off
static const ParamSpec terngrad_params[] = {
  { .key = "shared_scale", .type = PARAM_BOOL, .offset = offsetof(TerngradParams, shared_scale),
    .fallback = "false", .help = "one scale for all workers: an all-reduce of wider integers",
    .origin = "grace fd3a7f42: each worker its own" },
  { .key = "packed", .type = PARAM_BOOL, .offset = offsetof(TerngradParams, packed),
    .fallback = "true", .help = "bits are packed; false: whole bytes, as grace sends them",
    .origin = "Wen et al., NeurIPS 2017" },
  CODEC_FEEDBACK_ROW(TerngradParams, "false", "Wen et al.: unbiased, needs none"),
  CODEC_PASSES_ROW(TerngradParams, "6", "derived: deviation, clipping, maximum, draws written "
                                        "and read, packing"),
  PARAM_END,
};
// clang-format on

static CodecExchange terngrad_exchange(const void *params)
{
  return ((const TerngradParams *)params)->shared_scale ? CODEC_SUM : CODEC_GATHER;
}

static double terngrad_wire_B(const void *params, const CodecInput *input,
                              guint round G_GNUC_UNUSED)
{
  const TerngradParams *self = params;
  const double bits =
    self->shared_scale ? ceil(log2(2.0 * input->n_workers + 1)) : TERNARY_BITS;
  const double sent_bits = self->packed ? bits : ceil(bits / BYTE_BITS) * BYTE_BITS;

  return codec_packed_B(input->n_values, sent_bits) + SCALE_B;
}

static CodecWork terngrad_encode(const void *params, const CodecInput *input,
                                 guint round G_GNUC_UNUSED)
{
  const TerngradParams *self = params;
  return codec_passes(input, self->encode_passes +
                               (self->error_feedback ? CODEC_FEEDBACK_PASSES : 0));
}

static CodecWork terngrad_decode(const void *params, const CodecInput *input)
{
  const TerngradParams *self = params;
  const double n_messages = self->shared_scale ? 1 : input->n_workers;
  CodecWork work = codec_passes(input, 1);

  work.moved_B += n_messages * terngrad_wire_B(params, input, 0);
  return work;
}

static double terngrad_state_B(const void *params, const CodecInput *input)
{
  const TerngradParams *self = params;
  return self->error_feedback ? codec_feedback_B(input) : 0;
}

const CodecOps codec_terngrad = {
  .info = {
    .name = "terngrad",
    .summary = "each value -1, 0 or 1 times the largest, rounded at random",
    .source = "Wen et al., NeurIPS 2017; grace fd3a7f42",
    .note = "AlexNet lost nothing, GoogLeNet less than 2 % (Wen et al., NeurIPS 2017; "
            "recalled, not checked against its tables)",
    .params = terngrad_params,
    .params_size = sizeof(TerngradParams),
  },
  .n_rounds = 1,
  .exchange = terngrad_exchange,
  .wire_B = terngrad_wire_B,
  .encode = terngrad_encode,
  .decode = terngrad_decode,
  .state_B = terngrad_state_B,
};
