/* Sums, casts, codecs, products, and NCCL with one rank. */
#include "calibrate/gpu/plugin/blas.h"
#include "calibrate/gpu/plugin/measure.h"
#include "calibrate/gpu/plugin/nccl.h"

#include <math.h>
#include <stddef.h>

#define N_THREADS 256
#define ONEBIT_CHUNK_LOG2 10 /* ONEBIT_PER_THREAD x N_THREADS values share a scale */
#define SEED 1

/* DGC samples 0.1 to 1 % of a gradient; a fixed number keeps the estimate's error, one over
 * the root of what lies above the threshold, where the kernel can sort it in one CTA. */
#define N_SAMPLE TOPK_SAMPLE_MAX

/* Few CTAs are as large as those of NCCL's kernels. */
static bool start(const Device *device, const GpuWork *work, KernelId kernel,
                  KernelArgs args, GpuFault *fault)
{
  const KernelLaunch launch = { kernel, measure_blocks(device, work),
                                work->ctas > 0 ? MEASURE_NCCL_THREADS : N_THREADS, args };
  return measure_launch(device, &launch, fault);
}

static uint64_t n_values(const GpuWork *work)
{
  return work->size_B / 4;
}

static uint32_t n_kept(const GpuWork *work)
{
  return (uint32_t)MAX(1.0, round((double)n_values(work) * work->share));
}

static bool x_is_zero(GpuSession *session G_GNUC_UNUSED, Device *device,
                      const GpuWork *work, GpuFault *fault)
{
  return CUDA_TRY(cudaMemsetAsync(device->x, 0, work->size_B, device->stream), fault);
}

/* x becomes random values of the type, of half the bytes where it has 16 bits. */
static bool x_is_narrow(GpuSession *session G_GNUC_UNUSED, Device *device,
                        const GpuWork *work, GpuFault *fault)
{
  return start(device, work, KERNEL_narrow,
               (KernelArgs){ .narrow = { device->values, device->x, n_values(work),
                                         measure_type(work->dtype) } },
               fault);
}

static bool copy_run(GpuSession *session G_GNUC_UNUSED, Device *device, const GpuWork *work,
                     GpuFault *fault)
{
  return start(device, work, KERNEL_copy,
               (KernelArgs){ .copy = { (const SimtWord4 *)device->values, device->x,
                                       work->size_B / 16 } },
               fault);
}

/* x += y: zeros stay zeros however often it is repeated, and no type overflows. */
static bool reduce_prepare(GpuSession *session, Device *device, const GpuWork *work,
                           GpuFault *fault)
{
  return x_is_zero(session, device, work, fault) &&
         CUDA_TRY(cudaMemsetAsync(device->y, 0, work->size_B, device->stream), fault);
}

static bool reduce_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                       const GpuWork *work, GpuFault *fault)
{
  const SimtType type = measure_type(work->dtype);
  const uint64_t n = work->size_B / (type == SIMT_FP32 ? 4 : 2);

  return start(device, work, KERNEL_reduce,
               (KernelArgs){ .reduce = { device->x, device->y, n, type } }, fault);
}

static bool narrow_run(GpuSession *session, Device *device, const GpuWork *work,
                       GpuFault *fault)
{
  return x_is_narrow(session, device, work, fault);
}

static bool widen_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                      const GpuWork *work, GpuFault *fault)
{
  return start(device, work, KERNEL_widen,
               (KernelArgs){ .widen = { device->x, device->y, n_values(work),
                                        measure_type(work->dtype) } },
               fault);
}

const Probe probe_copy = { .n_calls = 1, .run = copy_run };
const Probe probe_reduce = { .n_calls = 1, .prepare = reduce_prepare, .run = reduce_run };
const Probe probe_narrow = { .n_calls = 1, .run = narrow_run };
const Probe probe_widen = { .n_calls = 1, .prepare = x_is_narrow, .run = widen_run };
const Probe probe_gemm = { .n_calls = 1, .prepare = blas_prepare, .run = blas_multiply };

/* Signs at the head of y, scales behind them. */
static float *onebit_scales(const Device *device, const GpuWork *work)
{
  return (float *)device->y + (n_values(work) / 32 + 4) / 4 * 4;
}

static bool onebit_encode_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                              const GpuWork *work, GpuFault *fault)
{
  return start(
    device, work, KERNEL_onebit_encode,
    (KernelArgs){ .onebit_encode = { device->values, device->x, device->y,
                                     onebit_scales(device, work), n_values(work) } },
    fault);
}

static bool onebit_decode_prepare(GpuSession *session, Device *device, const GpuWork *work,
                                  GpuFault *fault)
{
  return x_is_zero(session, device, work, fault) &&
         onebit_encode_run(session, device, work, fault) &&
         x_is_zero(session, device, work, fault);
}

static bool onebit_decode_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                              const GpuWork *work, GpuFault *fault)
{
  return start(
    device, work, KERNEL_onebit_decode,
    (KernelArgs){ .onebit_decode = { device->y, onebit_scales(device, work), device->x,
                                     n_values(work), ONEBIT_CHUNK_LOG2 } },
    fault);
}

const Probe probe_onebit_encode = { .n_calls = 1,
                                    .prepare = x_is_zero,
                                    .run = onebit_encode_run };
const Probe probe_onebit_decode = { .n_calls = 1,
                                    .prepare = onebit_decode_prepare,
                                    .run = onebit_decode_run };

/* The selection's counters start at 0; what a threshold from a sample finds beyond the room
 * for it is dropped. */
static bool select_run(Device *device, const GpuWork *work, uint32_t n_max, GpuFault *fault)
{
  float *value = device->y;
  uint32_t *index = (uint32_t *)value + n_max;

  return start(
    device, work, KERNEL_topk_select,
    (KernelArgs){ .topk_select = { device->values, n_values(work), &device->scratch->topk,
                                   n_max, value, index } },
    fault);
}

