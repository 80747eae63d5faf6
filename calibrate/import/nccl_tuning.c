/**
 * @file nccl_tuning.c
 * @brief NCCL's own expectations: the table of NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING.
 *
 * A cell is "latency/bandwidth" of a function by algorithm and protocol: NCCL expects
 * latency + bytes / (1000 x bandwidth) microseconds. It is what NCCL chooses by, not a
 * measurement; each cell becomes two points of that line, of library "nccl tuning".
 * Columns are told by "Tree/LL | ..." in one line, or by lines "Algorithm | ..." and
 * "Protocol | ..." in newer versions, which print several blocks.
 *
 * Source: NVIDIA/nccl src/graph/tuning.cc.
 */
#include "calibrate/import.h"

#include <math.h>
#include <string.h>

#define N_COLUMNS_MAX 32
#define N_PROTOS 3
#define FAR_B 1e9 /* the second point of a line */
#define RANKS_MAX 1000000

typedef struct {
  char *algo[N_COLUMNS_MAX], *proto[N_COLUMNS_MAX];
  guint n_columns;
  guint ranks, nodes;
} Tuning;

static const struct {
  const char *function, *probe;
} functions[] = {
  { "AllReduce", "all_reduce" },
  { "AllGather", "all_gather" },
  { "ReduceScatter", "reduce_scatter" },
  { "Broadcast", "broadcast" },
  { "Reduce", "reduce" },
};

static bool nccl_tuning_recognises(const char *head)
{
  return strstr(head, "Latency/AlgBw |") != NULL || strstr(head, "Max NThreads") != NULL;
}

static void forget_columns(Tuning *tuning)
{
  for (guint i = 0; i < tuning->n_columns; i++) {
    g_free(tuning->algo[i]);
    g_free(tuning->proto[i]);
  }
  tuning->n_columns = 0;
}

static char *lower_word(const char *text)
{
  return g_strstrip(g_ascii_strdown(text, -1));
}

/* "Latency/AlgBw |    Tree/    LL |    Tree/ LL128 | ..." */
static void read_columns(Tuning *tuning, char **cells)
{
  forget_columns(tuning);
  for (guint i = 0; cells[i] != NULL && tuning->n_columns < N_COLUMNS_MAX; i++) {
    const char *slash = strchr(cells[i], '/');
    if (slash == NULL)
      continue;
    g_autofree char *algo = g_strndup(cells[i], (gsize)(slash - cells[i]));
    tuning->algo[tuning->n_columns] = lower_word(algo);
    tuning->proto[tuning->n_columns++] = lower_word(slash + 1);
  }
}

/* "Algorithm | Tree | Ring | CollNetDirect |": each stands over three protocols, whose line
 * follows. */
static void read_algorithms(Tuning *tuning, char **cells)
{
  static const char *const protos[N_PROTOS] = { "ll", "ll128", "simple" };

  forget_columns(tuning);
  for (guint i = 0; cells[i] != NULL; i++) {
    g_autofree char *algo = lower_word(cells[i]);
    for (guint p = 0; *algo != '\0' && p < N_PROTOS; p++)
      if (tuning->n_columns < N_COLUMNS_MAX) {
        tuning->algo[tuning->n_columns] = g_strdup(algo);
        tuning->proto[tuning->n_columns++] = g_strdup(protos[p]);
      }
  }
}

static void add_point(const Tuning *tuning, guint column, const char *probe, double size_B,
                      double time_s, Imported *imported)
{
  Sample *sample = sample_new(probe);

  sample_set(&sample->library, "nccl tuning");
  sample_set(&sample->algo, tuning->algo[column]);
  sample_set(&sample->proto, tuning->proto[column]);
  sample->ranks = tuning->ranks;
  sample->nodes = tuning->nodes;
  sample->size = size_B;
  sample->median_s = time_s;
  sample->n = 1;
  g_ptr_array_add(imported->samples, sample);
}

static bool read_cell(const char *cell, double *latency_us, double *bandwidth_GBps)
{
  char *end = NULL;

  *latency_us = g_ascii_strtod(cell, &end);
  if (end == cell || *end != '/')
    return false;
  const char *rest = end + 1;
  *bandwidth_GBps = g_ascii_strtod(rest, &end);
  return end != rest && isfinite(*latency_us) && isfinite(*bandwidth_GBps) &&
         end[strspn(end, " \t")] == '\0';
}

