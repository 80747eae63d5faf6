/**
 * @file csv.c
 * @brief One row per result, for spreadsheets and plots.
 */
#include "models/topology.h"
#include "sim/output/emit.h"
#include "sim/output/output.h"

static void append_field(GString *out, const Result *result, const ResultField *field)
{
  switch (field->type) {
  case FIELD_TEXT:
    emit_cell(out, G_STRUCT_MEMBER(char *, result, field->offset));
    break;
  case FIELD_COUNT:
    g_string_append_printf(out, "%u", G_STRUCT_MEMBER(guint, result, field->offset));
    break;
  case FIELD_COUNT64:
    g_string_append_printf(out, "%" G_GUINT64_FORMAT,
                           G_STRUCT_MEMBER(guint64, result, field->offset));
    break;
  case FIELD_QUANTITY:
  case FIELD_SHARE:
    emit_double(out, G_STRUCT_MEMBER(double, result, field->offset));
    break;
  }
}

static void append_header(GString *out)
{
  for (const ResultField *field = result_fields; field->key != NULL; field++)
    g_string_append_printf(out, "%s,", field->key);
  for (const ResultField *field = result_latency_fields; field->key != NULL; field++)
    g_string_append_printf(out, "latency_%s_s,", field->key);
  for (guint tier = 0; tier < TIER_N; tier++)
    g_string_append_printf(out, "%s_mean,%s_peak,", topology_tier_names[tier],
                           topology_tier_names[tier]);
  g_string_append(out, "replicas,iteration_time_low_s,iteration_time_high_s,"
                       "throughput_low_samples_per_s,throughput_high_samples_per_s\r\n");
}

/* The tiers a job does not use stay empty, so that every row has the same columns. */
static void append_tiers(GString *out, const Result *result)
{
  for (guint tier = 0; tier < TIER_N; tier++) {
    const LinkUse *found = NULL;
    for (guint i = 0; i < result->links->len; i++)
      if (g_array_index(result->links, LinkUse, i).tier == tier)
        found = &g_array_index(result->links, LinkUse, i);
    if (found != NULL)
      emit_double(out, found->mean);
    g_string_append_c(out, ',');
    if (found != NULL)
      emit_double(out, found->peak);
    g_string_append_c(out, ',');
  }
}

static void append_interval(GString *out, double mean, double half)
{
  const Interval interval = result_interval(mean, half);

  g_string_append_c(out, ',');
  emit_double(out, interval.low);
  g_string_append_c(out, ',');
  emit_double(out, interval.high);
}

static void append_row(GString *out, const Result *result)
{
  for (const ResultField *field = result_fields; field->key != NULL; field++) {
    append_field(out, result, field);
    g_string_append_c(out, ',');
  }
  for (const ResultField *field = result_latency_fields; field->key != NULL; field++) {
    append_field(out, result, field);
    g_string_append_c(out, ',');
  }
  append_tiers(out, result);
  g_string_append_printf(out, "%u", result->replicas);
  append_interval(out, result->iteration_time_s, result->iteration_time_half_s);
  append_interval(out, result->throughput_samples_per_s,
                  result->throughput_half_samples_per_s);
  g_string_append(out, "\r\n");
}

static bool csv_render(const Result *const *results, guint n, GString *out,
                       GError **error G_GNUC_UNUSED)
{
  append_header(out);
  for (guint i = 0; i < n; i++)
    append_row(out, results[i]);
  return true;
}

const OutputOps output_csv = {
  .info = {
    .name = "csv",
    .summary = "one row per scenario, units in the header",
    .source = "RFC 4180",
  },
  .suffix = ".csv",
  .render = csv_render,
  .render_timings = csv_render_timings,
};
