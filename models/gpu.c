/**
 * @file gpu.c
 * @brief The keys of a GPU, and what its kernels reach.
 */
#include "models/cluster.h"

#include "sim/base/registry.h"

/* Clocks may pass the boost that a datasheet's peak stands for, but not by so much; and
 * nobody's kernels are so far below it. */
#define MOST_OF_PEAK 1.25
#define LEAST_OF_PEAK 0.01

/* By GpuArchitecture. */
static const char *const architecture_names[] = { "volta",  "turing",    "ampere", "ada",
                                                  "hopper", "blackwell", NULL };

const ParamSpec gpu_params[] = {
  { .key = "name",
    .type = PARAM_TEXT,
    .offset = offsetof(GpuSpec, name),
    .fallback = "own",
    .help = "what the models' published rates call it",
    .origin = "not in the catalogue" },
  { .key = "memory",
    .type = PARAM_BYTES,
    .offset = offsetof(GpuSpec, memory_B),
    .min = 0x1p20,
    .max = 0x1p50,
    .help = "device memory" },
  { .key = "memory_bandwidth",
    .type = PARAM_RATE,
    .offset = offsetof(GpuSpec, memory_Bps),
    .help = "peak rate of the device memory" },
  { .key = "fp32",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, fp32_flops),
    .min = 1,
    .max = 1e21,
    .help = "peak in fp32, multiply and add counted as two" },
  { .key = "tf32",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, tf32_flops),
    .fallback = "0",
    .help = "peak of the tensor cores in tf32, dense; 0: it has none",
    .origin = "none unless given" },
  { .key = "fp16",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, fp16_flops),
    .fallback = "0",
    .help = "peak of the tensor cores in fp16 with fp32 sums, dense; 0: it has none",
    .origin = "none unless given" },
  { .key = "bf16",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, bf16_flops),
    .fallback = "0",
    .help = "peak of the tensor cores in bf16, dense; 0: it has none",
    .origin = "none unless given" },
  { .key = "kernel_bandwidth",
    .type = PARAM_RATE,
    .offset = offsetof(GpuSpec, kernel_Bps),
    .fallback = "0",
    .max = 1e15,
    .help = "read and written by a kernel that copies, measured; 0: memory_bandwidth",
    .origin = "not measured" },
  { .key = "gemm_fp32",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, gemm_fp32_flops),
    .fallback = "0",
    .help = "large matrix products in fp32, measured; 0: a share of the peak",
    .origin = "not measured" },
  { .key = "gemm_tf32",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, gemm_tf32_flops),
    .fallback = "0",
    .help = "large matrix products in tf32, measured; 0: a share of the peak",
    .origin = "not measured" },
  { .key = "gemm_fp16",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, gemm_fp16_flops),
    .fallback = "0",
    .help = "large matrix products in fp16, measured; 0: a share of the peak",
    .origin = "not measured" },
  { .key = "gemm_bf16",
    .type = PARAM_FLOPS,
    .offset = offsetof(GpuSpec, gemm_bf16_flops),
    .fallback = "0",
    .help = "large matrix products in bf16, measured; 0: a share of the peak",
    .origin = "not measured" },
  { .key = "sms",
    .type = PARAM_COUNT,
    .offset = offsetof(GpuSpec, n_sms),
    .min = 1,
    .max = 4096,
    .help = "streaming multiprocessors" },
  { .key = "architecture",
    .type = PARAM_NAME,
    .offset = offsetof(GpuSpec, architecture),
    .names = architecture_names,
    .fallback = "ampere",
    .help = "generation: NCCL has tables for each, and NVSwitches add from hopper on",
    .origin = "assumed: not in the catalogue" },
  { .key = "source",
    .type = PARAM_TEXT,
    .offset = offsetof(GpuSpec, source),
    .fallback = "the scenario",
    .help = "where these figures come from",
    .origin = "not in the catalogue" },
  PARAM_END,
};

double gpu_memory_Bps(const GpuSpec *gpu)
{
  return gpu->kernel_Bps > 0 ? gpu->kernel_Bps : gpu->memory_Bps;
}

bool gpu_check(const GpuSpec *gpu, GError **error)
{
  const struct {
    const char *key, *peak_key;
    double measured, peak;
  } rows[] = {
    { "kernel_bandwidth", "memory_bandwidth", gpu->kernel_Bps, gpu->memory_Bps },
    { "gemm_fp32", "fp32", gpu->gemm_fp32_flops, gpu->fp32_flops },
    { "gemm_tf32", "tf32", gpu->gemm_tf32_flops, gpu->tf32_flops },
    { "gemm_fp16", "fp16", gpu->gemm_fp16_flops, gpu->fp16_flops },
    { "gemm_bf16", "bf16", gpu->gemm_bf16_flops, gpu->bf16_flops },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    if (rows[i].measured > MOST_OF_PEAK * rows[i].peak ||
        (rows[i].measured > 0 && rows[i].measured < LEAST_OF_PEAK * rows[i].peak)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "\"%s\" is %.3g times \"%s\" (%s): one of them is not this GPU's",
                  rows[i].key, rows[i].measured / rows[i].peak, rows[i].peak_key,
                  gpu->name);
      return false;
    }
  return true;
}
