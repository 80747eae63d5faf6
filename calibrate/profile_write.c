#include "calibrate/profile_fields.h"

#include <math.h>

static void append_text(GString *out, const char *text)
{
  cJSON *item = cJSON_CreateString(text);
  char *quoted = cJSON_PrintUnformatted(item);

  g_string_append(out, quoted);
  cJSON_free(quoted);
  cJSON_Delete(item);
}

/* Nine digits; whole numbers, such as sizes, exactly. */
static void append_number(GString *out, double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite(number)) {
    g_string_append(out, "null");
    return;
  }
  g_ascii_formatd(text, sizeof text, "%.9g", number);
  const double kept = number == floor(number) ? number : g_ascii_strtod(text, NULL);
  if (kept == floor(kept) && fabs(kept) < 1e15)
    g_ascii_formatd(text, sizeof text, "%.0f", kept);
  g_string_append(out, text);
}

static void append_flags(GString *out, guint flags)
{
  g_autofree char *names = sample_flag_names(flags, "\", \"");

  g_string_append_printf(out, "[\"%s\"]", names);
}

static void append_estimate(GString *out, const char *key, const Estimate *estimate)
{
  append_number(out, estimate->value);
  g_string_append_printf(out, ", \"%s_ci95\": [", key);
  append_number(out, estimate->low);
  g_string_append(out, ", ");
  append_number(out, estimate->high);
  g_string_append_c(out, ']');
}

static const void *at(const void *object, const ProfileField *field)
{
  return (const char *)object + field->offset;
}

static bool is_left_out(const ProfileField *field, const void *value)
{
  return (field->type == PROFILE_TEXT && **(char *const *)value == '\0') ||
         (field->type == PROFILE_FLAGS && *(const guint *)value == 0);
}

/* "key": value, ... of one object, without its braces. */
static void append_fields(GString *out, const ProfileField *fields, const void *object,
                          bool is_first)
{
  for (const ProfileField *field = fields; field->key != NULL; field++) {
    const void *value = at(object, field);
    if (is_left_out(field, value))
      continue;
    g_string_append_printf(out, "%s\"%s\": ", is_first ? "" : ", ", field->key);
    is_first = false;
    switch (field->type) {
    case PROFILE_TEXT:
      append_text(out, *(char *const *)value);
      break;
    case PROFILE_NUMBER:
      append_number(out, *(const double *)value);
      break;
    case PROFILE_COUNT:
      g_string_append_printf(out, "%u", *(const guint *)value);
      break;
    case PROFILE_NAME:
      append_text(out, field->names[*(const guint *)value]);
      break;
    case PROFILE_FLAGS:
      append_flags(out, *(const guint *)value);
      break;
    case PROFILE_ESTIMATE:
      append_estimate(out, field->key, value);
      break;
    }
  }
}

static void append_row(GString *out, bool is_first)
{
  g_string_append(out, is_first ? "\n" : ",\n");
}

/* A list of objects, one a line. */
static void append_array(GString *out, const char *key, const char *indent,
                         const ProfileField *fields, const GArray *array)
{
  g_string_append_printf(out, ",\n%s\"%s\": [", indent, key);
  for (guint i = 0; i < array->len; i++) {
    append_row(out, i == 0);
    g_string_append_printf(out, "%s  {", indent);
    append_fields(out, fields, array->data + i * g_array_get_element_size((GArray *)array),
                  true);
    g_string_append_c(out, '}');
  }
  g_string_append_printf(out, "%s%s]", array->len > 0 ? "\n" : "",
                         array->len > 0 ? indent : "");
}

static void append_list(GString *out, const char *key, const ProfileField *fields,
                        const ProfileField *more, const GPtrArray *list)
{
  g_string_append_printf(out, ",\n  \"%s\": [", key);
  for (guint i = 0; i < list->len; i++) {
    append_row(out, i == 0);
    g_string_append(out, "    {");
    append_fields(out, fields, g_ptr_array_index(list, i), true);
    if (more != NULL)
      append_fields(out, more, g_ptr_array_index(list, i), false);
    g_string_append_c(out, '}');
  }
  g_string_append_printf(out, "%s]", list->len > 0 ? "\n  " : "");
}

