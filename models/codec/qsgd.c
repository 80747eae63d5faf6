/**
 * @file qsgd.c
 * @brief QSGD: values rounded at random to s levels of their bucket's norm.
 *
 *     message = ceil(d / bucket) norms of 4 B + d (1 + ceil(log2(s + 1))) bits
 *
 * a sign and one of the levels 0..s per value (for s no power of two that is the same as
 * 1 + log2 s, rounded up). Unpacked, as GRACE sends it, a value takes whole bytes. Levels
 * of different norms do not add up: every worker gets every message.
 *
 * Source: D. Alistarh et al., "QSGD", NeurIPS 2017; sands-lab/grace@fd3a7f42.
 */
#include "models/codec.h"

#include <math.h>

#define NORM_B 4
#define BYTE_BITS 8

typedef struct {
  guint levels;
  guint bucket;
  bool packed;
  bool error_feedback;
  double encode_passes;
} QsgdParams;

// clang-format off
static const ParamSpec qsgd_params[] = {
  { .key = "levels", .type = PARAM_COUNT, .offset = offsetof(QsgdParams, levels),
    .fallback = "127", .min = 1, .max = 65535, .help = "levels s above zero; 127: 8 bits a value",
    .origin = "our choice; grace fd3a7f42 takes 256" },
  { .key = "bucket", .type = PARAM_COUNT, .offset = offsetof(QsgdParams, bucket),
    .fallback = "128", .min = 1, .max = 1e9, .help = "values that share a norm",
    .origin = "grace fd3a7f42 compressor/qsgd.py" },
  { .key = "packed", .type = PARAM_BOOL, .offset = offsetof(QsgdParams, packed),
    .fallback = "true", .help = "bits are packed; false: whole bytes, as grace sends them",
    .origin = "Alistarh et al., NeurIPS 2017, without Elias coding" },
  CODEC_FEEDBACK_ROW(QsgdParams, "false", "Alistarh et al.: unbiased, needs none"),
  CODEC_PASSES_ROW(QsgdParams, "6", "derived: norm, draws written and read, levels written "
                                    "and read, packing"),
  PARAM_END,
};
// clang-format on

static CodecExchange qsgd_exchange(const void *params G_GNUC_UNUSED)
{
  return CODEC_GATHER;
}

static double qsgd_wire_B(const void *params, const CodecInput *input,
                          guint round G_GNUC_UNUSED)
{
  const QsgdParams *self = params;
  const double bits = 1 + g_bit_storage(self->levels);
  const double sent_bits = self->packed ? bits : ceil(bits / BYTE_BITS) * BYTE_BITS;

  return NORM_B * ceil(input->n_values / self->bucket) +
         codec_packed_B(input->n_values, sent_bits);
}

static CodecWork qsgd_encode(const void *params, const CodecInput *input,
                             guint round G_GNUC_UNUSED)
{
  const QsgdParams *self = params;
  return codec_passes(input, self->encode_passes +
                               (self->error_feedback ? CODEC_FEEDBACK_PASSES : 0));
}

/* One kernel reads all messages and writes the sum. */
static CodecWork qsgd_decode(const void *params, const CodecInput *input)
{
  CodecWork work = codec_passes(input, 1);

  work.moved_B += input->n_workers * qsgd_wire_B(params, input, 0);
  return work;
}

static double qsgd_state_B(const void *params, const CodecInput *input)
{
  const QsgdParams *self = params;
  return self->error_feedback ? codec_feedback_B(input) : 0;
}

const CodecOps codec_qsgd = {
  .info = {
    .name = "qsgd",
    .summary = "values rounded at random to a few levels of their bucket's norm",
    .source = "Alistarh et al., NeurIPS 2017; grace fd3a7f42",
    .note = "8 bits are reported to lose nothing or next to nothing (Alistarh et al., "
            "NeurIPS 2017; recalled, not checked against its tables)",
    .params = qsgd_params,
    .params_size = sizeof(QsgdParams),
  },
  .n_rounds = 1,
  .exchange = qsgd_exchange,
  .wire_B = qsgd_wire_B,
  .encode = qsgd_encode,
  .decode = qsgd_decode,
  .state_B = qsgd_state_B,
};
