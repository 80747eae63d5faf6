#include "calibrate/backend/gpu.h"

#include "sim/base/param.h"

#include <math.h>
#include <string.h>

struct Backend {
  Gpu gpu;
  GArray *cells; /* of GpuCell */
  GpuVersions versions;
  GpuDevice device[GPU_DEVICES_MAX];
};

static const char *const effort_names[] = { "quick", "usual", "full", NULL };

// clang-format off
static const ParamSpec gpu_params[] = {
  { .key = "devices", .type = PARAM_TEXT, .offset = offsetof(GpuParams, devices),
    .fallback = "", .help = "CUDA's numbers, \"0,1\"; none: all that are visible" },
  { .key = "nccl_library", .type = PARAM_TEXT, .offset = offsetof(GpuParams, nccl_library),
    .fallback = "", .help = "path of libnccl.so; none: where the loader finds it" },
  { .key = "max_bytes", .type = PARAM_BYTES, .offset = offsetof(GpuParams, max_B),
    .fallback = "4 GiB", .min = 1 << 20, .max = 1ull << 40,
    .help = "largest buffer; never more than a quarter of the free memory" },
  { .key = "effort", .type = PARAM_NAME, .offset = offsetof(GpuParams, effort),
    .names = effort_names, .fallback = "usual", .help = "how many sizes" },
  PARAM_END,
};
// clang-format on

bool gpu_request(const GpuParams *params, GpuRequest *request, GError **error)
{
  g_auto(GStrv) numbers =
    params->devices == NULL ? NULL : g_strsplit(params->devices, ",", -1);

  *request = (GpuRequest){ .max_B = params->max_B,
                           .nccl_library = params->nccl_library,
                           .n_own = params->is_child ? 2 : 1 };
  if (numbers != NULL && *numbers == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "devices: none is named");
    return false;
  }
  for (char **number = numbers; number != NULL && *number != NULL; number++) {
    guint64 value = 0;
    bool twice = false;
    if (!g_ascii_string_to_unsigned(*number, 10, 0, 1023, &value, NULL)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "devices: '%s' is no number of a GPU; write \"0\" or \"0,1\"", *number);
      return false;
    }
    for (guint i = 0; i < request->n_devices; i++)
      twice |= request->device[i] == value;
    if (twice || request->n_devices == GPU_DEVICES_MAX) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  twice ? "devices: %s is named twice" : "devices: %s is one too many",
                  *number);
      return false;
    }
    request->device[request->n_devices++] = (uint32_t)value;
  }
  return true;
}

static void backend_free(Backend *backend)
{
  gpu_close(&backend->gpu);
  if (backend->cells != NULL)
    g_array_unref(backend->cells);
  g_free(backend);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Backend, backend_free)

Backend *backend_gpu_new(Gpu gpu, GpuEffort effort, GError **error)
{
  g_autoptr(Backend) backend = g_new0(Backend, 1);
  GpuFault fault = { 0 };

  backend->gpu = gpu;
  if (!gpu.plugin->versions(gpu.session, &backend->versions, &fault)) {
    gpu_fail(&fault, error);
    return NULL;
  }
  for (guint i = 0; i < backend->versions.n_devices; i++)
    if (!gpu.plugin->describe(gpu.session, i, &backend->device[i], &fault)) {
      gpu_fail(&fault, error);
      return NULL;
    }
  backend->cells = gpu_cells(&backend->device[0], &backend->versions, effort);
  return g_steal_pointer(&backend);
}

const Gpu *backend_gpu_opened(const Backend *backend)
{
  return &backend->gpu;
}

static Backend *gpu_backend_open(const void *params, GError **error)
{
  const GpuParams *self = params;
  GpuRequest request;
  Gpu gpu = { 0 };

  if (!gpu_request(self, &request, error) || !gpu_load(NULL, &gpu, error) ||
      !gpu_open(&gpu, &request, error))
    return NULL;
  return backend_gpu_new(gpu, self->effort, error);
}

static GPtrArray *gpu_backend_cells(Backend *backend)
{
  GPtrArray *cells = sample_list_new();

  for (guint i = 0; i < backend->cells->len; i++)
    g_ptr_array_add(cells, sample_copy(g_array_index(backend->cells, GpuCell, i).sample));
  return cells;
}

/* NULL if the backend has no such cell. */
static const GpuWork *find_work(const Backend *backend, const Sample *cell)
{
  for (guint i = 0; i < backend->cells->len; i++) {
    const GpuCell *own = &g_array_index(backend->cells, GpuCell, i);
    if (own->sample->size == cell->size && sample_same_curve(own->sample, cell))
      return &own->work;
  }
  return NULL;
}

guint gpu_sample_flags(uint32_t flags)
{
  return ((flags & GPU_FLAG_CLOCKS_UNKNOWN) != 0 ? SAMPLE_CLOCKS_UNKNOWN : 0u) |
         ((flags & GPU_FLAG_THROTTLED) != 0 ? SAMPLE_THROTTLED : 0u) |
         ((flags & GPU_FLAG_BUSY) != 0 ? SAMPLE_BUSY : 0u);
}

