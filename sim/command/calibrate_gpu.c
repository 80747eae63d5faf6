/* calibrate gpu: measure the GPUs of this machine, through stepcast-gpu.so. */
#include "calibrate/backend/gpu_nccl.h"
#include "calibrate/gpu/cells.h"
#include "calibrate/gpu/exchange.h"
#include "calibrate/gpu/parity.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/command/calibrate.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef struct {
  CalibrateOptions usual;
  char *devices;
  char *max_bytes;
  char *nccl_lib;
  int full, dry_run, self_test, exchange; /* GLib's truth */
} GpuOptions;

static void gpu_options_clear(GpuOptions *options)
{
  calibrate_options_clear(&options->usual);
  g_free(options->devices);
  g_free(options->max_bytes);
  g_free(options->nccl_lib);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GpuOptions, gpu_options_clear)

/* Borrows from @p options. */
static bool bind_params(const GpuOptions *options, GpuParams *params, GError **error)
{
  double max_B = 0;

  param_set_defaults(backend_gpu.info.params, params);
  params->devices = options->devices;
  params->nccl_library = options->nccl_lib;
  params->effort = options->usual.quick ? GPU_QUICK : options->full ? GPU_FULL : GPU_USUAL;
  if (options->max_bytes != NULL) {
    if (!options_parse_size(&calibrate_gpu, "--max-bytes", options->max_bytes, &max_B,
                            error))
      return false;
    if (max_B < 1 << 20 || max_B > 1ull << 40) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                  "calibrate gpu: --max-bytes %s: between 1M and 1T", options->max_bytes);
      return false;
    }
    params->max_B = (guint64)max_B;
  }
  if (!(options->usual.time_limit_s >= 0 && options->usual.time_limit_s < 1e6)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate gpu: --time-limit: a number of seconds, 0 to a million");
    return false;
  }
  if (options->usual.quick && options->full) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate gpu: --quick or --full, not both");
    return false;
  }
  return true;
}

static void append_plan(const GPtrArray *samples, GString *out)
{
  const Sample *before = NULL;
  guint n_curves = 0;

  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    if (before == NULL || !sample_same_curve(before, sample)) {
      n_curves++;
      g_string_append_printf(out, "%s%s", before == NULL ? "" : "\n", sample->probe);
      const char *const texts[] = { sample->library, sample->algo, sample->dtype,
                                    sample->regime, sample->variant };
      for (guint t = 0; t < G_N_ELEMENTS(texts); t++)
        if (*texts[t] != '\0')
          g_string_append_printf(out, ", %s", texts[t]);
      g_string_append_c(out, ':');
    }
    g_autofree char *size = sample->axis == SAMPLE_BYTES
                              ? units_show_bytes(sample->size, 3)
                              : g_strdup_printf("%.3g", sample->size);
    g_string_append_printf(out, " %s;", size);
    before = sample;
  }
  g_string_append_printf(out, "\n%u cells on %u curves\n", samples->len, n_curves);
}

static gint compare_samples(gconstpointer a, gconstpointer b)
{
  return sample_compare(*(const Sample *const *)a, *(const Sample *const *)b);
}

/* What would be measured, on an imagined GPU: no device is touched. */
static void dry_run(const GpuParams *params, const char *only, GString *out)
{
  GpuVersions versions;
  GpuDevice device = gpu_cells_example(&versions);
  g_auto(GStrv) probes = only == NULL ? NULL : g_strsplit(only, ",", -1);
  g_autoptr(GPtrArray) samples = g_ptr_array_new();

  device.buffer_B = MIN(params->max_B, device.free_B / 4);
  g_autoptr(GArray) cells = gpu_cells(&device, &versions, params->effort);
  for (guint i = 0; i < cells->len; i++) {
    Sample *sample = g_array_index(cells, GpuCell, i).sample;
    if (probes == NULL || g_strv_contains((const char *const *)probes, sample->probe))
      g_ptr_array_add(samples, sample);
  }
  g_ptr_array_sort(samples, compare_samples);
  g_string_append_printf(out, "Nothing was measured. On a GPU (%s) this would be:\n",
                         device.name);
  append_plan(samples, out);
}

