#include "calibrate/gpu/load.h"

#include "sim/base/registry.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN_FILE "stepcast-gpu.so"

char **gpu_plugin_paths(const char *program)
{
  g_autofree char *folder = g_path_get_dirname(program);
  char **paths = g_new0(char *, 3);

  paths[0] = g_build_filename(folder, PLUGIN_FILE, NULL);
  paths[1] = g_build_filename(folder, "..", "lib", "stepcast", PLUGIN_FILE, NULL);
  return paths;
}

static bool not_built(GError **error)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_PLUGIN,
              "this build has no GPU support (" PLUGIN_FILE
              " is made where nvcc and nccl.h "
              "are found); use `calibrate host` or `calibrate import`");
  return false;
}

static bool open_plugin(const char *path, Gpu *gpu, GError **error)
{
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

  if (handle == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_PLUGIN, "GPU plug-in cannot be loaded: %s",
                dlerror());
    return false;
  }
  GpuPluginEntry *entry = NULL;
  void *symbol = dlsym(handle, GPU_PLUGIN_SYMBOL);
  memcpy(&entry, &symbol, sizeof symbol); /* C has no cast from one to the other */
  const GpuPlugin *plugin = entry != NULL ? entry() : NULL;
  if (plugin == NULL || plugin->abi != GPU_PLUGIN_ABI) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_PLUGIN,
                "GPU plug-in %s belongs to another version of stepcast; build both again",
                path);
    return false;
  }
  gpu->plugin = plugin;
  return true;
}

bool gpu_load(const char *program, Gpu *gpu, GError **error)
{
  g_autofree char *self =
    program != NULL ? g_strdup(program) : g_file_read_link("/proc/self/exe", NULL);
  if (self == NULL)
    return not_built(error);
  g_auto(GStrv) paths = gpu_plugin_paths(self);
  for (char **path = paths; *path != NULL; path++)
    if (access(*path, F_OK) == 0)
      return open_plugin(*path, gpu, error);
  return not_built(error);
}

bool gpu_fail(const GpuFault *fault, GError **error)
{
  const SimError code = fault->kind == GPU_FAULT_NO_DEVICE    ? SIM_ERROR_DEVICE
                        : fault->kind == GPU_FAULT_NO_LIBRARY ? SIM_ERROR_PLUGIN
                                                              : SIM_ERROR_IO;
  g_set_error_literal(error, SIM_ERROR, (int)code, fault->text);
  return false;
}

bool gpu_open(Gpu *gpu, const GpuRequest *request, GError **error)
{
  GpuFault fault = { 0 };

  if (!gpu->plugin->open(request, &gpu->session, &fault))
    return gpu_fail(&fault, error);
  return true;
}

void gpu_close(Gpu *gpu)
{
  if (gpu->session != NULL)
    gpu->plugin->close(gpu->session);
  gpu->session = NULL;
}
