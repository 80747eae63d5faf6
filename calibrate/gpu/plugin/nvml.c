#include "calibrate/gpu/plugin/nvml.h"

#include <unistd.h>

/* nvml.h of driver 580: names and numbers of the public interface. */
typedef struct nvmlDevice_st *NvmlDevice;
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };
enum { NVML_FEATURE_ENABLED = 1, NVML_NVLINK_MAX = 18 };

/* Bits of nvmlClocksEventReason*; the software's power cap, the two kinds of heat, the
 * hardware's slow-down and its power brake. */
#define REASON_POWER_CAP 0x04u
#define REASON_HW_SLOWDOWN 0x08u
#define REASON_SW_HEAT 0x20u
#define REASON_HW_HEAT 0x40u
#define REASON_POWER_BRAKE 0x80u

/* nvmlProcessInfo_v2_t, which _v3 of the call fills. */
typedef struct {
  unsigned int pid;
  unsigned long long used_B;
  unsigned int gpu_instance, compute_instance;
} NvmlProcess;

struct Nvml {
  int (*init)(void);
  int (*shutdown)(void);
  int (*driver)(char *, unsigned int);
  int (*by_bus)(const char *, NvmlDevice *);
  int (*clock)(NvmlDevice, int, unsigned int *);
  int (*power)(NvmlDevice, unsigned int *);
  int (*temperature)(NvmlDevice, int, unsigned int *);
  /* Any of these may be absent. */
  int (*reasons)(NvmlDevice, unsigned long long *);
  int (*generation)(NvmlDevice, unsigned int *);
  int (*width)(NvmlDevice, unsigned int *);
  int (*processes)(NvmlDevice, unsigned int *, NvmlProcess *);
  int (*mig)(NvmlDevice, unsigned int *, unsigned int *);
  int (*ecc)(NvmlDevice, int *, int *);
  int (*power_limit)(NvmlDevice, unsigned int *);
  int (*nvlink)(NvmlDevice, unsigned int, int *);
};

static void bind_optional(Nvml *nvml, void *library)
{
  GpuFault ignored;

  /* Renamed in driver 535; the old name stays, for older drivers. */
  if (!library_bind(&nvml->reasons, library, "nvmlDeviceGetCurrentClocksEventReasons",
                    &ignored))
    library_bind(&nvml->reasons, library, "nvmlDeviceGetCurrentClocksThrottleReasons",
                 &ignored);
  library_bind(&nvml->generation, library, "nvmlDeviceGetCurrPcieLinkGeneration", &ignored);
  library_bind(&nvml->width, library, "nvmlDeviceGetCurrPcieLinkWidth", &ignored);
  library_bind(&nvml->processes, library, "nvmlDeviceGetComputeRunningProcesses_v3",
               &ignored);
  library_bind(&nvml->mig, library, "nvmlDeviceGetMigMode", &ignored);
  library_bind(&nvml->ecc, library, "nvmlDeviceGetEccMode", &ignored);
  library_bind(&nvml->power_limit, library, "nvmlDeviceGetEnforcedPowerLimit", &ignored);
  library_bind(&nvml->nvlink, library, "nvmlDeviceGetNvLinkState", &ignored);
}

static bool bind(Nvml *nvml, void *library)
{
  GpuFault ignored;

  if (!library_bind(&nvml->init, library, "nvmlInit_v2", &ignored) ||
      !library_bind(&nvml->shutdown, library, "nvmlShutdown", &ignored) ||
      !library_bind(&nvml->driver, library, "nvmlSystemGetDriverVersion", &ignored) ||
      !library_bind(&nvml->by_bus, library, "nvmlDeviceGetHandleByPciBusId_v2", &ignored) ||
      !library_bind(&nvml->clock, library, "nvmlDeviceGetClockInfo", &ignored) ||
      !library_bind(&nvml->power, library, "nvmlDeviceGetPowerUsage", &ignored) ||
      !library_bind(&nvml->temperature, library, "nvmlDeviceGetTemperature", &ignored))
    return false;
  bind_optional(nvml, library);
  return true;
}

