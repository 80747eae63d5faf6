#include "sim/scenario/bind.h"

#include "calibrate/interval.h"

#include "sim/base/rng.h"
#include "sim/base/units.h"

#include <math.h>
#include <string.h>

static char *path_of(const Section *section, const char *key)
{
  return *section->path == '\0' || *key == '\0'
           ? g_strconcat(section->path, key, NULL)
           : g_strdup_printf("%s.%s", section->path, key);
}

void bind_blame(const Binder *binder, const Section *section, const char *key,
                const cJSON *item, const char *cause)
{
  g_autofree char *path = path_of(section, key);
  documents_blame(binder->documents, binder->problems, item == NULL ? section->place : item,
                  path, cause);
}

void bind_blame_element(const Binder *binder, const Section *section, const char *key,
                        guint index, const char *cause)
{
  g_autofree char *path = g_strdup_printf("%s[%u]", key, index);

  bind_blame(binder, section, path,
             cJSON_GetArrayItem(bind_member(section, key), (int)index), cause);
}

cJSON *bind_member(const Section *section, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(section->object, key);
}

Section bind_section(const Binder *binder, const Section *parent, const char *key,
                     const ModuleChoice *choice, char **path)
{
  cJSON *object = bind_member(parent, key);

  *path = path_of(parent, key);
  if (object != NULL && !cJSON_IsObject(object)) {
    g_autofree char *cause =
      choice != NULL && cJSON_IsString(object)
        ? g_strdup_printf("expected an object: write {\"%s\": \"%s\"}", choice->key,
                          object->valuestring)
        : g_strdup("expected an object: { ... }");
    bind_blame(binder, parent, key, object, cause);
    object = NULL;
  }
  return (Section){ *path, object, object == NULL ? parent->place : object };
}

static const char *json_type(const cJSON *item)
{
  return cJSON_IsObject(item)   ? "an object"
         : cJSON_IsArray(item)  ? "a list"
         : cJSON_IsString(item) ? "text"
         : cJSON_IsNumber(item) ? "a bare number"
         : cJSON_IsNull(item)   ? "null"
                                : "true or false";
}

static bool has_right_type(const ParamSpec *spec, const cJSON *item)
{
  switch (spec->type) {
  case PARAM_COUNT:
  case PARAM_NUMBER:
    return cJSON_IsNumber(item);
  case PARAM_BOOL:
    return cJSON_IsBool(item);
  case PARAM_LIST:
    return cJSON_IsArray(item);
  case PARAM_NAME:
  case PARAM_TEXT:
    return cJSON_IsString(item);
  case PARAM_BYTES:
  case PARAM_SECONDS:
  case PARAM_RATE:
  case PARAM_FLOPS:
  case PARAM_FRACTION:
    break;
  }
  /* units.c refuses a bare number other than 0, and shows how to write it. */
  return cJSON_IsString(item) || cJSON_IsNumber(item);
}

static void blame_type(const Binder *binder, const Section *section, const ParamSpec *spec,
                       const cJSON *item)
{
  double number = 0;
  const bool has_quotes = (spec->type == PARAM_COUNT || spec->type == PARAM_NUMBER) &&
                          cJSON_IsString(item) &&
                          units_parse_number(item->valuestring, &number, NULL);
  g_autofree char *names =
    spec->type == PARAM_NAME ? g_strjoinv(", ", (char **)spec->names) : NULL;
  g_autofree char *cause =
    names != NULL
      ? g_strdup_printf("expected one of %s, in quotes, not %s", names, json_type(item))
    : has_quotes ? g_strdup_printf("expected a bare number: write %s without quotes",
                                   item->valuestring)
                 : g_strdup_printf("expected %s, not %s", param_type_example(spec->type),
                                   json_type(item));
  bind_blame(binder, section, spec->key, item, cause);
}

static void blame_missing(const Binder *binder, const Section *section,
                          const ParamSpec *spec)
{
  g_autofree char *known = NULL;
  g_autofree char *cause = NULL;

  if (spec->type == PARAM_NAME)
    known = g_strjoinv(", ", (char **)spec->names);
  cause = g_strdup_printf(
    "missing: %s (%s)", known == NULL ? param_type_example(spec->type) : known, spec->help);
  bind_blame(binder, section, spec->key, NULL, cause);
}

/* ---- what is understood ------------------------------------------------------------ */

static bool is_quantity(const ParamSpec *spec)
{
  return spec->type == PARAM_NUMBER || spec->type == PARAM_BYTES ||
         spec->type == PARAM_SECONDS || spec->type == PARAM_RATE ||
         spec->type == PARAM_FLOPS || spec->type == PARAM_FRACTION;
}

