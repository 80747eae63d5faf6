/**
 * @file json.c
 * @brief Results as JSON, format 1: the shape that other programs may rely on.
 *
 * The private form adds what a second process of ours needs to have an equal Result: the
 * timeline, and constants as they were written.
 */
#include "models/topology.h"
#include "sim/base/version.h"
#include "sim/output/emit.h"
#include "sim/output/output.h"

#include <math.h>
#include <string.h>

static void write_fields(JsonEmit *emit, const Result *result, const ResultField *fields)
{
  for (; fields->key != NULL; fields++) {
    switch (fields->type) {
    case FIELD_TEXT:
      json_text(emit, fields->key, G_STRUCT_MEMBER(char *, result, fields->offset));
      break;
    case FIELD_COUNT:
      json_count(emit, fields->key, G_STRUCT_MEMBER(guint, result, fields->offset));
      break;
    case FIELD_COUNT64:
      json_count(emit, fields->key, G_STRUCT_MEMBER(guint64, result, fields->offset));
      break;
    case FIELD_QUANTITY:
    case FIELD_SHARE:
      json_double(emit, fields->key, G_STRUCT_MEMBER(double, result, fields->offset));
      break;
    }
  }
}

static void write_links(JsonEmit *emit, const Result *result)
{
  json_open(emit, "links", '[');
  for (guint i = 0; i < result->links->len; i++) {
    const LinkUse *use = &g_array_index(result->links, LinkUse, i);
    json_open(emit, NULL, '{');
    json_text(emit, "tier", topology_tier_names[use->tier]);
    json_count(emit, "count", use->n_links);
    json_double(emit, "mean", use->mean);
    json_double(emit, "peak", use->peak);
    json_close(emit, '}');
  }
  json_close(emit, ']');
}

static void write_stages(JsonEmit *emit, const Result *result)
{
  json_open(emit, "stages", '[');
  for (guint i = 0; i < result->stages->len; i++) {
    const StageUse *stage = &g_array_index(result->stages, StageUse, i);
    json_open(emit, NULL, '{');
    json_text(emit, "name", stage->name);
    json_double(emit, "busy_s", stage->busy_s);
    json_close(emit, '}');
  }
  json_close(emit, ']');
}

static void write_decisions(JsonEmit *emit, const Result *result)
{
  if (result->tuned != NULL)
    json_text(emit, "tuned", result->tuned);
  if (result->decisions->len == 0)
    return;
  json_double(emit, "redecisions", result->n_redecisions);
  json_open(emit, "decisions", '[');
  for (guint i = 0; i < result->decisions->len; i++) {
    const Decision *decision = &g_array_index(result->decisions, Decision, i);
    json_open(emit, NULL, '{');
    json_text(emit, "codec", decision->codec);
    json_text(emit, "algorithm", decision->algorithm);
    json_double(emit, "messages", decision->messages);
    json_double(emit, "size_B", decision->size_B);
    json_close(emit, '}');
  }
  json_close(emit, ']');
}

static void write_path(JsonEmit *emit, const Result *result)
{
  if (result->path->len == 0)
    return;
  json_open(emit, "critical_path", '[');
  for (guint i = 0; i < result->path->len; i++) {
    const PathStep *step = &g_array_index(result->path, PathStep, i);
    json_open(emit, NULL, '{');
    json_text(emit, "name", step->name);
    json_double(emit, "start_s", step->start_s);
    json_double(emit, "end_s", step->end_s);
    json_close(emit, '}');
  }
  json_close(emit, ']');
}

static void write_interval(JsonEmit *emit, const char *key, double mean, double half)
{
  const Interval interval = result_interval(mean, half);

  json_open(emit, key, '{');
  json_double(emit, "low", interval.low);
  json_double(emit, "high", interval.high);
  json_double(emit, "half_width", half);
  json_close(emit, '}');
}

static void write_intervals(JsonEmit *emit, const Result *result)
{
  json_open(emit, "intervals", '{');
  json_count(emit, "replicas", result->replicas);
  write_interval(emit, "iteration_time_s", result->iteration_time_s,
                 result->iteration_time_half_s);
  write_interval(emit, "throughput_samples_per_s", result->throughput_samples_per_s,
                 result->throughput_half_samples_per_s);
  json_close(emit, '}');
}

/* The length of the JSON number at the start of @p text; 0 if there is none. */
static gsize number_length(const char *text)
{
  const char *p = text + (*text == '-');
  const gsize n_whole = strspn(p, "0123456789");

  if (n_whole == 0 || (n_whole > 1 && *p == '0'))
    return 0;
  p += n_whole;
  if (*p == '.') {
    const gsize n_fraction = strspn(p + 1, "0123456789");
    if (n_fraction == 0)
      return 0;
    p += 1 + n_fraction;
  }
  if (*p == 'e' || *p == 'E') {
    const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
    const gsize n_exponent = strspn(exponent, "0123456789");
    if (n_exponent == 0)
      return 0;
    p = exponent + n_exponent;
  }
  return isfinite(g_ascii_strtod(text, NULL)) ? (gsize)(p - text) : 0;
}

