#include "calibrate/import/json.h"

#include "sim/base/syntax.h"

#include <string.h>

struct ImportJson {
  const ImportInput *input;
  char *text;
  gsize length;
  gsize begin, end; /* of what was read last, offsets */
  GArray *lines;    /* gsize: where each line begins */
  cJSON *root;
  GHashTable *places; /* cJSON -> offset */
};

static void note_lines(ImportJson *json)
{
  gsize at = 0;

  g_array_append_val(json->lines, at);
  for (const char *end = strchr(json->text, '\n'); end != NULL;
       end = strchr(end + 1, '\n')) {
    at = (gsize)(end + 1 - json->text);
    g_array_append_val(json->lines, at);
  }
}

ImportJson *import_json_new(ImportInput *input, gsize limit_B, GError **error)
{
  char *text = import_read_all(input, limit_B, error);

  if (text == NULL)
    return NULL;
  ImportJson *json = g_new0(ImportJson, 1);
  json->input = input;
  json->text = text;
  json->length = strlen(text);
  json->lines = g_array_new(FALSE, FALSE, sizeof(gsize));
  json->places = g_hash_table_new(NULL, NULL);
  note_lines(json);
  return json;
}

void import_json_free(ImportJson *json)
{
  if (json == NULL)
    return;
  g_free(json->text);
  g_array_unref(json->lines);
  g_hash_table_unref(json->places);
  cJSON_Delete(json->root);
  g_free(json);
}

/* Columns count characters, as editors do; a byte that belongs to none is one. */
static ImportPlace place_at(const ImportJson *json, gsize offset)
{
  guint low = 0, high = json->lines->len;

  while (high - low > 1) {
    const guint middle = low + (high - low) / 2;
    *(g_array_index(json->lines, gsize, middle) <= offset ? &low : &high) = middle;
  }
  ImportPlace place = { .line = low + 1, .column = 1 };
  for (gsize at = g_array_index(json->lines, gsize, low); at < offset; at++)
    place.column += ((guchar)json->text[at] & 0xc0) != 0x80;
  return place;
}

static void note_place(cJSON *item, SyntaxSpan span, void *data)
{
  const ImportJson *json = data;

  g_hash_table_insert(json->places, item, GSIZE_TO_POINTER(json->begin + span.start));
}

/* cJSON says where the text ends, the walk why it is none. */
static bool parse(ImportJson *json, GError **error)
{
  const char *begin = json->text + json->begin, *end = NULL;
  gsize where = 0;

  const gsize rest = json->length - json->begin;
  json->root = cJSON_ParseWithLengthOpts(begin, rest, &end, false);
  const gsize length = json->root == NULL ? rest : (gsize)(end - begin);
  g_autofree char *text = g_strndup(begin, length);
  g_autofree char *cause =
    syntax_walk(text, json->root, json->root == NULL ? NULL : note_place, json, &where);
  if (cause == NULL && json->root == NULL)
    cause = g_strdup("nested too deep");
  if (cause != NULL)
    return import_fail_at(json->input, place_at(json, json->begin + where), error,
                          "not JSON: %s", cause);
  json->end = json->begin + length;
  return true;
}

bool import_json_next(ImportJson *json, const cJSON **root, GError **error)
{
  json->begin = json->end + strspn(json->text + json->end, " \t\r\n,");
  *root = NULL;
  cJSON_Delete(json->root);
  json->root = NULL;
  g_hash_table_remove_all(json->places);
  if (json->text[json->begin] == '\0')
    return true;
  if (!parse(json, error))
    return false;
  *root = json->root;
  return true;
}

ImportPlace import_json_place(const ImportJson *json, const cJSON *item)
{
  gpointer offset = NULL;

  if (item != NULL && g_hash_table_lookup_extended(json->places, item, NULL, &offset))
    return place_at(json, GPOINTER_TO_SIZE(offset));
  return place_at(json, json->begin);
}

bool import_json_fail(const ImportJson *json, const cJSON *item, GError **error,
                      const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_autofree char *text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return import_fail_at(json->input, import_json_place(json, item), error, "%s", text);
}
