/* Compute beside communication, and communication beside compute.
 *
 * The law to be fitted (assumed): compute slows by 1 / (1 - C s / SMs), for C CTAs that
 * each take a share s of an SM, times 1 / (1 - m B_comm / B_hbm), for the memory's
 * bandwidth. */
#include "calibrate/gpu/plugin/blas.h"
#include "calibrate/gpu/plugin/measure.h"
#include "calibrate/gpu/plugin/nccl.h"

#define MEASURE_NCCL_THREADS 512 /* of NCCL's kernels: enqueue.cc, oneRankReduce */
#define CHUNK_PIECES 4096u       /* of 16 B: 64 KiB between two looks at the clock */
#define PACED_MAX_B (256ull << 20)
#define COMM_ALONE_S 100e-6         /* until it surely runs */
#define COMM_LIMIT_NS 2000000000ull /* a paced kernel ends after 2 s, whatever happens */
#define COMM_TIMED_NS 5000000ull
#define BESIDE_B (64ull << 20) /* one all-reduce or copy beside the compute */
#define ATTEMPTS 12

static cudaStream_t comm_stream(const Device *device, const GpuWork *work)
{
  return work->high_priority ? device->side_urgent : device->side;
}

/* The upper halves of the buffers: the products use the lower ones. */
static KernelLaunch paced_launch(const GpuSession *session, const Device *device,
                                 const GpuWork *work, uint64_t limit_ns)
{
  const uint64_t size_B = MIN(device->buffer_B / 4, PACED_MAX_B);
  const uint64_t upper = device->buffer_B / 2 / 16;
  const double chunk_B = 16.0 * CHUNK_PIECES;
  KernelLaunch launch = {
    KERNEL_paced, MAX(work->ctas, 1), MEASURE_NCCL_THREADS, { { 0 } }
  };

  launch.args.paced = (PacedArgs){
    .from = (const SimtWord4 *)device->values + upper,
    .to = (SimtWord4 *)device->y + upper,
    .n = size_B / 16,
    .chunk = CHUNK_PIECES,
    .interval_ns =
      work->pace_Bps > 0 ? (uint64_t)(chunk_B * launch.n_blocks / work->pace_Bps * 1e9) : 0,
    .limit_ns = limit_ns,
    .stop = session->stop,
    .n_moved = device->scratch->n_moved,
  };
  return launch;
}

static bool prepare_stop(GpuSession *session, GpuFault *fault)
{
  if (session->stop == NULL &&
      !CUDA_TRY(
        cudaHostAlloc((void **)&session->stop, sizeof *session->stop, cudaHostAllocMapped),
        fault))
    return false;
  *(volatile uint32_t *)session->stop = 0;
  return true;
}

/* @p n_calls of what is not persistent. */
static bool comm_enqueue(GpuSession *session, Device *device, const GpuWork *work,
                         uint32_t n_calls, GpuFault *fault)
{
  const uint64_t size_B = MIN(device->buffer_B / 4, BESIDE_B);
  char *to = (char *)device->y + device->buffer_B / 2;

  for (uint32_t i = 0; i < n_calls; i++) {
    if (work->comm == GPU_COMM_NCCL_AVG
          ? !nccl_one_rank(session, to, size_B, true, comm_stream(device, work), fault)
          : !CUDA_TRY(cudaMemcpyAsync(to, session->pinned, size_B, cudaMemcpyHostToDevice,
                                      comm_stream(device, work)),
                      fault))
      return false;
  }
  return true;
}

static bool comm_begin(GpuSession *session, Device *device, const GpuWork *work,
                       uint32_t n_calls, GpuFault *fault)
{
  if (work->comm == GPU_COMM_NONE)
    return true;
  if (work->comm == GPU_COMM_PACED) {
    const KernelLaunch launch = paced_launch(session, device, work, COMM_LIMIT_NS);
    if (!cuda_ok(kernels_launch(&launch, comm_stream(device, work)), "paced copy", fault))
      return false;
  } else if (!comm_enqueue(session, device, work, n_calls, fault)) {
    return false;
  }
  for (const double began_s = clock_s(); clock_s() - began_s < COMM_ALONE_S;)
    continue;
  return true;
}

/* Ends it; @p outlasted: did it run as long as the compute? */
static bool comm_end(GpuSession *session, Device *device, const GpuWork *work,
                     bool *outlasted, GpuFault *fault)
{
  *outlasted = work->comm == GPU_COMM_NONE ||
               cudaStreamQuery(comm_stream(device, work)) == cudaErrorNotReady;
  cudaGetLastError(); /* "not ready" is no error of the next call */
  *(volatile uint32_t *)session->stop = 1;
  if (!CUDA_TRY(cudaStreamSynchronize(comm_stream(device, work)), fault))
    return false;
  *(volatile uint32_t *)session->stop = 0;
  return true;
}

static bool compute(GpuSession *session, Device *device, const GpuWork *work,
                    GpuFault *fault)
{
  return work->probe == GPU_COPY_AND_COMM ? probe_copy.run(session, device, work, fault)
                                          : blas_multiply(session, device, work, fault);
}

