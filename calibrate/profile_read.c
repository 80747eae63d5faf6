#include "calibrate/profile_fields.h"

#include <math.h>
#include <string.h>

/* Objects and lists that deep at the most; the path says where we are. */
typedef struct {
  ProfileBlame blame;
  void *data;
  GString *path;
  bool is_newer; /* a minor version that may have keys which we do not know */
  bool failed;
} Reader;

static gsize enter(Reader *reader, const char *key)
{
  const gsize mark = reader->path->len;

  g_string_append_printf(reader->path, "%s%s", mark > 0 ? "." : "", key);
  return mark;
}

static gsize enter_element(Reader *reader, const char *key, guint index)
{
  const gsize mark = enter(reader, key);

  g_string_append_printf(reader->path, "[%u]", index);
  return mark;
}

static void leave(Reader *reader, gsize mark)
{
  g_string_truncate(reader->path, mark);
}

G_GNUC_PRINTF(4, 5)
static void blame(Reader *reader, const cJSON *item, const char *key, const char *format,
                  ...)
{
  va_list args;
  const gsize mark = *key == '\0' ? reader->path->len : enter(reader, key);

  va_start(args, format);
  g_autofree char *cause = g_strdup_vprintf(format, args);
  va_end(args);
  reader->failed = true;
  reader->blame(item, reader->path->str, cause, reader->data);
  leave(reader, mark);
}