static void add_constant(Binder *binder, const Section *section, const ParamSpec *spec,
                         const char *value, const char *origin)
{
  if (binder->constants == NULL || !is_quantity(spec))
    return;

  const Constant constant = {
    .name = path_of(section, spec->key),
    .value = g_strdup(value),
    .source = g_strdup(origin),
    .assumed = g_str_has_prefix(origin, "assumed"),
  };

  g_array_append_val(binder->constants, constant);
}

static void note_given(Binder *binder, const Section *section, const ParamSpec *spec,
                       const cJSON *item)
{
  char *json = cJSON_PrintUnformatted(item);
  g_autofree char *line = documents_line(binder->documents, item);
  g_autofree char *origin = documents_origin(binder->documents, item);

  if (binder->effective != NULL)
    effective_add(binder->effective, spec->key, json, line);
  if (documents_file(binder->documents, item) != NULL) {
    g_free(origin);
    origin = g_strconcat("scenario ", line, NULL);
  }
  add_constant(binder, section, spec, cJSON_IsString(item) ? item->valuestring : json,
               origin);
  cJSON_free(json);
}

void bind_note(Binder *binder, const char *key, const cJSON *item)
{
  char *json = cJSON_PrintUnformatted(item);
  g_autofree char *line = documents_line(binder->documents, item);

  if (binder->effective != NULL)
    effective_add(binder->effective, key, json, line);
  cJSON_free(json);
}

/* The default "0" without a unit means that the hardware has no such thing, or that the
 * user has not said: no constant to doubt. */
static void note_default(Binder *binder, const Section *section, const ParamSpec *spec)
{
  if (binder->effective == NULL || (spec->type == PARAM_TEXT && *spec->fallback == '\0'))
    return;

  g_autofree char *json = spec->type == PARAM_LIST ? g_strdup("[]")
                          : param_is_quoted(spec)
                            ? g_strdup_printf("\"%s\"", spec->fallback)
                            : g_strdup(spec->fallback);
  g_autofree char *comment =
    g_strconcat("default", spec->origin == NULL ? "" : ": ", spec->origin, NULL);
  g_autofree char *origin = spec->origin == NULL ? g_strdup("assumed: default")
                            : g_str_has_prefix(spec->origin, "assumed")
                              ? g_strdup(spec->origin)
                              : g_strdup(comment);
  effective_add(binder->effective, spec->key, json, comment);
  if (strcmp(spec->fallback, "0") != 0)
    add_constant(binder, section, spec, spec->fallback, origin);
}

/* ---- values ------------------------------------------------------------------------ */

static void bind_list(Binder *binder, const Section *section, const ParamSpec *spec,
                      void *params, const cJSON *list)
{
  GArray *array = *(GArray **)((char *)params + spec->offset);
  g_autofree char *path = path_of(section, spec->key);
  Binder part_binder = *binder;
  cJSON *element = NULL;

  part_binder.effective = NULL; /* the list is noted as a whole */
  part_binder.constants = NULL;
  cJSON_ArrayForEach(element, list)
  {
    g_autofree char *element_path = g_strdup_printf("%s[%u]", path, array->len);
    const Section part = { element_path, element, element };
    if (!cJSON_IsObject(element)) {
      bind_blame(binder, &part, "", element, "expected an object: { ... }");
      continue;
    }
    g_array_set_size(array, array->len + 1);
    void *fields = array->data + (array->len - 1) * spec->item_size;
    param_set_defaults(spec->item, fields);
    bind_params(&part_binder, &part, spec->item, fields);
    bind_check_keys(binder, &part, spec->item, NULL);
  }
}

/* The value as param_set() wants it. Transfer: caller frees. */
static char *text_of(const Binder *binder, const cJSON *item)
{
  if (cJSON_IsString(item))
    return g_strdup(item->valuestring);
  if (cJSON_IsBool(item))
    return g_strdup(cJSON_IsTrue(item) ? "true" : "false");
  return documents_raw(binder->documents, item);
}

static void bind_scalar(Binder *binder, const Section *section, const ParamSpec *spec,
                        void *params, const cJSON *item)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *text = text_of(binder, item);

  if (spec->type == PARAM_TEXT && *text == '\0' && spec->fallback == NULL)
    bind_blame(binder, section, spec->key, item, "must not be empty");
  else if (!param_set(spec, params, text, &error))
    bind_blame(binder, section, spec->key, item, error->message);
}

/* What the profile says about a key; NULL if nothing. */
static const ProfileConstant *calibrated(const Binder *binder, const Section *section,
                                         const ParamSpec *spec)
{
  const char *owner = binder->owner != NULL ? binder->owner : section->path;

  for (guint i = 0; binder->profile != NULL && i < binder->profile->constants->len; i++) {
    const ProfileConstant *constant = g_ptr_array_index(binder->profile->constants, i);
    if (strcmp(constant->owner, owner) == 0 && strcmp(constant->key, spec->key) == 0)
      return constant;
  }
  return NULL;
}