Nvml *nvml_new(void)
{
  static const char *const names[] = { "libnvidia-ml.so.1", NULL };
  GpuFault ignored;
  g_autofree Nvml *nvml = g_new0(Nvml, 1);
  void *library = library_open(names, &ignored);

  if (library == NULL || !bind(nvml, library) || nvml->init() != NVML_SUCCESS)
    return NULL;
  return g_steal_pointer(&nvml);
}

void nvml_free(Nvml *nvml)
{
  if (nvml != NULL)
    nvml->shutdown();
  g_free(nvml);
}

void nvml_driver(const Nvml *nvml, char *text, size_t size_B)
{
  if (nvml == NULL || nvml->driver(text, (unsigned int)size_B) != NVML_SUCCESS)
    text[0] = '\0';
}

static uint32_t throttled(const Nvml *nvml, NvmlDevice device)
{
  unsigned long long reasons = 0;

  if (nvml->reasons == NULL || nvml->reasons(device, &reasons) != NVML_SUCCESS)
    return 0;
  return ((reasons & REASON_POWER_CAP) != 0 ? GPU_THROTTLE_POWER : 0u) |
         ((reasons & (REASON_SW_HEAT | REASON_HW_HEAT)) != 0 ? GPU_THROTTLE_HEAT : 0u) |
         ((reasons & (REASON_HW_SLOWDOWN | REASON_POWER_BRAKE)) != 0 ? GPU_THROTTLE_HARDWARE
                                                                     : 0u);
}

/* In a container our processes may be listed under other numbers: then so many are ours. */
static uint32_t count_others(const Nvml *nvml, NvmlDevice device, uint32_t n_own)
{
  NvmlProcess process[64];
  unsigned int n = G_N_ELEMENTS(process), n_others = 0;

  if (nvml->processes == NULL || nvml->processes(device, &n, process) != NVML_SUCCESS)
    return 0;
  for (unsigned int i = 0; i < n; i++)
    n_others += process[i].pid != (unsigned int)getpid() &&
                (n_own == 1 || process[i].pid != (unsigned int)getppid());
  return n_others == n ? n - MIN(n, n_own) : n_others;
}

void nvml_state(const Nvml *nvml, const char *bus, uint32_t n_own, GpuState *state)
{
  NvmlDevice device = NULL;
  unsigned int milliwatts = 0;

  *state = (GpuState){ 0 };
  if (nvml == NULL || nvml->by_bus(bus, &device) != NVML_SUCCESS)
    return;
  state->known = nvml->clock(device, NVML_CLOCK_SM, &state->sm_MHz) == NVML_SUCCESS;
  nvml->clock(device, NVML_CLOCK_MEM, &state->memory_MHz);
  if (nvml->power(device, &milliwatts) == NVML_SUCCESS)
    state->power_W = milliwatts / 1e3;
  nvml->temperature(device, NVML_TEMPERATURE_GPU, &state->temperature_C);
  state->throttled = throttled(nvml, device);
  if (nvml->generation != NULL)
    nvml->generation(device, &state->pcie_generation);
  if (nvml->width != NULL)
    nvml->width(device, &state->pcie_width);
  state->n_other_processes = count_others(nvml, device, n_own);
}

void nvml_describe(const Nvml *nvml, const char *bus, GpuDevice *gpu)
{
  NvmlDevice device = NULL;
  unsigned int mode = 0, pending = 0, milliwatts = 0;
  int ecc = 0, ecc_pending = 0;

  if (nvml == NULL || nvml->by_bus(bus, &device) != NVML_SUCCESS)
    return;
  if (nvml->mig != NULL && nvml->mig(device, &mode, &pending) == NVML_SUCCESS)
    gpu->mig = mode == NVML_FEATURE_ENABLED;
  if (nvml->ecc != NULL && nvml->ecc(device, &ecc, &ecc_pending) == NVML_SUCCESS)
    gpu->ecc = ecc == NVML_FEATURE_ENABLED;
  if (nvml->power_limit != NULL && nvml->power_limit(device, &milliwatts) == NVML_SUCCESS)
    gpu->power_limit_W = milliwatts / 1e3;
  for (unsigned int link = 0; nvml->nvlink != NULL && link < NVML_NVLINK_MAX; link++) {
    int up = 0;
    if (nvml->nvlink(device, link, &up) == NVML_SUCCESS)
      gpu->n_nvlinks += up == NVML_FEATURE_ENABLED;
  }
}
