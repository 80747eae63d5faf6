/**
 * @file session.h
 * @brief The opened GPUs and everything that outlives one measurement.
 */
#pragma once

#include "calibrate/gpu/plugin/kernels.h"
#include "calibrate/gpu/plugin/nvml.h"

/** Counters and the like, at the head of the small buffer. */
typedef struct {
  TopkState topk;
  uint32_t histogram[TOPK_BINS];
  uint64_t n_moved[1024]; /* by CTAs of the paced copy */
} GpuScratch;

typedef struct Blas Blas;
typedef struct Nccl Nccl;

/** What one device has. Buffers are allocated when the first measurement wants them. */
typedef struct {
  int number; /**< CUDA's */
  char bus[32];
  int n_sms;
  uint64_t l2_B;
  uint64_t buffer_B;
  cudaStream_t stream;      /**< of compute, not blocking */
  cudaStream_t side;        /**< of what runs beside it */
  cudaStream_t side_urgent; /**< the same, of higher priority */
  cudaEvent_t begin, end, side_begin, side_end;
  float *values; /**< buffer_B of random fp32, never written */
  void *x, *y;   /**< buffer_B each */
  void *flush;   /**< 2 x l2_B */
  GpuScratch *scratch;
} Device;

struct GpuSession {
  GpuRequest request;
  char *nccl_library;
  Nvml *nvml; /**< NULL: none */
  Device device[GPU_DEVICES_MAX];
  uint32_t n_devices;
  void *pinned;   /**< buffer of the host, pinned; NULL until wanted */
  void *pageable; /**< the same, not pinned */
  uint64_t host_B;
  uint32_t *stop;        /**< mapped memory: ends the paced copy */
  Blas *blas;            /**< NULL until wanted */
  Nccl *nccl;            /**< NULL until wanted */
  cudaGraphExec_t graph; /**< of empty kernels; NULL until wanted */
  bool has_ramped;       /**< the clocks have risen */
};

/** Did CUDA do it? If not, the fault says which call failed. */
bool cuda_ok(cudaError_t result, const char *call, GpuFault *fault);
#define CUDA_TRY(call, fault) cuda_ok(call, #call, fault)

bool session_open(const GpuRequest *request, GpuSession **session, GpuFault *fault);
void session_close(GpuSession *session);
bool session_versions(GpuSession *session, GpuVersions *versions, GpuFault *fault);
bool session_describe(GpuSession *session, uint32_t number, GpuDevice *device,
                      GpuFault *fault);

/** Make @p number current, with its buffers. NULL with a fault. */
Device *session_device(GpuSession *session, uint32_t number, GpuFault *fault);

/** Host buffers of at least @p size_B. */
bool session_host_buffers(GpuSession *session, uint64_t size_B, GpuFault *fault);

/** Seconds of a clock that only goes on. */
double clock_s(void);
