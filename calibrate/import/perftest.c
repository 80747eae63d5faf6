/**
 * @file perftest.c
 * @brief What ib_write_lat, ib_send_bw and their sisters print.
 *
 * The header names the columns: "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] ..."
 * or "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] ...". MB and MiB are both
 * 2^20 bytes there, Gb 1e9 bits. The typical latency is the median.
 *
 * Source: linux-rdma/perftest src/perftest_parameters.h (RESULT_FMT...).
 */
#include "calibrate/import.h"

#include <string.h>

#define N_COLUMNS_MAX 12
#define MIB 1048576.0

typedef struct {
  bool is_rate;
  double unit_Bps;     /* of a rate as printed */
  gint value, minimum; /* columns; -1: not there */
  char *operation;     /* "RDMA_Write"; NULL before its line */
} Perftest;

static bool perftest_recognises(const char *head)
{
  return strstr(head, "#bytes") != NULL && strstr(head, "#iterations") != NULL;
}

/* The column whose title contains @p name; titles are two blanks or a tab apart, or end
 * with a unit in brackets. */
static gint column_of(const char *header, const char *name)
{
  const char *at = strstr(header, name);
  gint column = 2; /* #bytes, #iterations */

  if (at == NULL)
    return -1;
  for (const char *bracket = strchr(header, ']'); bracket != NULL && bracket < at;
       bracket = strchr(bracket + 1, ']'))
    column++;
  return column;
}

static bool read_header(ImportInput *input, const char *line, Perftest *test,
                        GError **error)
{
  test->is_rate = strstr(line, "BW average") != NULL;
  test->unit_Bps = strstr(line, "average[Gb/sec]") != NULL ? 1e9 / 8 : MIB;
  test->value =
    test->is_rate ? column_of(line, "BW average") : column_of(line, "t_typical");
  if (test->value < 0)
    test->value = column_of(line, "t_avg");
  test->minimum = column_of(line, "t_min");
  return test->value >= 0 ||
         import_fail(input, error,
                     "neither an average bandwidth nor a typical latency among "
                     "the columns");
}

static bool read_row(const char *line, const Perftest *test, Imported *imported)
{
  double value[N_COLUMNS_MAX];
  const gint n = (gint)import_numbers(line, value, N_COLUMNS_MAX);

  if (n <= test->value || value[0] < 1 || value[test->value] <= 0)
    return false;
  Sample *sample = sample_new(test->is_rate ? "p2p_stream" : "p2p_latency");
  sample_set(&sample->library, "perftest");
  sample_set(&sample->place, "net");
  sample_set(&sample->algo, test->operation);
  sample->ranks = 2;
  sample->nodes = 2;
  sample->size = value[0];
  sample->median_s = test->is_rate ? value[0] / (value[test->value] * test->unit_Bps)
                                   : value[test->value] * 1e-6;
  sample->n = value[1] >= 1 && value[1] < 1e9 && !test->is_rate ? (guint)value[1] : 1;
  if (!test->is_rate && test->minimum >= 0 && n > test->minimum)
    sample->min_s = MAX(value[test->minimum], 0) * 1e-6;
  g_ptr_array_add(imported->samples, sample);
  return true;
}

/* "                    RDMA_Write BW Test" */
static void read_title(const char *line, Perftest *test, Imported *imported)
{
  g_autofree char *title = g_strstrip(g_strdup(line));

  g_free(test->operation);
  test->operation = g_ascii_strdown(title, (gssize)strcspn(title, " "));
  imported_add_fact(imported, "perftest", title);
}

static bool read_all(ImportInput *input, Perftest *test, Imported *imported, GError **error)
{
  for (;;) {
    const char *line;
    if (!import_next_line(input, &line, error))
      return false;
    if (line == NULL)
      return true;
    line += strspn(line, " \t");
    if (g_str_has_prefix(line, "#bytes")) {
      if (!read_header(input, line, test, error))
        return false;
    } else if (g_str_has_suffix(line, " Test") || strstr(line, " Test ") != NULL) {
      read_title(line, test, imported);
    } else if (g_ascii_isdigit(*line) && test->value > 0 &&
               !read_row(line, test, imported)) {
      imported->n_unreadable++;
      imported_note(imported, input, "begins like a row, but is none; left out");
    }
  }
}

static bool perftest_read(ImportInput *input, const ImportOptions *options G_GNUC_UNUSED,
                          Imported *imported, GError **error)
{
  Perftest test = { .value = -1, .minimum = -1 };
  const bool done = read_all(input, &test, imported, error);

  g_free(test.operation);
  return done;
}

const ImporterOps importer_perftest = {
  .info = {
    .name = "perftest",
    .summary = "ib_write_lat, ib_send_bw and their sisters, as printed",
    .source = "linux-rdma/perftest src/perftest_parameters.h",
  },
  .recognises = perftest_recognises,
  .read = perftest_read,
};
