/**
 * @file read.c
 * @brief Results from the JSON that json.c wrote. All or nothing.
 *
 * Keys that are not known are passed over, so that a later release may add some; every key
 * that is known must be there.
 */
#include "models/topology.h"
#include "sim/output/output.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

static bool refuse(const char *key, const char *wanted, GError **error)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s: not %s", key, wanted);
  return false;
}

static bool to_double(const cJSON *item, const char *key, double *out, GError **error)
{
  if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
    return refuse(key, "a finite number", error);
  *out = item->valuedouble;
  return true;
}

static bool to_count(const cJSON *item, const char *key, guint64 max, guint64 *out,
                     GError **error)
{
  double value;

  if (!to_double(item, key, &value, error))
    return false;
  if (value < 0 || value > (double)max || value != floor(value))
    return refuse(key, "a count", error);
  *out = (guint64)value;
  return true;
}

static bool to_guint(const cJSON *item, const char *key, guint *out, GError **error)
{
  guint64 count;

  if (!to_count(item, key, G_MAXUINT, &count, error))
    return false;
  *out = (guint)count;
  return true;
}

/* Null stands for no text. */
static bool to_text(const cJSON *item, const char *key, char **out, GError **error)
{
  if (!cJSON_IsString(item) && !cJSON_IsNull(item))
    return refuse(key, "a text", error);
  g_free(*out);
  *out = g_strdup(cJSON_IsString(item) ? item->valuestring : NULL);
  return true;
}

