/** @file netns.c  @brief Times collectives between network namespaces. */
#include "calibrate/backend/netns.h"

#include "calibrate/backend/host.h"
#include "calibrate/backend/netns_algo.h"
#include "calibrate/backend/netns_cluster.h"
#include "calibrate/backend/netns_mpi.h"
#include "sim/base/param.h"
#include "sim/base/units.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define OWN_LIBRARY "stepcast"
#define SMALLEST_B 16384.0  /* below, idle cables' credit (tbf's bucket) is all one sees */
#define LONGEST_S 2.0       /* cells whose closed form is longer are left out [s] */
#define WARM_UP_VALUES 1024 /* the first call opens windows and pages */
#define LIMIT_S 60.0        /* beyond LIMIT_FACTOR times the closed form */
#define LIMIT_FACTOR 10

struct Backend {
  const NetnsParams *params;
  NetnsCluster *cluster;
  NetnsMpi *mpi; /* NULL: not wanted */
};

/* What the ranks of one cell do. */
typedef struct {
  const NetnsCluster *cluster;
  const Algo *algo;
  gsize n_values;
  guint n_times;
} NetnsTask;

// clang-format off
static const ParamSpec netns_params[] = {
  { .key = "hosts", .type = PARAM_COUNT, .offset = offsetof(NetnsParams, n),
    .fallback = "4", .min = 2, .max = NETNS_MAX_HOSTS, .help = "namespaces that play hosts" },
  { .key = "rate", .type = PARAM_RATE, .offset = offsetof(NetnsParams, rate_Bps),
    .fallback = "100 Mbit/s", .min = 1e5, .max = 1e10, .help = "of every cable, each way" },
  { .key = "mtu", .type = PARAM_BYTES, .offset = offsetof(NetnsParams, mtu_B),
    .fallback = "9000 B", .min = 576, .max = 9000, .help = "largest IP packet" },
  { .key = "largest", .type = PARAM_BYTES, .offset = offsetof(NetnsParams, largest_B),
    .fallback = "4 MiB", .min = 16384, .max = 0x1p28, .help = "message of the largest cell" },
  { .key = "mpi", .type = PARAM_BOOL, .offset = offsetof(NetnsParams, mpi),
    .fallback = "false", .help = "Open MPI's all-reduces too" },
  { .key = "mpi_program", .type = PARAM_TEXT,
    .offset = offsetof(NetnsParams, mpi_program), .fallback = "",
    .help = "path of stepcast-mpi; else it is looked for beside the program" },
  { .key = "force", .type = PARAM_BOOL, .offset = offsetof(NetnsParams, force),
    .fallback = "false", .help = "even with more packets than the CPUs carry" },
  { .key = "quick", .type = PARAM_BOOL, .offset = offsetof(NetnsParams, quick),
    .fallback = "false", .help = "fewer sizes" },
  PARAM_END,
};
// clang-format on

/* NULL: it is Open MPI's. */
static const Algo *algo_of(const Sample *cell)
{
  if (strcmp(cell->library, OWN_LIBRARY) != 0)
    return NULL;
  for (guint i = 0; algo_table[i] != NULL; i++)
    if (strcmp(algo_table[i]->probe, cell->probe) == 0 &&
        strcmp(algo_table[i]->name, cell->algo) == 0 &&
        strcmp(algo_table[i]->variant, cell->variant) == 0)
      return algo_table[i];
  return NULL;
}

static bool check_machine(const NetnsParams *params, GError **error)
{
  static const char *const programs[] = { "ip", "tc" };

  if (!netns_check_budget(params, host_n_cores(), error))
    return false;
  if (geteuid() != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE,
                "calibrate host: --netns needs root, to make network namespaces");
    return false;
  }
  for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
    g_autofree char *path = g_find_program_in_path(programs[i]);
    if (path == NULL) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE,
                  "calibrate host: --netns needs `%s`: install iproute2", programs[i]);
      return false;
    }
  }
  return true;
}

static void netns_close(Backend *backend)
{
  g_clear_pointer(&backend->mpi, netns_mpi_free);
  g_clear_pointer(&backend->cluster, netns_cluster_free);
  g_free(backend);
}

static Backend *netns_open(const void *data, GError **error)
{
  const NetnsParams *params = data;

  if (!check_machine(params, error) || (params->mpi && !netns_mpi_check(params, error)))
    return NULL;
  Backend *backend = g_new0(Backend, 1);
  backend->params = params;
  backend->cluster = netns_cluster_new(params, error);
  if (backend->cluster != NULL && params->mpi)
    backend->mpi = netns_mpi_new(backend->cluster, params, error);
  if (backend->cluster == NULL || (params->mpi && backend->mpi == NULL)) {
    netns_close(backend);
    return NULL;
  }
  return backend;
}

static double closed_form_s(const NetnsParams *params, const Algo *algo, double size_B)
{
  return algo->load(params->n) * size_B / netns_goodput_Bps(params);
}