static void append_knots(GString *out, const GArray *knots)
{
  for (guint column = 0; column < 2; column++) {
    g_string_append_printf(out, "%s\"%s\": [",
                           column == 0 ? ",\n      \"knots\": {\n        " : ",\n        ",
                           column == 0 ? "size" : "time_s");
    for (guint i = 0; i < knots->len; i++) {
      const LawKnot *knot = &g_array_index(knots, LawKnot, i);
      if (i > 0)
        g_string_append(out, ", ");
      append_number(out, column == 0 ? knot->size : knot->time_s);
    }
    g_string_append_c(out, ']');
  }
  g_string_append(out, "\n      }");
}

static void append_law(GString *out, const Law *law)
{
  g_string_append(out, "    {\n      ");
  append_fields(out, profile_law_fields, law, true);
  g_string_append(out, ",\n      \"key\": {");
  append_fields(out, profile_key_fields, law->key, true);
  g_string_append_c(out, '}');
  if (law->form == LAW_PIECEWISE) {
    append_array(out, "segments", "      ", profile_segment_fields, law->segments);
    append_array(out, "candidates", "      ", profile_candidate_fields, law->candidates);
  } else {
    append_array(out, "parameters", "      ", profile_parameter_fields, law->parameters);
  }
  if (law->knots->len > 0)
    append_knots(out, law->knots);
  g_string_append(out, ",\n      \"fit\": {");
  append_fields(out, profile_fit_fields, &law->fit, true);
  g_string_append(out, "}\n    }");
}

static void append_provenance(GString *out, const Profile *profile)
{
  g_string_append(out, ",\n  \"tool\": {\"name\": \"stepcast\"");
  append_fields(out, profile_tool_fields, profile, false);
  g_string_append(out, "},\n  \"facts\": {");
  for (guint i = 0; i < profile->facts->len; i++) {
    const BackendFact *fact = g_ptr_array_index(profile->facts, i);
    append_row(out, i == 0);
    g_string_append(out, "    ");
    append_text(out, fact->name);
    g_string_append(out, ": ");
    append_text(out, fact->value);
  }
  g_string_append(out, profile->facts->len > 0 ? "\n  }" : "}");
  append_list(out, "inputs", profile_input_fields, NULL, profile->inputs);
}

void profile_write(const Profile *profile, GString *out)
{
  g_string_append_printf(out,
                         "{\n  \"format\": \"%s\",\n  \"format_version\": \"%d.%d\",\n  ",
                         PROFILE_FORMAT, PROFILE_MAJOR, PROFILE_MINOR);
  append_fields(out, profile_head_fields, profile, true);
  append_provenance(out, profile);
  append_list(out, "constants", profile_constant_fields, NULL, profile->constants);
  g_string_append(out, ",\n  \"models\": [");
  for (guint i = 0; i < profile->laws->len; i++) {
    append_row(out, i == 0);
    append_law(out, g_ptr_array_index(profile->laws, i));
  }
  g_string_append(out, profile->laws->len > 0 ? "\n  ]" : "]");
  append_list(out, "samples", profile_key_fields, profile_sample_fields, profile->samples);
  g_string_append(out, ",\n  \"warnings\": [");
  for (guint i = 0; i < profile->warnings->len; i++) {
    append_row(out, i == 0);
    g_string_append(out, "    ");
    append_text(out, g_ptr_array_index(profile->warnings, i));
  }
  g_string_append(out, profile->warnings->len > 0 ? "\n  ]\n}\n" : "]\n}\n");
}

bool profile_save(const Profile *profile, const char *path, GError **error)
{
  g_autoptr(GString) text = g_string_new(NULL);

  profile_write(profile, text);
  /* Aside first, then renamed: GLib's way. */
  return g_file_set_contents(path, text->str, (gssize)text->len, error);
}
