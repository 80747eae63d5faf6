/**
 * @file timings.c
 * @brief The timings of a collective as nccl-tests' table, JSON and CSV.
 *
 * Source of the table's layout: NVIDIA/nccl-tests src/common.cu. Out of place and in place
 * are one prediction, printed in both groups, so that scripts find their columns; what was
 * chosen, the floor and the bottleneck follow behind.
 */
#include "sim/base/version.h"
#include "sim/output/emit.h"
#include "sim/output/output.h"
#include "sim/output/show.h"

static const Timing *row_at(const Timings *timings, guint index)
{
  return &g_array_index(timings->rows, Timing, index);
}

/* nccl-tests shows times in fewer digits the longer they are. */
static void append_time_us(GString *out, double time_us)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  const char *format = time_us < 10000 - 0.05 ? "%.1f" : "%.0f";

  if (time_us < 100 - 0.005)
    format = "%.2f";
  g_ascii_formatd(number, sizeof number, format, time_us);
  g_string_append_printf(out, "  %7s", number);
}

static void append_GBps(GString *out, double rate_Bps)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd(number, sizeof number, "%.2f", rate_Bps / 1e9);
  g_string_append_printf(out, " %6s", number);
}

static void append_row(GString *out, const Timings *timings, const Timing *row)
{
  g_string_append_printf(out, "%12.0f  %12.0f  %8s  %6s  %6d", row->size_B,
                         row->size_B / timings->element_B, timings->type, timings->op,
                         timings->root);
  for (guint place = 0; place < 2; place++) {
    append_time_us(out, row->time_s * 1e6);
    append_GBps(out, row->algbw_Bps);
    append_GBps(out, row->busbw_Bps);
    g_string_append_printf(out, "  %5s", "N/A");
  }
  append_time_us(out, row->floor_s * 1e6);
  g_string_append_printf(out, "  %s%s%s  %s\n", row->algorithm,
                         *row->protocol == '\0' ? "" : "/", row->protocol, row->bottleneck);
}

char *timings_show_ranks(const Timings *timings)
{
  g_autofree char *least = timings->min_ranks < timings->n_ranks && timings->min_ranks > 0
                             ? g_strdup_printf("%u to ", timings->min_ranks)
                             : g_strdup("");
  g_autofree char *ranks = g_strdup_printf("%s%u rank%s", least, timings->n_ranks,
                                           timings->n_ranks == 1 ? "" : "s");

  if (timings->group == NULL)
    return g_strdup_printf("%u ranks", timings->n_ranks);
  g_autofree char *group = show_plain(timings->group);
  if (timings->n_groups == 1)
    return g_strdup_printf("group %s: %s", group, ranks);
  return g_strdup_printf("%u groups %s at once, the slowest counts: each %s",
                         timings->n_groups, group, ranks);
}

void text_render_timings(const Timings *timings, GString *out)
{
  g_autofree char *ranks = timings_show_ranks(timings);
  g_autofree char *cluster = show_plain(timings->cluster);
  g_autofree char *mean = show_number(timings_mean_busbw_Bps(timings) / 1e9, 6);

  g_string_append_printf(out, "# stepcast %s: predicted %s, %s\n# %s on %u node%s\n#\n",
                         STEPCAST_VERSION, timings->collective, cluster, ranks,
                         timings->n_nodes, timings->n_nodes == 1 ? "" : "s");
  g_string_append(
    out,
    "#                                                              out-of-place"
    "                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong    floor  chosen  bound by\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
    "     (us)  (GB/s)  (GB/s)            (us)\n");
  for (guint i = 0; i < timings->rows->len; i++)
    append_row(out, timings, row_at(timings, i));
  g_string_append_printf(
    out, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %s\n#\n", mean);
}

static void emit_row(JsonEmit *emit, const Timing *row)
{
  json_open(emit, NULL, '{');
  json_double(emit, "bytes", row->size_B);
  json_double(emit, "time_s", row->time_s);
  json_double(emit, "algbw_Bps", row->algbw_Bps);
  json_double(emit, "busbw_Bps", row->busbw_Bps);
  json_text(emit, "algorithm", row->algorithm);
  json_text(emit, "protocol", row->protocol);
  json_double(emit, "floor_s", row->floor_s);
  json_text(emit, "bottleneck", row->bottleneck);
  json_close(emit, '}');
}

void json_render_timings(const Timings *timings, GString *out)
{
  JsonEmit emit = { .out = out };

  json_open(&emit, NULL, '{');
  json_count(&emit, "format", 1);
  json_text(&emit, "collective", timings->collective);
  json_text(&emit, "name", timings->cluster);
  json_count(&emit, "ranks", timings->n_ranks);
  json_count(&emit, "nodes", timings->n_nodes);
  if (timings->group != NULL) {
    json_text(&emit, "group", timings->group);
    json_count(&emit, "groups", timings->n_groups);
    json_count(&emit, "least_ranks", timings->min_ranks);
  }
  json_open(&emit, "rows", '[');
  for (guint i = 0; i < timings->rows->len; i++)
    emit_row(&emit, row_at(timings, i));
  json_close(&emit, ']');
  json_constants(&emit, timings->constants);
  json_open(&emit, "provenance", '{');
  json_text(&emit, "version", STEPCAST_VERSION);
  json_text(&emit, "engine", timings->engine);
  json_close(&emit, '}');
  json_close(&emit, '}');
}

void csv_render_timings(const Timings *timings, GString *out)
{
  g_string_append(out, "collective,ranks,nodes,bytes,time_s,algbw_Bps,busbw_Bps,algorithm,"
                       "protocol,floor_s,bottleneck,group,groups\r\n");
  for (guint i = 0; i < timings->rows->len; i++) {
    const Timing *row = row_at(timings, i);
    const double numbers[] = { row->size_B, row->time_s, row->algbw_Bps, row->busbw_Bps };

    g_string_append_printf(out, "%s,%u,%u", timings->collective, timings->n_ranks,
                           timings->n_nodes);
    for (guint k = 0; k < G_N_ELEMENTS(numbers); k++) {
      g_string_append_c(out, ',');
      emit_double(out, numbers[k]);
    }
    g_string_append_printf(out, ",%s,%s,", row->algorithm, row->protocol);
    emit_double(out, row->floor_s);
    g_string_append_printf(out, ",%s,", row->bottleneck);
    emit_cell(out, timings->group);
    g_string_append_printf(out, ",%u\r\n", timings->n_groups);
  }
}
