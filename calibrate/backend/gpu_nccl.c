#include "calibrate/backend/gpu_nccl.h"

#include "calibrate/gpu/exchange.h"
#include "sim/base/param.h"

#include <string.h>

/* From the start of the child until its devices are open and their memory is filled [s]. */
#define START_LIMIT_S 60

/* A choice that hangs again and again is given up. */
#define STARTS_MAX 4

const char *const gpu_nccl_algos[] = { "", "ring", "tree", "nvls", NULL };
const char *const gpu_nccl_protos[] = { "", "ll", "ll128", "simple", NULL };
enum { ALGO_ANY, ALGO_RING, ALGO_TREE, ALGO_NVLS };
enum { PROTO_ANY, PROTO_LL, PROTO_LL128, PROTO_SIMPLE };

struct Backend {
  const GpuNcclParams *params;
  guint n_ranks;
  guint n_starts;
  Child *child; /* NULL after it was killed */
  ExchangeReady ready;
};

// clang-format off
static const ParamSpec gpu_nccl_params[] = {
  { .key = "devices", .type = PARAM_TEXT, .offset = offsetof(GpuNcclParams, devices),
    .fallback = "0,1", .help = "CUDA's numbers, one rank each" },
  { .key = "nccl_library", .type = PARAM_TEXT,
    .offset = offsetof(GpuNcclParams, nccl_library), .fallback = "",
    .help = "path of libnccl.so; none: where the loader finds it" },
  { .key = "max_bytes", .type = PARAM_BYTES, .offset = offsetof(GpuNcclParams, max_B),
    .fallback = "4 GiB", .min = 8, .max = 1ull << 40, .help = "largest message" },
  { .key = "limit", .type = PARAM_SECONDS, .offset = offsetof(GpuNcclParams, limit_s),
    .fallback = "30 s", .min = 0.01, .max = 3600,
    .help = "an answer that takes longer: the child is killed, the cell failed" },
  PARAM_END,
};
// clang-format on

/* ---- the child --------------------------------------------------------------------- */

/* NCCL's words for a choice are ours in capitals, but for two. */
static const char *const nccl_algo_words[] = { NULL, "Ring", "Tree", "NVLS" };
static const char *const nccl_proto_words[] = { NULL, "LL", "LL128", "Simple" };

static char **child_environment(const GpuNcclParams *params)
{
  char **environment = g_get_environ();

  environment = g_environ_unsetenv(environment, "NCCL_DEBUG");
  environment = g_environ_unsetenv(environment, "NCCL_ALGO");
  environment = g_environ_unsetenv(environment, "NCCL_PROTO");
  if (params->algo != ALGO_ANY)
    environment =
      g_environ_setenv(environment, "NCCL_ALGO", nccl_algo_words[params->algo], TRUE);
  if (params->proto != PROTO_ANY)
    environment =
      g_environ_setenv(environment, "NCCL_PROTO", nccl_proto_words[params->proto], TRUE);
  return environment;
}

static bool start(Backend *backend, GError **error)
{
  const GpuNcclParams *params = backend->params;
  g_autofree char *program = params->program != NULL
                               ? g_strdup(params->program)
                               : g_file_read_link("/proc/self/exe", error);
  g_autofree char *max =
    g_strdup_printf("%" G_GUINT64_FORMAT, MAX(params->max_B, (guint64)1 << 20));
  const char *argv[] = { program,       "calibrate", "gpu",
                         "--exchange",  "--devices", params->devices,
                         "--max-bytes", max,         NULL,
                         NULL,          NULL };
  g_auto(GStrv) environment = child_environment(params);

  if (program == NULL)
    return false;
  if (params->nccl_library != NULL) {
    argv[8] = "--nccl-lib";
    argv[9] = params->nccl_library;
  }
  backend->n_starts++;
  backend->child = child_start(argv, (const char *const *)environment, error);
  if (backend->child == NULL ||
      !exchange_await(backend->child, START_LIMIT_S, &backend->ready, error)) {
    g_clear_pointer(&backend->child, child_free);
    return false;
  }
  return true;
}

