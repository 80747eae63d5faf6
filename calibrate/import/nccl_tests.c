/**
 * @file nccl_tests.c
 * @brief The tables that nccl-tests prints, in every layout seen in the wild.
 *
 * A row is size, count, type, then redop and root where the version has them, then time,
 * algbw, busbw and the number of wrong elements, out of place and once more in place. Lines
 * may have prefixes (srun -l, mpirun --tag-output), other programs' lines stand between
 * them, and one file may hold several tables. GB are 1e9 bytes.
 *
 * Source: NVIDIA/nccl-tests, src/common.cu and doc/PERFORMANCE.md.
 */
#include "calibrate/import/nccl_table.h"

#include <math.h>
#include <string.h>

#define N_TOKENS_MAX 24

/** What the lines so far said. */
typedef struct {
  ImportInput *input;
  const ImportOptions *options;
  Imported *imported;
  NcclTable table; /* being read */
  char *prefix;    /* of its rows; NULL before the first */
  GHashTable *hosts;
} Reading;

static bool nccl_tests_recognises(const char *head)
{
  return strstr(head, "algbw") != NULL && strstr(head, "busbw") != NULL &&
         strstr(head, "size") != NULL && head[strspn(head, " \t\r\n")] != '{';
}

/* What stands behind "0: ", "[1,0]<stdout>:", "[0] " and blanks. */
static const char *skip_prefix(const char *line)
{
  const char *at = line + strspn(line, " \t");

  if (*at == '[') {
    const char *end = at + 1 + strspn(at + 1, "0123456789,");
    if (*end != ']')
      return at;
    at = end + 1;
    if (g_str_has_prefix(at, "<stdout>:"))
      at += strlen("<stdout>:");
  } else {
    const gsize n = strspn(at, "0123456789");
    if (n == 0 || at[n] != ':')
      return at;
    at += n + 1;
  }
  return at + strspn(at, " \t");
}

/* Returns the number of blank-separated words, 0 if there are more than fit. */
static guint split(char *text, char *token[N_TOKENS_MAX])
{
  guint n = 0;
  char *rest = NULL;

  for (char *one = strtok_r(text, " \t", &rest); one != NULL;
       one = strtok_r(NULL, " \t", &rest)) {
    if (n == N_TOKENS_MAX)
      return 0;
    token[n++] = one;
  }
  return n;
}

static void read_half(char **at, NcclHalf *half)
{
  half->is_there = strcmp(at[0], "N/A") != 0;
  half->time_is_read = nccl_read_number(at[0], &half->time_us) && half->time_us > 0;
  half->has_rates = nccl_read_number(at[1], &half->algbw_GBps) &&
                    nccl_read_number(at[2], &half->busbw_GBps);
  half->algbw_slack_GBps = nccl_half_digit(at[1]);
  half->busbw_slack_GBps = nccl_half_digit(at[2]);
  half->n_digits = nccl_count_digits(at[0]);
  /* Old versions print the largest error, which is tiny; new ones count wrong elements. */
  half->is_wrong = nccl_read_number(at[3], &half->n_wrong) && half->n_wrong >= 1;
}

/* A row has 11 columns, 12 with redop, 13 with redop and root; per-iteration mode adds four
 * to each half. */
static bool parse_row(char *token[], guint n, NcclRow *row)
{
  const guint n_half = n >= 19 ? 8 : 4;
  double count;

  if (n < 2 * n_half + 3 || n > 2 * n_half + 5)
    return false;
  row->dtype = nccl_dtype(token[2]);
  if (row->dtype == NULL || !nccl_read_number(token[0], &row->size_B) ||
      !nccl_read_number(token[1], &count) || row->size_B < 0)
    return false;
  for (guint i = 0; i < 2; i++)
    read_half(token + n - 2 * n_half + i * n_half, &row->half[i]);
  return true;
}

static bool finish_table(Reading *reading, GError **error)
{
  reading->table.n_hosts = g_hash_table_size(reading->hosts);
  const bool done = nccl_table_finish(&reading->table, reading->input, reading->options,
                                      reading->imported, error);

  g_clear_pointer(&reading->prefix, g_free);
  return done;
}

