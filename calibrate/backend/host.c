/** @file host.c  @brief Times the kernels of the CPU, and hands the rest on. */
#include "calibrate/backend/host.h"

#include "calibrate/backend/host_kernel.h"
#include "calibrate/backend/host_memory.h"
#include "sim/base/param.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define SMALLEST_B 4096.0
#define TICK_S 20e-6 /* a time is no shorter: about a thousand reads of the clock */
#define N_WARM_UP 2
#define BUSY_SHARE                                                                         \
  0.1 /* of the times that another process may interrupt, as of outliers                   \
       */

struct Backend {
  const HostParams *params;
  HostMemory *memory;
  const KernelSet *kernels;
  guint64 n_visits; /* of cold cells, see host_memory_place() */
};

/* Where a kernel works. */
typedef struct {
  const KernelSet *kernels;
  const float *from;
  float *to, *out;
  guint16 *halves;
  gsize n;
  gsize k; /* values that are selected */
} Place;

static void run_copy(const Place *at)
{
  memcpy(at->to, at->from, at->n * sizeof(float));
}

static void run_sum(const Place *at)
{
  at->kernels->sum(at->to, at->from, at->n);
}

static void run_to_half(const Place *at)
{
  at->kernels->to_half(at->halves, at->from, at->n);
}

static void run_from_half(const Place *at)
{
  at->kernels->from_half(at->out, at->halves, at->n);
}

/* Bits first, then scales: together they are shorter than the values. */
static void run_encode(const Place *at)
{
  at->kernels->onebit_encode(at->from, at->to, (guint8 *)at->out, at->out + at->n / 2,
                             at->n);
}

/* Any bits will do; scales are values, lest they were no numbers. */
static void run_decode(const Place *at)
{
  at->kernels->onebit_decode(at->to, (const guint8 *)at->out, at->from, at->n);
}

static void select_above(const Place *at, float threshold)
{
  at->kernels->select(at->from, at->n, threshold, (guint32 *)(void *)at->out,
                      at->out + at->n / 2, MIN(at->n / 2, 2 * at->k));
}

static void run_sampled(const Place *at)
{
  select_above(at, kernel_sampled_threshold(at->from, at->n, at->k));
}

static void run_radix(const Place *at)
{
  select_above(at, kernel_exact_threshold(at->from, at->n, at->k));
}

static void run_random(const Place *at)
{
  kernel_random_k(at->from, at->n, at->k, 1, at->out);
}

typedef struct {
  const char *probe, *library, *algo, *variant;
  double share; /* of the values that are selected */
  void (*run)(const Place *at);
} Probe;

// clang-format off
static const Probe probes[] = {
  { "memcpy",         "libc",     "",        "",             0,     run_copy },
  { "reduce",         "stepcast", "",        "",             0,     run_sum },
  { "cast",           "stepcast", "",        "fp32_to_fp16", 0,     run_to_half },
  { "cast",           "stepcast", "",        "fp16_to_fp32", 0,     run_from_half },
  { "onebit_encode",  "stepcast", "",        "",             0,     run_encode },
  { "onebit_decode",  "stepcast", "",        "",             0,     run_decode },
  { "topk_encode",    "stepcast", "sampled", "k=0.1%",       0.001, run_sampled },
  { "topk_encode",    "stepcast", "sampled", "k=1%",         0.01,  run_sampled },
  { "topk_encode",    "stepcast", "sampled", "k=10%",        0.1,   run_sampled },
  { "topk_encode",    "stepcast", "radix",   "k=1%",         0.01,  run_radix },
  { "randomk_encode", "stepcast", "",        "k=1%",         0.01,  run_random },
};

static const ParamSpec host_params[] = {
  { .key = "largest", .type = PARAM_BYTES, .offset = offsetof(HostParams, largest_B),
    .fallback = "256 MiB", .min = 4096, .max = 0x1p34,
    .help = "buffer of the largest cell; a power of two" },
  { .key = "quick", .type = PARAM_BOOL, .offset = offsetof(HostParams, quick),
    .fallback = "false", .help = "fewer sizes" },
  PARAM_END,
};
// clang-format on

static const Probe *probe_of(const Sample *cell)
{
  for (guint i = 0; i < G_N_ELEMENTS(probes); i++)
    if (strcmp(probes[i].probe, cell->probe) == 0 &&
        strcmp(probes[i].algo, cell->algo) == 0 &&
        strcmp(probes[i].variant, cell->variant) == 0)
      return &probes[i];
  return NULL;
}

static Backend *host_open(const void *data, GError **error)
{
  const HostParams *params = data;

  if ((params->largest_B & (params->largest_B - 1)) != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate host: --largest: wants a power of two, such as 256M");
    return NULL;
  }
  HostMemory *memory = host_memory_new(params->largest_B, error);
  if (memory == NULL)
    return NULL;

  Backend *backend = g_new0(Backend, 1);
  backend->params = params;
  backend->memory = memory;
  backend->kernels = kernel_set_best();
  return backend;
}