static bool topk_begin(Device *device, GpuFault *fault)
{
  return CUDA_TRY(
    cudaMemsetAsync(device->scratch, 0, offsetof(GpuScratch, n_moved), device->stream),
    fault);
}

static bool topk_threshold_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                               const GpuWork *work, GpuFault *fault)
{
  const uint32_t n_sample = (uint32_t)MIN(n_values(work), N_SAMPLE);
  const uint32_t rank = (uint32_t)MAX(1.0, round(n_sample * work->share));
  const KernelLaunch sample = { KERNEL_topk_sample,
                                1,
                                1024,
                                { .topk_sample = { device->values, n_values(work), n_sample,
                                                   rank, &device->scratch->topk } } };
  const uint64_t n_max = MIN(2ull * n_kept(work), work->size_B / 8);

  return topk_begin(device, fault) && measure_launch(device, &sample, fault) &&
         select_run(device, work, (uint32_t)MAX(n_max, 1), fault);
}

/* n_left is set by a copy of four bytes, as a real encoder's k would be. */
static bool topk_radix_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                           const GpuWork *work, GpuFault *fault)
{
  const TopkState begin = { .n_left = n_kept(work) };
  GpuScratch *scratch = device->scratch;

  if (!topk_begin(device, fault) ||
      !CUDA_TRY(cudaMemcpyAsync(&scratch->topk, &begin, sizeof begin,
                                cudaMemcpyHostToDevice, device->stream),
                fault))
    return false;
  for (uint32_t digit = 0; digit < TOPK_DIGITS; digit++) {
    const KernelLaunch pick = { KERNEL_topk_pick,
                                1,
                                N_THREADS,
                                { .topk_pick = { &scratch->topk, scratch->histogram,
                                                 digit } } };
    if (!start(
          device, work, KERNEL_topk_histogram,
          (KernelArgs){ .topk_histogram = { device->values, n_values(work), &scratch->topk,
                                            scratch->histogram, digit } },
          fault) ||
        !measure_launch(device, &pick, fault))
      return false;
  }
  return select_run(device, work, n_kept(work), fault);
}

const Probe probe_topk_threshold = { .n_calls = 1, .run = topk_threshold_run };
const Probe probe_topk_radix = { .n_calls = 1, .run = topk_radix_run };

static bool randomk_encode_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                               const GpuWork *work, GpuFault *fault)
{
  return start(device, work, KERNEL_randomk_encode,
               (KernelArgs){ .randomk_encode = { device->x, device->y, n_values(work),
                                                 n_kept(work), SEED } },
               fault);
}

static bool randomk_decode_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                               const GpuWork *work, GpuFault *fault)
{
  return start(device, work, KERNEL_randomk_decode,
               (KernelArgs){ .randomk_decode = { device->values, device->x, n_values(work),
                                                 n_kept(work), SEED } },
               fault);
}

const Probe probe_randomk_encode = { .n_calls = 1,
                                     .prepare = x_is_zero,
                                     .run = randomk_encode_run };
const Probe probe_randomk_decode = { .n_calls = 1,
                                     .prepare = x_is_zero,
                                     .run = randomk_decode_run };

static bool gram_schmidt_prepare(GpuSession *session G_GNUC_UNUSED, Device *device,
                                 const GpuWork *work, GpuFault *fault)
{
  const uint64_t size_B = 4ull * work->m * work->n;

  return size_B <= device->buffer_B
           ? CUDA_TRY(cudaMemcpyAsync(device->x, device->values, size_B,
                                      cudaMemcpyDeviceToDevice, device->stream),
                      fault)
           : fault_set(fault, GPU_FAULT_FAILED, "the matrix does not fit the buffers");
}

/* Orthogonal columns stay so: repetitions do the same work. */
static bool gram_schmidt_run(GpuSession *session G_GNUC_UNUSED, Device *device,
                             const GpuWork *work, GpuFault *fault)
{
  const KernelLaunch launch = {
    KERNEL_gram_schmidt, 1, 1024, { .gram_schmidt = { device->x, work->m, work->n } }
  };
  return measure_launch(device, &launch, fault);
}

const Probe probe_gram_schmidt = { .n_calls = 1,
                                   .prepare = gram_schmidt_prepare,
                                   .run = gram_schmidt_run };

static bool one_rank_prepare(GpuSession *session, Device *device G_GNUC_UNUSED,
                             const GpuWork *work G_GNUC_UNUSED, GpuFault *fault)
{
  return nccl_open_alone(session, fault);
}

static bool nccl_launch_run(GpuSession *session, Device *device G_GNUC_UNUSED,
                            const GpuWork *work, GpuFault *fault)
{
  return nccl_group_of_one(session, work->n, fault);
}

static bool nccl_avg_run(GpuSession *session, Device *device, const GpuWork *work,
                         GpuFault *fault)
{
  return nccl_one_rank(session, device->x, work->size_B, true, device->stream, fault);
}

static bool nccl_sum_run(GpuSession *session, Device *device, const GpuWork *work,
                         GpuFault *fault)
{
  return nccl_one_rank(session, device->x, work->size_B, false, device->stream, fault);
}

const Probe probe_nccl_launch = {
  .is_clocked = true, .n_calls = 1, .prepare = one_rank_prepare, .run = nccl_launch_run
};
const Probe probe_nccl_avg = { .n_calls = 1,
                               .prepare = one_rank_prepare,
                               .run = nccl_avg_run };
const Probe probe_nccl_sum = { .n_calls = 1,
                               .prepare = one_rank_prepare,
                               .run = nccl_sum_run };
