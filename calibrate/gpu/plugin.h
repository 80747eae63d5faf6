/**
 * @file plugin.h
 * @brief What the program asks of stepcast-gpu.so, the only part that knows CUDA.
 *
 * The program never links CUDA: it opens the plug-in at run time and finds one symbol in
 * it. Everything that needs no GPU (which cells there are, in which order, how times become
 * samples, what a failure is called) stays outside.
 *
 * C and C++, without GLib.
 */
#pragma once

#include "calibrate/gpu/kernels.h"

#include <stddef.h>

/** Grows whenever a structure or function here changes. */
#define GPU_PLUGIN_ABI 2u
#define GPU_PLUGIN_SYMBOL "stepcast_gpu_plugin"
#define GPU_DEVICES_MAX 16u

/** Why something did not work. */
typedef enum {
  GPU_FAULT_NO_DEVICE,  /**< no GPU that can be used: exit code 77 */
  GPU_FAULT_NO_LIBRARY, /**< a library that this needs is not there */
  GPU_FAULT_FAILED,     /**< CUDA, cuBLAS or NCCL said no */
} GpuFaultKind;

typedef struct {
  GpuFaultKind kind;
  char text[512]; /**< one line, complete, without a full stop */
} GpuFault;

typedef struct {
  uint32_t device[GPU_DEVICES_MAX]; /**< CUDA's numbers; the first does what one GPU does */
  uint32_t n_devices;               /**< 0: all that are visible */
  uint64_t max_B;           /**< largest buffer; a quarter of what is free at most */
  const char *nccl_library; /**< path of libnccl; NULL: the loader's */
  uint32_t n_own;           /**< processes of ours on the GPUs: 1, or 2 with the parent's */
} GpuRequest;

/** Reasons why clocks were lowered; bits of GpuState.throttled. */
enum {
  GPU_THROTTLE_POWER = 1 << 0,
  GPU_THROTTLE_HEAT = 1 << 1,
  GPU_THROTTLE_HARDWARE = 1 << 2,
};

/** What NVML said about a device at one moment. */
typedef struct {
  bool known; /**< false: no NVML, all else is nothing */
  uint32_t sm_MHz, memory_MHz;
  double power_W;
  uint32_t temperature_C;
  uint32_t throttled;         /**< GPU_THROTTLE_* */
  uint32_t pcie_generation;   /**< now: it sinks while the link idles */
  uint32_t pcie_width;        /**< lanes, now */
  uint32_t n_other_processes; /**< that compute on it */
} GpuState;

typedef struct {
  char name[128];
  char uuid[64];
  uint32_t major, minor; /**< compute capability */
  uint32_t n_sms;
  uint64_t l2_B, memory_B, free_B;
  uint64_t buffer_B; /**< the largest buffer that work may ask for */
  double memory_Bps; /**< nominal, from clock and width of its bus; 0 if unknown */
  int32_t numa_node; /**< -1 if unknown */
  bool mig, ecc;
  double power_limit_W; /**< 0 if unknown */
  uint32_t n_nvlinks;   /**< links that are up; 0 if unknown */
  uint32_t peers;       /**< bit i: the request's device i can be read directly */
  GpuState state;
} GpuDevice;

typedef struct {
  uint32_t driver; /**< 13000 is CUDA 13.0 */
  uint32_t runtime;
  char driver_text[64]; /**< "580.65.06"; "" if unknown */
  uint32_t nccl;        /**< 22809 is 2.28.9; 0 if there is none */
  uint32_t cublas;      /**< 130000...; 0 if there is none */
  uint32_t n_devices;
} GpuVersions;

/** What can be timed. */
typedef enum {
  GPU_LAUNCH_STREAM, /**< one empty kernel of a hundred in a row */
  GPU_LAUNCH_SYNC,   /**< one empty kernel and waiting for it, wall clock */
  GPU_LAUNCH_GRAPH,  /**< one empty kernel of a graph of a hundred */
  GPU_D2D,           /**< cudaMemcpyAsync on the device */
  GPU_H2D_PINNED,
  GPU_H2D_PAGEABLE, /**< wall clock */
  GPU_D2H_PINNED,
  GPU_D2H_PAGEABLE,   /**< wall clock */
  GPU_PCIE_BOTH,      /**< size_B each way at once */
  GPU_H2D_DURING_D2D, /**< while the device copies within its memory */
  GPU_COPY,           /**< kernel that reads and writes: what is bound by memory */
  GPU_REDUCE,         /**< d += s; size_B of d */
  GPU_NARROW,         /**< fp32 to dtype; size_B of fp32 */
  GPU_WIDEN,          /**< dtype to fp32; size_B of fp32 */
  GPU_GEMM,           /**< m x n x k, random data */
  GPU_ONEBIT_ENCODE,  /**< size_B of fp32, as for all codecs */
  GPU_ONEBIT_DECODE,
  GPU_TOPK_THRESHOLD, /**< threshold of a sample, and selection */
  GPU_TOPK_RADIX,     /**< exact threshold, and selection */
  GPU_RANDOMK_ENCODE,
  GPU_RANDOMK_DECODE,
  GPU_GRAM_SCHMIDT,      /**< m rows, n columns */
  GPU_GEMM_AND_COMM,     /**< the product while comm runs beside it */
  GPU_COPY_AND_COMM,     /**< the copy kernel while comm runs beside it */
  GPU_COMM_AND_GEMM,     /**< a MiB of comm's paced copy while a product runs beside it */
  GPU_NCCL_LAUNCH,       /**< n all-reduces of 8 B by one rank in one group, wall clock */
  GPU_NCCL_ONE_RANK,     /**< ncclAvg of one rank: a kernel of NCCL, but no communication */
  GPU_NCCL_ONE_RANK_SUM, /**< a sum of one rank: a copy on the device */
  GPU_PEER,              /**< device m to device n of the request */
  GPU_PEER_BOTH,         /**< and back at once */
  GPU_PEER_ALL,          /**< every device to its right-hand neighbour at once */
  GPU_PROBE_N
} GpuProbe;

