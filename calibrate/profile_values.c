#include "calibrate/profile_values.h"

#include <math.h>
#include <string.h>

gsize reader_enter(ProfileReader *reader, const char *key)
{
  const gsize mark = reader->path->len;

  g_string_append_printf(reader->path, "%s%s", mark > 0 ? "." : "", key);
  return mark;
}

gsize reader_enter_element(ProfileReader *reader, const char *key, guint index)
{
  const gsize mark = reader_enter(reader, key);

  g_string_append_printf(reader->path, "[%u]", index);
  return mark;
}

void reader_leave(ProfileReader *reader, gsize mark)
{
  g_string_truncate(reader->path, mark);
}

void reader_blame(ProfileReader *reader, const cJSON *item, const char *key,
                  const char *format, ...)
{
  va_list args;
  const gsize mark = *key == '\0' ? reader->path->len : reader_enter(reader, key);

  va_start(args, format);
  g_autofree char *cause = g_strdup_vprintf(format, args);
  va_end(args);
  reader->failed = true;
  reader->blame(item, reader->path->str, cause, reader->data);
  reader_leave(reader, mark);
}

const cJSON *reader_member(const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void *at(void *object, const ProfileField *field)
{
  return (char *)object + field->offset;
}

static void read_text(ProfileReader *reader, const ProfileField *field, const cJSON *item,
                      char **text)
{
  if (!cJSON_IsString(item)) {
    reader_blame(reader, item, field->key, "expected text");
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

static void read_number(ProfileReader *reader, const ProfileField *field, const cJSON *item,
                        double *number)
{
  if (cJSON_IsNull(item) && !field->required)
    *number = NAN;
  else if (cJSON_IsNumber(item) && in_range(field, item->valuedouble))
    *number = item->valuedouble;
  else
    reader_blame(reader, item, field->key, "expected a number%s",
                 field->min < 0 ? "" : ", 0 or more");
}

static void read_count(ProfileReader *reader, const ProfileField *field, const cJSON *item,
                       guint *count)
{
  const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;

  if (number >= 0 && number <= G_MAXUINT && floor(number) == number)
    *count = (guint)number;
  else
    reader_blame(reader, item, field->key, "expected a whole number, 0 or more");
}

static void read_name(ProfileReader *reader, const ProfileField *field, const cJSON *item,
                      guint *index)
{
  const char *name = cJSON_IsString(item) ? item->valuestring : "";

  for (guint i = 0; field->names[i] != NULL; i++)
    if (strcmp(field->names[i], name) == 0) {
      *index = i;
      return;
    }
  g_autofree char *suggestion = registry_suggestion(field->names, name);
  reader_blame(reader, item, field->key, "unknown name '%s'%s", name, suggestion);
}

static void read_flags(ProfileReader *reader, const ProfileField *field, const cJSON *item,
                       guint *flags)
{
  const cJSON *element = NULL;

  if (!cJSON_IsArray(item)) {
    reader_blame(reader, item, field->key, "expected a list of names");
    return;
  }
  cJSON_ArrayForEach(element, item)
  {
    const guint flag = cJSON_IsString(element) ? sample_flag_of(element->valuestring) : 0;
    if (flag == 0 && !reader->is_newer)
      reader_blame(reader, element, field->key, "unknown flag");
    *flags |= flag;
  }
}

static void read_estimate(ProfileReader *reader, const ProfileField *field,
                          const cJSON *object, const cJSON *item, Estimate *estimate)
{
  g_autofree char *key = g_strconcat(field->key, "_ci95", NULL);
  const cJSON *range = reader_member(object, key);
  const cJSON *low = cJSON_GetArrayItem(range, 0), *high = cJSON_GetArrayItem(range, 1);

  read_number(reader, field, item, &estimate->value);
  if (cJSON_GetArraySize(range) != 2 || !cJSON_IsNumber(low) || !cJSON_IsNumber(high)) {
    reader_blame(reader, range == NULL ? object : range, key, "expected [low, high]");
    return;
  }
  estimate->low = low->valuedouble;
  estimate->high = high->valuedouble;
  if (!(estimate->low >= 0 && estimate->low <= estimate->value &&
        estimate->value <= estimate->high && isfinite(estimate->high)))
    reader_blame(reader, range, key, "expected 0 <= low <= value <= high");
}

static void read_value(ProfileReader *reader, const ProfileField *field, const cJSON *json,
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

void reader_fields(ProfileReader *reader, const ProfileField *fields, const cJSON *json,
                   void *object)
{
  for (const ProfileField *field = fields; field->key != NULL; field++) {
    const cJSON *item = reader_member(json, field->key);
    if (item != NULL)
      read_value(reader, field, json, item, at(object, field));
    else if (field->required)
      reader_blame(reader, json, field->key, "missing");
  }
}