static bool is_continuous(const ParamSpec *spec)
{
  return spec->type == PARAM_NUMBER || spec->type == PARAM_SECONDS ||
         spec->type == PARAM_RATE || spec->type == PARAM_FLOPS ||
         spec->type == PARAM_FRACTION;
}

/* A number of the profile, by way of its own field. */
static bool read_number(const ParamSpec *spec, void *params, const char *text,
                        double *value)
{
  if (!param_set(spec, params, text, NULL))
    return false;
  *value = *(const double *)(const void *)((char *)params + spec->offset);
  return true;
}

/* Log-normal about the value, so that nothing falls below zero; a draw beyond what the key
 * allows is not taken. The field holds the value before and the draw after. */
static void draw(const Binder *binder, const ParamSpec *spec, void *params,
                 const ProfileConstant *constant)
{
  double value, low, high, min, max;

  if (binder->replica == 0 || !is_continuous(spec) || *constant->low == '\0' ||
      !read_number(spec, params, constant->low, &low) ||
      !read_number(spec, params, constant->high, &high) ||
      !read_number(spec, params, constant->value, &value) || !(low > 0) || !(high >= low))
    return;
  g_autofree char *name =
    g_strdup_printf("calibration %s.%s", constant->owner, constant->key);
  g_autoptr(Rng) rng = rng_stream(rng_hash(binder->seed, binder->replica, 0), name);
  const double drawn =
    value * exp(rng_max_normal(rng, 1) * log(high / low) / (2 * INTERVAL_SIGMAS));
  param_range(spec, &min, &max);
  if (drawn >= min && drawn <= max)
    *(double *)(void *)((char *)params + spec->offset) = drawn;
}

/* A default that was measured. */
static void bind_calibrated(Binder *binder, const Section *section, const ParamSpec *spec,
                            void *params, const ProfileConstant *constant)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *interval =
    *constant->low == '\0'
      ? g_strdup("")
      : g_strdup_printf(", 95 %%: %s to %s", constant->low, constant->high);
  g_autofree char *origin = g_strdup_printf(
    "%s: profile %s%s", source_names[constant->source], binder->profile->id, interval);
  g_autofree char *json = param_is_quoted(spec) ? g_strdup_printf("\"%s\"", constant->value)
                                                : g_strdup(constant->value);

  if (!param_set(spec, params, constant->value, &error)) {
    g_autofree char *cause =
      g_strdup_printf("profile %s: constant of %s: %s", binder->profile->id,
                      constant->owner, error->message);
    bind_blame(binder, section, spec->key, NULL, cause);
    return;
  }
  draw(binder, spec, params, constant);
  if (binder->effective != NULL)
    effective_add(binder->effective, spec->key, json, origin);
  add_constant(binder, section, spec, constant->value, origin);
}

void bind_value(Binder *binder, const Section *section, const ParamSpec *spec, void *params,
                const cJSON *item)
{
  const ProfileConstant *constant = item == NULL ? calibrated(binder, section, spec) : NULL;

  if (constant != NULL && spec->type != PARAM_LIST) {
    bind_calibrated(binder, section, spec, params, constant);
  } else if (item == NULL && spec->fallback == NULL) {
    blame_missing(binder, section, spec);
  } else if (item == NULL) {
    note_default(binder, section, spec);
  } else if (!has_right_type(spec, item)) {
    blame_type(binder, section, spec, item);
  } else {
    if (spec->type == PARAM_LIST)
      bind_list(binder, section, spec, params, item);
    else
      bind_scalar(binder, section, spec, params, item);
    note_given(binder, section, spec, item);
  }
}

void bind_params(Binder *binder, const Section *section, const ParamSpec *specs,
                 void *params)
{
  for (const ParamSpec *spec = specs; spec != NULL && spec->key != NULL; spec++)
    bind_value(binder, section, spec, params, bind_member(section, spec->key));
}

void bind_check_keys(const Binder *binder, const Section *section, const ParamSpec *specs,
                     const char *const *extra)
{
  g_autoptr(GPtrArray) known = g_ptr_array_new();
  const cJSON *item = NULL;

  for (; specs != NULL && specs->key != NULL; specs++)
    g_ptr_array_add(known, (void *)specs->key);
  for (; extra != NULL && *extra != NULL; extra++)
    g_ptr_array_add(known, (void *)*extra);
  g_ptr_array_add(known, NULL);
  cJSON_ArrayForEach(item, section->object)
  {
    if (g_strv_contains((const char *const *)known->pdata, item->string))
      continue;
    g_autofree char *path = path_of(section, item->string);
    g_autofree char *suggestion =
      registry_suggestion((const char *const *)known->pdata, item->string);
    g_autofree char *cause =
      g_strdup_printf("unknown key '%s'%s", item->string, suggestion);
    documents_blame_key(binder->documents, binder->problems, item, path, cause);
  }
}
