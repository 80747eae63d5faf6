/* The kernels as device code: the same bodies that simt_host.c runs. */
#include "calibrate/gpu/plugin/kernels.h"

#define DEVICE_KERNEL(name, Args, Shared)                                                  \
  static __global__ void device_##name(const Args args)                                    \
  {                                                                                        \
    __shared__ Shared shared;                                                              \
    const SimtThread thread = { threadIdx.x, blockDim.x, blockIdx.x, gridDim.x, NULL };    \
    kernel_##name(&thread, &args, &shared);                                                \
  }
GPU_KERNELS(DEVICE_KERNEL)

#define START(name, Args, Shared)                                                          \
  case KERNEL_##name:                                                                      \
    device_##name<<<launch->n_blocks, launch->n_threads, 0, stream>>>(launch->args.name);  \
    break;

extern "C" cudaError_t kernels_launch(const KernelLaunch *launch, cudaStream_t stream)
{
  cudaGetLastError(); /* of calls that may fail, such as questions about peers */
  switch (launch->kernel) {
    GPU_KERNELS(START)
  case KERNEL_N:
    break;
  }
  return cudaGetLastError();
}
