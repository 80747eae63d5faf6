/**
 * @file powersgd.c
 * @brief PowerSGD: a matrix of n x m as the product of two narrow ones.
 *
 *     round 0: all-reduce of P = M Q, n r values
 *     round 1: orthogonalise P, all-reduce of Q = M' P, m r values
 *     then M = P Q'
 *
 * A tensor is the matrix of its first dimension by all others. It is left as it is, and
 * joins an all-reduce before the rounds, unless (n + m) r rate < n m. A tensor whose shape
 * nobody states is taken for a square matrix, its best case: assumed.
 *
 * Memory is passed over three times to multiply by M twice and to write the product, each
 * with 2 d r operations, and by error feedback. The small kernels of orthogonalisation
 * dominate many small matrices: 10 to 20 per matrix in all, spread over the three steps.
 *
 * Source: T. Vogels et al., NeurIPS 2019; pytorch
 * torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py.
 */
#include "models/codec.h"

#include <math.h>

/* Before round 0, before round 1, at the end. */
#define N_STEPS 3

typedef struct {
  guint rank;
  double min_compression_rate;
  bool error_feedback;
  double kernels_per_matrix;
  double warmup_share;
} PowersgdParams;

// clang-format off
static const ParamSpec powersgd_params[] = {
  { .key = "rank", .type = PARAM_COUNT, .offset = offsetof(PowersgdParams, rank),
    .fallback = "1", .min = 1, .max = 65536, .help = "columns of the narrow matrices",
    .origin = "pytorch powerSGD_hook.py, matrix_approximation_rank" },
  { .key = "min_compression_rate", .type = PARAM_NUMBER,
    .offset = offsetof(PowersgdParams, min_compression_rate), .fallback = "2",
    .min = 0, .max = 1e6, .help = "tensors that would shrink less are left as they are",
    .origin = "pytorch powerSGD_hook.py" },
  CODEC_FEEDBACK_ROW(PowersgdParams, "true", "pytorch powerSGD_hook.py, use_error_feedback"),
  { .key = "kernels_per_matrix", .type = PARAM_NUMBER,
    .offset = offsetof(PowersgdParams, kernels_per_matrix), .fallback = "15",
    .min = 0, .max = 1e6, .help = "kernels launched one after another for each matrix",
    .origin = "assumed: 10 to 20" },
  CODEC_WARMUP_ROW(PowersgdParams, "0 %", "pytorch: 10 iterations, start_powerSGD_iter"),
  PARAM_END,
};
// clang-format on

static double n_rows(const CodecInput *input)
{
  return input->n_rows > 0 ? input->n_rows : sqrt(input->n_values);
}

static double n_columns(const CodecInput *input)
{
  return input->n_values / n_rows(input);
}

static bool powersgd_encodes(const void *params, const CodecInput *input)
{
  const PowersgdParams *self = params;
  const bool is_vector = input->n_rows >= input->n_values;

  return !is_vector &&
         (n_rows(input) + n_columns(input)) * self->rank * self->min_compression_rate <
           input->n_values;
}

static CodecExchange powersgd_exchange(const void *params G_GNUC_UNUSED)
{
  return CODEC_SUM;
}

static double powersgd_wire_B(const void *params, const CodecInput *input, guint round)
{
  const PowersgdParams *self = params;
  const double side = round == 0 ? n_rows(input) : n_columns(input);
  return input->element_B * self->rank * side;
}

/* A product that reads or writes all of M once. */
static CodecWork product(const PowersgdParams *self, const CodecInput *input)
{
  return (CodecWork){ .moved_B = input->n_values * input->element_B,
                      .flops = 2 * input->n_values * self->rank,
                      .n_kernels = self->kernels_per_matrix / N_STEPS };
}

static CodecWork powersgd_encode(const void *params, const CodecInput *input, guint round)
{
  const PowersgdParams *self = params;
  CodecWork work = product(self, input);

  if (round == 0 && self->error_feedback)
    codec_work_add(&work, codec_passes(input, CODEC_FEEDBACK_PASSES));
  return work;
}

static CodecWork powersgd_decode(const void *params, const CodecInput *input)
{
  return product(params, input);
}

static double powersgd_state_B(const void *params, const CodecInput *input)
{
  const PowersgdParams *self = params;
  const double factors_B =
    input->element_B * self->rank * (n_rows(input) + n_columns(input));
  return factors_B + (self->error_feedback ? codec_feedback_B(input) : 0);
}

static double powersgd_warmup_share(const void *params)
{
  return ((const PowersgdParams *)params)->warmup_share;
}

const CodecOps codec_powersgd = {
  .info = {
    .name = "powersgd",
    .summary = "each matrix as the product of two narrow ones",
    .source = "Vogels et al., NeurIPS 2019; pytorch powerSGD_hook.py",
    .note = "ResNet-18 on CIFAR-10: 93.6, 94.4, 94.5 % with rank 1, 2, 4 for 94.3 % (Vogels "
            "et al., NeurIPS 2019; recalled, not checked against its tables)",
    .params = powersgd_params,
    .params_size = sizeof(PowersgdParams),
  },
  .n_rounds = 2,
  .by_tensor = true,
  .encodes = powersgd_encodes,
  .exchange = powersgd_exchange,
  .wire_B = powersgd_wire_B,
  .encode = powersgd_encode,
  .decode = powersgd_decode,
  .state_B = powersgd_state_B,
  .warmup_share = powersgd_warmup_share,
};
