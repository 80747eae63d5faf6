#include "sim/base/param.h"

#include "sim/base/units.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char *example;
  bool (*parse)(const char *text, double *out, GError **error);
  char *(*format)(double value);
  bool whole;      /* stored as an integer */
  double min, max; /* the type's own range */
} TypeOps;

/* Above 2^53 a double does not hold every whole number. */
#define EXACT_MAX 0x1p53

static const TypeOps types[] = {
  [PARAM_COUNT] = { "a whole number, such as 8", units_parse_number, units_format_number,
                    true, 0, G_MAXUINT },
  [PARAM_NUMBER] = { "a number, such as 0.5", units_parse_number, units_format_number,
                     false, -G_MAXDOUBLE, G_MAXDOUBLE },
  [PARAM_BOOL] = { "true or false", NULL, NULL, false, 0, 0 },
  [PARAM_BYTES] = { "bytes, such as \"64 MiB\"", units_parse_bytes, units_format_bytes,
                    true, 0, EXACT_MAX },
  [PARAM_SECONDS] = { "a time, such as \"3 us\"", units_parse_seconds, units_format_seconds,
                      false, 0, G_MAXDOUBLE },
  /* Nothing moves at rate 0; a row whose range begins at 0 gives it a meaning. */
  [PARAM_RATE] = { "a rate, such as \"25 Gbit/s\" or \"25 GB/s\"", units_parse_rate,
                   units_format_rate, false, G_MINDOUBLE, G_MAXDOUBLE },
  [PARAM_FLOPS] = { "a computing rate, such as \"125 TFLOP/s\"", units_parse_flops,
                    units_format_flops, false, 0, G_MAXDOUBLE },
  [PARAM_FRACTION] = { "a fraction, such as \"35 %\" or 0.35", units_parse_fraction,
                       units_format_fraction, false, 0, 1 },
  [PARAM_NAME] = { "one of the known names", NULL, NULL, false, 0, 0 },
  [PARAM_TEXT] = { "text, such as \"abc\"", NULL, NULL, false, 0, 0 },
  [PARAM_LIST] = { "a list of objects, such as [{...}, {...}]", NULL, NULL, false, 0, 0 },
};

/* The field of @p spec in @p params. */
static void *field(const ParamSpec *spec, const void *params)
{
  return (char *)params + spec->offset;
}

guint param_count(const ParamSpec *specs)
{
  guint n = 0;

  while (specs != NULL && specs[n].key != NULL)
    n++;
  return n;
}

const ParamSpec *param_find(const ParamSpec *specs, const char *key)
{
  for (; specs != NULL && specs->key != NULL; specs++)
    if (strcmp(specs->key, key) == 0)
      return specs;
  return NULL;
}

const char *param_type_example(ParamType type)
{
  return types[type].example;
}

bool param_is_quoted(const ParamSpec *spec)
{
  switch (spec->type) {
  case PARAM_COUNT:
  case PARAM_NUMBER:
  case PARAM_BOOL:
  case PARAM_LIST:
    return false;
  case PARAM_BYTES:
  case PARAM_SECONDS:
  case PARAM_RATE:
  case PARAM_FLOPS:
  case PARAM_FRACTION:
  case PARAM_NAME:
  case PARAM_TEXT:
    break;
  }
  return true;
}

void param_range(const ParamSpec *spec, double *min, double *max)
{
  const bool has_range = spec->min != 0 || spec->max != 0;

  *min = has_range ? spec->min : types[spec->type].min;
  *max = has_range ? MIN(spec->max, types[spec->type].max) : types[spec->type].max;
}

char *param_format_range(const ParamSpec *spec)
{
  const TypeOps *type = &types[spec->type];
  double min = 0, max = 0;

  if (type->parse == NULL)
    return NULL;
  param_range(spec, &min, &max);

  const bool above_zero = min == G_MINDOUBLE;
  const bool has_max = max < type->max || spec->type == PARAM_FRACTION;
  g_autofree char *least = above_zero ? g_strdup("0") : type->format(min);
  g_autofree char *most = has_max ? type->format(max) : NULL;

  if (above_zero)
    return has_max ? g_strdup_printf("above 0 and at most %s", most) : g_strdup("above 0");
  if (min > -G_MAXDOUBLE)
    return has_max ? g_strdup_printf("between %s and %s", least, most)
                   : g_strdup_printf("at least %s", least);
  return has_max ? g_strdup_printf("at most %s", most) : NULL;
}

/* "must be between 1 and 64"; the type's own limit is told only to those who pass it. */
static bool check_range(const ParamSpec *spec, double value, GError **error)
{
  const TypeOps *type = &types[spec->type];
  double min = 0, max = 0;

  param_range(spec, &min, &max);
  if (value >= min && value <= max)
    return true;
  g_autofree char *range = param_format_range(spec);
  g_autofree char *given = type->format(value);
  if (value > max && max == type->max && spec->type != PARAM_FRACTION) {
    g_free(range);
    g_autofree char *limit = type->format(max);
    range = g_strdup_printf("at most %s", limit);
  }
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s is out of range: must be %s", given,
              range);
  return false;
}

static bool parse_number(const ParamSpec *spec, const char *text, double *out,
                         GError **error)
{
  const TypeOps *type = &types[spec->type];
  double value = 0;

  if (!type->parse(text, &value, error) || !check_range(spec, value, error))
    return false;
  if (type->whole && value != floor(value)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s is not a whole number%s", text,
                spec->type == PARAM_BYTES ? " of bytes" : "");
    return false;
  }
  *out = value;
  return true;
}

