/* The one symbol of the plug-in, and kernels on demand. */
#include "calibrate/gpu/plugin/measure.h"
#include "calibrate/gpu/plugin/nccl.h"

#include <string.h>

#define BUFFERS_MAX 8

static bool copy_in(const GpuBuffer *buffer, KernelArgs *args, void **on_device,
                    GpuFault *fault)
{
  if (!CUDA_TRY(cudaMalloc(on_device, buffer->size_B), fault) ||
      !CUDA_TRY(
        cudaMemcpy(*on_device, buffer->data, buffer->size_B, cudaMemcpyHostToDevice),
        fault))
    return false;
  memcpy((char *)args + buffer->pointer_offset, on_device, sizeof *on_device);
  return true;
}

static bool run_on_copies(const Device *device, const KernelLaunch *launch,
                          const GpuBuffer *buffer, uint32_t n, void **on_device,
                          GpuFault *fault)
{
  KernelLaunch there = *launch;

  for (uint32_t i = 0; i < n; i++)
    if (!copy_in(&buffer[i], &there.args, &on_device[i], fault))
      return false;
  if (!measure_launch(device, &there, fault) ||
      !CUDA_TRY(cudaStreamSynchronize(device->stream), fault))
    return false;
  for (uint32_t i = 0; i < n; i++)
    if (!CUDA_TRY(cudaMemcpy(buffer[i].data, on_device[i], buffer[i].size_B,
                             cudaMemcpyDeviceToHost),
                  fault))
      return false;
  return true;
}

static bool run_kernel(GpuSession *session, const KernelLaunch *launch,
                       const GpuBuffer *buffer, uint32_t n_buffers, GpuFault *fault)
{
  Device *device = &session->device[0];
  void *on_device[BUFFERS_MAX] = { NULL };

  if (n_buffers > BUFFERS_MAX)
    return fault_set(fault, GPU_FAULT_FAILED, "more buffers than a kernel has");
  const bool ok = CUDA_TRY(cudaSetDevice(device->number), fault) &&
                  run_on_copies(device, launch, buffer, n_buffers, on_device, fault);
  for (uint32_t i = 0; i < n_buffers; i++)
    cudaFree(on_device[i]);
  return ok;
}

static const GpuPlugin plugin = {
  .abi = GPU_PLUGIN_ABI,
  .open = session_open,
  .close = session_close,
  .versions = session_versions,
  .describe = session_describe,
  .measure = measure_work,
  .run_kernel = run_kernel,
  .exchange = nccl_exchange,
};

GpuPluginEntry stepcast_gpu_plugin;

__attribute__((visibility("default"))) const GpuPlugin *stepcast_gpu_plugin(void)
{
  return &plugin;
}
