#include "calibrate/synthetic.h"

#include "sim/base/param.h"
#include "sim/base/rng.h"

#include <math.h>
#include <string.h>

struct Backend {
  const SyntheticParams *params;
  Rng *rng;
};

// clang-format off
static const ParamSpec synthetic_params[] = {
  { .key = "alpha", .type = PARAM_SECONDS, .offset = offsetof(SyntheticParams, alpha_s),
    .fallback = "20 us", .max = 1, .help = "of send_recv, whatever the size" },
  { .key = "bandwidth", .type = PARAM_RATE,
    .offset = offsetof(SyntheticParams, bandwidth_Bps), .fallback = "10 GB/s",
    .help = "of send_recv and of the ring" },
  { .key = "eager_limit", .type = PARAM_BYTES, .offset = offsetof(SyntheticParams, eager_B),
    .fallback = "0", .max = 1e15,
    .help = "smaller messages of send_recv are copied, without a handshake" },
  { .key = "eager_copies", .type = PARAM_NUMBER,
    .offset = offsetof(SyntheticParams, eager_copies), .fallback = "4", .min = 1, .max = 100,
    .help = "how much longer their bytes take" },
  { .key = "handshake", .type = PARAM_SECONDS,
    .offset = offsetof(SyntheticParams, handshake_s), .fallback = "0 s", .max = 1,
    .help = "before a message that is not copied" },
  { .key = "launch", .type = PARAM_SECONDS, .offset = offsetof(SyntheticParams, launch_s),
    .fallback = "8 us", .max = 1, .help = "of all_reduce, once" },
  { .key = "intra", .type = PARAM_SECONDS, .offset = offsetof(SyntheticParams, intra_s),
    .fallback = "3 us", .max = 1, .help = "a step of the ring inside a node" },
  { .key = "inter", .type = PARAM_SECONDS, .offset = offsetof(SyntheticParams, inter_s),
    .fallback = "15 us", .max = 1, .help = "a step of the ring between nodes" },
  { .key = "nodes", .type = PARAM_COUNT, .offset = offsetof(SyntheticParams, nodes),
    .fallback = "4", .min = 1, .max = 4096,
    .help = "all_reduce is measured on 1, 2, 4 ... nodes, up to this" },
  { .key = "gpus", .type = PARAM_COUNT, .offset = offsetof(SyntheticParams, gpus),
    .fallback = "4", .min = 1, .max = 64, .help = "of a node" },
  { .key = "peak", .type = PARAM_FLOPS, .offset = offsetof(SyntheticParams, peak_flops),
    .fallback = "300 TFLOP/s", .min = 1, .max = 1e20, .help = "of gemm" },
  { .key = "half", .type = PARAM_NUMBER, .offset = offsetof(SyntheticParams, half_flop),
    .fallback = "2e9", .min = 1, .max = 1e20,
    .help = "floating-point operations at which gemm reaches half its peak" },
  { .key = "sharpness", .type = PARAM_NUMBER, .offset = offsetof(SyntheticParams, sharpness),
    .fallback = "0.8", .min = 0.1, .max = 4, .help = "of the way from slow to peak" },
  { .key = "noise", .type = PARAM_FRACTION, .offset = offsetof(SyntheticParams, noise),
    .fallback = "2 %", .max = 0.5, .help = "standard deviation of the times" },
  { .key = "outliers", .type = PARAM_FRACTION, .offset = offsetof(SyntheticParams, outliers),
    .fallback = "7 %", .max = 0.4, .help = "share of the times" },
  { .key = "outlier_factor", .type = PARAM_NUMBER,
    .offset = offsetof(SyntheticParams, outlier_factor), .fallback = "11", .min = 1,
    .max = 1000, .help = "the most that an outlier is late by" },
  { .key = "seed", .type = PARAM_COUNT, .offset = offsetof(SyntheticParams, seed),
    .fallback = "1", .help = "of noise and outliers" },
  PARAM_END,
};
// clang-format on