void host_add_sizes(GPtrArray *cells, const Sample *like, double first_B, double last_B,
                    bool quick)
{
  for (double size_B = first_B; size_B <= last_B; size_B *= quick ? 16 : 4) {
    Sample *cell = sample_copy(like);
    cell->size = size_B;
    g_ptr_array_add(cells, cell);
  }
}

/* Warm caches hold what fits in them; beyond, all is cold. */
static void add_kernel_cells(const Backend *backend, const Probe *probe, GPtrArray *cells)
{
  const HostParams *params = backend->params;
  const double warm_B = (double)backend->memory->cache_B / HOST_MEMORY_FACTOR;
  g_autoptr(Sample) like = sample_new(probe->probe);

  sample_set(&like->library, probe->library);
  sample_set(&like->algo, probe->algo);
  sample_set(&like->variant, probe->variant);
  sample_set(&like->dtype, "fp32");
  sample_set(&like->place, "cpu");
  sample_set(&like->regime, "cold");
  host_add_sizes(cells, like, SMALLEST_B, (double)params->largest_B, params->quick);
  sample_set(&like->regime, "warm");
  host_add_sizes(cells, like, SMALLEST_B, fmin(warm_B, (double)params->largest_B),
                 params->quick);
}

static GPtrArray *host_cells(Backend *backend)
{
  GPtrArray *cells = sample_list_new();

  for (guint i = 0; i < G_N_ELEMENTS(probes); i++)
    add_kernel_cells(backend, &probes[i], cells);
  host_loopback_cells(backend->params, cells);
  host_shared_cells(backend->params, host_n_cores(), cells);
  return cells;
}

static GPtrArray *host_facts(Backend *backend)
{
  return host_describe(backend->kernels->name, (double)backend->memory->cache_B);
}

static double now_s(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static Place place_at(const Backend *backend, const Probe *probe, gsize n, gsize first)
{
  const HostMemory *memory = backend->memory;

  return (Place){
    .kernels = backend->kernels,
    .from = memory->from + first,
    .to = memory->to + first,
    .out = memory->out + first,
    .halves = memory->halves + first,
    .n = n,
    .k = (gsize)fmax(1, round(probe->share * (double)n)),
  };
}

static double time_calls(const Probe *probe, const Place *at, guint64 n_calls)
{
  const double from_s = now_s();

  for (guint64 i = 0; i < n_calls; i++)
    probe->run(at);
  return (now_s() - from_s) / (double)n_calls;
}

static void measure_warm(const Backend *backend, const Probe *probe, gsize n_values,
                         double *time_s, guint n)
{
  const Place at = place_at(backend, probe, n_values, 0);
  const double one_s = fmax(time_calls(probe, &at, N_WARM_UP), 1e-9);
  const guint64 n_calls = (guint64)ceil(TICK_S / one_s);

  for (guint i = 0; i < n; i++)
    time_s[i] = time_calls(probe, &at, n_calls);
}

/* Every call goes to another place, which the caches have forgotten meanwhile. */
static void measure_cold(Backend *backend, const Probe *probe, gsize n_values,
                         double *time_s, guint n)
{
  for (guint i = 0; i < n; i++) {
    const gsize first = host_memory_place(backend->memory, n_values, backend->n_visits++);
    const Place at = place_at(backend, probe, n_values, first);
    time_s[i] = time_calls(probe, &at, 1);
  }
}

static void measure_kernel(Backend *backend, const Sample *cell, double *time_s, guint n,
                           guint *flags)
{
  const Probe *probe = probe_of(cell);
  const gsize n_values = (gsize)(cell->size / sizeof(float));
  const long before = host_n_displaced();

  g_return_if_fail(probe != NULL);
  if (strcmp(cell->regime, "warm") == 0)
    measure_warm(backend, probe, n_values, time_s, n);
  else
    measure_cold(backend, probe, n_values, time_s, n);
  if (host_n_displaced() - before > (long)(BUSY_SHARE * n))
    *flags |= SAMPLE_BUSY;
}

static bool host_measure(Backend *backend, const Sample *cell, double *time_s, guint n,
                         guint *flags, GError **error)
{
  if (strcmp(cell->probe, "loopback") == 0)
    return host_loopback_measure(cell, time_s, n, error);
  if (strcmp(cell->probe, "all_reduce") == 0)
    return host_shared_measure(cell, time_s, n, error);
  measure_kernel(backend, cell, time_s, n, flags);
  return true;
}

static void host_close(Backend *backend)
{
  host_memory_free(backend->memory);
  g_free(backend);
}

const BackendOps backend_host = {
  .info = {
    .name = "host",
    .summary = "this machine's CPU, memory and loopback",
    .source = "gradient kernels in SIMD, TCP_NODELAY ping-pong, shared memory",
    .params = host_params,
    .params_size = sizeof(HostParams),
  },
  .open = host_open,
  .cells = host_cells,
  .facts = host_facts,
  .measure = host_measure,
  .close = host_close,
};
