/**
 * @file library.h
 * @brief Libraries that are opened when first used: cuBLAS, NCCL, NVML.
 *
 * So the plug-in loads, and its kernels and copies are measured, where one of them is not
 * there. None is closed again: CUDA's libraries do not all bear that.
 */
#pragma once

#include "calibrate/gpu/plugin.h"

#include <dlfcn.h>
#include <glib.h>

/** Make the fault's text. Returns false. */
bool fault_set(GpuFault *fault, GpuFaultKind kind, const char *format, ...)
  G_GNUC_PRINTF(3, 4);

/**
 * The first of @p names (NULL-terminated) that can be opened.
 * @return NULL with GPU_FAULT_NO_LIBRARY: what the loader said of the first
 */
void *library_open(const char *const *names, GpuFault *fault);

/** Store the address of function @p name in @p function, a pointer to a pointer to one;
 *  false if it is not there. */
bool library_bind(void *function, void *library, const char *name, GpuFault *fault);
