/**
 * @file randomk.c
 * @brief k values at random places.
 *
 *     message = k values, and k indices unless all workers draw the same places
 *
 * With a shared seed all workers pick the same places: no index travels, and sums of
 * messages are messages of sums, so that an all-reduce adds them.
 *
 * Source: S. U. Stich et al., "Sparsified SGD with Memory", NeurIPS 2018;
 * sands-lab/grace@fd3a7f42 (shared seed); byteps@f5df52fe compressor/impl/randomk.cc
 * (sends indices all the same).
 */
#include "models/codec.h"

#include <math.h>

#define INDEX_B 4
/* Draw the places, then fetch the values. */
#define N_ENCODE_KERNELS 2

typedef struct {
  double ratio;
  guint k; /* 0: by ratio */
  bool shared_seed;
  bool error_feedback;
} RandomkParams;

// clang-format off
static const ParamSpec randomk_params[] = {
  { .key = "ratio", .type = PARAM_FRACTION, .offset = offsetof(RandomkParams, ratio),
    .fallback = "1 %", .min = 0, .max = 1, .help = "share of the values that is sent",
    .origin = "our choice; grace fd3a7f42 takes 30 %" },
  { .key = "k", .type = PARAM_COUNT, .offset = offsetof(RandomkParams, k), .fallback = "0",
    .help = "values sent of each tensor, or of each bucket, or all it has; 0: by \"ratio\"",
    .origin = "by ratio" },
  { .key = "shared_seed", .type = PARAM_BOOL, .offset = offsetof(RandomkParams, shared_seed),
    .fallback = "true", .help = "all workers draw the same places: no indices, an all-reduce",
    .origin = "grace fd3a7f42" },
  CODEC_FEEDBACK_ROW(RandomkParams, "true", "Stich et al., NeurIPS 2018"),
  PARAM_END,
};
// clang-format on

static bool randomk_check(const void *params, GError **error)
{
  const RandomkParams *self = params;

  if (self->k > 0 || self->ratio > 0)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "ratio is 0, so that nothing would be sent: give \"ratio\" or \"k\"");
  return false;
}

static char *randomk_refuses(const void *params, const CodecInput *input)
{
  const RandomkParams *self = params;

  return self->k > input->n_values
           ? g_strdup_printf("k is %u, but it has %.0f values: use \"ratio\", or leave it "
                             "alone with a larger \"min_size\"",
                             self->k, input->n_values)
           : NULL;
}

static double n_sent(const RandomkParams *self, const CodecInput *input)
{
  return self->k > 0 ? MIN(self->k, input->n_values)
                     : MAX(1, floor(self->ratio * input->n_values));
}

static CodecExchange randomk_exchange(const void *params)
{
  return ((const RandomkParams *)params)->shared_seed ? CODEC_SUM : CODEC_GATHER;
}

static double randomk_wire_B(const void *params, const CodecInput *input,
                             guint round G_GNUC_UNUSED)
{
  const RandomkParams *self = params;
  const double entry_B = input->element_B + (self->shared_seed ? 0 : INDEX_B);
  return n_sent(self, input) * entry_B;
}

static CodecWork randomk_encode(const void *params, const CodecInput *input,
                                guint round G_GNUC_UNUSED)
{
  const RandomkParams *self = params;
  CodecWork work = codec_passes(input, self->error_feedback ? CODEC_FEEDBACK_PASSES : 0);

  /* Places are written and read; each value costs a sector. */
  work.moved_B += n_sent(self, input) * (2 * INDEX_B + CODEC_SECTOR_B);
  work.moved_B += randomk_wire_B(self, input, 0);
  work.n_kernels += N_ENCODE_KERNELS;
  return work;
}

/* The gradient is cleared, then every entry written to its place. */
static CodecWork randomk_decode(const void *params, const CodecInput *input)
{
  const RandomkParams *self = params;
  const double n_messages = self->shared_seed ? 1 : input->n_workers;
  CodecWork work = codec_passes(input, 1);

  work.moved_B += n_messages * (randomk_wire_B(self, input, 0) +
                                2 * CODEC_SECTOR_B * n_sent(self, input));
  work.n_kernels += 1;
  return work;
}

static double randomk_state_B(const void *params, const CodecInput *input)
{
  const RandomkParams *self = params;
  return self->error_feedback ? codec_feedback_B(input) : 0;
}

const CodecOps codec_randomk = {
  .info = {
    .name = "randomk",
    .summary = "k values at random places, the same on all workers",
    .source = "Stich et al., NeurIPS 2018; grace fd3a7f42; byteps f5df52fe",
    .note = "ResNet-18 on CIFAR-100: 69.9 % for 71.4 % (byteps f5df52fe "
            "docs/gradient-compression.md)",
    .params = randomk_params,
    .params_size = sizeof(RandomkParams),
  },
  .n_rounds = 1,
  .check = randomk_check,
  .refuses = randomk_refuses,
  .exchange = randomk_exchange,
  .wire_B = randomk_wire_B,
  .encode = randomk_encode,
  .decode = randomk_decode,
  .state_B = randomk_state_B,
};
