/**
 * @file testbed.c
 * @brief The simulator against really measured collectives, in network namespaces.
 *
 * Usage: testbed RATE PASSES MPI_PROGRAM
 *
 * Nothing is fitted: the simulator is told the cables' rate, and the transport's defaults.
 * Exit status 77: this machine cannot (it says why).
 */
#include "calibrate/backend/netns_mpi.h"
#include "calibrate/sweep.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/command/farm.h"
#include "sim/scenario/scenario.h"
#include "tests/testbed/predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of the median of all passes. Cores that other work keeps busy hand frames on late, which
 * the chains of 14 steps show most: a row that disagrees by its spread wants a quiet
 * machine.
 */
#define TOLERANCE 0.08

#define SKIPPED 77
#define WRONG_USAGE 2
#define N_A_PASS 4
#define SMALLEST_B 0x1p16
#define LARGEST_B 0x1p20
#define SCENARIO "tests/testbed/star.json"

static const guint host_counts[] = { 4, 8 };

static bool is_wanted(const Sample *cell)
{
  static const struct {
    const char *probe, *algo, *variant;
  } wanted[] = { { "all_reduce", "ring", "" },
                 { "all_reduce", "halving_doubling", "" },
                 { "all_reduce", "push_pull", "servers=1" },
                 { "incast", "", "" } };

  if (cell->size < SMALLEST_B || cell->size > LARGEST_B ||
      (g_str_has_prefix(cell->library, NETNS_MPI_LIBRARY) &&
       (strcmp(cell->algo, "ring") != 0 || strcmp(cell->proto, "eager") != 0)))
    return false;
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
    if (strcmp(cell->probe, wanted[i].probe) == 0 &&
        strcmp(cell->algo, wanted[i].algo) == 0 &&
        strcmp(cell->variant, wanted[i].variant) == 0)
      return true;
  return false;
}

/* The backend's cells that the simulator has an answer to. */
static GPtrArray *wanted_cells(Backend *backend)
{
  GPtrArray *cells = backend_netns.cells(backend);

  for (guint i = cells->len; i-- > 0;)
    if (!is_wanted(g_ptr_array_index(cells, i)))
      g_ptr_array_remove_index(cells, i);
  return cells;
}

static bool say_failure(guint n_done G_GNUC_UNUSED, guint n_visits G_GNUC_UNUSED,
                        const Sample *cell, const GError *error, void *data G_GNUC_UNUSED)
{
  if (error != NULL)
    printf("%s %s: %s\n", cell->probe, cell->algo, error->message);
  return true;
}

/* NULL with the reason, if this machine cannot. */
static GPtrArray *measure(const NetnsParams *params, guint n_passes, GError **error)
{
  BackendOps ops = backend_netns;
  const SweepOptions options = { .n_passes = n_passes,
                                 .n_min = N_A_PASS * n_passes,
                                 .n_max = N_A_PASS * n_passes,
                                 .good_mad = 0.01,
                                 .cell_s = 60,
                                 .seed = 1,
                                 .progress = say_failure };
  Backend *backend = ops.open(params, error);

  if (backend == NULL)
    return NULL;
  ops.cells = wanted_cells;
  GPtrArray *samples = sweep_run(&ops, backend, &options, error);
  ops.close(backend);
  return samples;
}

/** What the processes that predict are given. */
typedef struct {
  const GPtrArray *samples;
  const NetnsParams *params;
} Job;

static bool predict_one(guint index, void *data, GString *out, GError **error)
{
  const Job *job = data;
  const Sample *sample = g_ptr_array_index(job->samples, index);
  double time_s = 0;

  if (!predict(SCENARIO, sample, netns_goodput_Bps(job->params),
               NETNS_BURST_B / job->params->rate_Bps, &time_s, error))
    return false;
  g_string_append_printf(out, "%.17g", time_s);
  return true;
}

static bool print_row(const Sample *sample, double predicted_s)
{
  const double ratio = predicted_s / sample->median_s;
  const bool failed = sample->flags & SAMPLE_FAILED;
  const bool agrees = !failed && fabs(ratio - 1) <= TOLERANCE;
  g_autofree char *size = units_show_bytes(sample->size, 4);
  g_autofree char *name =
    g_strdup_printf("%s %s %s", sample->algo, sample->proto, sample->variant);

  printf("%-13s %-10s %-24s %2u %8s %11.1f %11.1f %7.3f %6.1f%%  %s\n", sample->library,
         sample->probe, g_strstrip(name), sample->ranks, size, 1e6 * sample->median_s,
         1e6 * predicted_s, ratio, 100 * sample->run_spread,
         failed   ? "FAILED"
         : agrees ? ""
                  : "DISAGREES");
  return agrees;
}

/* @return how many rows disagree, or -1 if there is no answer */
static int compare(const GPtrArray *samples, const NetnsParams *params, GError **error)
{
  Job job = { .samples = samples, .params = params };
  const Farm farm = {
    .n_tasks = samples->len, .n_workers = 1, .work = predict_one, .data = &job
  };
  g_autoptr(GPtrArray) answers = farm_run(&farm, error);
  int n_bad = 0;

  if (answers == NULL)
    return -1;
  for (guint i = 0; i < samples->len; i++) {
    const GString *answer = g_ptr_array_index(answers, i);
    n_bad += !print_row(g_ptr_array_index(samples, i), g_ascii_strtod(answer->str, NULL));
  }
  return n_bad;
}

static int skip(const GError *error)
{
  printf("testbed: skipped: %s\n", error->message);
  return SKIPPED;
}

/* Open MPI's rows too, where it is. */
static GPtrArray *measure_all(NetnsParams *params, guint n_passes, GError **error)
{
  g_autoptr(GError) without = NULL;

  params->mpi = true;
  GPtrArray *samples = measure(params, n_passes, &without);
  if (samples != NULL)
    return samples;
  params->mpi = false;
  samples = measure(params, n_passes, error);
  if (samples != NULL)
    printf("without Open MPI: %s\n", without->message);
  return samples;
}

int main(int argc, char **argv)
{
  NetnsParams params = { 0 };
  g_autoptr(GError) error = NULL;
  int n_bad = 0, n_rows = 0;

  if (argc != 4) {
    printf("usage: testbed RATE PASSES MPI_PROGRAM\n");
    return WRONG_USAGE;
  }
  const guint n_passes = (guint)MAX(1, g_ascii_strtoull(argv[2], NULL, 10));
  param_set_defaults(backend_netns.info.params, &params);
  params.mpi_program = argv[3];
  if (!param_set(param_find(backend_netns.info.params, "rate"), &params, argv[1], &error)) {
    printf("testbed: %s\n", error->message);
    return WRONG_USAGE;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("%-13s %-10s %-24s %2s %8s %11s %11s %7s %7s\n", "library", "probe", "algorithm",
         "N", "size", "measured us", "predicted", "ratio", "spread");
  for (guint i = 0; i < G_N_ELEMENTS(host_counts); i++) {
    params.n = host_counts[i];
    g_autoptr(GPtrArray) samples = measure_all(&params, n_passes, &error);
    if (samples == NULL)
      return skip(error);
    const int bad = compare(samples, &params, &error);
    if (bad < 0) {
      printf("testbed: %s\n", error->message);
      return 1;
    }
    n_bad += bad;
    n_rows += (int)samples->len;
  }
  printf("%d of %d within %.0f %% of the median of %u passes\n", n_rows - n_bad, n_rows,
         100 * TOLERANCE, n_passes);
  return n_bad == 0 ? 0 : 1;
}
