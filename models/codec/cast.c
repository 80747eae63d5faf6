/**
 * @file cast.c
 * @brief Half precision on the wire: fp16 and bf16.
 *
 *     message = 2 B per value
 *
 * One kernel reads each value and writes its half, another undoes it: 6 B of memory per
 * fp32 value each way. Sums of halves are halves: an all-reduce adds them. Gradients that
 * are halves already are left alone.
 *
 * Source: horovod 0.28.1 torch/compression.py; pytorch
 * torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py.
 */
#include "models/codec.h"

#define HALF_B 2

static bool cast_encodes(const void *params G_GNUC_UNUSED, const CodecInput *input)
{
  return input->element_B > HALF_B;
}

static CodecExchange cast_exchange(const void *params G_GNUC_UNUSED)
{
  return CODEC_SUM;
}

static double cast_wire_B(const void *params G_GNUC_UNUSED, const CodecInput *input,
                          guint round G_GNUC_UNUSED)
{
  return input->n_values * HALF_B;
}

static CodecWork cast_decode(const void *params G_GNUC_UNUSED, const CodecInput *input)
{
  return (CodecWork){ .moved_B = input->n_values * (input->element_B + HALF_B),
                      .n_kernels = 1 };
}

static CodecWork cast_encode(const void *params, const CodecInput *input,
                             guint round G_GNUC_UNUSED)
{
  return cast_decode(params, input);
}

const CodecOps codec_fp16 = {
  .info = {
    .name = "fp16",
    .summary = "gradients cast to 16-bit floats, summed as such",
    .source = "horovod 0.28.1 torch/compression.py; pytorch default_hooks.py",
    .note = "training in fp16 reaches fp32 accuracy with loss scaling; without, small "
            "gradients vanish (Micikevicius et al., Mixed Precision Training, ICLR 2018)",
  },
  .n_rounds = 1,
  .encodes = cast_encodes,
  .exchange = cast_exchange,
  .wire_B = cast_wire_B,
  .encode = cast_encode,
  .decode = cast_decode,
};

const CodecOps codec_bf16 = {
  .info = {
    .name = "bf16",
    .summary = "gradients cast to bfloat16, summed as such",
    .source = "pytorch default_hooks.py, bf16_compress_hook",
    .note = "bfloat16 matches fp32 accuracy without loss scaling (Kalamkar et al., A Study "
            "of BFLOAT16 for Deep Learning Training, arXiv 1905.12322)",
  },
  .n_rounds = 1,
  .encodes = cast_encodes,
  .exchange = cast_exchange,
  .wire_B = cast_wire_B,
  .encode = cast_encode,
  .decode = cast_decode,
};