static void add_algo(const NetnsParams *params, const Algo *algo, GPtrArray *cells)
{
  g_autoptr(Sample) like = sample_new(algo->probe);
  g_autofree char *place = netns_place(params);
  double largest_B = (double)params->largest_B;

  while (largest_B > SMALLEST_B && closed_form_s(params, algo, largest_B) > LONGEST_S)
    largest_B /= 2;
  sample_set(&like->library, OWN_LIBRARY);
  sample_set(&like->algo, algo->name);
  sample_set(&like->variant, algo->variant);
  sample_set(&like->dtype, "fp32");
  sample_set(&like->place, place);
  like->ranks = like->nodes = params->n;
  host_add_sizes(cells, like, SMALLEST_B, largest_B, params->quick);
}

static GPtrArray *netns_cells(Backend *backend)
{
  const NetnsParams *params = backend->params;
  GPtrArray *cells = sample_list_new();

  for (guint i = 0; algo_table[i] != NULL; i++)
    if (!algo_table[i]->powers_only || (params->n & (params->n - 1)) == 0)
      add_algo(params, algo_table[i], cells);
  if (backend->mpi != NULL)
    netns_mpi_cells(backend->mpi, params, SMALLEST_B, cells);
  return cells;
}

static GPtrArray *netns_facts(Backend *backend)
{
  GPtrArray *facts = host_describe(NULL, 0);

  for (const ParamSpec *spec = netns_params; spec->key != NULL; spec++) {
    g_autofree char *value = param_format(spec, backend->params);
    g_autofree char *name = g_strdup_printf("netns_%s", spec->key);
    backend_facts_add(facts, name, value);
  }
  return facts;
}

/* Small whole numbers: their sums are exact, in any order. */
static float value_of(guint weight, gsize i)
{
  return (float)(weight * (i % 100));
}

static bool check_sum(const AlgoCall *call, GError **error)
{
  const guint weight = call->n * (call->n + 1) / 2;

  for (gsize i = 0; i < call->n_values; i++)
    if (call->values[i] != value_of(weight, i)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT,
                  "rank %u: the sum of value %zu is %g, not %g", call->rank, i,
                  (double)call->values[i], (double)value_of(weight, i));
      return false;
    }
  return true;
}

/* An idle shaper lets a bucketful pass at once, which no cable does: empty all of them, up
 * and down, before the clock starts, but after all have what the last call sent. */
static bool drain_shapers(const AlgoCall *call, GError **error)
{
  guint8 out[NETNS_BURST_B] = { 0 }, in[NETNS_BURST_B];
  Transfer transfers[] = {
    { (call->rank + 1) % call->n, true, out, sizeof out },
    { (call->rank + call->n - 1) % call->n, false, in, sizeof in },
  };
  return mesh_exchange(call->mesh, transfers, G_N_ELEMENTS(transfers), error);
}

static bool call_once(const Algo *algo, const AlgoCall *call, const CrewMember *me,
                      guint index, GError **error)
{
  for (gsize i = 0; i < call->n_values; i++)
    call->values[i] = value_of(call->rank + 1, i);
  if (!crew_meet(me) || !drain_shapers(call, error) || !crew_begin(me, index) ||
      !algo->run(call, error))
    return false;
  crew_end(me, index);
  return !algo->has_sum(call->rank) || check_sum(call, error);
}

/* A rank whose peer gave up hears of it as a silence; the first error is what counts. */
static bool work(CrewMember *me, GError **error)
{
  const NetnsTask *task = me->task;
  g_autofree float *values = g_new0(float, task->n_values);
  g_autofree float *space = g_new(float, me->n *(task->n_values + 2));
  Mesh mesh;
  AlgoCall call = { .mesh = &mesh,
                    .rank = me->rank,
                    .n = me->n,
                    .values = values,
                    .n_values = MIN(task->n_values, WARM_UP_VALUES),
                    .space = space };

  setpriority(PRIO_PROCESS, 0, NETNS_NICE);
  if (!netns_cluster_enter(task->cluster, me->rank, error) ||
      !mesh_open(&mesh, me, netns_address, error) ||
      !call_once(task->algo, &call, me, 0, error))
    return false;
  call.n_values = task->n_values;
  for (guint i = 0; i < task->n_times; i++)
    if (!call_once(task->algo, &call, me, i, error))
      return false;
  if (!crew_meet(me))
    return false;
  mesh_close(&mesh);
  return true;
}

static bool netns_measure(Backend *backend, const Sample *cell, double *time_s, guint n,
                          guint *flags G_GNUC_UNUSED, GError **error)
{
  const NetnsParams *params = backend->params;
  const Algo *algo = algo_of(cell);

  if (algo == NULL)
    return netns_mpi_measure(backend->mpi, cell, time_s, n, error);
  const NetnsTask task = { .cluster = backend->cluster,
                           .algo = algo,
                           .n_values = (gsize)(cell->size / sizeof(float)),
                           .n_times = n };
  const CrewJob job = {
    .n = params->n,
    .n_times = n,
    .limit_s = LIMIT_S + LIMIT_FACTOR * n * closed_form_s(params, algo, cell->size),
    .work = work,
    .task = &task,
  };
  return crew_run(&job, time_s, error);
}

const BackendOps backend_netns = {
  .info = {
    .name = "netns",
    .summary = "a cluster of network namespaces on this machine, links shaped",
    .source = "Linux network namespaces, bridge, tbf; TCP collectives spelt out",
    .params = netns_params,
    .params_size = sizeof(NetnsParams),
  },
  .open = netns_open,
  .cells = netns_cells,
  .facts = netns_facts,
  .measure = netns_measure,
  .close = netns_close,
};
