#include "calibrate/import/nccl_table.h"

#include <math.h>
#include <string.h>

/* algbw = size / time and busbw = algbw x factor to this share, beyond printed digits. */
#define CONSISTENT 0.02
/* A measured table is no straight line through zero over this many doublings: the smallest
 * messages are all latency. */
#define LINEAR_DOUBLINGS 8
#define LINEAR 0.001
/* Fewer digits than this in a time show as steps in a curve. */
#define N_DIGITS_ENOUGH 4
/* Ranks that busbw / algbw can tell apart in two decimals are few. */
#define N_RANKS_TOLD_MAX 4096

static const struct {
  const char *program, *probe;
} programs[] = {
  { "all_reduce_perf", "all_reduce" },
  { "all_gather_perf", "all_gather" },
  { "reduce_scatter_perf", "reduce_scatter" },
  { "alltoall_perf", "all_to_all" },
  { "broadcast_perf", "broadcast" },
  { "sendrecv_perf", "send_recv" },
  { "reduce_perf", "reduce" },
};

static const struct {
  const char *name, *dtype;
} types[] = {
  { "float", "fp32" },       { "half", "fp16" },        { "bfloat16", "bf16" },
  { "double", "fp64" },      { "int8", "int8" },        { "uint8", "uint8" },
  { "int32", "int32" },      { "uint32", "uint32" },    { "int64", "int64" },
  { "uint64", "uint64" },    { "fp8_e4m3", "fp8e4m3" }, { "f8e4m3", "fp8e4m3" },
  { "fp8_e5m2", "fp8e5m2" }, { "f8e5m2", "fp8e5m2" },
};

bool nccl_read_number(const char *text, double *value)
{
  char *end = NULL;

  if (strspn(text, "0123456789+-.eE") != strlen(text))
    return false;
  *value = g_ascii_strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*value);
}

double nccl_half_digit(const char *text)
{
  const char *point = strchr(text, '.');
  const gsize n = point == NULL ? 0 : strspn(point + 1, "0123456789");

  return 0.5 * pow(10, -(double)n);
}

guint nccl_count_digits(const char *text)
{
  guint n = 0;

  for (; *text != '\0' && *text != 'e'; text++)
    n += g_ascii_isdigit(*text) && (n > 0 || *text != '0');
  return n;
}

const char *nccl_dtype(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(types); i++)
    if (strcmp(types[i].name, name) == 0)
      return types[i].dtype;
  return NULL;
}

const char *nccl_probe_of_program(const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS(programs); i++)
    if (strstr(text, programs[i].program) != NULL)
      return programs[i].probe;
  return NULL;
}

/* NCCL_VERSION_CODE: X x 10000 + Y x 100 + Z since 2.9, X x 1000 + Y x 100 + Z before. */
static char *version_of_code(guint64 code)
{
  if (code >= 10000)
    return g_strdup_printf("%u.%u.%u", (guint)(code / 10000), (guint)(code / 100 % 100),
                           (guint)(code % 100));
  return g_strdup_printf("%u.%u.%u", (guint)(code / 1000), (guint)(code / 100 % 10),
                         (guint)(code % 100));
}

char *nccl_version_in(const char *text)
{
  static const char *const code_marks[] = { "nccl-library=" };
  static const char *const marks[] = { "NCCL version ", "RCCL version " };

  for (guint i = 0; i < G_N_ELEMENTS(code_marks); i++) {
    const char *at = strstr(text, code_marks[i]);
    const guint64 code =
      at == NULL ? 0 : g_ascii_strtoull(at + strlen(code_marks[i]), NULL, 10);
    if (code >= 2000 && code < 1000000)
      return version_of_code(code);
  }
  for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
    const char *at = strstr(text, marks[i]);
    const gsize n = at == NULL ? 0 : strspn(at + strlen(marks[i]), "0123456789.");
    if (n > 0)
      return g_strndup(at + strlen(marks[i]), n);
  }
  return NULL;
}

