#include "calibrate/hops.h"
#include "calibrate/profile_values.h"

#include <math.h>
#include <string.h>

static bool is_object(ProfileReader *reader, const cJSON *item)
{
  if (!cJSON_IsObject(item))
    reader_blame(reader, item, "", "expected an object: { ... }");
  return cJSON_IsObject(item);
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
static void check_keys(ProfileReader *reader, const cJSON *json, const ProfileField *fields,
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
    reader_blame(reader, item, item->string, "unknown key '%s'%s", item->string,
                 suggestion);
  }
}

/* The list @p key; NULL after a problem, or if it is not there. */
static const cJSON *list_of(ProfileReader *reader, const cJSON *json, const char *key)
{
  const cJSON *list = reader_member(json, key);

  if (list != NULL && !cJSON_IsArray(list)) {
    reader_blame(reader, list, key, "expected a list: [ ... ]");
    return NULL;
  }
  return list;
}

static void read_array(ProfileReader *reader, const cJSON *json, const char *key,
                       const ProfileField *fields, GArray *array)
{
  const cJSON *item = NULL;
  guint index = 0;

  cJSON_ArrayForEach(item, list_of(reader, json, key))
  {
    const gsize mark = reader_enter_element(reader, key, index++);
    if (is_object(reader, item)) {
      g_array_set_size(array, array->len + 1);
      void *element = array->data + (array->len - 1) * g_array_get_element_size(array);
      reader_fields(reader, fields, item, element);
      check_keys(reader, item, fields, NULL, NULL);
    }
    reader_leave(reader, mark);
  }
}

static Sample *read_sample(ProfileReader *reader, const cJSON *json, bool with_times)
{
  Sample *sample = sample_new("");

  reader_fields(reader, profile_key_fields, json, sample);
  if (with_times)
    reader_fields(reader, profile_sample_fields, json, sample);
  check_keys(reader, json, profile_key_fields, with_times ? profile_sample_fields : NULL,
             NULL);
  if (with_times && !(sample->flags & SAMPLE_FAILED) && !(sample->median_s > 0))
    reader_blame(reader, json, "median_s", "expected a time above 0");
  if (with_times && (sample->ranks == 0 || sample->nodes == 0))
    reader_blame(reader, json, "ranks", "expected ranks and nodes of at least 1");
  return sample;
}

static bool ascends(const GArray *knots, guint i)
{
  const LawKnot *knot = &g_array_index(knots, LawKnot, i);

  return knot->size > 0 && knot->time_s > 0 &&
         (i == 0 || g_array_index(knots, LawKnot, i - 1).size < knot->size);
}

static void read_knots(ProfileReader *reader, const cJSON *json, GArray *knots)
{
  const cJSON *object = reader_member(json, "knots");
  const cJSON *sizes = reader_member(object, "size"),
              *times = reader_member(object, "time_s");
  const cJSON *size, *time;

  if (object == NULL)
    return;
  if (!cJSON_IsArray(sizes) || !cJSON_IsArray(times) ||
      cJSON_GetArraySize(sizes) != cJSON_GetArraySize(times)) {
    reader_blame(reader, object, "knots",
                 "expected lists \"size\" and \"time_s\" of one length");
    return;
  }
  for (size = sizes->child, time = times->child; size != NULL;
       size = size->next, time = time->next) {
    const LawKnot knot = { cJSON_IsNumber(size) ? size->valuedouble : 0,
                           cJSON_IsNumber(time) ? time->valuedouble : 0 };
    g_array_append_val(knots, knot);
    if (!isfinite(knot.size) || !isfinite(knot.time_s) || !ascends(knots, knots->len - 1))
      reader_blame(reader, size, "knots", "expected sizes that grow and times above 0");
  }
}

/* What law_time_s() relies on. */
static void check_law(ProfileReader *reader, const cJSON *json, const Law *law)
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
    reader_blame(reader, json, "segments", "expected at least one");
  if (law->form == LAW_HOPS && !hops_known(law->key))
    reader_blame(reader, reader_member(json, "key"), "key",
                 "nobody knows the hops of %s by '%s'", law->key->probe, law->key->algo);
  for (guint i = 1; i < law->segments->len; i++)
    if (!(g_array_index(law->segments, LawSegment, i).from >
          g_array_index(law->segments, LawSegment, i - 1).from))
      reader_blame(reader, json, "segments", "expected sizes that grow");
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
    for (guint j = 0; law->form == wanted[i].form && wanted[i].names[j] != NULL; j++)
      if (law_parameter(law, wanted[i].names[j]) == NULL)
        reader_blame(reader, json, "parameters", "missing: %s", wanted[i].names[j]);
}

static void read_parameters(ProfileReader *reader, const cJSON *json, Law *law)
{
  read_array(reader, json, "parameters", profile_parameter_fields, law->parameters);
  for (guint i = 0; i < law->parameters->len; i++) {
    LawParameter *parameter = &g_array_index(law->parameters, LawParameter, i);
    if (parameter->name == NULL)
      parameter->name = g_strdup("");
  }
}

