#include "calibrate/backend/netns_mpi.h"

#include "calibrate/backend/host.h"
#include "calibrate/backend/spawn.h"
#include "sim/base/registry.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PROGRAM "stepcast-mpi"
#define LIMIT_S 60.0 /* beyond LIMIT_FACTOR times 2 n messages in a row */
#define LIMIT_FACTOR 10
#define EAGER_LIMIT "4194304" /* above our messages: none asks before it is sent [B] */

/* Open MPI's ranks turn while they wait. As far ahead as ours, which sleep, they left no
 * time to the kernel's threads that forward frames. */
#define MPI_NICE (-4)

struct NetnsMpi {
  const NetnsCluster *cluster;
  double goodput_Bps;
  char *library;    /* "openmpi 4.1.4" */
  char *program;    /* path of ours */
  int agent;        /* a script in memory that starts a command on a host */
  char *agent_path; /* of the same */
};

/** Names of Open MPI's coll/tuned for what we call otherwise. */
typedef struct {
  const char *name;
  const char *number; /**< coll_tuned_allreduce_algorithm */
  bool powers_only;   /**< else it falls back to another */
  const char *proto;
} MpiAlgo;

// clang-format off
static const MpiAlgo mpi_algos[] = {
  { "ring",               "4", false, "eager" },
  { "ring",               "4", false, "rendezvous" },
  { "halving_doubling",   "6", true,  "eager" },
  { "halving_doubling",   "6", true,  "rendezvous" },
  { "recursive_doubling", "3", false, "eager" },
};
// clang-format on

/* Beside the program itself, as built, or in ../lib, as installed. */
static char *find_program(const NetnsParams *params)
{
  static const char *const places[] = { ".", "../lib/stepcast" };
  g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname(self == NULL ? "." : self);

  if (params->mpi_program != NULL)
    return g_file_test(params->mpi_program, G_FILE_TEST_IS_EXECUTABLE)
             ? g_canonicalize_filename(params->mpi_program, NULL)
             : NULL;
  for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
    g_autofree char *path = g_build_filename(folder, places[i], PROGRAM, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
      return g_steal_pointer(&path);
  }
  return NULL;
}

bool netns_mpi_check(const NetnsParams *params, GError **error)
{
  static const char *const programs[][2] = { { "mpirun", "openmpi-bin" },
                                             { "nsenter", "util-linux" } };
  g_autofree char *ours = find_program(params);

  for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
    g_autofree char *path = g_find_program_in_path(programs[i][0]);
    if (path == NULL) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE,
                  "calibrate host: --mpi needs `%s`: install %s", programs[i][0],
                  programs[i][1]);
      return false;
    }
  }
  if (ours != NULL)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_PLUGIN,
              "calibrate host: --mpi needs " PROGRAM ", which is built where mpicc is: "
              "install libopenmpi-dev and run make");
  return false;
}

/* What Open MPI calls in place of ssh, as "agent HOST COMMAND": the host's process knows
 * its namespaces. */
static char *write_agent(const NetnsCluster *cluster)
{
  GString *script = g_string_new("#!/bin/sh\nhost=$1\nshift\ncase $host in\n");

  for (guint host = 0; host < netns_cluster_n(cluster); host++) {
    g_autofree char *address = netns_address_text(host);
    g_string_append_printf(script, "%s) pid=%d ;;\n", address,
                           (int)netns_cluster_pid(cluster, host));
  }
  g_string_append(script, "*) exit 1 ;;\nesac\n"
                          "exec nsenter -t \"$pid\" -n -u sh -c \"$*\"\n");
  return g_string_free(script, FALSE);
}

/* "mpirun (Open MPI) 4.1.4", then where to report faults. Transfer: caller frees. */
static char *name_library(GError **error)
{
  static const char *const argv[] = { "mpirun", "--version", NULL };
  const Spawn spawn = { .argv = argv, .limit_s = LIMIT_S };
  g_autofree char *said = NULL;

  if (!spawn_run(&spawn, &said, error))
    return NULL;
  said[strcspn(said, "\n")] = '\0';
  const char *version = strrchr(said, ' ');
  return g_strdup_printf(NETNS_MPI_LIBRARY "%s", version == NULL ? "" : version);
}

NetnsMpi *netns_mpi_new(const NetnsCluster *cluster, const NetnsParams *params,
                        GError **error)
{
  g_autofree char *script = write_agent(cluster);
  const size_t length = strlen(script);
  g_autoptr(NetnsMpi) mpi = g_new0(NetnsMpi, 1);

  mpi->cluster = cluster;
  mpi->goodput_Bps = netns_goodput_Bps(params);
  mpi->program = find_program(params);
  mpi->agent = memfd_create("agent", 0);
  mpi->library = name_library(error);
  if (mpi->library == NULL)
    return NULL;
  if (mpi->agent < 0 || write(mpi->agent, script, length) != (ssize_t)length) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE, "cannot write Open MPI's agent: %s",
                g_strerror(errno));
    return NULL;
  }
  mpi->agent_path = g_strdup_printf("/proc/%d/fd/%d", (int)getpid(), mpi->agent);
  return g_steal_pointer(&mpi);
}