static bool self_test(const GpuParams *params, GString *out, GError **error)
{
  GpuRequest request;
  Gpu gpu = { 0 };

  if (!gpu_request(params, &request, error) || !gpu_load(NULL, &gpu, error) ||
      !gpu_open(&gpu, &request, error))
    return false;
  const bool same = gpu_parity(&gpu, out, error);
  gpu_close(&gpu);
  return same;
}

/* The child's side of gpu_nccl: it ends with its parent, even where NCCL hangs. */
static bool serve_exchange(const GpuParams *params, GError **error)
{
  GpuRequest request;
  Gpu gpu = { 0 };
  g_autoptr(GError) why = NULL;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!gpu_request(params, &request, &why) || !gpu_load(NULL, &gpu, &why) ||
      !gpu_open(&gpu, &request, &why))
    return exchange_refuse(why, STDOUT_FILENO, error);
  const bool served = exchange_serve(&gpu, STDIN_FILENO, STDOUT_FILENO, error);
  gpu_close(&gpu);
  return served;
}

/* ---- several GPUs ------------------------------------------------------------------ */

typedef struct {
  GpuNcclParams like;
  guint device[GPU_DEVICES_MAX];
  guint n_devices;
  char **only;   /* collectives; NULL: all */
  gint64 end_us; /* of the monotonic clock; 0: none */
} Several;

static void several_clear(Several *several)
{
  g_strfreev(several->only);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Several, several_clear)

static bool is_collective(const char *probe)
{
  for (GpuCollective c = GPU_ALL_REDUCE; c < GPU_COLLECTIVE_N; c++)
    if (strcmp(exchange_collective_name(c), probe) == 0)
      return true;
  return false;
}

/* The collectives of --only are for several GPUs, the rest is for the first. */
static void split_only(CalibrateOptions *options, Several *several)
{
  g_auto(GStrv) all = g_strsplit(options->only, ",", -1);
  g_autoptr(GString) rest = g_string_new(NULL);
  g_autoptr(GPtrArray) collectives = g_ptr_array_new();

  for (char **probe = all; *probe != NULL; probe++)
    if (is_collective(*probe))
      g_ptr_array_add(collectives, g_strdup(*probe));
    else
      g_string_append_printf(rest, "%s%s", rest->len == 0 ? "" : ",", *probe);
  g_ptr_array_add(collectives, NULL);
  several->only = (char **)g_ptr_array_free(g_steal_pointer(&collectives), FALSE);
  g_free(options->only);
  options->only = g_strdup(rest->str);
}

/* Which GPUs there are; an error says why there are none. */
static bool find_devices(const GpuParams *params, Several *several, GError **error)
{
  GpuRequest request;
  GpuVersions versions;
  GpuFault fault = { 0 };
  Gpu gpu = { 0 };

  if (!gpu_request(params, &request, error) || !gpu_load(NULL, &gpu, error) ||
      !gpu_open(&gpu, &request, error))
    return false;
  const bool ok = gpu.plugin->versions(gpu.session, &versions, &fault);
  gpu_close(&gpu);
  if (!ok)
    return gpu_fail(&fault, error);
  several->n_devices = versions.n_devices;
  for (guint i = 0; i < versions.n_devices; i++)
    several->device[i] = request.n_devices > 0 ? request.device[i] : i;
  return true;
}

static void add_copies(GPtrArray *to, const GPtrArray *from)
{
  for (guint i = 0; i < from->len; i++)
    g_ptr_array_add(to, sample_copy(g_ptr_array_index(from, i)));
}

