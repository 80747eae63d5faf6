/* Starts and copies. */
#include "calibrate/gpu/plugin/measure.h"

#define N_LAUNCHES 100

static const KernelLaunch null_launch = { KERNEL_null, 1, 32, { .null = { 0 } } };

static bool null_one(GpuSession *session G_GNUC_UNUSED, Device *device,
                     const GpuWork *work G_GNUC_UNUSED, GpuFault *fault)
{
  return measure_launch(device, &null_launch, fault);
}

static bool null_many(GpuSession *session, Device *device, const GpuWork *work,
                      GpuFault *fault)
{
  for (guint i = 0; i < N_LAUNCHES; i++)
    if (!null_one(session, device, work, fault))
      return false;
  return true;
}

static bool graph_prepare(GpuSession *session, Device *device, const GpuWork *work,
                          GpuFault *fault)
{
  cudaGraph_t graph = NULL;

  if (session->graph != NULL)
    return true;
  if (!CUDA_TRY(cudaStreamBeginCapture(device->stream, cudaStreamCaptureModeThreadLocal),
                fault))
    return false;
  const bool ok = null_many(session, device, work, fault);
  if (!CUDA_TRY(cudaStreamEndCapture(device->stream, &graph), fault) || !ok)
    return false;
  const bool made = CUDA_TRY(cudaGraphInstantiate(&session->graph, graph, 0), fault);
  cudaGraphDestroy(graph);
  return made;
}

static bool graph_run(GpuSession *session, Device *device,
                      const GpuWork *work G_GNUC_UNUSED, GpuFault *fault)
{
  return CUDA_TRY(cudaGraphLaunch(session->graph, device->stream), fault);
}

const Probe probe_null_stream = { .n_calls = N_LAUNCHES, .run = null_many };
const Probe probe_null_sync = { .is_clocked = true, .n_calls = 1, .run = null_one };
const Probe probe_null_graph = { .n_calls = N_LAUNCHES,
                                 .prepare = graph_prepare,
                                 .run = graph_run };

static bool d2d_run(GpuSession *session G_GNUC_UNUSED, Device *device, const GpuWork *work,
                    GpuFault *fault)
{
  return CUDA_TRY(cudaMemcpyAsync(device->x, device->values, work->size_B,
                                  cudaMemcpyDeviceToDevice, device->stream),
                  fault);
}

static bool host_prepare(GpuSession *session, Device *device G_GNUC_UNUSED,
                         const GpuWork *work, GpuFault *fault)
{
  return session_host_buffers(session, work->size_B, fault);
}

static bool h2d_run(GpuSession *session, Device *device, const GpuWork *work,
                    GpuFault *fault)
{
  return CUDA_TRY(cudaMemcpyAsync(device->x, session->pinned, work->size_B,
                                  cudaMemcpyHostToDevice, device->stream),
                  fault);
}

static bool d2h_run(GpuSession *session, Device *device, const GpuWork *work,
                    GpuFault *fault)
{
  return CUDA_TRY(cudaMemcpyAsync(session->pinned, device->x, work->size_B,
                                  cudaMemcpyDeviceToHost, device->stream),
                  fault);
}

static bool h2d_pageable_run(GpuSession *session, Device *device, const GpuWork *work,
                             GpuFault *fault)
{
  return CUDA_TRY(cudaMemcpyAsync(device->x, session->pageable, work->size_B,
                                  cudaMemcpyHostToDevice, device->stream),
                  fault);
}

static bool d2h_pageable_run(GpuSession *session, Device *device, const GpuWork *work,
                             GpuFault *fault)
{
  return CUDA_TRY(cudaMemcpyAsync(session->pageable, device->x, work->size_B,
                                  cudaMemcpyDeviceToHost, device->stream),
                  fault);
}

/* The side stream starts with the compute stream, which waits for it at the end. */
static bool fork_side(Device *device, GpuFault *fault)
{
  return CUDA_TRY(cudaEventRecord(device->side_begin, device->stream), fault) &&
         CUDA_TRY(cudaStreamWaitEvent(device->side, device->side_begin, 0), fault);
}

static bool join_side(Device *device, GpuFault *fault)
{
  return CUDA_TRY(cudaEventRecord(device->side_end, device->side), fault) &&
         CUDA_TRY(cudaStreamWaitEvent(device->stream, device->side_end, 0), fault);
}

/* The two halves of the pinned buffer, so that the directions share no page. */
static bool both_prepare(GpuSession *session, Device *device G_GNUC_UNUSED,
                         const GpuWork *work, GpuFault *fault)
{
  return session_host_buffers(session, 2 * work->size_B, fault);
}

static bool both_run(GpuSession *session, Device *device, const GpuWork *work,
                     GpuFault *fault)
{
  return fork_side(device, fault) &&
         CUDA_TRY(cudaMemcpyAsync((char *)session->pinned + work->size_B, device->y,
                                  work->size_B, cudaMemcpyDeviceToHost, device->side),
                  fault) &&
         h2d_run(session, device, work, fault) && join_side(device, fault);
}