/* A bandwidth of 0 says that NCCL does not offer it. */
static void read_row(const Tuning *tuning, const char *probe, char **cells,
                     ImportInput *input, Imported *imported)
{
  guint column = 0;

  for (guint i = 0; cells[i] != NULL; i++) {
    double latency_us, bandwidth_GBps;
    if (cells[i][strspn(cells[i], " \t")] == '\0')
      continue;
    if (column >= tuning->n_columns || !read_cell(cells[i], &latency_us, &bandwidth_GBps)) {
      imported->n_unreadable++;
      imported_note(imported, input, "'%s' is no latency/bandwidth; left out", cells[i]);
    } else if (bandwidth_GBps > 0 && latency_us > 0) {
      add_point(tuning, column, probe, 0, latency_us * 1e-6, imported);
      add_point(tuning, column, probe, FAR_B,
                latency_us * 1e-6 + FAR_B / (bandwidth_GBps * 1e9), imported);
    }
    column++;
  }
}

/* "... Init COMPLETE ... rank 0 nranks 16 ...", "... nNodes 2 ..." */
static void read_ranks(Tuning *tuning, const char *line, const ImportOptions *options)
{
  const char *ranks = strstr(line, "nranks "), *nodes = strstr(line, "nNodes ");
  const guint64 n = ranks == NULL ? 0 : g_ascii_strtoull(ranks + 7, NULL, 10);
  const guint64 n_nodes = nodes == NULL ? 0 : g_ascii_strtoull(nodes + 7, NULL, 10);

  if (options->ranks == 0 && n > 0 && n <= RANKS_MAX)
    tuning->ranks = (guint)n;
  if (options->nodes == 0 && n_nodes > 0 && n_nodes <= RANKS_MAX)
    tuning->nodes = (guint)n_nodes;
}

/* What stands in front of the first cell: past "host:pid:tid [0] NCCL INFO ". */
static const char *past_mark(const char *line)
{
  const char *mark = strstr(line, "NCCL INFO");

  line = mark == NULL ? line : mark + strlen("NCCL INFO");
  return line + strspn(line, " \t");
}

static void read_line(Tuning *tuning, const char *line, ImportInput *input,
                      const ImportOptions *options, Imported *imported)
{
  const char *text = past_mark(line);
  const char *bar = strchr(text, '|');

  read_ranks(tuning, line, options);
  if (bar == NULL)
    return;
  g_autofree char *name = g_strndup(text, (gsize)(bar - text));
  g_auto(GStrv) cells = g_strsplit(bar + 1, "|", 0);
  g_strstrip(name);
  if (strcmp(name, "Latency/AlgBw") == 0)
    read_columns(tuning, cells);
  else if (strcmp(name, "Algorithm") == 0)
    read_algorithms(tuning, cells);
  else if (tuning->n_columns > 0)
    for (guint i = 0; i < G_N_ELEMENTS(functions); i++)
      if (strcmp(functions[i].function, name) == 0)
        read_row(tuning, functions[i].probe, cells, input, imported);
}

/* The ranks may be told after the table. */
static bool settle(const Tuning *tuning, ImportInput *input, Imported *imported,
                   GError **error)
{
  if (tuning->ranks < 2)
    return import_fail(input, error,
                       "the log does not tell how many ranks took part; --ranks N does");
  for (guint i = 0; i < imported->samples->len; i++) {
    Sample *sample = imported->samples->pdata[i];
    sample->ranks = tuning->ranks;
    sample->nodes = CLAMP(tuning->nodes, 1, tuning->ranks);
  }
  return true;
}

static bool nccl_tuning_read(ImportInput *input, const ImportOptions *options,
                             Imported *imported, GError **error)
{
  Tuning tuning = { .ranks = options->ranks, .nodes = options->nodes };
  const char *line;
  bool done;

  while ((done = import_next_line(input, &line, error)) && line != NULL)
    read_line(&tuning, line, input, options, imported);
  forget_columns(&tuning);
  return done && settle(&tuning, input, imported, error);
}

const ImporterOps importer_nccl_tuning = {
  .info = {
    .name = "nccl_tuning",
    .summary = "NCCL's table of expectations, NCCL_DEBUG_SUBSYS=TUNING",
    .source = "NVIDIA/nccl src/graph/tuning.cc",
  },
  .recognises = nccl_tuning_recognises,
  .read = nccl_tuning_read,
};