/* "25 Gbit/s" is the number 25 and a unit; what is no such thing stays a text. */
static void write_value(JsonEmit *emit, const char *text)
{
  const gsize n_digits = text != NULL ? number_length(text) : 0;

  if (n_digits == 0 || (text[n_digits] != ' ' && text[n_digits] != '\0')) {
    json_text(emit, "value", text);
    json_text(emit, "unit", "");
    return;
  }
  json_member(emit, "value");
  g_string_append_len(emit->out, text, (gssize)n_digits);
  json_text(emit, "unit", text[n_digits] == '\0' ? "" : text + n_digits + 1);
}

static void write_constant_list(JsonEmit *emit, const GArray *constants, bool private)
{
  json_open(emit, "constants", '[');
  for (guint i = 0; i < constants->len; i++) {
    const Constant *constant = &g_array_index(constants, Constant, i);
    json_open(emit, NULL, '{');
    json_text(emit, "name", constant->name);
    write_value(emit, constant->value);
    json_text(emit, "source", constant->source);
    json_bool(emit, "assumed", constant->assumed);
    if (private)
      json_text(emit, "text", constant->value);
    json_close(emit, '}');
  }
  json_close(emit, ']');
}

void json_constants(JsonEmit *emit, const GArray *constants)
{
  write_constant_list(emit, constants, false);
}

static void write_spans(JsonEmit *emit, const Result *result)
{
  json_open(emit, "spans", '[');
  for (guint i = 0; i < result->spans->len; i++) {
    const Span *span = &g_array_index(result->spans, Span, i);
    json_member(emit, NULL);
    g_string_append_printf(emit->out, "[%u, ", span->track);
    emit_string(emit->out, span->name);
    g_string_append(emit->out, ", ");
    emit_double(emit->out, span->start_s);
    g_string_append(emit->out, ", ");
    emit_double(emit->out, span->end_s);
    g_string_append_c(emit->out, ']');
  }
  json_close(emit, ']');
}

static void write_link_spans(JsonEmit *emit, const Result *result)
{
  json_open(emit, "link_spans", '[');
  for (guint i = 0; i < result->link_spans->len; i++) {
    const LinkSpan *span = &g_array_index(result->link_spans, LinkSpan, i);
    json_member(emit, NULL);
    g_string_append_printf(emit->out, "[%u, ", span->tier);
    emit_double(emit->out, span->start_s);
    g_string_append(emit->out, ", ");
    emit_double(emit->out, span->end_s);
    g_string_append(emit->out, ", ");
    emit_double(emit->out, span->mean);
    g_string_append_c(emit->out, ']');
  }
  json_close(emit, ']');
}

static void write_timeline(JsonEmit *emit, const Result *result)
{
  json_open(emit, "timeline", '{');
  json_double(emit, "last_start_s", result->last_start_s);
  json_double(emit, "last_end_s", result->last_end_s);
  json_open(emit, "tracks", '[');
  for (guint i = 0; i < result->tracks->len; i++)
    json_text(emit, NULL, g_ptr_array_index(result->tracks, i));
  json_close(emit, ']');
  write_spans(emit, result);
  write_link_spans(emit, result);
  json_close(emit, '}');
}

/* Only where there are any. */
static void write_warnings(JsonEmit *emit, const Result *result)
{
  if (result->warnings->len == 0)
    return;
  json_open(emit, "warnings", '[');
  for (guint i = 0; i < result->warnings->len; i++)
    json_text(emit, NULL, g_ptr_array_index(result->warnings, i));
  json_close(emit, ']');
}

static void write_result(JsonEmit *emit, const Result *result, bool private)
{
  json_open(emit, NULL, '{');
  write_fields(emit, result, result_fields);
  json_open(emit, "latency_s", '{');
  write_fields(emit, result, result_latency_fields);
  json_close(emit, '}');
  write_links(emit, result);
  write_stages(emit, result);
  write_decisions(emit, result);
  write_path(emit, result);
  write_intervals(emit, result);
  write_warnings(emit, result);
  write_constant_list(emit, result->constants, private);
  if (private) {
    json_text(emit, "engine", result->engine);
    write_timeline(emit, result);
  }
  json_close(emit, '}');
}

static void write_document(const Result *const *results, guint n, bool private,
                           GString *out)
{
  JsonEmit emit = { .out = out };

  json_open(&emit, NULL, '{');
  json_count(&emit, "format", 1);
  json_open(&emit, "results", '[');
  for (guint i = 0; i < n; i++)
    write_result(&emit, results[i], private);
  json_close(&emit, ']');
  json_open(&emit, "provenance", '{');
  json_text(&emit, "version", STEPCAST_VERSION);
  json_text(&emit, "engine", n > 0 ? results[0]->engine : NULL);
  json_close(&emit, '}');
  json_close(&emit, '}');
}

void result_write_json_private(const Result *const *results, guint n, GString *out)
{
  write_document(results, n, true, out);
}

static bool json_render(const Result *const *results, guint n, GString *out,
                        GError **error G_GNUC_UNUSED)
{
  write_document(results, n, false, out);
  return true;
}

const OutputOps output_json = {
  .info = {
    .name = "json",
    .summary = "every quantity, its interval and its constants, for programs",
    .source = "RFC 8259; format 1 as README.md describes it",
  },
  .suffix = ".json",
  .render = json_render,
  .render_timings = json_render_timings,
};
