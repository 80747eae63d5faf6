/**
 * @file condition.h
 * @brief Why no GPU can be used, in one line, from what the CUDA runtime answered.
 */
#pragma once

#include <glib.h>

typedef struct {
  int result;        /**< of cudaGetDeviceCount(): a cudaError_t; 0 is success */
  int n_devices;     /**< what it counted */
  int driver;        /**< of cudaDriverGetVersion(): 12040 is CUDA 12.4; 0: no driver */
  int runtime;       /**< what the plug-in was built with */
  const char *other; /**< cudaGetErrorString() of result, for errors not known here */
} GpuCondition;

/** NULL if a GPU can be used. Transfer: caller frees. */
char *gpu_condition_message(const GpuCondition *condition);