/* Copies on the device last longer than the one from the host that is timed: 64 times the
 * bytes at 20 to 80 times the rate, several times over. */
static bool during_d2d_run(GpuSession *session, Device *device, const GpuWork *work,
                           GpuFault *fault)
{
  const uint64_t size_B = MIN(device->buffer_B, 64 * work->size_B);

  if (!fork_side(device, fault))
    return false;
  for (uint64_t done_B = 0; done_B < 128 * work->size_B; done_B += size_B)
    if (!CUDA_TRY(cudaMemcpyAsync(device->y, device->values, size_B,
                                  cudaMemcpyDeviceToDevice, device->side),
                  fault))
      return false;
  return h2d_run(session, device, work, fault);
}

const Probe probe_d2d = { .n_calls = 1, .run = d2d_run };
const Probe probe_h2d = { .n_calls = 1, .prepare = host_prepare, .run = h2d_run };
const Probe probe_d2h = { .n_calls = 1, .prepare = host_prepare, .run = d2h_run };
const Probe probe_h2d_pageable = {
  .is_clocked = true, .n_calls = 1, .prepare = host_prepare, .run = h2d_pageable_run
};
const Probe probe_d2h_pageable = {
  .is_clocked = true, .n_calls = 1, .prepare = host_prepare, .run = d2h_pageable_run
};
const Probe probe_pcie_both = { .n_calls = 1, .prepare = both_prepare, .run = both_run };
const Probe probe_h2d_during_d2d = { .n_calls = 1,
                                     .prepare = host_prepare,
                                     .run = during_d2d_run };

/* ---- between devices --------------------------------------------------------------- */

static bool peer_enable(GpuSession *session, uint32_t from, uint32_t to, GpuFault *fault)
{
  int can = 0;

  if (session_device(session, from, fault) == NULL)
    return false;
  cudaDeviceCanAccessPeer(&can, session->device[from].number, session->device[to].number);
  if (can) {
    const cudaError_t result = cudaDeviceEnablePeerAccess(session->device[to].number, 0);
    if (result != cudaErrorPeerAccessAlreadyEnabled &&
        !cuda_ok(result, "cudaDeviceEnablePeerAccess", fault))
      return false;
    cudaGetLastError(); /* "already enabled" is no error of the next call */
  }
  return true; /* without it the copy goes through the host, which is worth knowing too */
}

static bool peer_prepare(GpuSession *session, Device *device G_GNUC_UNUSED,
                         const GpuWork *work, GpuFault *fault)
{
  return peer_enable(session, work->m, work->n, fault) &&
         peer_enable(session, work->n, work->m, fault) && measure_wait_all(session, fault);
}

static bool peer_copy(GpuSession *session, uint32_t from, uint32_t to, uint64_t size_B,
                      GpuFault *fault)
{
  const Device *a = &session->device[from], *b = &session->device[to];

  return CUDA_TRY(cudaMemcpyPeerAsync(b->y, b->number, a->x, a->number, size_B, a->stream),
                  fault);
}

static bool peer_run(GpuSession *session, Device *device G_GNUC_UNUSED, const GpuWork *work,
                     GpuFault *fault)
{
  return peer_copy(session, work->m, work->n, work->size_B, fault) &&
         measure_wait_all(session, fault);
}

static bool peer_both_run(GpuSession *session, Device *device G_GNUC_UNUSED,
                          const GpuWork *work, GpuFault *fault)
{
  return peer_copy(session, work->m, work->n, work->size_B, fault) &&
         peer_copy(session, work->n, work->m, work->size_B, fault) &&
         measure_wait_all(session, fault);
}

static bool peer_all_prepare(GpuSession *session, Device *device G_GNUC_UNUSED,
                             const GpuWork *work G_GNUC_UNUSED, GpuFault *fault)
{
  for (uint32_t i = 0; i < session->n_devices; i++)
    if (!peer_enable(session, i, (i + 1) % session->n_devices, fault))
      return false;
  return measure_wait_all(session, fault);
}

static bool peer_all_run(GpuSession *session, Device *device G_GNUC_UNUSED,
                         const GpuWork *work, GpuFault *fault)
{
  for (uint32_t i = 0; i < session->n_devices; i++)
    if (!peer_copy(session, i, (i + 1) % session->n_devices, work->size_B, fault))
      return false;
  return measure_wait_all(session, fault);
}

const Probe probe_peer = {
  .is_clocked = true, .n_calls = 1, .prepare = peer_prepare, .run = peer_run
};
const Probe probe_peer_both = {
  .is_clocked = true, .n_calls = 1, .prepare = peer_prepare, .run = peer_both_run
};
const Probe probe_peer_all = {
  .is_clocked = true, .n_calls = 1, .prepare = peer_all_prepare, .run = peer_all_run
};