static bool time_compute(GpuSession *session, Device *device, const GpuWork *work,
                         uint32_t *n_calls, double *time_s, GpuFault *fault)
{
  bool outlasted = false;
  float ms = 0;

  for (guint attempt = 0; !outlasted; attempt++) {
    if (attempt == ATTEMPTS)
      return fault_set(fault, GPU_FAULT_FAILED,
                       "the communication ended before the compute beside it");
    if (!comm_begin(session, device, work, *n_calls, fault) ||
        !CUDA_TRY(cudaEventRecord(device->begin, device->stream), fault) ||
        !compute(session, device, work, fault) ||
        !CUDA_TRY(cudaEventRecord(device->end, device->stream), fault) ||
        !CUDA_TRY(cudaStreamSynchronize(device->stream), fault) ||
        !comm_end(session, device, work, &outlasted, fault))
      return false;
    if (!outlasted)
      *n_calls *= 2;
  }
  if (!CUDA_TRY(cudaEventElapsedTime(&ms, device->begin, device->end), fault))
    return false;
  *time_s = ms * 1e-3;
  return true;
}

/* A MiB of the paced copy, while products fill the compute stream from before its start
 * until after its end. work->m == 0: nothing beside it. */
static bool time_comm(GpuSession *session, Device *device, const GpuWork *work,
                      uint32_t *n_products, double *time_s, GpuFault *fault)
{
  const KernelLaunch launch = paced_launch(session, device, work, COMM_TIMED_NS);
  uint64_t n_moved[G_N_ELEMENTS(device->scratch->n_moved)] = { 0 }, moved = 0;
  bool outlasted = work->m == 0;
  float ms = 0;

  for (guint attempt = 0; attempt == 0 || !outlasted; attempt++) {
    if (attempt == ATTEMPTS)
      return fault_set(fault, GPU_FAULT_FAILED,
                       "the compute ended before the copy beside it");
    for (uint32_t i = 0; work->m > 0 && i < *n_products; i++)
      if (!blas_multiply(session, device, work, fault))
        return false;
    if (!CUDA_TRY(cudaEventRecord(device->side_begin, comm_stream(device, work)), fault) ||
        !cuda_ok(kernels_launch(&launch, comm_stream(device, work)), "paced copy", fault) ||
        !CUDA_TRY(cudaEventRecord(device->side_end, comm_stream(device, work)), fault) ||
        !CUDA_TRY(cudaStreamSynchronize(comm_stream(device, work)), fault))
      return false;
    outlasted |= cudaStreamQuery(device->stream) == cudaErrorNotReady;
    cudaGetLastError();
    if (!CUDA_TRY(cudaStreamSynchronize(device->stream), fault))
      return false;
    if (!outlasted)
      *n_products *= 2;
  }
  if (!CUDA_TRY(cudaEventElapsedTime(&ms, device->side_begin, device->side_end), fault) ||
      !CUDA_TRY(cudaMemcpy(n_moved, device->scratch->n_moved,
                           launch.n_blocks * sizeof n_moved[0], cudaMemcpyDeviceToHost),
                fault))
    return false;
  for (uint32_t i = 0; i < launch.n_blocks; i++)
    moved += n_moved[i];
  if (moved == 0)
    return fault_set(fault, GPU_FAULT_FAILED, "the paced copy copied nothing");
  *time_s = ms * 1e-3 * (1 << 20) / (16.0 * (double)moved);
  return true;
}

static bool prepare(GpuSession *session, Device *device, const GpuWork *work,
                    GpuFault *fault)
{
  if (work->ctas > G_N_ELEMENTS(device->scratch->n_moved))
    return fault_set(fault, GPU_FAULT_FAILED, "too many CTAs");
  if (work->comm == GPU_COMM_NCCL_AVG && !nccl_open_alone(session, fault))
    return false;
  if (work->comm == GPU_COMM_H2D && !session_host_buffers(session, 1, fault))
    return false;
  /* The compute runs once: a kernel that is loaded when first wanted would wait for the end
   * of the one beside it. */
  const bool computes = work->probe == GPU_COPY_AND_COMM || work->m > 0;
  return prepare_stop(session, fault) &&
         (work->m == 0 || blas_prepare(session, device, work, fault)) &&
         (!computes || compute(session, device, work, fault)) &&
         CUDA_TRY(cudaDeviceSynchronize(), fault);
}

bool contention_measure(GpuSession *session, Device *device, const GpuWork *work,
                        double *time_s, uint32_t n, GpuFault *fault)
{
  uint32_t n_beside = 1;
  double warm_up_s = 0;

  if (!prepare(session, device, work, fault))
    return false;
  bool (*const time)(GpuSession *, Device *, const GpuWork *, uint32_t *, double *,
                     GpuFault *) =
    work->probe == GPU_COMM_AND_GEMM ? time_comm : time_compute;
  for (guint i = 0; i < 3; i++)
    if (!time(session, device, work, &n_beside, &warm_up_s, fault))
      return false;
  for (uint32_t i = 0; i < n; i++)
    if (!time(session, device, work, &n_beside, &time_s[i], fault))
      return false;
  return true;
}
