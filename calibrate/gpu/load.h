/**
 * @file load.h
 * @brief Find stepcast-gpu.so, open it, open its GPUs.
 */
#pragma once

#include "calibrate/gpu/plugin.h"

#include <glib.h>

/** An opened plug-in; it stays in memory until the program ends, as CUDA wants. */
typedef struct {
  const GpuPlugin *plugin;
  GpuSession *session; /**< NULL: nothing opened */
} Gpu;

/**
 * Where the plug-in is looked for, in this order: beside the program, as it was built, and
 * in ../lib/stepcast, as it is installed. NULL-terminated; transfer: g_strfreev().
 * @param program  path of the executable
 */
char **gpu_plugin_paths(const char *program);

/**
 * @param program  path of the executable; NULL: this one's
 * @return false with SIM_ERROR_PLUGIN: there is no plug-in, or it cannot be loaded, or it
 *         is another version's
 */
bool gpu_load(const char *program, Gpu *gpu, GError **error);

/** @return false with SIM_ERROR_DEVICE if there is no GPU to be used, and
 *          SIM_ERROR_PLUGIN if a library is missing */
bool gpu_open(Gpu *gpu, const GpuRequest *request, GError **error);
void gpu_close(Gpu *gpu);

/** Make @p fault the error. Returns false. */
bool gpu_fail(const GpuFault *fault, GError **error);