static void gpu_nccl_close(Backend *backend)
{
  child_free(backend->child);
  g_free(backend);
}

static Backend *gpu_nccl_open(const void *params, GError **error)
{
  Backend *backend = g_new0(Backend, 1);
  GpuRequest request;
  const GpuParams own = { .devices = ((const GpuNcclParams *)params)->devices };

  backend->params = params;
  if (gpu_request(&own, &request, error)) {
    backend->n_ranks = request.n_devices;
    if (start(backend, error))
      return backend;
  }
  gpu_nccl_close(backend);
  return NULL;
}

/* ---- cells ------------------------------------------------------------------------- */

/* Which collectives NCCL can do with a forced algorithm (tuning.cc, 2.28.9): trees sum to
 * all; NVLS does what switches add up or copy; sends know neither. */
static bool can(const GpuNcclParams *params, GpuCollective collective)
{
  switch (params->algo) {
  case ALGO_ANY:
    return true;
  case ALGO_RING:
    return collective == GPU_ALL_REDUCE || collective == GPU_REDUCE_SCATTER ||
           collective == GPU_ALL_GATHER || collective == GPU_BROADCAST;
  case ALGO_NVLS:
    return collective == GPU_ALL_REDUCE || collective == GPU_REDUCE_SCATTER ||
           collective == GPU_ALL_GATHER;
  default:
    return collective == GPU_ALL_REDUCE;
  }
}

char **gpu_nccl_only(const Backend *backend, char *const *probes)
{
  char **only = g_new0(char *, GPU_COLLECTIVE_N + 1);
  guint n = 0;

  for (GpuCollective c = GPU_ALL_REDUCE; c < GPU_COLLECTIVE_N; c++) {
    const char *name = exchange_collective_name(c);
    const bool wanted =
      probes == NULL || g_strv_contains((const char *const *)probes, name);
    if (wanted && can(backend->params, c))
      only[n++] = g_strdup(name);
  }
  return only;
}

static void add_cell(Backend *backend, GPtrArray *cells, GpuCollective collective,
                     bool in_place, guint64 size_B)
{
  const GpuNcclParams *params = backend->params;
  const guint version = backend->ready.nccl;
  g_autofree char *library =
    g_strdup_printf("nccl %u.%u.%u", version / 10000, version % 10000 / 100, version % 100);
  Sample *cell = sample_new(exchange_collective_name(collective));

  sample_set(&cell->library, library);
  sample_set(&cell->algo, gpu_nccl_algos[params->algo]);
  sample_set(&cell->proto, gpu_nccl_protos[params->proto]);
  sample_set(&cell->dtype, "fp32");
  sample_set(&cell->place, backend->ready.n_nvlinks > 0 ? "nvlink" : "pcie");
  sample_set(&cell->variant, in_place ? "in_place" : "");
  cell->ranks = backend->n_ranks;
  cell->nodes = 1;
  cell->axis = SAMPLE_BYTES;
  cell->size = (double)size_B;
  g_ptr_array_add(cells, cell);
}

/* Protocols change within a factor of two: every power of it, but for a quick sweep. */
static GPtrArray *gpu_nccl_cells(Backend *backend)
{
  const GpuNcclParams *params = backend->params;
  const guint64 last_B = MIN(params->max_B, backend->ready.buffer_B);
  const guint64 factor = params->effort == GPU_QUICK ? 8 : 2;
  GPtrArray *cells = sample_list_new();

  for (GpuCollective c = GPU_ALL_REDUCE; c < GPU_COLLECTIVE_N; c++) {
    if (!can(params, c))
      continue;
    /* A part of at least one value for each rank. */
    for (guint64 size_B = 4 * MAX(backend->n_ranks, 2); size_B <= last_B;
         size_B *= factor) {
      add_cell(backend, cells, c, false, size_B);
      if (c == GPU_ALL_REDUCE && params->effort == GPU_FULL)
        add_cell(backend, cells, c, true, size_B);
    }
  }
  return cells;
}

