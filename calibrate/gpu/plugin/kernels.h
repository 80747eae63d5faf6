/**
 * @file kernels.h
 * @brief Start a kernel on a GPU.
 */
#pragma once

#include "calibrate/gpu/kernels.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C"
#endif
  cudaError_t
  kernels_launch(const KernelLaunch *launch, cudaStream_t stream);
