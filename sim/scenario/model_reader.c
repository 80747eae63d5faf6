#include "sim/scenario/model_reader.h"

#include "sim/base/units.h"

#include <math.h>

gsize model_reader_enter(ModelReader *reader, const char *key)
{
  const gsize mark = reader->path->len;

  if (mark > 0)
    g_string_append_c(reader->path, '.');
  g_string_append(reader->path, key);
  return mark;
}

gsize model_reader_enter_element(ModelReader *reader, guint index)
{
  const gsize mark = reader->path->len;

  g_string_append_printf(reader->path, "[%u]", index);
  return mark;
}

void model_reader_leave(ModelReader *reader, gsize mark)
{
  g_string_truncate(reader->path, mark);
}

void model_reader_blame(ModelReader *reader, const cJSON *item, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  g_autofree char *cause = g_strdup_vprintf(format, args);
  va_end(args);
  documents_blame(reader->documents, reader->problems, item, reader->path->str, cause);
}

void model_reader_check_keys(ModelReader *reader, const cJSON *object, const ModelKey *keys)
{
  if (!cJSON_IsObject(object)) {
    model_reader_blame(reader, object, "expected an object, {...}");
    return;
  }
  for (const cJSON *child = object->child; child != NULL; child = child->next) {
    if (model_key_find(keys, child->string) != NULL)
      continue;
    g_autofree char *suggestion = model_key_suggestion(keys, child->string);
    const gsize mark = model_reader_enter(reader, child->string);
    model_reader_blame(reader, child, "unknown key '%s'%s", child->string, suggestion);
    model_reader_leave(reader, mark);
  }
}

const char *model_reader_text(ModelReader *reader, const cJSON *object, const char *key,
                              bool required)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

  if (item == NULL) {
    if (required && cJSON_IsObject(object))
      model_reader_blame(reader, object, "missing \"%s\"", key);
    return NULL;
  }
  if (cJSON_IsString(item) && item->valuestring[0] != '\0')
    return item->valuestring;
  const gsize mark = model_reader_enter(reader, key);
  model_reader_blame(reader, item, "expected a text that is not empty");
  model_reader_leave(reader, mark);
  return NULL;
}

static double read_number(ModelReader *reader, const cJSON *object, const char *key,
                          const double range[2], bool whole, double fallback)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  const double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;

  if (item == NULL)
    return fallback;
  /* NaN fails the comparisons as well. */
  if (value >= range[0] && value <= range[1] && (!whole || floor(value) == value))
    return value;
  g_autofree char *min = units_format_number(range[0]);
  g_autofree char *max = units_format_number(range[1]);
  const gsize mark = model_reader_enter(reader, key);
  model_reader_blame(reader, item, "expected a bare %snumber, %s to %s",
                     whole ? "whole " : "", min, max);
  model_reader_leave(reader, mark);
  return fallback;
}

double model_reader_count(ModelReader *reader, const cJSON *object, const char *key,
                          double min, double max, double fallback)
{
  return read_number(reader, object, key, (const double[]){ min, max }, true, fallback);
}

double model_reader_number(ModelReader *reader, const cJSON *object, const char *key,
                           double min, double max, double fallback)
{
  return read_number(reader, object, key, (const double[]){ min, max }, false, fallback);
}

const cJSON *model_reader_first(const cJSON *list)
{
  return list != NULL ? list->child : NULL;
}

const cJSON *model_reader_list(ModelReader *reader, const cJSON *object, const char *key,
                               bool required)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

  if (item == NULL) {
    if (required && cJSON_IsObject(object))
      model_reader_blame(reader, object, "missing \"%s\", a list [...]", key);
    return NULL;
  }
  if (cJSON_IsArray(item) && (!required || item->child != NULL))
    return item;
  const gsize mark = model_reader_enter(reader, key);
  model_reader_blame(reader, item, "expected a list, [...]%s",
                     required ? " that is not empty" : "");
  model_reader_leave(reader, mark);
  return NULL;
}