static bool gpu_backend_measure(Backend *backend, const Sample *cell, double *time_s,
                                guint n, guint *flags, GError **error)
{
  const GpuWork *work = find_work(backend, cell);
  const Gpu *gpu = &backend->gpu;
  GpuFault fault = { 0 };
  uint32_t seen = 0;

  if (work == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT, "the GPU has no cell %s", cell->probe);
    return false;
  }
  if (!gpu->plugin->measure(gpu->session, work, time_s, n, &seen, &fault))
    return gpu_fail(&fault, error);
  *flags |= gpu_sample_flags(seen);
  return true;
}

/* ---- facts ------------------------------------------------------------------------- */

/* Takes over @p value. */
static void add_fact(GPtrArray *facts, const char *name, char *value)
{
  backend_facts_add(facts, name, value);
  g_free(value);
}

static void add_state_facts(GPtrArray *facts, const char *prefix, const GpuState *state)
{
  const struct {
    const char *name;
    guint value;
  } rows[] = { { "clock_sm_MHz", state->sm_MHz },
               { "clock_memory_MHz", state->memory_MHz },
               { "power_W", (guint)lround(state->power_W) },
               { "temperature_C", state->temperature_C },
               { "throttled", state->throttled },
               { "pcie_generation", state->pcie_generation },
               { "pcie_width", state->pcie_width },
               { "other_processes", state->n_other_processes } };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *name = g_strdup_printf("%s_%s", prefix, rows[i].name);
    add_fact(facts, name, g_strdup_printf("%u", rows[i].value));
  }
}

static void add_device_facts(GPtrArray *facts, guint number, const GpuDevice *device)
{
  g_autofree char *prefix = g_strdup_printf("gpu%u", number);
  g_autofree char *hash =
    g_compute_checksum_for_string(G_CHECKSUM_SHA256, device->uuid, -1);
  const struct {
    const char *name;
    char *value;
  } rows[] = {
    { "name", g_strdup(device->name) },
    { "uuid_hash", g_strndup(hash, 16) },
    { "compute_capability", g_strdup_printf("%u.%u", device->major, device->minor) },
    { "sms", g_strdup_printf("%u", device->n_sms) },
    { "l2_B", g_strdup_printf("%" G_GUINT64_FORMAT, device->l2_B) },
    { "memory_B", g_strdup_printf("%" G_GUINT64_FORMAT, device->memory_B) },
    { "free_B", g_strdup_printf("%" G_GUINT64_FORMAT, device->free_B) },
    { "memory_nominal_Bps", g_strdup_printf("%.4g", device->memory_Bps) },
    { "numa_node", g_strdup_printf("%d", device->numa_node) },
    { "mig", g_strdup(device->mig ? "on" : "off") },
    { "ecc", g_strdup(device->ecc ? "on" : "off") },
    { "power_limit_W", g_strdup_printf("%.0f", device->power_limit_W) },
    { "nvlinks", g_strdup_printf("%u", device->n_nvlinks) },
    { "peers", g_strdup_printf("0x%x", device->peers) },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *name = g_strdup_printf("%s_%s", prefix, rows[i].name);
    add_fact(facts, name, rows[i].value);
  }
  if (device->state.known)
    add_state_facts(facts, prefix, &device->state);
}

static char *version_text(guint version, guint major, guint minor)
{
  return version == 0 ? g_strdup("none")
                      : g_strdup_printf("%u.%u.%u", version / major,
                                        version % major / minor, version % minor);
}

static GPtrArray *gpu_backend_facts(Backend *backend)
{
  GPtrArray *facts = backend_facts_new();
  const GpuVersions *versions = &backend->versions;

  add_fact(facts, "gpus", g_strdup_printf("%u", versions->n_devices));
  add_fact(facts, "cuda_driver",
           g_strdup_printf("%u.%u", versions->driver / 1000, versions->driver % 1000 / 10));
  add_fact(
    facts, "cuda_runtime",
    g_strdup_printf("%u.%u", versions->runtime / 1000, versions->runtime % 1000 / 10));
  add_fact(facts, "nvidia_driver", g_strdup(versions->driver_text));
  add_fact(facts, "nccl", version_text(versions->nccl, 10000, 100));
  add_fact(facts, "cublas", version_text(versions->cublas, 10000, 100));
  for (guint i = 0; i < versions->n_devices; i++) {
    GpuFault ignored = { 0 };
    backend->gpu.plugin->describe(backend->gpu.session, i, &backend->device[i], &ignored);
    add_device_facts(facts, i, &backend->device[i]);
  }
  return facts;
}

const BackendOps backend_gpu = {
  .info = {
    .name = "gpu",
    .summary = "the NVIDIA GPUs of this machine: kernels, copies, products, NCCL",
    .source = "CUDA events around calls; clocks are read from NVML, never set",
    .params = gpu_params,
    .params_size = sizeof(GpuParams),
  },
  .open = gpu_backend_open,
  .cells = gpu_backend_cells,
  .facts = gpu_backend_facts,
  .measure = gpu_backend_measure,
  .close = backend_free,
};