double synthetic_law_s(const SyntheticParams *params, const Sample *cell)
{
  if (strcmp(cell->probe, "gemm") == 0)
    return cell->size / params->peak_flops *
           (1 + pow(params->half_flop / cell->size, params->sharpness));
  if (strcmp(cell->probe, "send_recv") == 0)
    return params->alpha_s +
           (cell->size < (double)params->eager_B ? 0 : params->handshake_s) +
           cell->size / params->bandwidth_Bps *
             (cell->size < (double)params->eager_B ? params->eager_copies : 1);

  const double n = cell->ranks, steps = 2 * (n - 1);
  const double n_inter = cell->nodes == 1 ? 0 : 2.0 * cell->nodes - 1;
  return params->launch_s + (steps - n_inter) * params->intra_s +
         n_inter * params->inter_s + steps / n * cell->size / params->bandwidth_Bps;
}

static Backend *synthetic_open(const void *params, GError **error G_GNUC_UNUSED)
{
  Backend *backend = g_new0(Backend, 1);

  backend->params = params;
  backend->rng = rng_stream(backend->params->seed, "synthetic.noise");
  return backend;
}

static void add_cell(GPtrArray *cells, const Sample *like, double size)
{
  Sample *cell = sample_copy(like);

  cell->size = size;
  g_ptr_array_add(cells, cell);
}

static void add_bytes(GPtrArray *cells, const Sample *like)
{
  static const double first_B = 8, last_B = 1u << 30;

  for (double size_B = first_B; size_B <= last_B; size_B *= 2)
    add_cell(cells, like, size_B);
}

static GPtrArray *synthetic_cells(Backend *backend)
{
  const SyntheticParams *params = backend->params;
  GPtrArray *cells = sample_list_new();
  g_autoptr(Sample) message = sample_new("send_recv");
  g_autoptr(Sample) ring = sample_new("all_reduce");
  g_autoptr(Sample) gemm = sample_new("gemm");

  sample_set(&message->library, "synthetic");
  message->ranks = 2;
  add_bytes(cells, message);
  sample_set(&ring->library, "synthetic");
  sample_set(&ring->algo, "ring");
  for (ring->nodes = 1; ring->nodes <= params->nodes; ring->nodes *= 2) {
    ring->ranks = ring->nodes * params->gpus;
    if (ring->ranks > 1)
      add_bytes(cells, ring);
  }
  sample_set(&gemm->library, "synthetic");
  sample_set(&gemm->dtype, "bf16");
  gemm->axis = SAMPLE_FLOPS;
  for (double n = 128; n <= 16384; n *= 2) { /* squares of n x n: 2 n^3 operations */
    add_cell(cells, gemm, 2 * n * n * n);
    add_cell(cells, gemm, 2 * pow(1.5 * n, 3));
  }
  return cells;
}

static GPtrArray *synthetic_facts(Backend *backend)
{
  GPtrArray *facts = backend_facts_new();

  for (const ParamSpec *spec = synthetic_params; spec->key != NULL; spec++) {
    g_autofree char *value = param_format(spec, backend->params);
    backend_facts_add(facts, spec->key, value);
  }
  return facts;
}

static double normal(Rng *rng)
{
  return rng_max_normal(rng, 1);
}

static bool synthetic_measure(Backend *backend, const Sample *cell, double *time_s, guint n,
                              guint *flags G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  const SyntheticParams *params = backend->params;
  const double law_s = synthetic_law_s(params, cell);

  for (guint i = 0; i < n; i++) {
    time_s[i] = law_s * exp(params->noise * normal(backend->rng));
    if (rng_uniform(backend->rng) < params->outliers)
      time_s[i] *= 1 + (params->outlier_factor - 1) * rng_uniform(backend->rng);
  }
  return true;
}

static void synthetic_close(Backend *backend)
{
  rng_free(backend->rng);
  g_free(backend);
}

const BackendOps backend_synthetic = {
  .info = {
    .name = "synthetic",
    .summary = "a machine whose laws are known, with seeded noise and outliers",
    .source = "stepcast",
    .params = synthetic_params,
    .params_size = sizeof(SyntheticParams),
  },
  .open = synthetic_open,
  .cells = synthetic_cells,
  .facts = synthetic_facts,
  .measure = synthetic_measure,
  .close = synthetic_close,
};