/* One choice of NCCL's after the other; one that cannot be had is told, and left out. */
static bool measure_several(GPtrArray *samples, const SweepOptions *rules, void *data,
                            GError **error G_GNUC_UNUSED)
{
  const Several *several = data;
  SweepOptions options = *rules;
  g_autoptr(GArray) sweeps =
    gpu_nccl_sweeps(&several->like, several->device, several->n_devices);

  for (guint i = 0; i < sweeps->len; i++) {
    const GpuNcclParams *sweep = &g_array_index(sweeps, GpuNcclParams, i);
    g_autoptr(GError) why = NULL;
    g_autoptr(GPtrArray) more = NULL;
    if (several->end_us != 0 && g_get_monotonic_time() > several->end_us)
      break;
    Backend *backend = backend_gpu_nccl.open(sweep, &why);
    if (backend != NULL) {
      g_auto(GStrv) only = gpu_nccl_only(backend, several->only);
      options.only = (const char *const *)only;
      more = sweep_run(&backend_gpu_nccl, backend, &options, &why);
      backend_gpu_nccl.close(backend);
    }
    if (more != NULL) {
      add_copies(samples, more);
    } else {
      g_autofree char *line = g_strdup_printf("NCCL on GPUs %s, %s %s: %s\n",
                                              sweep->devices, gpu_nccl_algos[sweep->algo],
                                              gpu_nccl_protos[sweep->proto], why->message);
      command_say(line);
    }
  }
  return true;
}

static bool measure_all(GpuOptions *options, GpuParams *params, GString *out,
                        GError **error)
{
  const gint64 limit_us = (gint64)(options->usual.time_limit_s * 1e6);
  g_auto(Several)
    several = { .end_us = limit_us > 0 ? g_get_monotonic_time() + limit_us : 0 };

  if (!find_devices(params, &several, error))
    return false;
  if (options->usual.only != NULL)
    split_only(&options->usual, &several);
  param_set_defaults(backend_gpu_nccl.info.params, &several.like);
  g_clear_pointer(&several.like.devices, g_free); /* each sweep has its own */
  several.like.nccl_library = params->nccl_library;
  several.like.max_B = params->max_B;
  several.like.effort = params->effort;
  if (several.n_devices > 1 && (several.only == NULL || several.only[0] != NULL)) {
    options->usual.more = measure_several;
    options->usual.more_data = &several;
  }
  return calibrate_measure(&backend_gpu, params, &options->usual, out, error);
}

static bool gpu_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(GpuOptions) options = { 0 };
  GpuParams params = { 0 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    CALIBRATE_ENTRIES(&options.usual),
    { "full", 0, 0, G_OPTION_ARG_NONE, &options.full,
      "more sizes, with some for validation alone", NULL },
    { "devices", 0, 0, G_OPTION_ARG_STRING, &options.devices,
      "these GPUs; the first does what one does", "0,1" },
    { "max-bytes", 0, 0, G_OPTION_ARG_STRING, &options.max_bytes,
      "largest buffer (4G); at most a quarter of the free memory", "SIZE" },
    { "nccl-lib", 0, 0, G_OPTION_ARG_FILENAME, &options.nccl_lib,
      "this libnccl.so, such as a PyTorch wheel's", "PATH" },
    { "time-limit", 0, 0, G_OPTION_ARG_DOUBLE, &options.usual.time_limit_s,
      "stop after so long; what was measured is kept", "SECONDS" },
    { "dry-run", 0, 0, G_OPTION_ARG_NONE, &options.dry_run,
      "list what would be measured, and touch no GPU", NULL },
    { "self-test", 0, 0, G_OPTION_ARG_NONE, &options.self_test,
      "compare every kernel with its run on the CPU, bit by bit", NULL },
    { "exchange", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &options.exchange, NULL,
      NULL },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&calibrate_gpu, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&calibrate_gpu, argc, 0, 0, "no operands", error) ||
      !bind_params(&options, &params, error))
    return false;
  if (options.dry_run) {
    dry_run(&params, options.usual.only, out);
    return true;
  }
  params.is_child = options.exchange;
  if (options.exchange)
    return serve_exchange(&params, error);
  if (options.self_test)
    return self_test(&params, out, error);
  return measure_all(&options, &params, out, error);
}

const Command calibrate_gpu = {
  .name = "calibrate gpu",
  .summary = "measure the NVIDIA GPUs of this machine",
  .usage = "[-o PATH]... [--quick | --full]",
  .run = gpu_run,
};
