/* The numbers are cudaError_t of CUDA 13.0 (driver_types.h); they are named here because
 * this file is also built where there is no CUDA. */
#include "calibrate/gpu/condition.h"

enum {
  CUDA_STUB_LIBRARY = 34,
  CUDA_INSUFFICIENT_DRIVER = 35,
  CUDA_NO_DEVICE = 100,
  CUDA_SYSTEM_NOT_READY = 802,
  CUDA_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_COMPAT_NOT_SUPPORTED = 804,
};

/* The oldest driver branch for Linux that runs programs of a CUDA major version, by minor
 * version compatibility: NVIDIA, "CUDA Toolkit Release Notes", table "CUDA Toolkit and
 * Minimum Required Driver Version". */
static const struct {
  int major;
  const char *driver;
} oldest_driver[] = { { 13, "580" }, { 12, "525" }, { 11, "450" } };

static const char *driver_for(int runtime)
{
  for (guint i = 0; i < G_N_ELEMENTS(oldest_driver); i++)
    if (oldest_driver[i].major == runtime / 1000)
      return oldest_driver[i].driver;
  return "a newer one";
}

static char *version_text(int version)
{
  return g_strdup_printf("%d.%d", version / 1000, version % 1000 / 10);
}

static char *too_old(const GpuCondition *condition)
{
  g_autofree char *driver = version_text(condition->driver);
  g_autofree char *runtime = version_text(condition->runtime);

  return g_strdup_printf("the NVIDIA driver, of CUDA %s, is older than CUDA %s needs (%s)",
                         driver, runtime, driver_for(condition->runtime));
}

char *gpu_condition_message(const GpuCondition *condition)
{
  switch (condition->result) {
  case 0:
    if (condition->n_devices > 0)
      return NULL;
    return g_strdup("driver found, no GPU visible");
  case CUDA_STUB_LIBRARY:
    return g_strdup("stub libcuda is on the library path, where the driver's should be");
  case CUDA_INSUFFICIENT_DRIVER:
    return condition->driver == 0 ? g_strdup("no NVIDIA driver on this machine")
                                  : too_old(condition);
  case CUDA_NO_DEVICE: /* also where CUDA_VISIBLE_DEVICES hides them all */
    return g_strdup("driver found, no GPU visible");
  case CUDA_SYSTEM_NOT_READY:
    return g_strdup("NVSwitch not ready: start nvidia-fabricmanager");
  case CUDA_SYSTEM_DRIVER_MISMATCH:
  case CUDA_COMPAT_NOT_SUPPORTED:
    return g_strdup("kernel module and library of the NVIDIA driver do not match: reboot, "
                    "or mend the installation");
  default:
    return g_strdup_printf("no GPU can be used: CUDA error %d, %s", condition->result,
                           condition->other != NULL ? condition->other : "unknown");
  }
}
