#include "models/result.h"

#include "models/topology.h"

#include <string.h>

/* Sums of shares are rounded; more than this above 1 is a mistake. */
#define SHARE_TOLERANCE 1e-9

/* No forecast is this large; what writers make of it stays finite. */
#define QUANTITY_MAX 1e100

#define FIELD(key_, type_, member_)                                                        \
  {                                                                                        \
    .key = key_, .type = type_, .offset = offsetof(Result, member_)                        \
  }

// clang-format off
const ResultField result_fields[] = {
  FIELD("name",                             FIELD_TEXT,     name),
  FIELD("model",                            FIELD_TEXT,     model),
  FIELD("parameters",                       FIELD_COUNT64,  n_parameters),
  FIELD("gradient_B",                       FIELD_QUANTITY, gradient_B),
  FIELD("nodes",                            FIELD_COUNT,    n_nodes),
  FIELD("gpus",                             FIELD_COUNT,    n_gpus),
  FIELD("gpu",                              FIELD_TEXT,     gpu),
  FIELD("batch_per_gpu",                    FIELD_COUNT,    batch_per_gpu),
  FIELD("strategy",                         FIELD_TEXT,     strategy),
  FIELD("library",                          FIELD_TEXT,     library),
  FIELD("codec",                            FIELD_TEXT,     codec),
  FIELD("codec_note",                       FIELD_TEXT,     codec_note),
  FIELD("message_B",                        FIELD_QUANTITY, message_B),
  FIELD("compute_source",                   FIELD_TEXT,     compute_source),
  FIELD("iteration_time_s",                 FIELD_QUANTITY, iteration_time_s),
  FIELD("throughput_samples_per_s",         FIELD_QUANTITY, throughput_samples_per_s),
  FIELD("throughput_per_gpu_samples_per_s", FIELD_QUANTITY, throughput_per_gpu_samples_per_s),
  FIELD("compute_time_s",                   FIELD_QUANTITY, compute_time_s),
  FIELD("comm_busy_share",                  FIELD_SHARE,    comm_busy_share),
  FIELD("comm_exposed_share",               FIELD_SHARE,    comm_exposed_share),
  FIELD("gpu_utilisation",                  FIELD_SHARE,    gpu_utilisation),
  FIELD("scaling_efficiency",               FIELD_QUANTITY, scaling_efficiency),
  FIELD("max_batch_per_gpu",                FIELD_COUNT,    max_batch_per_gpu),
  FIELD("memory_used_B",                    FIELD_QUANTITY, memory_used_B),
  FIELD("memory_capacity_B",                FIELD_QUANTITY, memory_capacity_B),
  FIELD("retransmission_rate",              FIELD_SHARE,    retransmission_rate),
  FIELD("staleness_updates",                FIELD_QUANTITY, staleness_updates),
  FIELD("staleness_iterations",             FIELD_QUANTITY, staleness_iterations),
  FIELD("units_per_iteration",              FIELD_QUANTITY, units_per_iteration),
  FIELD("floor_s",                          FIELD_QUANTITY, floor_s),
  FIELD("algorithm",                        FIELD_TEXT,     algorithm),
  FIELD("bottleneck",                       FIELD_TEXT,     bottleneck),
  { .key = NULL },
};

const ResultField result_latency_fields[] = {
  FIELD("p50", FIELD_QUANTITY, latency_p50_s),
  FIELD("p95", FIELD_QUANTITY, latency_p95_s),
  FIELD("p99", FIELD_QUANTITY, latency_p99_s),
  { .key = NULL },
};
// clang-format on

static void stage_use_clear(gpointer item)
{
  g_free(((StageUse *)item)->name);
}

static void decision_clear(gpointer item)
{
  g_free(((Decision *)item)->codec);
  g_free(((Decision *)item)->algorithm);
}

static void path_step_clear(gpointer item)
{
  g_free(((PathStep *)item)->name);
}

static void span_clear(gpointer item)
{
  g_free(((Span *)item)->name);
}

static GArray *array_new(guint item_size, GDestroyNotify clear)
{
  GArray *array = g_array_new(FALSE, TRUE, item_size);

  g_array_set_clear_func(array, clear);
  return array;
}

