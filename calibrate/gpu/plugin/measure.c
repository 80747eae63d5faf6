#include "calibrate/gpu/plugin/measure.h"

#include "calibrate/gpu/plugin/blas.h"

/* A timed region shorter than this is repeated inside the events [s]. */
#define REGION_S 200e-6
#define CALLS_MAX 1000
#define N_WARM_UP 3

/* Clocks have risen after so much work [s]. */
#define RAMP_S 0.3

static const Probe *const probe_table[GPU_PROBE_N] = {
  [GPU_LAUNCH_STREAM] = &probe_null_stream,
  [GPU_LAUNCH_SYNC] = &probe_null_sync,
  [GPU_LAUNCH_GRAPH] = &probe_null_graph,
  [GPU_D2D] = &probe_d2d,
  [GPU_H2D_PINNED] = &probe_h2d,
  [GPU_H2D_PAGEABLE] = &probe_h2d_pageable,
  [GPU_D2H_PINNED] = &probe_d2h,
  [GPU_D2H_PAGEABLE] = &probe_d2h_pageable,
  [GPU_PCIE_BOTH] = &probe_pcie_both,
  [GPU_H2D_DURING_D2D] = &probe_h2d_during_d2d,
  [GPU_COPY] = &probe_copy,
  [GPU_REDUCE] = &probe_reduce,
  [GPU_NARROW] = &probe_narrow,
  [GPU_WIDEN] = &probe_widen,
  [GPU_GEMM] = &probe_gemm,
  [GPU_ONEBIT_ENCODE] = &probe_onebit_encode,
  [GPU_ONEBIT_DECODE] = &probe_onebit_decode,
  [GPU_TOPK_THRESHOLD] = &probe_topk_threshold,
  [GPU_TOPK_RADIX] = &probe_topk_radix,
  [GPU_RANDOMK_ENCODE] = &probe_randomk_encode,
  [GPU_RANDOMK_DECODE] = &probe_randomk_decode,
  [GPU_GRAM_SCHMIDT] = &probe_gram_schmidt,
  [GPU_NCCL_LAUNCH] = &probe_nccl_launch,
  [GPU_NCCL_ONE_RANK] = &probe_nccl_avg,
  [GPU_NCCL_ONE_RANK_SUM] = &probe_nccl_sum,
  [GPU_PEER] = &probe_peer,
  [GPU_PEER_BOTH] = &probe_peer_both,
  [GPU_PEER_ALL] = &probe_peer_all,
};

uint32_t measure_blocks(const Device *device, const GpuWork *work)
{
  return work->ctas > 0 ? work->ctas : (uint32_t)device->n_sms * 8;
}

bool measure_launch(const Device *device, const KernelLaunch *launch, GpuFault *fault)
{
  return cuda_ok(kernels_launch(launch, device->stream), "kernel", fault);
}

SimtType measure_type(GpuType dtype)
{
  return dtype == GPU_FP16 ? SIMT_FP16 : dtype == GPU_BF16 ? SIMT_BF16 : SIMT_FP32;
}

bool measure_wait_all(GpuSession *session, GpuFault *fault)
{
  for (uint32_t i = 0; i < session->n_devices; i++)
    if (!CUDA_TRY(cudaSetDevice(session->device[i].number), fault) ||
        !CUDA_TRY(cudaDeviceSynchronize(), fault))
      return false;
  return CUDA_TRY(cudaSetDevice(session->device[0].number), fault);
}

MeasureWatch measure_watch(const GpuSession *session)
{
  MeasureWatch watch;

  for (uint32_t i = 0; i < session->n_devices; i++)
    nvml_state(session->nvml, session->device[i].bus, session->request.n_own,
               &watch.state[i]);
  return watch;
}

uint32_t measure_flags(const GpuSession *session, const MeasureWatch *before)
{
  const MeasureWatch after = measure_watch(session);
  uint32_t flags = 0;

  for (uint32_t i = 0; i < session->n_devices; i++) {
    const GpuState *a = &before->state[i], *b = &after.state[i];
    if (!a->known || !b->known)
      flags |= GPU_FLAG_CLOCKS_UNKNOWN;
    if ((a->throttled | b->throttled) != 0)
      flags |= GPU_FLAG_THROTTLED;
    if (a->n_other_processes + b->n_other_processes > 0)
      flags |= GPU_FLAG_BUSY;
  }
  return flags;
}

static bool flush_cache(const Device *device, GpuFault *fault)
{
  const KernelLaunch flush = { KERNEL_flush,
                               (uint32_t)device->n_sms * 8,
                               256,
                               { .flush = { device->flush, 2 * device->l2_B / 16, 1 } } };
  return measure_launch(device, &flush, fault);
}