static const cJSON *member(const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* The array @p key of @p object, or NULL with @p error set. */
static const cJSON *array_of(const cJSON *object, const char *key, GError **error)
{
  const cJSON *array = member(object, key);

  if (cJSON_IsArray(array))
    return array;
  refuse(key, "an array", error);
  return NULL;
}

static bool read_field(const cJSON *item, const ResultField *field, Result *result,
                       GError **error)
{
  switch (field->type) {
  case FIELD_TEXT:
    return to_text(item, field->key, &G_STRUCT_MEMBER(char *, result, field->offset),
                   error);
  case FIELD_COUNT:
    return to_guint(item, field->key, &G_STRUCT_MEMBER(guint, result, field->offset),
                    error);
  case FIELD_COUNT64:
    return to_count(item, field->key, G_GUINT64_CONSTANT(1) << 53,
                    &G_STRUCT_MEMBER(guint64, result, field->offset), error);
  case FIELD_QUANTITY:
  case FIELD_SHARE:
    return to_double(item, field->key, &G_STRUCT_MEMBER(double, result, field->offset),
                     error);
  }
  return false;
}

static bool read_fields(const cJSON *object, const ResultField *fields, Result *result,
                        GError **error)
{
  for (; fields->key != NULL; fields++)
    if (!read_field(member(object, fields->key), fields, result, error))
      return false;
  return true;
}

static bool to_tier(const cJSON *item, guint *out, GError **error)
{
  for (guint tier = 0; cJSON_IsString(item) && tier < TIER_N; tier++)
    if (strcmp(topology_tier_names[tier], item->valuestring) == 0) {
      *out = tier;
      return true;
    }
  return refuse("links.tier", "a tier", error);
}

static bool read_links(const cJSON *object, Result *result, GError **error)
{
  const cJSON *array = array_of(object, "links", error), *item;

  if (array == NULL)
    return false;
  cJSON_ArrayForEach(item, array)
  {
    LinkUse use = { 0 };
    if (!to_tier(member(item, "tier"), &use.tier, error) ||
        !to_guint(member(item, "count"), "links.count", &use.n_links, error) ||
        !to_double(member(item, "mean"), "links.mean", &use.mean, error) ||
        !to_double(member(item, "peak"), "links.peak", &use.peak, error))
      return false;
    g_array_append_val(result->links, use);
  }
  return true;
}

static bool read_stages(const cJSON *object, Result *result, GError **error)
{
  const cJSON *array = array_of(object, "stages", error), *item;

  if (array == NULL)
    return false;
  cJSON_ArrayForEach(item, array)
  {
    g_autofree char *name = NULL;
    double busy_s;
    if (!to_text(member(item, "name"), "stages.name", &name, error) ||
        !to_double(member(item, "busy_s"), "stages.busy_s", &busy_s, error))
      return false;
    result_add_stage(result, name, busy_s);
  }
  return true;
}

static bool read_decisions(const cJSON *object, Result *result, GError **error)
{
  const cJSON *item, *array = member(object, "decisions");

  if (member(object, "tuned") != NULL &&
      !to_text(member(object, "tuned"), "tuned", &result->tuned, error))
    return false;
  if (array == NULL)
    return true;
  if (!to_guint(member(object, "redecisions"), "redecisions", &result->n_redecisions,
                error) ||
      (array = array_of(object, "decisions", error)) == NULL)
    return false;
  cJSON_ArrayForEach(item, array)
  {
    g_autofree char *codec = NULL, *algorithm = NULL;
    Decision decision = { 0 };
    if (!to_text(member(item, "codec"), "decisions.codec", &codec, error) ||
        !to_text(member(item, "algorithm"), "decisions.algorithm", &algorithm, error) ||
        !to_double(member(item, "messages"), "decisions.messages", &decision.messages,
                   error) ||
        !to_double(member(item, "size_B"), "decisions.size_B", &decision.size_B, error))
      return false;
    decision.codec = codec;
    decision.algorithm = algorithm;
    result_add_decision(result, &decision);
  }
  return true;
}

static bool read_path(const cJSON *object, Result *result, GError **error)
{
  const cJSON *item;

  if (member(object, "critical_path") == NULL)
    return true; /* of an older version, or of no run */
  const cJSON *array = array_of(object, "critical_path", error);
  if (array == NULL)
    return false;
  cJSON_ArrayForEach(item, array)
  {
    g_autofree char *name = NULL;
    double start_s, end_s;
    if (!to_text(member(item, "name"), "critical_path.name", &name, error) ||
        !to_double(member(item, "start_s"), "critical_path.start_s", &start_s, error) ||
        !to_double(member(item, "end_s"), "critical_path.end_s", &end_s, error))
      return false;
    result_add_path(result, name, start_s, end_s);
  }
  return true;
}

static bool read_intervals(const cJSON *object, Result *result, GError **error)
{
  const cJSON *intervals = member(object, "intervals");
  const cJSON *time = member(intervals, "iteration_time_s");
  const cJSON *rate = member(intervals, "throughput_samples_per_s");

  return to_guint(member(intervals, "replicas"), "intervals.replicas", &result->replicas,
                  error) &&
         to_double(member(time, "half_width"), "intervals.iteration_time_s",
                   &result->iteration_time_half_s, error) &&
         to_double(member(rate, "half_width"), "intervals.throughput_samples_per_s",
                   &result->throughput_half_samples_per_s, error);
}

/* The text of a constant's value: as written if the private form tells, else number and
 * unit put together again. */
static bool to_value(const cJSON *constant, char **out, GError **error)
{
  const cJSON *text = member(constant, "text");
  const cJSON *value = member(constant, "value");

  if (text != NULL)
    return to_text(text, "constants.text", out, error);
  if (!cJSON_IsNumber(value))
    return to_text(value, "constants.value", out, error);

  g_autofree char *unit = NULL;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  if (!to_text(member(constant, "unit"), "constants.unit", &unit, error))
    return false;
  g_ascii_formatd(number, sizeof number, "%.15g", value->valuedouble);
  *out = g_strconcat(number, unit != NULL && *unit != '\0' ? " " : "", unit, NULL);
  return true;
}

static bool read_constants(const cJSON *object, Result *result, GError **error)
{
  const cJSON *array = array_of(object, "constants", error), *item;

  if (array == NULL)
    return false;
  cJSON_ArrayForEach(item, array)
  {
    g_autofree char *name = NULL, *value = NULL, *source = NULL;
    const cJSON *assumed = member(item, "assumed");
    if (!to_text(member(item, "name"), "constants.name", &name, error) ||
        !to_value(item, &value, error) ||
        !to_text(member(item, "source"), "constants.source", &source, error))
      return false;
    if (!cJSON_IsBool(assumed))
      return refuse("constants.assumed", "true or false", error);
    const Constant constant = { name, value, source, cJSON_IsTrue(assumed) };
    result_add_constant(result, &constant);
  }
  return true;
}

/* Where there are none the member is missing. */
static bool read_warnings(const cJSON *object, Result *result, GError **error)
{
  const cJSON *array = member(object, "warnings"), *item;

  cJSON_ArrayForEach(item, array)
  {
    if (!cJSON_IsString(item))
      return refuse("warnings", "texts", error);
    result_add_warning(result, item->valuestring);
  }
  return true;
}

static bool read_tracks(const cJSON *timeline, Result *result, GError **error)
{
  const cJSON *array = array_of(timeline, "tracks", error), *item;

  if (array == NULL)
    return false;
  cJSON_ArrayForEach(item, array)
  {
    if (!cJSON_IsString(item))
      return refuse("timeline.tracks", "texts", error);
    result_add_track(result, item->valuestring);
  }
  return true;
}

/* The @p n members of the short array @p row. */
static bool row_items(const cJSON *row, guint n, const cJSON **items, const char *key,
                      GError **error)
{
  const cJSON *item = cJSON_IsArray(row) ? row->child : NULL;

  for (guint i = 0; i < n; i++, item = item->next) {
    if (item == NULL)
      return refuse(key, "rows of four", error);
    items[i] = item;
  }
  return item == NULL || refuse(key, "rows of four", error);
}

static bool read_spans(const cJSON *timeline, Result *result, GError **error)
{
  const char *key = "timeline.spans";
  const cJSON *array = array_of(timeline, "spans", error), *row, *items[4];

  if (array == NULL)
    return false;
  cJSON_ArrayForEach(row, array)
  {
    g_autofree char *name = NULL;
    Span span = { 0 };
    if (!row_items(row, 4, items, key, error) ||
        !to_guint(items[0], key, &span.track, error) ||
        !to_text(items[1], key, &name, error) ||
        !to_double(items[2], key, &span.start_s, error) ||
        !to_double(items[3], key, &span.end_s, error))
      return false;
    result_add_span(result, span.track, name, span.start_s, span.end_s);
  }
  return true;
}

static bool read_link_spans(const cJSON *timeline, Result *result, GError **error)
{
  const char *key = "timeline.link_spans";
  const cJSON *array = array_of(timeline, "link_spans", error), *row, *items[4];

  if (array == NULL)
    return false;
  cJSON_ArrayForEach(row, array)
  {
    LinkSpan span = { 0 };
    if (!row_items(row, 4, items, key, error) ||
        !to_guint(items[0], key, &span.tier, error) ||
        !to_double(items[1], key, &span.start_s, error) ||
        !to_double(items[2], key, &span.end_s, error) ||
        !to_double(items[3], key, &span.mean, error))
      return false;
    g_array_append_val(result->link_spans, span);
  }
  return true;
}

static bool read_timeline(const cJSON *timeline, Result *result, GError **error)
{
  if (timeline == NULL)
    return true;
  return to_double(member(timeline, "last_start_s"), "timeline.last_start_s",
                   &result->last_start_s, error) &&
         to_double(member(timeline, "last_end_s"), "timeline.last_end_s",
                   &result->last_end_s, error) &&
         read_tracks(timeline, result, error) && read_spans(timeline, result, error) &&
         read_link_spans(timeline, result, error);
}

/* The private form names the engine of every result, the other one that of the first. */
static bool read_engine(const cJSON *root, const cJSON *object, Result *result,
                        GError **error)
{
  const cJSON *own = member(object, "engine");
  const cJSON *shared = member(member(root, "provenance"), "engine");

  return to_text(own != NULL ? own : shared, "provenance.engine", &result->engine, error);
}

static Result *read_result(const cJSON *root, const cJSON *object, GError **error)
{
  g_autoptr(Result) result = result_new();
  g_autoptr(GError) broken = NULL;

  if (!cJSON_IsObject(object)) {
    refuse("results", "objects", error);
    return NULL;
  }
  if (!read_fields(object, result_fields, result, error) ||
      !read_fields(member(object, "latency_s"), result_latency_fields, result, error) ||
      !read_links(object, result, error) || !read_stages(object, result, error) ||
      !read_decisions(object, result, error) || !read_path(object, result, error) ||
      !read_intervals(object, result, error) || !read_warnings(object, result, error) ||
      !read_constants(object, result, error) || !read_engine(root, object, result, error) ||
      !read_timeline(member(object, "timeline"), result, error))
    return NULL;
  if (!result_check(result, &broken)) {
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE, broken->message);
    return NULL;
  }
  return g_steal_pointer(&result);
}

/* A parsed text; cJSON stops at NUL bytes, which no JSON text holds. */
static cJSON *parse(const char *text, gsize length, GError **error)
{
  g_autofree char *terminated = g_strndup(text, length);
  const char *end = NULL;
  cJSON *root = NULL;

  if (memchr(text, '\0', length) == NULL)
    root = cJSON_ParseWithOpts(terminated, &end, true);
  if (root == NULL)
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYNTAX, "not JSON, or cut off");
  return root;
}

GPtrArray *result_read_json(const char *text, gsize length, GError **error)
{
  g_autoptr(GPtrArray) results =
    g_ptr_array_new_with_free_func((GDestroyNotify)result_free);
  g_autoptr(cJSON) root = parse(text, length, error);
  double format;

  if (root == NULL || !to_double(member(root, "format"), "format", &format, error))
    return NULL;
  if (format != 1) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "format: %g; this program reads 1",
                format);
    return NULL;
  }
  const cJSON *array = array_of(root, "results", error), *object;
  if (array == NULL)
    return NULL;
  cJSON_ArrayForEach(object, array)
  {
    Result *result = read_result(root, object, error);
    if (result == NULL)
      return NULL;
    g_ptr_array_add(results, result);
  }
  return g_steal_pointer(&results);
}