void netns_mpi_free(NetnsMpi *mpi)
{
  if (mpi->agent >= 0)
    close(mpi->agent);
  g_free(mpi->library);
  g_free(mpi->program);
  g_free(mpi->agent_path);
  g_free(mpi);
}

void netns_mpi_cells(const NetnsMpi *mpi, const NetnsParams *params, double smallest_B,
                     GPtrArray *cells)
{
  g_autofree char *place = netns_place(params);

  for (guint i = 0; i < G_N_ELEMENTS(mpi_algos); i++) {
    g_autoptr(Sample) like = sample_new("all_reduce");
    if (mpi_algos[i].powers_only && (params->n & (params->n - 1)) != 0)
      continue;
    sample_set(&like->library, mpi->library);
    sample_set(&like->algo, mpi_algos[i].name);
    sample_set(&like->proto, mpi_algos[i].proto);
    sample_set(&like->dtype, "fp32");
    sample_set(&like->place, place);
    like->ranks = like->nodes = params->n;
    host_add_sizes(cells, like, smallest_B, MIN((double)params->largest_B, 0x1p20),
                   params->quick);
  }
}

static const MpiAlgo *algo_of(const Sample *cell)
{
  for (guint i = 0; i < G_N_ELEMENTS(mpi_algos); i++)
    if (strcmp(mpi_algos[i].name, cell->algo) == 0 &&
        strcmp(mpi_algos[i].proto, cell->proto) == 0)
      return &mpi_algos[i];
  g_return_val_if_reached(NULL);
}

static char *host_list(const NetnsCluster *cluster)
{
  GString *list = g_string_new(NULL);

  for (guint host = 0; host < netns_cluster_n(cluster); host++) {
    g_autofree char *address = netns_address_text(host);
    g_string_append_printf(list, "%s%s:1", host == 0 ? "" : ",", address);
  }
  return g_string_free(list, FALSE);
}

/* TCP alone, one interface, one process a host that yields while it waits. */
static char **arguments(const NetnsMpi *mpi, const Sample *cell, guint n)
{
  const MpiAlgo *algo = algo_of(cell);
  g_autoptr(GStrvBuilder) words = g_strv_builder_new();
  g_autofree char *hosts = host_list(mpi->cluster);
  g_autofree char *np = g_strdup_printf("%u", netns_cluster_n(mpi->cluster));
  g_autofree char *size = g_strdup_printf("%.0f", cell->size);
  g_autofree char *times = g_strdup_printf("%u", n);

  g_strv_builder_add_many(
    words, "mpirun", "--allow-run-as-root", "--host", hosts, "-np", np, "--map-by", "node",
    "--bind-to", "none", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", mpi->agent_path,
    "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include",
    "eth0", "--mca", "oob_tcp_if_include", "eth0", "--mca", "mpi_yield_when_idle", "1",
    "--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm",
    algo->number, NULL);
  if (strcmp(algo->proto, "eager") == 0)
    g_strv_builder_add_many(words, "--mca", "btl_tcp_eager_limit", EAGER_LIMIT, "--mca",
                            "btl_tcp_rndv_eager_limit", EAGER_LIMIT, "--mca",
                            "btl_tcp_max_send_size", EAGER_LIMIT, NULL);
  g_strv_builder_add_many(words, mpi->program, size, times, NULL);
  return g_strv_builder_end(words);
}

static bool enter_first(const void *data, GError **error)
{
  const NetnsMpi *mpi = data;

  setpriority(PRIO_PROCESS, 0, MPI_NICE);
  return netns_cluster_enter(mpi->cluster, 0, error);
}

/* The last n lines are the times; before them stands the version, and what else it says. */
static bool read_times(const char *said, double *time_s, guint n, GError **error)
{
  g_auto(GStrv) lines = g_strsplit(said, "\n", -1);
  guint found = 0;

  for (char **line = lines; *line != NULL && found < n; line++) {
    char *end = NULL;
    const double number_s = g_ascii_strtod(*line, &end);
    if (end != *line && *end == '\0' && number_s > 0)
      time_s[found++] = number_s;
  }
  if (found == n)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "mpirun: %u times instead of %u: %s", found,
              n, said);
  return false;
}

bool netns_mpi_measure(const NetnsMpi *mpi, const Sample *cell, double *time_s, guint n,
                       GError **error)
{
  g_auto(GStrv) words = arguments(mpi, cell, n);
  g_autofree char *said = NULL;
  const double row_s = 2 * cell->ranks * cell->size / mpi->goodput_Bps;
  const Spawn spawn = { .argv = (const char *const *)words,
                        .limit_s = LIMIT_S + LIMIT_FACTOR * n * row_s,
                        .prepare = enter_first,
                        .data = mpi };

  return spawn_run(&spawn, &said, error) && read_times(said, time_s, n, error);
}