Result *result_new(void)
{
  Result *result = g_new0(Result, 1);

  result->links = array_new(sizeof(LinkUse), NULL);
  result->stages = array_new(sizeof(StageUse), stage_use_clear);
  result->path = array_new(sizeof(PathStep), path_step_clear);
  result->decisions = array_new(sizeof(Decision), decision_clear);
  result->constants = constants_new();
  result->tracks = g_ptr_array_new_with_free_func(g_free);
  result->warnings = g_ptr_array_new_with_free_func(g_free);
  result->spans = array_new(sizeof(Span), span_clear);
  result->link_spans = array_new(sizeof(LinkSpan), NULL);
  result->replicas = 1;
  return result;
}

void result_free(Result *result)
{
  if (result == NULL)
    return;
  for (const ResultField *field = result_fields; field->key != NULL; field++)
    if (field->type == FIELD_TEXT)
      g_free(G_STRUCT_MEMBER(char *, result, field->offset));
  g_free(result->engine);
  g_free(result->tuned);
  g_array_unref(result->links);
  g_array_unref(result->stages);
  g_array_unref(result->path);
  g_array_unref(result->decisions);
  g_array_unref(result->constants);
  g_ptr_array_unref(result->tracks);
  g_ptr_array_unref(result->warnings);
  g_array_unref(result->spans);
  g_array_unref(result->link_spans);
  g_free(result);
}

bool result_is_coded(const Result *result)
{
  return result->message_B > 0 && result->codec != NULL && *result->codec != '\0' &&
         strcmp(result->codec, codec_none.info.name) != 0;
}

void result_add_stage(Result *result, const char *name, double busy_s)
{
  const StageUse stage = { .name = g_strdup(name), .busy_s = busy_s };

  g_array_append_val(result->stages, stage);
}

void result_add_decision(Result *result, const Decision *decision)
{
  Decision copy = *decision;

  copy.codec = g_strdup(decision->codec);
  copy.algorithm = g_strdup(decision->algorithm);
  g_array_append_val(result->decisions, copy);
}

void result_add_path(Result *result, const char *name, double start_s, double end_s)
{
  const PathStep step = { .name = g_strdup(name), .start_s = start_s, .end_s = end_s };

  g_array_append_val(result->path, step);
}

void result_prepend_path(Result *result, const char *name, double start_s, double end_s)
{
  PathStep *first = (PathStep *)(gpointer)result->path->data;

  if (result->path->len > 0 && strcmp(first->name, name) == 0) {
    first->start_s = start_s;
    return;
  }
  const PathStep step = { .name = g_strdup(name), .start_s = start_s, .end_s = end_s };
  g_array_prepend_val(result->path, step);
}

void result_add_constant(Result *result, const Constant *constant)
{
  constants_add(result->constants, constant);
}

void result_add_warning(Result *result, const char *sentence)
{
  g_ptr_array_add(result->warnings, g_strdup(sentence));
}

void result_add_track(Result *result, const char *name)
{
  g_ptr_array_add(result->tracks, g_strdup(name));
}

void result_add_span(Result *result, guint track, const char *name, double start_s,
                     double end_s)
{
  const Span span = {
    .track = track,
    .name = g_strdup(name),
    .start_s = start_s,
    .end_s = end_s,
  };

  g_array_append_val(result->spans, span);
}

Interval result_interval(double mean, double half)
{
  return (Interval){ .low = MAX(mean - half, 0), .high = mean + half };
}

static bool is_quantity(double value)
{
  return value >= 0 && value <= QUANTITY_MAX; /* neither holds for not-a-number */
}

static bool is_share(double value)
{
  return is_quantity(value) && value <= 1 + SHARE_TOLERANCE;
}

static bool blame(const char *name, double value, const char *rule, GError **error)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT, "result: %s is %g; it must be %s", name,
              value, rule);
  return false;
}

static bool check_fields(const Result *result, const ResultField *fields, GError **error)
{
  for (; fields->key != NULL; fields++) {
    if (fields->type == FIELD_COUNT64) {
      const guint64 count = G_STRUCT_MEMBER(guint64, result, fields->offset);
      if (count >= G_GUINT64_CONSTANT(1) << 53)
        return blame(fields->key, (double)count, "below 2^53", error);
    }
    if (fields->type != FIELD_QUANTITY && fields->type != FIELD_SHARE)
      continue;
    const double value = G_STRUCT_MEMBER(double, result, fields->offset);
    if (!is_quantity(value))
      return blame(fields->key, value, "finite and not negative", error);
    if (fields->type == FIELD_SHARE && !is_share(value))
      return blame(fields->key, value, "at most 1", error);
  }
  return true;
}