static GPtrArray *gpu_nccl_facts(Backend *backend)
{
  GPtrArray *facts = backend_facts_new();
  g_autofree char *n_starts = g_strdup_printf("%u", backend->n_starts);

  backend_facts_add(facts, "nccl_processes", "one for all ranks");
  backend_facts_add(facts, "nccl_child_starts", n_starts);
  return facts;
}

/* ---- measuring --------------------------------------------------------------------- */

static bool is_alive(Backend *backend, GError **error)
{
  if (backend->child != NULL)
    return true;
  if (backend->n_starts < STARTS_MAX)
    return start(backend, error);
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "given up after %u child processes",
              backend->n_starts);
  return false;
}

static bool gpu_nccl_measure(Backend *backend, const Sample *cell, double *time_s, guint n,
                             guint *flags, GError **error)
{
  GpuExchange exchange = { .size_B = (uint64_t)cell->size,
                           .in_place = strcmp(cell->variant, "in_place") == 0 };
  uint32_t seen = 0;
  bool answered = false;

  if (!is_alive(backend, error))
    return false;
  while (strcmp(exchange_collective_name(exchange.collective), cell->probe) != 0)
    exchange.collective++;
  for (guint done = 0; done < n; done += EXCHANGE_REPETITIONS_MAX)
    if (!exchange_ask(backend->child, &exchange, time_s + done,
                      MIN(n - done, EXCHANGE_REPETITIONS_MAX), backend->params->limit_s,
                      &seen, &answered, error)) {
      if (!answered)
        g_clear_pointer(&backend->child, child_free);
      return false;
    }
  *flags |= gpu_sample_flags(seen);
  return true;
}

const BackendOps backend_gpu_nccl = {
  .info = {
    .name = "gpu_nccl",
    .summary = "collectives of NCCL among this machine's GPUs, in child processes",
    .source = "one process and ncclCommInitAll, timed as nccl-tests does",
    .params = gpu_nccl_params,
    .params_size = sizeof(GpuNcclParams),
  },
  .open = gpu_nccl_open,
  .cells = gpu_nccl_cells,
  .facts = gpu_nccl_facts,
  .measure = gpu_nccl_measure,
  .close = gpu_nccl_close,
};

/* ---- the list of sweeps ------------------------------------------------------------ */

static void sweep_clear(void *data)
{
  GpuNcclParams *sweep = data;
  g_free(sweep->devices);
}

static void add_sweep(GArray *sweeps, const GpuNcclParams *like, const guint *device,
                      guint n, guint algo, guint proto)
{
  GpuNcclParams sweep = *like;
  g_autoptr(GString) devices = g_string_new(NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf(devices, "%s%u", i == 0 ? "" : ",", device[i]);
  sweep.devices = g_strdup(devices->str);
  sweep.algo = algo;
  sweep.proto = proto;
  g_array_append_val(sweeps, sweep);
}

static void add_sweeps(GArray *sweeps, const GpuNcclParams *like, const guint *device,
                       guint n)
{
  add_sweep(sweeps, like, device, n, ALGO_ANY, PROTO_ANY);
  if (like->effort == GPU_QUICK) {
    add_sweep(sweeps, like, device, n, ALGO_RING, PROTO_SIMPLE);
    return;
  }
  for (guint proto = PROTO_LL; proto <= PROTO_SIMPLE; proto++) {
    add_sweep(sweeps, like, device, n, ALGO_RING, proto);
    add_sweep(sweeps, like, device, n, ALGO_TREE, proto);
  }
  add_sweep(sweeps, like, device, n, ALGO_NVLS, PROTO_SIMPLE);
}

GArray *gpu_nccl_sweeps(const GpuNcclParams *like, const guint *device, guint n_devices)
{
  GArray *sweeps = g_array_new(FALSE, FALSE, sizeof(GpuNcclParams));

  g_array_set_clear_func(sweeps, sweep_clear);
  for (guint n = 2; n <= n_devices; n *= 2) {
    add_sweeps(sweeps, like, device, n);
    if (2 * n > n_devices && n < n_devices)
      add_sweeps(sweeps, like, device, n_devices);
  }
  return sweeps;
}
