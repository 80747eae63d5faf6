/**
 * @file osu.c
 * @brief What the OSU micro-benchmarks print: latency of pairs and collectives, bandwidth.
 *
 * "# OSU MPI Allreduce Latency Test v7.4" says which test it is, "# Size  Avg Latency(us)
 * ..." what the columns hold; MB are 1e6 bytes. A bandwidth becomes the time of one message
 * in a full pipe.
 *
 * Source: mvapich.cse.ohio-state.edu/benchmarks, util/osu_util.c.
 */
#include "calibrate/import.h"

#include <string.h>

#define N_COLUMNS_MAX 8

static const struct {
  const char *test, *probe;
} tests[] = {
  { "Allreduce", "all_reduce" },
  { "Allgather", "all_gather" },
  { "Reduce_scatter", "reduce_scatter" },
  { "Alltoall", "all_to_all" },
  { "Broadcast", "broadcast" },
  { "Bcast", "broadcast" },
  { "Reduce", "reduce" },
  { "Bi-Directional Bandwidth", "p2p_stream_both_ways" },
  { "Bandwidth", "p2p_stream" },
  { "Latency", "p2p_latency" },
};

typedef struct {
  const char *probe;
  bool is_rate; /* MB/s, else us */
  gint min_column;
  guint ranks, nodes;
} OsuTest;

static bool osu_recognises(const char *head)
{
  const char *title = strstr(head, "# OSU ");

  return title != NULL && strstr(title, " Test") != NULL;
}

static bool read_title(ImportInput *input, const char *line, const ImportOptions *options,
                       Imported *imported, OsuTest *test, GError **error)
{
  const bool is_pair_test = strstr(line, "Bandwidth") != NULL ||
                            strstr(line, "MPI Latency") != NULL ||
                            strstr(line, "CUDA Latency") != NULL;

  *test = (OsuTest){ .probe = NULL };
  for (guint i = 0; i < G_N_ELEMENTS(tests) && test->probe == NULL; i++)
    if (strstr(line, tests[i].test) != NULL)
      test->probe = tests[i].probe;
  if (test->probe == NULL) {
    imported_note(imported, input, "a test that stepcast has no use for: %s", line + 2);
    return true;
  }
  test->ranks = options->ranks > 0 ? options->ranks : is_pair_test ? 2 : 0;
  test->nodes = options->nodes > 0 ? options->nodes : is_pair_test ? 2 : test->ranks;
  imported_add_fact(imported, "osu_test", line + 2);
  return test->ranks > 1 ||
         import_fail(input, error,
                     "a collective of OSU does not tell how many ranks took part; --ranks "
                     "N and --nodes M do");
}

/* "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations" */
static void read_header(const char *line, OsuTest *test)
{
  const char *minimum = strstr(line, "Min Lat");

  test->is_rate = strstr(line, "MB/s") != NULL;
  test->min_column = minimum == NULL ? -1 : 2;
}

static bool read_row(const char *line, const OsuTest *test, Imported *imported)
{
  double value[N_COLUMNS_MAX];
  const guint n = import_numbers(line, value, N_COLUMNS_MAX);

  if (n < 2 || value[0] < 1 || value[1] <= 0)
    return false;
  Sample *sample = sample_new(test->probe);
  sample_set(&sample->library, "osu");
  sample_set(&sample->place, "net");
  sample->ranks = test->ranks;
  sample->nodes = test->nodes;
  sample->size = value[0];
  sample->median_s = test->is_rate ? value[0] / (value[1] * 1e6) : value[1] * 1e-6;
  sample->n = 1;
  if (test->min_column > 0 && n > (guint)test->min_column && value[test->min_column] > 0)
    sample->min_s = value[test->min_column] * 1e-6;
  g_ptr_array_add(imported->samples, sample);
  return true;
}

static bool osu_read(ImportInput *input, const ImportOptions *options, Imported *imported,
                     GError **error)
{
  OsuTest test = { .probe = NULL };

  for (;;) {
    const char *line;
    if (!import_next_line(input, &line, error))
      return false;
    if (line == NULL)
      return true;
    line += strspn(line, " \t");
    if (g_str_has_prefix(line, "# OSU ")) {
      if (!read_title(input, line, options, imported, &test, error))
        return false;
    } else if (g_str_has_prefix(line, "# Size")) {
      read_header(line, &test);
    } else if (g_ascii_isdigit(*line) && test.probe != NULL &&
               !read_row(line, &test, imported)) {
      imported->n_unreadable++;
      imported_note(imported, input, "begins like a row, but is none; left out");
    }
  }
}

const ImporterOps importer_osu = {
  .info = {
    .name = "osu",
    .summary = "latency and bandwidth as the OSU micro-benchmarks print them",
    .source = "OSU micro-benchmarks, util/osu_util.c",
  },
  .recognises = osu_recognises,
  .read = osu_read,
};
