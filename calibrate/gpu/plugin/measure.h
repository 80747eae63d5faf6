/**
 * @file measure.h
 * @brief Warm up, repeat, time: the same for everything that one device does.
 */
#pragma once

#include "calibrate/gpu/plugin/session.h"

/** Threads of one CTA of NCCL's kernels: enqueue.cc of NCCL 2.28.9, oneRankReduce. */
#define MEASURE_NCCL_THREADS 512

/** How one probe is run. */
typedef struct {
  bool is_clocked;  /**< timed from the start until the device is idle, by the wall clock;
                         else by events around it */
  uint32_t n_calls; /**< what is timed is so many calls */

  /** Once, before the repetitions; NULL: nothing to do. */
  bool (*prepare)(GpuSession *session, Device *device, const GpuWork *work,
                  GpuFault *fault);

  /** Start it on the device's compute stream; a clocked one also waits for what is not on
   *  this stream. */
  bool (*run)(GpuSession *session, Device *device, const GpuWork *work, GpuFault *fault);
} Probe;

extern const Probe probe_null_stream, probe_null_sync, probe_null_graph;
extern const Probe probe_d2d, probe_h2d, probe_d2h, probe_h2d_pageable, probe_d2h_pageable;
extern const Probe probe_pcie_both, probe_h2d_during_d2d;
extern const Probe probe_copy, probe_reduce, probe_narrow, probe_widen, probe_gemm;
extern const Probe probe_onebit_encode, probe_onebit_decode;
extern const Probe probe_topk_threshold, probe_topk_radix;
extern const Probe probe_randomk_encode, probe_randomk_decode, probe_gram_schmidt;
extern const Probe probe_nccl_launch, probe_nccl_avg, probe_nccl_sum;
extern const Probe probe_peer, probe_peer_both, probe_peer_all;

/** GpuPlugin.measure. */
bool measure_work(GpuSession *session, const GpuWork *work, double *time_s, uint32_t n,
                  uint32_t *flags, GpuFault *fault);

/** The state of all devices before a measurement. */
typedef struct {
  GpuState state[GPU_DEVICES_MAX];
} MeasureWatch;
MeasureWatch measure_watch(const GpuSession *session);

/** GPU_FLAG_* from the states before, in @p watch, and now. */
uint32_t measure_flags(const GpuSession *session, const MeasureWatch *watch);

/** Wait until all devices are idle. */
bool measure_wait_all(GpuSession *session, GpuFault *fault);

/** The grid that fills a GPU with blocks of 256 threads, or work's own. */
uint32_t measure_blocks(const Device *device, const GpuWork *work);

/** Start a kernel on the compute stream. */
bool measure_launch(const Device *device, const KernelLaunch *launch, GpuFault *fault);

/** The kernels' own name of a 16-bit type. */
SimtType measure_type(GpuType dtype);

/* contention.c: compute beside communication, and the other way round. */
bool contention_measure(GpuSession *session, Device *device, const GpuWork *work,
                        double *time_s, uint32_t n, GpuFault *fault);
