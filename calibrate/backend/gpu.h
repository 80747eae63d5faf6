/**
 * @file gpu.h
 * @brief One or several NVIDIA GPUs of this machine, through the plug-in.
 */
#pragma once

#include "calibrate/backend.h"
#include "calibrate/gpu/cells.h"
#include "calibrate/gpu/load.h"

typedef struct {
  char *devices;      /**< "0,1"; NULL: all that are visible */
  char *nccl_library; /**< path; NULL: the loader's */
  guint64 max_B;      /**< largest buffer */
  guint effort;       /**< GpuEffort */
  bool is_child;      /**< the parent process may use the GPUs too */
} GpuParams;

extern const BackendOps backend_gpu;

/** @p params as the plug-in wants them. @return false with SIM_ERROR_VALUE */
bool gpu_request(const GpuParams *params, GpuRequest *request, GError **error);

/** SampleFlags for the plug-in's GPU_FLAG_*. */
guint gpu_sample_flags(uint32_t flags);

/** The backend over a plug-in that is already loaded, for tests. Takes over @p gpu. */
Backend *backend_gpu_new(Gpu gpu, GpuEffort effort, GError **error);

/** Its plug-in and session; borrowed. */
const Gpu *backend_gpu_opened(const Backend *backend);