static bool set_bool(const ParamSpec *spec, void *params, const char *text, GError **error)
{
  const bool is_true = strcmp(text, "true") == 0;

  if (!is_true && strcmp(text, "false") != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "'%s' is neither true nor false", text);
    return false;
  }
  *(bool *)field(spec, params) = is_true;
  return true;
}

static bool set_name(const ParamSpec *spec, void *params, const char *text, GError **error)
{
  for (guint i = 0; spec->names[i] != NULL; i++)
    if (strcmp(spec->names[i], text) == 0) {
      *(guint *)field(spec, params) = i;
      return true;
    }
  g_autofree char *suggestion = registry_suggestion(spec->names, text);
  g_set_error(error, SIM_ERROR, SIM_ERROR_UNKNOWN, "unknown %s '%s'%s", spec->key, text,
              suggestion);
  return false;
}

static void set_text(const ParamSpec *spec, void *params, const char *text)
{
  char **string = field(spec, params);

  g_free(*string);
  *string = *text == '\0' ? NULL : g_strdup(text);
}

bool param_set(const ParamSpec *spec, void *params, const char *text, GError **error)
{
  double value = 0;

  g_return_val_if_fail(spec->type != PARAM_LIST, false);
  if (spec->type == PARAM_BOOL)
    return set_bool(spec, params, text, error);
  if (spec->type == PARAM_NAME)
    return set_name(spec, params, text, error);
  if (spec->type == PARAM_TEXT) {
    set_text(spec, params, text);
    return true;
  }
  if (spec->type == PARAM_COUNT && *text == '\0' && g_strcmp0(spec->fallback, "") == 0) {
    *(guint *)field(spec, params) = G_MAXUINT;
    return true;
  }
  if (!parse_number(spec, text, &value, error))
    return false;
  if (spec->type == PARAM_COUNT)
    *(guint *)field(spec, params) = (guint)value;
  else if (spec->type == PARAM_BYTES)
    *(guint64 *)field(spec, params) = (guint64)value;
  else
    *(double *)field(spec, params) = value;
  return true;
}

static void append_quoted(GString *out, const char *text)
{
  g_string_append_c(out, '"');
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\')
      g_string_append_c(out, '\\');
    if ((guchar)*text < ' ')
      g_string_append_printf(out, "\\u%04x", (guint)(guchar)*text);
    else
      g_string_append_c(out, *text);
  }
  g_string_append_c(out, '"');
}

/* [{"up_to": "1 MiB", "use": "tree"}, {"use": "ring"}] */
static char *format_list(const ParamSpec *spec, const GArray *list)
{
  g_autoptr(GString) out = g_string_new("[");

  for (guint i = 0; list != NULL && i < list->len; i++) {
    const char *element = list->data + i * spec->item_size;
    g_string_append(out, i == 0 ? "{" : ", {");
    for (const ParamSpec *item = spec->item; item->key != NULL; item++) {
      g_autofree char *value = param_format(item, element);
      g_string_append_printf(out, "%s\"%s\": ", item == spec->item ? "" : ", ", item->key);
      if (param_is_quoted(item))
        append_quoted(out, value);
      else
        g_string_append(out, value);
    }
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  return g_string_free(g_steal_pointer(&out), FALSE);
}

char *param_format(const ParamSpec *spec, const void *params)
{
  const void *value = field(spec, params);

  switch (spec->type) {
  case PARAM_COUNT:
    return g_strdup_printf("%u", *(const guint *)value);
  case PARAM_BYTES:
    return units_format_bytes((double)*(const guint64 *)value);
  case PARAM_BOOL:
    return g_strdup(*(const bool *)value ? "true" : "false");
  case PARAM_NAME:
    return g_strdup(spec->names[*(const guint *)value]);
  case PARAM_TEXT:
    return g_strdup(*(char *const *)value == NULL ? "" : *(char *const *)value);
  case PARAM_LIST:
    return format_list(spec, *(GArray *const *)value);
  case PARAM_NUMBER:
  case PARAM_SECONDS:
  case PARAM_RATE:
  case PARAM_FLOPS:
  case PARAM_FRACTION:
    break;
  }
  return types[spec->type].format(*(const double *)value);
}

void param_set_defaults(const ParamSpec *specs, void *params)
{
  for (; specs != NULL && specs->key != NULL; specs++) {
    g_autoptr(GError) error = NULL;

    if (specs->type == PARAM_LIST) {
      GArray **list = field(specs, params);
      if (*list == NULL)
        *list = g_array_new(FALSE, TRUE, (guint)specs->item_size);
    } else if (specs->fallback != NULL &&
               !param_set(specs, params, specs->fallback, &error)) {
      g_error("default of %s: %s", specs->key, error->message); /* a fault of our table */
    }
  }
}

void param_clear(const ParamSpec *specs, void *params)
{
  for (; specs != NULL && specs->key != NULL; specs++) {
    if (specs->type == PARAM_TEXT)
      g_clear_pointer((char **)field(specs, params), g_free);
    if (specs->type != PARAM_LIST)
      continue;
    GArray **list = field(specs, params);
    for (guint i = 0; *list != NULL && i < (*list)->len; i++)
      param_clear(specs->item, (*list)->data + i * specs->item_size);
    g_clear_pointer(list, g_array_unref);
  }
}