double nccl_bus_factor(const char *probe, guint ranks)
{
  const double n = ranks;

  if (strcmp(probe, "all_reduce") == 0)
    return 2 * (n - 1) / n;
  if (strcmp(probe, "all_gather") == 0 || strcmp(probe, "reduce_scatter") == 0 ||
      strcmp(probe, "all_to_all") == 0)
    return (n - 1) / n;
  return 1;
}

void nccl_table_init(NcclTable *table)
{
  *table = (NcclTable){ .rows = g_array_new(FALSE, TRUE, sizeof(NcclRow)) };
}

void nccl_table_clear(NcclTable *table)
{
  g_clear_pointer(&table->rows, g_array_unref);
  g_clear_pointer(&table->library, g_free);
}

static bool agrees(double printed, double slack, double expected)
{
  return fabs(printed - expected) <= slack + CONSISTENT * expected;
}

static bool is_implausible(const Sample *sample, const NcclHalf *half)
{
  const double factor = nccl_bus_factor(sample->probe, sample->ranks);

  return half->has_rates &&
         (!agrees(half->algbw_GBps, half->algbw_slack_GBps,
                  sample->size / sample->median_s / 1e9) ||
          !agrees(half->busbw_GBps,
                  half->busbw_slack_GBps + factor * half->algbw_slack_GBps,
                  half->algbw_GBps * factor));
}

static void add_half(const NcclTable *table, const NcclRow *row, guint which, guint n_nodes,
                     const ImportInput *input, Imported *imported)
{
  const NcclHalf *half = &row->half[which];

  if (!half->is_there)
    return;
  if (!half->time_is_read) {
    imported->n_unreadable++;
    imported_note_at(imported, input, half->place,
                     "the time is no number over 0; left out");
    return;
  }
  Sample *sample = sample_new(table->probe);
  sample_set(&sample->library, table->library == NULL ? "nccl" : table->library);
  sample_set(&sample->dtype, row->dtype);
  sample_set(&sample->variant, which == 0 ? "out_of_place" : "in_place");
  sample->ranks = table->n_ranks;
  sample->nodes = n_nodes;
  sample->size = row->size_B;
  sample->median_s = half->time_us * 1e-6;
  sample->n = 1;
  if (half->n_digits < N_DIGITS_ENOUGH)
    sample->flags |= SAMPLE_ROUNDED;
  if (is_implausible(sample, half)) {
    sample->flags |= SAMPLE_IMPLAUSIBLE;
    imported_note_at(imported, input, half->place,
                     "algbw %g, busbw %g do not follow from size and time; flagged",
                     half->algbw_GBps, half->busbw_GBps);
  }
  if (half->is_wrong) {
    sample->flags |= SAMPLE_IMPLAUSIBLE;
    imported_note_at(imported, input, half->place,
                     "%g elements of the result were wrong; flagged", half->n_wrong);
  }
  g_ptr_array_add(imported->samples, sample);
}

/* The one number of ranks that every row's busbw / algbw allows; 0 if there is none or
 * more than one. */
static guint ranks_from_rates(const NcclTable *table)
{
  guint found = 0;

  for (guint n = 2; n <= N_RANKS_TOLD_MAX; n++) {
    const double factor = nccl_bus_factor(table->probe, n);
    bool fits = true;
    for (guint i = 0; fits && i < table->rows->len; i++) {
      const NcclHalf *half = &g_array_index(table->rows, NcclRow, i).half[0];
      fits = !half->is_there || !half->has_rates ||
             fabs(half->busbw_GBps - factor * half->algbw_GBps) <=
               half->busbw_slack_GBps + factor * half->algbw_slack_GBps;
    }
    if (fits && found > 0)
      return 0;
    if (fits)
      found = n;
  }
  return found;
}

