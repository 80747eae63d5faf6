/**
 * @file gpu_nccl.h
 * @brief NCCL's collectives among the GPUs of this machine, with one choice of algorithm
 * and protocol, in a child process.
 */
#pragma once

#include "calibrate/backend.h"
#include "calibrate/backend/gpu.h"

typedef struct {
  char *program;      /**< path of the executable that serves; NULL: this one */
  char *devices;      /**< "0,1": one rank each, at least two */
  char *nccl_library; /**< path; NULL: the loader's */
  guint64 max_B;      /**< largest message */
  guint effort;       /**< GpuEffort */
  guint algo;         /**< 0: NCCL's own choice; else see gpu_nccl_algos */
  guint proto;        /**< likewise, gpu_nccl_protos */
  double limit_s; /**< an answer that takes longer: the child is killed, the cell failed */
} GpuNcclParams;

/** "", "ring", "tree", "nvls"; "", "ll", "ll128", "simple". NULL-terminated. */
extern const char *const gpu_nccl_algos[], *const gpu_nccl_protos[];

extern const BackendOps backend_gpu_nccl;

/** Those of @p probes that this choice can do; all it can if @p probes is NULL.
 *  Transfer: g_strfreev(). */
char **gpu_nccl_only(const Backend *backend, char *const *probes);

/**
 * The sweeps that tell NCCL's curves apart, for @p n_devices GPUs: prefixes of 2, 4, 8 ...
 * and all of them, each with NCCL's own choice and with forced ones.
 * @param like  what they share; its devices are ignored
 * @return GArray of GpuNcclParams, whose devices are theirs; the rest is borrowed
 */
GArray *gpu_nccl_sweeps(const GpuNcclParams *like, const guint *device, guint n_devices);
