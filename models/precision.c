/**
 * @file precision.c
 * @brief Bytes and peaks of each precision and optimiser.
 */
#include "models/precision.h"

const char *const precision_names[] = { "fp32", "tf32", "amp", "fp16", "bf16", NULL };
const char *const optimizer_names[] = { "sgd", "momentum", "adam", NULL };

/*
 * peak_share was fitted, together with moving every activation at the full memory
 * bandwidth, to the one-GPU rates in models/catalogue/model (NVIDIA DeepLearningExamples,
 * ResNet-50 and BERT-large on V100 and A100): median error 9 % for fp32, 18 % for amp.
 * 40 % is also what Llama 3 training reports on H100 (38-43 %, arXiv:2407.21783, table 4).
 *
 * Mixed precision keeps fp32 weights and, through a step, a cached fp16 copy of them
 * (PyTorch autocast). The pure 16-bit rows are the 2 + 2 + 12 bytes of ZeRO,
 * arXiv:1910.02054, section 3.1.
 */

/*
 * What large products reach of the peak on the GPUs that peak_share comes from, so that a
 * GPU that measures less is slower than those. Assumed for every precision: more than the
 * 66 % on V100 with CUDA 9 (S. Markidis et al., arXiv:1803.04014), as cuBLAS has improved.
 */
#define GEMM_SHARE 0.75

static const PrecisionTraits traits[PRECISION_N] = {
  [PRECISION_FP32] = { .activation_B = 4,
                       .weights_B = 4,
                       .gradient_B = 4,
                       .master_B = 0,
                       .peak_share = 0.75 },
  [PRECISION_TF32] = { .activation_B = 4,
                       .weights_B = 4,
                       .gradient_B = 4,
                       .master_B = 0,
                       .peak_share = 0.40 },
  [PRECISION_AMP] = { .activation_B = 2,
                      .weights_B = 6,
                      .gradient_B = 4,
                      .master_B = 0,
                      .peak_share = 0.40 },
  [PRECISION_FP16] = { .activation_B = 2,
                       .weights_B = 2,
                       .gradient_B = 2,
                       .master_B = 4,
                       .peak_share = 0.40 },
  [PRECISION_BF16] = { .activation_B = 2,
                       .weights_B = 2,
                       .gradient_B = 2,
                       .master_B = 4,
                       .peak_share = 0.40 },
};

const PrecisionTraits *precision_traits(Precision precision)
{
  g_return_val_if_fail(precision < PRECISION_N, NULL);
  return &traits[precision];
}

double precision_peak_flops(Precision precision, const GpuSpec *gpu)
{
  const double peaks[PRECISION_N] = {
    [PRECISION_FP32] = gpu->fp32_flops, [PRECISION_TF32] = gpu->tf32_flops,
    [PRECISION_AMP] = gpu->fp16_flops,  [PRECISION_FP16] = gpu->fp16_flops,
    [PRECISION_BF16] = gpu->bf16_flops,
  };

  g_return_val_if_fail(precision < PRECISION_N, 0);
  return peaks[precision];
}

static double gemm_flops(Precision precision, const GpuSpec *gpu)
{
  const double reached[PRECISION_N] = {
    [PRECISION_FP32] = gpu->gemm_fp32_flops, [PRECISION_TF32] = gpu->gemm_tf32_flops,
    [PRECISION_AMP] = gpu->gemm_fp16_flops,  [PRECISION_FP16] = gpu->gemm_fp16_flops,
    [PRECISION_BF16] = gpu->gemm_bf16_flops,
  };

  g_return_val_if_fail(precision < PRECISION_N, 0);
  return reached[precision];
}

bool precision_is_measured(Precision precision, const GpuSpec *gpu)
{
  return gemm_flops(precision, gpu) > 0;
}

double precision_kernel_flops(Precision precision, const GpuSpec *gpu)
{
  const double share = precision_traits(precision)->peak_share;

  return precision_is_measured(precision, gpu)
           ? share / GEMM_SHARE * gemm_flops(precision, gpu)
           : share * precision_peak_flops(precision, gpu);
}

char *precision_list(const GpuSpec *gpu)
{
  GString *list = g_string_new(NULL);

  for (guint p = 0; p < PRECISION_N; p++)
    if (precision_peak_flops(p, gpu) > 0)
      g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : "", precision_names[p]);
  return g_string_free(list, FALSE);
}

double optimizer_state_B(Optimizer optimizer)
{
  static const double state_B[OPTIMIZER_N] = {
    [OPTIMIZER_SGD] = 0, [OPTIMIZER_MOMENTUM] = 4, [OPTIMIZER_ADAM] = 8
  };

  g_return_val_if_fail(optimizer < OPTIMIZER_N, 0);
  return state_B[optimizer];
}

/* Each step reads the weight and the gradient and writes the weight (3 x 4 B); every fp32
 * state is read and written besides. With 16-bit gradients the 2 B saved there go into
 * writing the 16-bit copy of the weights. */
double optimizer_moved_B(Optimizer optimizer)
{
  return 12 + 2 * optimizer_state_B(optimizer);
}