static Law *read_law(ProfileReader *reader, const cJSON *json)
{
  static const char *const parts[] = { "key",   "segments", "parameters", "candidates",
                                       "knots", "fit",      NULL };
  const cJSON *key = reader_member(json, "key"), *fit = reader_member(json, "fit");
  gsize mark = reader_enter(reader, "key");
  g_autoptr(Sample) sample =
    is_object(reader, key) ? read_sample(reader, key, false) : sample_new("");
  reader_leave(reader, mark);
  Law *law = law_new(sample, LAW_PIECEWISE);

  reader_fields(reader, profile_law_fields, json, law);
  check_keys(reader, json, profile_law_fields, NULL, parts);
  read_array(reader, json, "segments", profile_segment_fields, law->segments);
  read_array(reader, json, "candidates", profile_candidate_fields, law->candidates);
  read_parameters(reader, json, law);
  read_knots(reader, json, law->knots);
  mark = reader_enter(reader, "fit");
  if (is_object(reader, fit)) {
    reader_fields(reader, profile_fit_fields, fit, &law->fit);
    check_keys(reader, fit, profile_fit_fields, NULL, NULL);
  }
  reader_leave(reader, mark);
  check_law(reader, json, law);
  return law;
}

/* ---- the whole --------------------------------------------------------------------- */

/* One element of a list, an object, becomes part of the profile. */
typedef void (*ReadOne)(ProfileReader *reader, const cJSON *json, Profile *profile);

static void read_sample_of(ProfileReader *reader, const cJSON *json, Profile *profile)
{
  g_ptr_array_add(profile->samples, read_sample(reader, json, true));
}

static void read_law_of(ProfileReader *reader, const cJSON *json, Profile *profile)
{
  g_ptr_array_add(profile->laws, read_law(reader, json));
}

/* The last of @p rows, by the rows of @p fields. */
static void fill_last(ProfileReader *reader, const cJSON *json, const ProfileField *fields,
                      const GPtrArray *rows)
{
  reader_fields(reader, fields, json, g_ptr_array_index(rows, rows->len - 1));
  check_keys(reader, json, fields, NULL, NULL);
}

static void read_constant(ProfileReader *reader, const cJSON *json, Profile *profile)
{
  const ProfileConstant empty = { .owner = (char *)"",
                                  .key = (char *)"",
                                  .value = (char *)"" };

  profile_add_constant(profile, &empty);
  fill_last(reader, json, profile_constant_fields, profile->constants);
}

static void read_input(ProfileReader *reader, const cJSON *json, Profile *profile)
{
  const ProfileInput empty = { .kind = (char *)"" };

  profile_add_input(profile, &empty);
  fill_last(reader, json, profile_input_fields, profile->inputs);
}

static void read_list(ProfileReader *reader, const cJSON *root, const char *key,
                      ReadOne read_one, Profile *profile)
{
  const cJSON *item = NULL;
  guint index = 0;

  cJSON_ArrayForEach(item, list_of(reader, root, key))
  {
    const gsize mark = reader_enter_element(reader, key, index++);
    if (is_object(reader, item))
      read_one(reader, item, profile);
    reader_leave(reader, mark);
  }
}

static void read_texts(ProfileReader *reader, const cJSON *root, Profile *profile)
{
  const cJSON *item = NULL;

  cJSON_ArrayForEach(item, reader_member(root, "facts"))
  {
    if (cJSON_IsString(item) && item->string != NULL)
      backend_facts_add(profile->facts, item->string, item->valuestring);
    else
      reader_blame(reader, item, "facts", "expected {\"name\": \"text\", ...}");
  }
  cJSON_ArrayForEach(item, list_of(reader, root, "warnings"))
  {
    if (cJSON_IsString(item))
      g_ptr_array_add(profile->warnings, g_strdup(item->valuestring));
    else
      reader_blame(reader, item, "warnings", "expected text");
  }
}

/* "1.0": the major version must be ours. */
static bool check_version(ProfileReader *reader, const cJSON *root)
{
  const cJSON *format = reader_member(root, "format"),
              *version = reader_member(root, "format_version");
  char *end = NULL;

  if (!cJSON_IsString(format) || strcmp(format->valuestring, PROFILE_FORMAT) != 0) {
    reader_blame(reader, format == NULL ? root : format, "format",
                 "expected \"" PROFILE_FORMAT "\"; `stepcast calibrate` makes such files");
    return false;
  }
  const char *text = cJSON_IsString(version) ? version->valuestring : "";
  const guint64 major = g_ascii_strtoull(text, &end, 10);
  const guint64 minor = *end == '.' ? g_ascii_strtoull(end + 1, &end, 10) : G_MAXUINT64;
  if (!g_ascii_isdigit(text[0]) || *end != '\0' || minor == G_MAXUINT64) {
    reader_blame(reader, version == NULL ? root : version, "format_version",
                 "expected a version such as \"1.0\"");
    return false;
  }
  if (major != PROFILE_MAJOR) {
    reader_blame(
      reader, version, "format_version",
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
  ProfileReader reader = { .blame = blame_one, .data = data, .path = path };
  g_autoptr(Profile) profile = profile_new("");

  if (!is_object(&reader, root) || !check_version(&reader, root))
    return NULL;
  reader_fields(&reader, profile_head_fields, root, profile);
  check_keys(&reader, root, profile_head_fields, NULL, parts);
  reader_fields(&reader, profile_tool_fields, reader_member(root, "tool"), profile);
  read_list(&reader, root, "inputs", read_input, profile);
  read_list(&reader, root, "constants", read_constant, profile);
  read_list(&reader, root, "models", read_law_of, profile);
  read_list(&reader, root, "samples", read_sample_of, profile);
  read_texts(&reader, root, profile);
  return reader.failed ? NULL : g_steal_pointer(&profile);
}
