/**
 * @file onebit_adam.c
 * @brief 1-bit Adam and LAMB: after a warm-up only signs of the momentum travel.
 *
 * While the variance settles, training runs plain Adam on full gradients. Then the variance
 * is frozen and each worker sends the signs of its momentum with their scale: all-to-all,
 * so that worker i sums part i of d / N values; it keeps what it rounds away, sends the
 * signs of the sum, and an all-gather hands them round.
 *
 *     message = ceil(d / 32) words of signs + 4 B for each of the N parts
 *     volume against fp16 = 1 / (w + (1 - w) / 16), w the share of the warm-up
 *
 * The momentum exists only when backward has ended: nothing overlaps it then.
 *
 * Source: H. Tang et al., "1-bit Adam", ICML 2021; DeepSpeed 0.19.6 runtime/comm/nccl.py,
 * runtime/fp16/onebit/adam.py.
 */
#include "models/codec.h"

#define SCALE_B 4
/* Scale, pack. */
#define SIGN_PASSES 2

typedef struct {
  double encode_passes;
  double warmup_share;
} OnebitAdamParams;

// clang-format off
static const ParamSpec onebit_adam_params[] = {
  CODEC_PASSES_ROW(OnebitAdamParams, "2", "one to find the scale, one to pack the signs"),
  { .key = "warmup_share", .type = PARAM_FRACTION,
    .offset = offsetof(OnebitAdamParams, warmup_share), .fallback = "15 %", .min = 0, .max = 1,
    .help = "freeze_step over all steps: the first iterations, which send full gradients",
    .origin = "DeepSpeed's tutorial: 15 to 25 % of the steps" },
  PARAM_END,
};
// clang-format on

static CodecExchange onebit_adam_exchange(const void *params G_GNUC_UNUSED)
{
  return CODEC_SCATTER;
}

static double onebit_adam_wire_B(const void *params G_GNUC_UNUSED, const CodecInput *input,
                                 guint round G_GNUC_UNUSED)
{
  return codec_packed_B(input->n_values, 1) + SCALE_B * (double)input->n_workers;
}

/* Round 1 sums and encodes the worker's own part: the signs of N workers are written out
 * and read, then encoded with their own feedback. */
static CodecWork onebit_adam_encode(const void *params, const CodecInput *input,
                                    guint round)
{
  const OnebitAdamParams *self = params;
  CodecInput part = *input;

  if (round == 0)
    return codec_passes(input, CODEC_FEEDBACK_PASSES + self->encode_passes);
  part.n_values /= input->n_workers;

  CodecWork work = codec_passes(&part, CODEC_FEEDBACK_PASSES + SIGN_PASSES);
  work.moved_B += onebit_adam_wire_B(params, input, 0);
  work.moved_B += 2 * input->n_values * input->element_B;
  work.n_kernels += 2;
  return work;
}

static CodecWork onebit_adam_decode(const void *params, const CodecInput *input)
{
  CodecWork work = codec_passes(input, 1);

  work.moved_B += onebit_adam_wire_B(params, input, 0);
  return work;
}

/* The worker's feedback for all values, the server's for its part. */
static double onebit_adam_state_B(const void *params G_GNUC_UNUSED, const CodecInput *input)
{
  return codec_feedback_B(input) * (1 + 1.0 / input->n_workers);
}

static double onebit_adam_warmup_share(const void *params)
{
  return ((const OnebitAdamParams *)params)->warmup_share;
}

const CodecOps codec_onebit_adam = {
  .info = {
    .name = "onebit_adam",
    .summary = "1-bit Adam and LAMB: signs of the momentum after a warm-up",
    .source = "Tang et al., ICML 2021; DeepSpeed 0.19.6 runtime/comm/nccl.py",
    .note = "BERT pre-training converges as with Adam at up to 5 times less volume, LAMB at "
            "up to 4.6 times less (DeepSpeed's documentation)",
    .params = onebit_adam_params,
    .params_size = sizeof(OnebitAdamParams),
  },
  .n_rounds = 2,
  .after_backward = true,
  .exchange = onebit_adam_exchange,
  .wire_B = onebit_adam_wire_B,
  .encode = onebit_adam_encode,
  .decode = onebit_adam_decode,
  .state_B = onebit_adam_state_B,
  .warmup_share = onebit_adam_warmup_share,
};