static bool check_uses(const Result *result, GError **error)
{
  for (guint i = 0; i < result->links->len; i++) {
    const LinkUse *use = &g_array_index(result->links, LinkUse, i);
    if (use->tier >= TIER_N)
      return blame("links.tier", use->tier, "a known tier", error);
    if (!is_share(use->mean))
      return blame("links.mean", use->mean, "in 0..1", error);
    if (!is_share(use->peak))
      return blame("links.peak", use->peak, "in 0..1", error);
  }
  for (guint i = 0; i < result->stages->len; i++) {
    const StageUse *stage = &g_array_index(result->stages, StageUse, i);
    if (!is_quantity(stage->busy_s))
      return blame("stages.busy_s", stage->busy_s, "finite and not negative", error);
  }
  for (guint i = 0; i < result->decisions->len; i++) {
    const Decision *decision = &g_array_index(result->decisions, Decision, i);
    if (!is_quantity(decision->messages))
      return blame("decisions.messages", decision->messages, "finite and not negative",
                   error);
    if (!is_quantity(decision->size_B))
      return blame("decisions.size_B", decision->size_B, "finite and not negative", error);
  }
  return true;
}

static bool check_stretch(const char *name, double start_s, double end_s, GError **error)
{
  if (!is_quantity(start_s))
    return blame(name, start_s, "finite and not negative", error);
  if (!is_quantity(end_s) || end_s < start_s)
    return blame(name, end_s, "finite and not before its start", error);
  return true;
}

static bool check_path(const Result *result, GError **error)
{
  for (guint i = 0; i < result->path->len; i++) {
    const PathStep *step = &g_array_index(result->path, PathStep, i);
    if (!check_stretch("critical_path", step->start_s, step->end_s, error))
      return false;
  }
  return true;
}

static bool check_timeline(const Result *result, GError **error)
{
  for (guint i = 0; i < result->spans->len; i++) {
    const Span *span = &g_array_index(result->spans, Span, i);
    if (span->track >= result->tracks->len)
      return blame("timeline.spans.track", span->track, "one of the tracks", error);
    if (!check_stretch("timeline.spans", span->start_s, span->end_s, error))
      return false;
  }
  for (guint i = 0; i < result->link_spans->len; i++) {
    const LinkSpan *span = &g_array_index(result->link_spans, LinkSpan, i);
    if (span->tier >= TIER_N)
      return blame("timeline.link_spans.tier", span->tier, "a known tier", error);
    if (!is_share(span->mean))
      return blame("timeline.link_spans.mean", span->mean, "in 0..1", error);
    if (!check_stretch("timeline.link_spans", span->start_s, span->end_s, error))
      return false;
  }
  return check_stretch("timeline.last", result->last_start_s, result->last_end_s, error);
}

bool result_check(const Result *result, GError **error)
{
  if (!check_fields(result, result_fields, error) ||
      !check_fields(result, result_latency_fields, error))
    return false;
  if (result->iteration_time_s <= 0)
    return blame("iteration_time_s", result->iteration_time_s, "above 0", error);
  if (result->latency_p50_s > result->latency_p95_s)
    return blame("latency_s.p95", result->latency_p95_s, "at least p50", error);
  if (result->latency_p95_s > result->latency_p99_s)
    return blame("latency_s.p99", result->latency_p99_s, "at least p95", error);
  if (result->replicas < 1)
    return blame("intervals.replicas", result->replicas, "at least 1", error);
  if (!is_quantity(result->iteration_time_half_s))
    return blame("intervals.iteration_time_s", result->iteration_time_half_s,
                 "finite and not negative", error);
  if (!is_quantity(result->throughput_half_samples_per_s))
    return blame("intervals.throughput_samples_per_s",
                 result->throughput_half_samples_per_s, "finite and not negative", error);
  return check_uses(result, error) && check_path(result, error) &&
         check_timeline(result, error);
}