/* "#  Rank  0 Group  0 Pid 123 on HOST device  0 [0000:1b:00] NVIDIA A100" */
static bool read_rank_line(Reading *reading, const char *line, GError **error)
{
  char *end = NULL;
  const guint64 rank = g_ascii_strtoull(line + strlen("Rank"), &end, 10);
  const char *on = strstr(line, " on ");

  if (end == line + strlen("Rank") || on == NULL || rank >= NCCL_RANKS_MAX)
    return true;
  if (reading->table.rows->len > 0 && !finish_table(reading, error))
    return false;
  if (rank == 0) {
    g_hash_table_remove_all(reading->hosts);
    reading->table.n_ranks = 0;
  }
  reading->table.n_ranks = MAX(reading->table.n_ranks, (guint)rank + 1);
  on += strlen(" on ");
  on += strspn(on, " ");
  g_hash_table_add(reading->hosts, g_strndup(on, strcspn(on, " \t")));
  const char *gpu = strchr(on, ']');
  if (gpu != NULL && gpu[1] != '\0') {
    g_autofree char *name = g_strstrip(g_strdup(gpu + 1));
    imported_add_fact(reading->imported, "gpu_name", name);
  }
  return true;
}

/* "# Collective test starting: all_reduce_perf", or a command line that names the program.
 */
static bool read_test_name(Reading *reading, const char *line, GError **error)
{
  const char *probe = nccl_probe_of_program(line);

  if (probe == NULL)
    return true;
  if (reading->table.rows->len > 0 && !finish_table(reading, error))
    return false;
  reading->table.probe = probe;
  return true;
}

static void read_version(Reading *reading, const char *line)
{
  g_autofree char *version = nccl_version_in(line);

  if (version == NULL)
    return;
  g_free(reading->table.library);
  reading->table.library = g_strdup_printf("nccl %s", version);
  imported_add_fact(reading->imported, "nccl_version", version);
}

static bool read_comment(Reading *reading, const char *line, GError **error)
{
  const char *text = line + strspn(line, "# \t");

  read_version(reading, text);
  if (g_str_has_prefix(text, "Rank "))
    return read_rank_line(reading, text, error);
  if (g_str_has_prefix(text, "Collective test concluded"))
    return true;
  return read_test_name(reading, text, error);
}

/* Rows of a second process mean that every process measured alone. */
static bool is_of_another_process(Reading *reading, const char *line, const char *text)
{
  g_autofree char *prefix = g_strndup(line, (gsize)(text - line));

  g_strstrip(prefix);
  if (reading->prefix == NULL)
    reading->prefix = g_strdup(prefix);
  return strcmp(reading->prefix, prefix) != 0;
}

static bool read_line(Reading *reading, const char *line, GError **error)
{
  const char *text = skip_prefix(line);
  char *token[N_TOKENS_MAX];
  const ImportPlace place = { .line = import_line_number(reading->input) };
  NcclRow row = { .half = { { .place = place }, { .place = place } } };

  if (!g_ascii_isdigit(*text) || strstr(text, "NCCL") != NULL)
    return read_comment(reading, text, error);
  g_autofree char *copy = g_strdup(text);
  const guint n = split(copy, token);
  if (parse_row(token, n, &row)) {
    if (is_of_another_process(reading, line, text)) {
      reading->imported->n_unreadable++;
      imported_note(reading->imported, reading->input,
                    "a row of another process than the first; left out");
    } else if (row.size_B > 0) {
      g_array_append_val(reading->table.rows, row);
    }
  } else if (n >= 3 && nccl_dtype(token[2]) != NULL) {
    reading->imported->n_unreadable++;
    imported_note(reading->imported, reading->input,
                  "begins like a row, but its %u columns are no layout of nccl-tests; left "
                  "out",
                  n);
  }
  return true;
}

static void reading_clear(Reading *reading)
{
  nccl_table_clear(&reading->table);
  g_free(reading->prefix);
  g_hash_table_unref(reading->hosts);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reading, reading_clear)

static bool nccl_tests_read(ImportInput *input, const ImportOptions *options,
                            Imported *imported, GError **error)
{
  g_auto(Reading) reading = {
    .input = input,
    .options = options,
    .imported = imported,
    .hosts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
  };
  const char *line = NULL;

  nccl_table_init(&reading.table);
  do {
    if (!import_next_line(input, &line, error) ||
        (line != NULL && !read_line(&reading, line, error)))
      return false;
  } while (line != NULL);
  return finish_table(&reading, error);
}

const ImporterOps importer_nccl_tests = {
  .info = {
    .name = "nccl_tests",
    .summary = "tables of nccl-tests and rccl-tests, as printed",
    .source = "NVIDIA/nccl-tests src/common.cu, doc/PERFORMANCE.md",
  },
  .recognises = nccl_tests_recognises,
  .read = nccl_tests_read,
};