/* Only an all-reduce sends more than its size: does some row's busbw pass its algbw? */
static bool is_all_reduce_by_rates(const NcclTable *table)
{
  for (guint i = 0; i < table->rows->len; i++) {
    const NcclHalf *half = &g_array_index(table->rows, NcclRow, i).half[0];
    if (half->is_there && half->has_rates &&
        half->busbw_GBps - half->busbw_slack_GBps >
          half->algbw_GBps + half->algbw_slack_GBps)
      return true;
  }
  return false;
}

static bool settle_collective(NcclTable *table, const ImportInput *input,
                              const ImportOptions *options, Imported *imported,
                              GError **error)
{
  if (table->probe == NULL)
    table->probe = options->collective;
  if (table->probe == NULL && is_all_reduce_by_rates(table)) {
    table->probe = "all_reduce";
    imported_note(imported, input, "taken for an all_reduce: its busbw passes its algbw");
  }
  return table->probe != NULL ||
         import_fail(input, error,
                     "the table does not say which collective it is; --collective NAME "
                     "does");
}

static bool settle_ranks(NcclTable *table, const ImportInput *input,
                         const ImportOptions *options, Imported *imported, GError **error)
{
  if (options->ranks > 0 && table->n_ranks > 0 && options->ranks != table->n_ranks)
    return import_fail(input, error, "the log names %u ranks, --ranks %u", table->n_ranks,
                       options->ranks);
  if (table->n_ranks == 0)
    table->n_ranks = options->ranks;
  if (table->n_ranks == 0) {
    table->n_ranks = ranks_from_rates(table);
    if (table->n_ranks == 0)
      return import_fail(input, error,
                         "the log does not tell how many ranks took part; --ranks N does");
    imported_note(imported, input, "%u ranks, told by busbw / algbw alone", table->n_ranks);
  }
  return table->n_ranks > 1 ||
         import_fail(input, error,
                     "one rank alone: nothing went between GPUs. Did every process measure "
                     "on its own (nccl-tests built without MPI=1)?");
}

/* Times exactly proportional to sizes, from small to large. */
static bool is_a_line_through_zero(const GPtrArray *samples, guint from)
{
  double lowest = INFINITY, highest = 0, smallest_B = INFINITY, largest_B = 0;

  for (guint i = from; i < samples->len; i++) {
    const Sample *sample = samples->pdata[i];
    const double slope = sample->median_s / sample->size;
    lowest = MIN(lowest, slope);
    highest = MAX(highest, slope);
    smallest_B = MIN(smallest_B, sample->size);
    largest_B = MAX(largest_B, sample->size);
  }
  return largest_B >= smallest_B * (1 << LINEAR_DOUBLINGS) &&
         highest <= lowest * (1 + LINEAR);
}

bool nccl_table_finish(NcclTable *table, const ImportInput *input,
                       const ImportOptions *options, Imported *imported, GError **error)
{
  const guint from = imported->samples->len;

  if (table->rows->len == 0)
    return true;
  if (!settle_collective(table, input, options, imported, error) ||
      !settle_ranks(table, input, options, imported, error))
    return false;
  const guint n_nodes = options->nodes > 0 ? options->nodes : MAX(table->n_hosts, 1);
  if (n_nodes > table->n_ranks)
    return import_fail(input, error, "%u nodes for %u ranks", n_nodes, table->n_ranks);
  for (guint half = 0; half < 2; half++)
    for (guint i = 0; i < table->rows->len; i++)
      add_half(table, &g_array_index(table->rows, NcclRow, i), half, n_nodes, input,
               imported);
  if (is_a_line_through_zero(imported->samples, from)) {
    for (guint i = from; i < imported->samples->len; i++)
      ((Sample *)imported->samples->pdata[i])->flags |= SAMPLE_IMPLAUSIBLE;
    imported_note(imported, input,
                  "the times are exactly proportional to the sizes, which no measurement "
                  "is; all rows flagged");
  }
  g_array_set_size(table->rows, 0);
  return true;
}