static const cJSON *member(const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void *at(void *object, const ProfileField *field)
{
  return (char *)object + field->offset;
}

/* ---- values ------------------------------------------------------------------------ */

static void read_text(Reader *reader, const ProfileField *field, const cJSON *item,
                      char **text)
{
  if (!cJSON_IsString(item)) {
    blame(reader, item, field->key, "expected text");
    return;
  }
  g_free(*text);
  *text = g_strdup(item->valuestring);
}

static bool in_range(const ProfileField *field, double number)
{
  const bool has_range = field->min != 0 || field->max != 0;

  return isfinite(number) && number >= (has_range ? field->min : 0) &&
         (!has_range || number <= field->max);
}

static void read_number(Reader *reader, const ProfileField *field, const cJSON *item,
                        double *number)
{
  if (cJSON_IsNull(item) && !field->required)
    *number = NAN;
  else if (cJSON_IsNumber(item) && in_range(field, item->valuedouble))
    *number = item->valuedouble;
  else
    blame(reader, item, field->key, "expected a number%s",
          field->min < 0 ? "" : ", 0 or more");
}

static void read_count(Reader *reader, const ProfileField *field, const cJSON *item,
                       guint *count)
{
  const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;

  if (number >= 0 && number <= G_MAXUINT && floor(number) == number)
    *count = (guint)number;
  else
    blame(reader, item, field->key, "expected a whole number, 0 or more");
}

static void read_name(Reader *reader, const ProfileField *field, const cJSON *item,
                      guint *index)
{
  const char *name = cJSON_IsString(item) ? item->valuestring : "";

  for (guint i = 0; field->names[i] != NULL; i++)
    if (strcmp(field->names[i], name) == 0) {
      *index = i;
      return;
    }
  g_autofree char *suggestion = registry_suggestion(field->names, name);
  blame(reader, item, field->key, "unknown name '%s'%s", name, suggestion);
}

static void read_flags(Reader *reader, const ProfileField *field, const cJSON *item,
                       guint *flags)
{
  const cJSON *element = NULL;

  if (!cJSON_IsArray(item)) {
    blame(reader, item, field->key, "expected a list of names");
    return;
  }
  cJSON_ArrayForEach(element, item)
  {
    const guint flag = cJSON_IsString(element) ? sample_flag_of(element->valuestring) : 0;
    if (flag == 0 && !reader->is_newer)
      blame(reader, element, field->key, "unknown flag");
    *flags |= flag;
  }
}

static void read_estimate(Reader *reader, const ProfileField *field, const cJSON *object,
                          const cJSON *item, Estimate *estimate)
{
  g_autofree char *key = g_strconcat(field->key, "_ci95", NULL);
  const cJSON *range = member(object, key);
  const cJSON *low = cJSON_GetArrayItem(range, 0), *high = cJSON_GetArrayItem(range, 1);

  read_number(reader, field, item, &estimate->value);
  if (cJSON_GetArraySize(range) != 2 || !cJSON_IsNumber(low) || !cJSON_IsNumber(high)) {
    blame(reader, range == NULL ? object : range, key, "expected [low, high]");
    return;
  }
  estimate->low = low->valuedouble;
  estimate->high = high->valuedouble;
  if (!(estimate->low >= 0 && estimate->low <= estimate->value &&
        estimate->value <= estimate->high && isfinite(estimate->high)))
    blame(reader, range, key, "expected 0 <= low <= value <= high");
}

static void read_value(Reader *reader, const ProfileField *field, const cJSON *json,
                       const cJSON *item, void *value)
{
  switch (field->type) {
  case PROFILE_TEXT:
    read_text(reader, field, item, value);
    break;
  case PROFILE_NUMBER:
    read_number(reader, field, item, value);
    break;
  case PROFILE_COUNT:
    read_count(reader, field, item, value);
    break;
  case PROFILE_NAME:
    read_name(reader, field, item, value);
    break;
  case PROFILE_FLAGS:
    read_flags(reader, field, item, value);
    break;
  case PROFILE_ESTIMATE:
    read_estimate(reader, field, json, item, value);
    break;
  }
}

/* ---- objects ----------------------------------------------------------------------- */

static bool is_object(Reader *reader, const cJSON *item)
{
  if (!cJSON_IsObject(item))
    blame(reader, item, "", "expected an object: { ... }");
  return cJSON_IsObject(item);
}

static void read_fields(Reader *reader, const ProfileField *fields, const cJSON *json,
                        void *object)
{
  for (const ProfileField *field = fields; field->key != NULL; field++) {
    const cJSON *item = member(json, field->key);
    if (item != NULL)
      read_value(reader, field, json, item, at(object, field));
    else if (field->required)
      blame(reader, json, field->key, "missing");
  }
}

static void add_keys(GPtrArray *known, const ProfileField *fields)
{
  for (; fields != NULL && fields->key != NULL; fields++) {
    g_ptr_array_add(known, g_strdup(fields->key));
    if (fields->type == PROFILE_ESTIMATE)
      g_ptr_array_add(known, g_strconcat(fields->key, "_ci95", NULL));
  }
}

/* Typing errors are told; keys of a later minor version are not for us. */
static void check_keys(Reader *reader, const cJSON *json, const ProfileField *fields,
                       const ProfileField *more, const char *const *extra)
{
  g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func(g_free);
  const cJSON *item = NULL;

  if (reader->is_newer)
    return;
  add_keys(known, fields);
  add_keys(known, more);
  for (; extra != NULL && *extra != NULL; extra++)
    g_ptr_array_add(known, g_strdup(*extra));
  g_ptr_array_add(known, NULL);
  const char *const *names = (const char *const *)known->pdata;
  cJSON_ArrayForEach(item, json)
  {
    if (g_strv_contains(names, item->string))
      continue;
    g_autofree char *suggestion = registry_suggestion(names, item->string);
    blame(reader, item, item->string, "unknown key '%s'%s", item->string, suggestion);
  }
}

/* The list @p key; NULL after a problem, or if it is not there. */
static const cJSON *list_of(Reader *reader, const cJSON *json, const char *key)
{
  const cJSON *list = member(json, key);

  if (list != NULL && !cJSON_IsArray(list)) {
    blame(reader, list, key, "expected a list: [ ... ]");
    return NULL;
  }
  return list;
}

static void read_array(Reader *reader, const cJSON *json, const char *key,
                       const ProfileField *fields, GArray *array)
{
  const cJSON *item = NULL;
  guint index = 0;

  cJSON_ArrayForEach(item, list_of(reader, json, key))
  {
    const gsize mark = enter_element(reader, key, index++);
    if (is_object(reader, item)) {
      g_array_set_size(array, array->len + 1);
      void *element = array->data + (array->len - 1) * g_array_get_element_size(array);
      read_fields(reader, fields, item, element);
      check_keys(reader, item, fields, NULL, NULL);
    }
    leave(reader, mark);
  }
}

static Sample *read_sample(Reader *reader, const cJSON *json, bool with_times)
{
  Sample *sample = sample_new("");

  read_fields(reader, profile_key_fields, json, sample);
  if (with_times)
    read_fields(reader, profile_sample_fields, json, sample);
  check_keys(reader, json, profile_key_fields, with_times ? profile_sample_fields : NULL,
             NULL);
  if (with_times && !(sample->flags & SAMPLE_FAILED) && !(sample->median_s > 0))
    blame(reader, json, "median_s", "expected a time above 0");
  if (with_times && (sample->ranks == 0 || sample->nodes == 0))
    blame(reader, json, "ranks", "expected ranks and nodes of at least 1");
  return sample;
}

static bool ascends(const GArray *knots, guint i)
{
  const LawKnot *knot = &g_array_index(knots, LawKnot, i);

  return knot->size > 0 && knot->time_s > 0 &&
         (i == 0 || g_array_index(knots, LawKnot, i - 1).size < knot->size);
}

static void read_knots(Reader *reader, const cJSON *json, GArray *knots)
{
  const cJSON *object = member(json, "knots");
  const cJSON *sizes = member(object, "size"), *times = member(object, "time_s");
  const cJSON *size, *time;

  if (object == NULL)
    return;
  if (!cJSON_IsArray(sizes) || !cJSON_IsArray(times) ||
      cJSON_GetArraySize(sizes) != cJSON_GetArraySize(times)) {
    blame(reader, object, "knots", "expected lists \"size\" and \"time_s\" of one length");
    return;
  }
  for (size = sizes->child, time = times->child; size != NULL;
       size = size->next, time = time->next) {
    const LawKnot knot = { cJSON_IsNumber(size) ? size->valuedouble : 0,
                           cJSON_IsNumber(time) ? time->valuedouble : 0 };
    g_array_append_val(knots, knot);
    if (!isfinite(knot.size) || !isfinite(knot.time_s) || !ascends(knots, knots->len - 1))
      blame(reader, size, "knots", "expected sizes that grow and times above 0");
  }
}

/* What law_time_s() relies on. */
static void check_law(Reader *reader, const cJSON *json, const Law *law)
{
  static const struct {
    LawForm form;
    const char *names[4];
  } wanted[] = {
    { LAW_FLOOR, { "floor_s", "alpha_s", "s_per_unit", NULL } },
    { LAW_SATURATION, { "peak_per_s", "half", "sharpness", NULL } },
    { LAW_CONTENTION, { "idle_s", "share_per_unit", NULL } },
  };

  if (law->form == LAW_PIECEWISE && law->segments->len == 0)
    blame(reader, json, "segments", "expected at least one");
  for (guint i = 1; i < law->segments->len; i++)
    if (!(g_array_index(law->segments, LawSegment, i).from >
          g_array_index(law->segments, LawSegment, i - 1).from))
      blame(reader, json, "segments", "expected sizes that grow");
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
    for (guint j = 0; law->form == wanted[i].form && wanted[i].names[j] != NULL; j++)
      if (law_parameter(law, wanted[i].names[j]) == NULL)
        blame(reader, json, "parameters", "missing: %s", wanted[i].names[j]);
}

static void read_parameters(Reader *reader, const cJSON *json, Law *law)
{
  read_array(reader, json, "parameters", profile_parameter_fields, law->parameters);
  for (guint i = 0; i < law->parameters->len; i++) {
    LawParameter *parameter = &g_array_index(law->parameters, LawParameter, i);
    if (parameter->name == NULL)
      parameter->name = g_strdup("");
  }
}

static Law *read_law(Reader *reader, const cJSON *json)
{
  static const char *const parts[] = { "key",   "segments", "parameters", "candidates",
                                       "knots", "fit",      NULL };
  const cJSON *key = member(json, "key"), *fit = member(json, "fit");
  gsize mark = enter(reader, "key");
  g_autoptr(Sample) sample =
    is_object(reader, key) ? read_sample(reader, key, false) : sample_new("");
  leave(reader, mark);
  Law *law = law_new(sample, LAW_PIECEWISE);

  read_fields(reader, profile_law_fields, json, law);
  check_keys(reader, json, profile_law_fields, NULL, parts);
  read_array(reader, json, "segments", profile_segment_fields, law->segments);
  read_array(reader, json, "candidates", profile_candidate_fields, law->candidates);
  read_parameters(reader, json, law);
  read_knots(reader, json, law->knots);
  mark = enter(reader, "fit");
  if (is_object(reader, fit)) {
    read_fields(reader, profile_fit_fields, fit, &law->fit);
    check_keys(reader, fit, profile_fit_fields, NULL, NULL);
  }
  leave(reader, mark);
  check_law(reader, json, law);
  return law;
}

/* ---- the whole --------------------------------------------------------------------- */

static void read_samples(Reader *reader, const cJSON *root, Profile *profile)
{
  const cJSON *item = NULL;
  guint index = 0;

  cJSON_ArrayForEach(item, list_of(reader, root, "samples"))
  {
    const gsize mark = enter_element(reader, "samples", index++);
    if (is_object(reader, item))
      g_ptr_array_add(profile->samples, read_sample(reader, item, true));
    leave(reader, mark);
  }
}

static void read_laws(Reader *reader, const cJSON *root, Profile *profile)
{
  const cJSON *item = NULL;
  guint index = 0;

  cJSON_ArrayForEach(item, list_of(reader, root, "models"))
  {
    const gsize mark = enter_element(reader, "models", index++);
    if (is_object(reader, item))
      g_ptr_array_add(profile->laws, read_law(reader, item));
    leave(reader, mark);
  }
}

static void read_constants(Reader *reader, const cJSON *root, Profile *profile)
{
  const cJSON *item = NULL;
  guint index = 0;

  cJSON_ArrayForEach(item, list_of(reader, root, "constants"))
  {
    const gsize mark = enter_element(reader, "constants", index++);
    if (is_object(reader, item)) {
      const ProfileConstant empty = { .owner = (char *)"",
                                      .key = (char *)"",
                                      .value = (char *)"" };
      profile_add_constant(profile, &empty);
      read_fields(reader, profile_constant_fields, item,
                  g_ptr_array_index(profile->constants, profile->constants->len - 1));
      check_keys(reader, item, profile_constant_fields, NULL, NULL);
    }
    leave(reader, mark);
  }
}

static void read_inputs(Reader *reader, const cJSON *root, Profile *profile)
{
  const cJSON *item = NULL;
  guint index = 0;

  cJSON_ArrayForEach(item, list_of(reader, root, "inputs"))
  {
    const gsize mark = enter_element(reader, "inputs", index++);
    if (is_object(reader, item)) {
      const ProfileInput empty = { .kind = (char *)"" };
      profile_add_input(profile, &empty);
      read_fields(reader, profile_input_fields, item,
                  g_ptr_array_index(profile->inputs, profile->inputs->len - 1));
      check_keys(reader, item, profile_input_fields, NULL, NULL);
    }
    leave(reader, mark);
  }
}

static void read_texts(Reader *reader, const cJSON *root, Profile *profile)
{
  const cJSON *item = NULL;

  cJSON_ArrayForEach(item, member(root, "facts"))
  {
    if (cJSON_IsString(item) && item->string != NULL)
      backend_facts_add(profile->facts, item->string, item->valuestring);
    else
      blame(reader, item, "facts", "expected {\"name\": \"text\", ...}");
  }
  cJSON_ArrayForEach(item, list_of(reader, root, "warnings"))
  {
    if (cJSON_IsString(item))
      g_ptr_array_add(profile->warnings, g_strdup(item->valuestring));
    else
      blame(reader, item, "warnings", "expected text");
  }
}

/* "1.0": the major version must be ours. */
static bool check_version(Reader *reader, const cJSON *root)
{
  const cJSON *format = member(root, "format"), *version = member(root, "format_version");
  char *end = NULL;

  if (!cJSON_IsString(format) || strcmp(format->valuestring, PROFILE_FORMAT) != 0) {
    blame(reader, format == NULL ? root : format, "format",
          "expected \"" PROFILE_FORMAT "\"; `stepcast calibrate` makes such files");
    return false;
  }
  const char *text = cJSON_IsString(version) ? version->valuestring : "";
  const guint64 major = g_ascii_strtoull(text, &end, 10);
  const guint64 minor = *end == '.' ? g_ascii_strtoull(end + 1, &end, 10) : G_MAXUINT64;
  if (!g_ascii_isdigit(text[0]) || *end != '\0' || minor == G_MAXUINT64) {
    blame(reader, version == NULL ? root : version, "format_version",
          "expected a version such as \"1.0\"");
    return false;
  }
  if (major != PROFILE_MAJOR) {
    blame(reader, version, "format_version",
          "version %s is not one that this program reads, %d.x; use a newer stepcast, or "
          "calibrate again",
          text, PROFILE_MAJOR);
    return false;
  }
  reader->is_newer = minor > PROFILE_MINOR;
  return true;
}

Profile *profile_read(const cJSON *root, ProfileBlame blame_one, void *data)
{
  static const char *const parts[] = { "format", "format_version", "tool",
                                       "facts",  "inputs",         "constants",
                                       "models", "samples",        "warnings",
                                       NULL };
  g_autoptr(GString) path = g_string_new(NULL);
  Reader reader = { .blame = blame_one, .data = data, .path = path };
  g_autoptr(Profile) profile = profile_new("");

  if (!is_object(&reader, root) || !check_version(&reader, root))
    return NULL;
  read_fields(&reader, profile_head_fields, root, profile);
  check_keys(&reader, root, profile_head_fields, NULL, parts);
  read_fields(&reader, profile_tool_fields, member(root, "tool"), profile);
  read_inputs(&reader, root, profile);
  read_constants(&reader, root, profile);
  read_laws(&reader, root, profile);
  read_samples(&reader, root, profile);
  read_texts(&reader, root, profile);
  return reader.failed ? NULL : g_steal_pointer(&profile);
}