typedef enum { GPU_FP32, GPU_TF32, GPU_FP16, GPU_BF16 } GpuType;

/** What runs beside the compute whose slow-down is measured. */
typedef enum {
  GPU_COMM_NONE,
  GPU_COMM_PACED,    /**< kernel_paced() on ctas CTAs, at pace_Bps */
  GPU_COMM_NCCL_AVG, /**< one-rank ncclAvg in a loop */
  GPU_COMM_H2D,      /**< copies over PCIe: no SM takes part */
} GpuComm;

/** One thing to time. */
typedef struct {
  GpuProbe probe;
  GpuType dtype;
  bool cold;          /**< the L2 cache is flushed before each repetition */
  uint64_t size_B;    /**< <= GpuDevice.buffer_B */
  uint32_t ctas;      /**< 0: as many as fill the GPU */
  uint32_t m, n, k;   /**< see the probe */
  double share;       /**< top-k, random-k: of the values that are kept, 0..1 */
  GpuComm comm;       /**< for GPU_*_AND_COMM */
  double pace_Bps;    /**< bytes read a second by the paced copy; 0: as fast as it can */
  bool high_priority; /**< comm runs on a stream of higher priority */
} GpuWork;

/** Why a time deserves less trust; bits. */
enum {
  GPU_FLAG_CLOCKS_UNKNOWN = 1 << 0,
  GPU_FLAG_THROTTLED = 1 << 1,
  GPU_FLAG_BUSY = 1 << 2,
};

typedef enum {
  GPU_ALL_REDUCE,
  GPU_REDUCE_SCATTER,
  GPU_ALL_GATHER,
  GPU_BROADCAST,
  GPU_SEND_RECV,
  GPU_ALL_TO_ALL,
  GPU_COLLECTIVE_N
} GpuCollective;

/** A collective over the first n_ranks devices of a session of their own. */
typedef struct {
  GpuCollective collective;
  uint64_t size_B; /**< as nccl-tests counts: of the larger side */
  bool in_place;
} GpuExchange;

typedef struct GpuSession GpuSession;

/** A buffer of a launch in host memory, which the plug-in copies to the device and back. */
typedef struct {
  size_t pointer_offset; /**< in KernelLaunch.args, of the pointer to it */
  void *data;
  size_t size_B;
} GpuBuffer;

/** All functions but close() return false with @p fault set if they fail. */
typedef struct {
  uint32_t abi; /**< GPU_PLUGIN_ABI; first, and of this size, for ever */

  bool (*open)(const GpuRequest *request, GpuSession **session, GpuFault *fault);
  void (*close)(GpuSession *session);
  bool (*versions)(GpuSession *session, GpuVersions *versions, GpuFault *fault);
  /** @param number  which of the request's devices */
  bool (*describe)(GpuSession *session, uint32_t number, GpuDevice *device,
                   GpuFault *fault);

  /**
   * Warm up, then time @p work @p n times, each for one call [s].
   * @param flags  GPU_FLAG_* are added
   */
  bool (*measure)(GpuSession *session, const GpuWork *work, double *time_s, uint32_t n,
                  uint32_t *flags, GpuFault *fault);

  /** Run @p launch on the device, for the comparison with the host. */
  bool (*run_kernel)(GpuSession *session, const KernelLaunch *launch,
                     const GpuBuffer *buffer, uint32_t n_buffers, GpuFault *fault);

  /**
   * Time a collective over all devices of the session. NCCL reads NCCL_ALGO and NCCL_PROTO
   * once: each choice wants a process of its own.
   */
  bool (*exchange)(GpuSession *session, const GpuExchange *exchange, double *time_s,
                   uint32_t n, uint32_t *flags, GpuFault *fault);
} GpuPlugin;

/** The one symbol, GPU_PLUGIN_SYMBOL. */
typedef const GpuPlugin *GpuPluginEntry(void);