/* @p n_runs on the compute stream, by the wall clock; [s]. */
static bool clock_runs(GpuSession *session, Device *device, const Probe *probe,
                       const GpuWork *work, uint32_t n_runs, double *time_s,
                       GpuFault *fault)
{
  if (!measure_wait_all(session, fault))
    return false;
  const double began_s = clock_s();
  for (uint32_t i = 0; i < n_runs; i++)
    if (!probe->run(session, device, work, fault))
      return false;
  if (!CUDA_TRY(cudaStreamSynchronize(device->stream), fault))
    return false;
  *time_s = clock_s() - began_s;
  return true;
}

/* The same between two events. */
static bool event_runs(GpuSession *session, Device *device, const Probe *probe,
                       const GpuWork *work, uint32_t n_runs, double *time_s,
                       GpuFault *fault)
{
  float ms = 0;

  if (!CUDA_TRY(cudaEventRecord(device->begin, device->stream), fault))
    return false;
  for (uint32_t i = 0; i < n_runs; i++)
    if (!probe->run(session, device, work, fault))
      return false;
  /* What still runs beside it must not reach into the next repetition. */
  if (!CUDA_TRY(cudaEventRecord(device->end, device->stream), fault) ||
      !CUDA_TRY(cudaStreamSynchronize(device->stream), fault) ||
      !CUDA_TRY(cudaStreamSynchronize(device->side), fault) ||
      !CUDA_TRY(cudaEventElapsedTime(&ms, device->begin, device->end), fault))
    return false;
  *time_s = ms * 1e-3;
  return true;
}

/* One call of @p n_runs, after a flush if the work wants one [s]. */
static bool time_runs(GpuSession *session, Device *device, const Probe *probe,
                      const GpuWork *work, uint32_t n_runs, double *time_s, GpuFault *fault)
{
  if (work->cold && !flush_cache(device, fault))
    return false;
  if (!(probe->is_clocked
          ? clock_runs(session, device, probe, work, n_runs, time_s, fault)
          : event_runs(session, device, probe, work, n_runs, time_s, fault)))
    return false;
  *time_s /= (double)n_runs * probe->n_calls;
  return true;
}

/* Products, or sums where there is no cuBLAS, until the clocks have risen. */
static bool ramp(GpuSession *session, Device *device, GpuFault *fault)
{
  const uint32_t edge = device->buffer_B >= 256ull << 20 ? 4096 : 512;
  const GpuWork product = {
    .probe = GPU_GEMM, .dtype = GPU_BF16, .m = edge, .n = edge, .k = edge
  };
  const GpuWork sum = { .probe = GPU_REDUCE, .size_B = device->buffer_B / 2 };
  GpuFault ignored;
  const bool multiplies = blas_prepare(session, device, &product, &ignored);
  const double began_s = clock_s();

  while (clock_s() - began_s < RAMP_S) {
    if (!(multiplies ? blas_multiply(session, device, &product, fault)
                     : probe_reduce.run(session, device, &sum, fault)) ||
        !CUDA_TRY(cudaStreamSynchronize(device->stream), fault))
      return false;
  }
  return CUDA_TRY(cudaMemset(device->x, 0, device->buffer_B), fault) &&
         CUDA_TRY(cudaMemset(device->y, 0, device->buffer_B), fault);
}

static uint32_t runs_in_region(const GpuWork *work, const Probe *probe, double call_s)
{
  const double wanted = REGION_S / MAX(call_s * probe->n_calls, 1e-8);

  if (work->cold || probe->is_clocked || wanted < 1)
    return 1;
  return wanted > CALLS_MAX ? CALLS_MAX : (uint32_t)wanted + 1;
}

static bool repeat(GpuSession *session, Device *device, const GpuWork *work, double *time_s,
                   uint32_t n, GpuFault *fault)
{
  const Probe *probe = probe_table[work->probe];
  double first_s = 0;

  if (probe->prepare != NULL && !probe->prepare(session, device, work, fault))
    return false;
  for (guint i = 0; i < N_WARM_UP; i++)
    if (!time_runs(session, device, probe, work, 1, &first_s, fault))
      return false;
  const uint32_t n_runs = runs_in_region(work, probe, first_s);
  for (uint32_t i = 0; i < n; i++)
    if (!time_runs(session, device, probe, work, n_runs, &time_s[i], fault))
      return false;
  return true;
}

bool measure_work(GpuSession *session, const GpuWork *work, double *time_s, uint32_t n,
                  uint32_t *flags, GpuFault *fault)
{
  Device *device = session_device(session, 0, fault);

  if (device == NULL)
    return false;
  if (work->size_B > device->buffer_B)
    return fault_set(fault, GPU_FAULT_FAILED, "more than the buffers hold");
  if (!session->has_ramped && !ramp(session, device, fault))
    return false;
  session->has_ramped = true;
  const MeasureWatch watch = measure_watch(session);
  const bool ok = work->probe < GPU_PROBE_N && probe_table[work->probe] != NULL
                    ? repeat(session, device, work, time_s, n, fault)
                    : contention_measure(session, device, work, time_s, n, fault);
  *flags |= measure_flags(session, &watch);
  return ok;
}
