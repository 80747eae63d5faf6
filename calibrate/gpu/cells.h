/**
 * @file cells.h
 * @brief What is measured on one GPU: the list, made from what the GPU is.
 */
#pragma once

#include "calibrate/gpu/plugin.h"
#include "calibrate/sample.h"

typedef enum { GPU_QUICK, GPU_USUAL, GPU_FULL } GpuEffort;

typedef struct {
  Sample *sample; /**< how the profile names it */
  GpuWork work;   /**< what the plug-in does */
} GpuCell;

/**
 * Every cell once, in no particular order: GArray of GpuCell.
 * @param device     its buffer_B bounds the sizes, its l2_B and n_sms decide some
 * @param n_devices  peers, if there are several
 * @param versions   names cuBLAS and NCCL; cells of a library that is 0 are left out
 */
GArray *gpu_cells(const GpuDevice *device, const GpuVersions *versions, GpuEffort effort);

/** An imagined GPU and its libraries, for --dry-run where there is none. */
GpuDevice gpu_cells_example(GpuVersions *versions);
