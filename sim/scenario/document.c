#include "sim/scenario/document.h"

#include "sim/base/syntax.h"
#include "sim/scenario/problems.h"

#include <string.h>

/* A scenario is some kilobytes; a model of a thousand layers some hundred. */
#define MAX_LENGTH ((gsize)16 << 20)

/* cJSON looks keys up one after another. */
#define MAX_KEYS 1000

#define MAX_EXPLAINED 100

typedef struct {
  Text *text; /* borrowed from Documents.texts */
  SyntaxSpan span;
} Place;

struct Documents {
  GPtrArray *texts;   /* of Text */
  GPtrArray *roots;   /* of cJSON, whatever was merged into or taken out of them */
  GHashTable *places; /* cJSON -> Place */
};

static void root_free(void *data)
{
  cJSON_Delete(data);
}

static void unref_text(void *data)
{
  text_unref(data);
}

Documents *documents_new(void)
{
  Documents *documents = g_new(Documents, 1);

  documents->texts = g_ptr_array_new_with_free_func(unref_text);
  documents->roots = g_ptr_array_new_with_free_func(root_free);
  documents->places = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  return documents;
}

void documents_free(Documents *documents)
{
  g_hash_table_unref(documents->places);
  g_ptr_array_unref(documents->roots);
  g_ptr_array_unref(documents->texts);
  g_free(documents);
}

void documents_list(const Documents *documents, GPtrArray *names)
{
  for (guint i = 0; i < documents->texts->len; i++)
    g_ptr_array_add(names, g_strdup(((const Text *)documents->texts->pdata[i])->name));
}

static Text *text_add(Documents *documents, const char *name, const char *shown,
                      gsize length)
{
  Text *text = g_rc_box_new0(Text);

  text->number = documents->texts->len;
  text->name = g_strdup(name);
  text->shown = g_utf8_make_valid(shown, (gssize)length);
  g_ptr_array_add(documents->texts, text);
  return text;
}

/* Positions stay true: comments become blanks, and so does a byte order mark. */
static void blank_comments(char *text)
{
  bool in_string = false;

  if (g_str_has_prefix(text, "\xef\xbb\xbf"))
    memset(text, ' ', 3);
  for (char *p = text; *p != '\0'; p++) {
    if (*p == '\n')
      in_string = false;
    else if (in_string && *p == '\\' && p[1] != '\0' && p[1] != '\n')
      p++;
    else if (*p == '"')
      in_string = !in_string;
    else if (!in_string && p[0] == '/' && p[1] == '/') {
      const size_t n = strcspn(p, "\r\n");
      memset(p, ' ', n);
      p += n - 1;
    }
  }
}

/* What no JSON text may hold; NULL if all is well. */
static const char *check_bytes(const char *text, gsize length, gsize *where)
{
  const char *nul = memchr(text, '\0', length), *end = NULL;

  *where = 0;
  if (length > MAX_LENGTH)
    return "longer than 16 MiB: this is no scenario";
  if (nul != NULL) {
    *where = (gsize)(nul - text);
    return "a NUL byte: this is no text file";
  }
  if (!g_utf8_validate(text, (gssize)length, &end)) {
    *where = (gsize)(end - text);
    return "not UTF-8: save the file in that encoding";
  }
  return NULL;
}

typedef struct {
  Documents *documents;
  Problems *problems;
  Text *text;
} NoteContext;

static Place *place_of(const Documents *documents, const cJSON *item)
{
  return item == NULL ? NULL : g_hash_table_lookup(documents->places, item);
}

static void refuse_duplicate(const NoteContext *context, const cJSON *first,
                             const cJSON *second)
{
  /* Finding a line takes a walk over the text; a report shows ten. */
  g_autofree char *at = problems_count(context->problems) < MAX_EXPLAINED
                          ? documents_place(context->documents, first)
                          : g_strdup("another place");
  g_autofree char *cause = g_strdup_printf("given twice, before at %s", at);

  problems_add(context->problems, context->text,
               place_of(context->documents, second)->span.key, second->string, cause);
}

static void check_keys(const NoteContext *context, const cJSON *object)
{
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  const cJSON *child = NULL;

  cJSON_ArrayForEach(child, object)
  {
    const cJSON *first = g_hash_table_lookup(seen, child->string);
    if (first != NULL)
      refuse_duplicate(context, first, child);
    else
      g_hash_table_insert(seen, child->string, (void *)child);
  }
  if (g_hash_table_size(seen) > MAX_KEYS)
    problems_add(context->problems, context->text,
                 place_of(context->documents, object)->span.start, "",
                 "an object of more than 1000 keys: this is no scenario");
}

static void note_place(cJSON *item, SyntaxSpan span, void *data)
{
  const NoteContext *context = data;
  Place *place = g_new(Place, 1);

  *place = (Place){ .text = context->text, .span = span };
  g_hash_table_insert(context->documents->places, item, place);
  if (cJSON_IsObject(item))
    check_keys(context, item);
}

static void note_places(NoteContext *context, const char *json, cJSON *root)
{
  gsize where = 0;
  g_free(syntax_walk(json, root, note_place, context, &where));
}

cJSON *documents_parse(Documents *documents, const char *name, const char *text,
                       gsize length, Problems *problems)
{
  gsize where = 0;
  const guint n_before = problems_count(problems);
  const char *bad_byte = check_bytes(text, length, &where);
  NoteContext context = { documents, problems,
                          text_add(documents, name, text, MIN(length, MAX_LENGTH)) };

  if (bad_byte != NULL) {
    problems_add(problems, context.text, where, "", bad_byte);
    return NULL;
  }
  g_autofree char *json = g_strndup(text, length);
  blank_comments(json);
  g_autofree char *cause = syntax_walk(json, NULL, NULL, NULL, &where);
  if (cause != NULL) {
    problems_add(problems, context.text, where, "", cause);
    return NULL;
  }
  cJSON *root = cJSON_Parse(json);
  g_return_val_if_fail(root != NULL, NULL); /* the walk is stricter than cJSON */
  g_ptr_array_add(documents->roots, root);
  note_places(&context, json, root);
  return problems_count(problems) == n_before ? root : NULL;
}

cJSON *documents_parse_setting(Documents *documents, const char *setting, const char *value,
                               Problems *problems)
{
  gsize where = 0;
  g_autofree char *name = g_strconcat("--set ", setting, NULL);
  const char *bad_byte = check_bytes(value, strlen(value), &where);
  NoteContext context = { documents, problems,
                          text_add(documents, name, value, strlen(value)) };

  context.text->is_flat = true;
  if (bad_byte != NULL) {
    problems_add(problems, context.text, where, "", bad_byte);
    return NULL;
  }
  g_autofree char *cause = syntax_walk(value, NULL, NULL, NULL, &where);
  cJSON *root = cause == NULL ? cJSON_Parse(value) : cJSON_CreateString(value);
  g_return_val_if_fail(root != NULL, NULL);
  g_ptr_array_add(documents->roots, root);
  if (cause == NULL)
    note_places(&context, value, root);
  else
    note_place(root, (SyntaxSpan){ SYNTAX_NO_KEY, 0, strlen(value) }, &context);
  return root;
}

void documents_adopt(Documents *documents, cJSON *item)
{
  g_ptr_array_add(documents->roots, item);
}

void documents_copy_place(Documents *documents, cJSON *item, const cJSON *like)
{
  const Place *place = place_of(documents, like);

  if (place != NULL)
    g_hash_table_insert(documents->places, item, g_memdup2(place, sizeof *place));
}

cJSON *documents_wrap(Documents *documents, cJSON *item, const char *key)
{
  cJSON *object = cJSON_CreateObject();
  guint index = 0;

  if (g_ptr_array_find(documents->roots, item, &index))
    g_ptr_array_steal_index(documents->roots, index);
  cJSON_AddItemToObject(object, key, item);
  documents_copy_place(documents, object, item);
  return object;
}

const char *documents_file(const Documents *documents, const cJSON *item)
{
  const Place *place = place_of(documents, item);

  return place == NULL || place->text->is_flat || place->text->origin != NULL
           ? NULL
           : place->text->name;
}

void documents_set_origin(Documents *documents, const cJSON *item, const char *origin)
{
  const Place *place = place_of(documents, item);

  g_return_if_fail(place != NULL);
  g_free(place->text->origin);
  place->text->origin = g_strdup(origin);
}

char *documents_line(const Documents *documents, const cJSON *item)
{
  const Place *place = place_of(documents, item);
  guint line = 0, column = 0;

  if (place == NULL)
    return NULL;
  if (place->text->is_flat || place->text->origin != NULL)
    return g_strdup(place->text->name);
  text_position(place->text, place->span.start, &line, &column);
  return g_strdup_printf("%s:%u", place->text->name, line);
}

char *documents_origin(const Documents *documents, const cJSON *item)
{
  const Place *place = place_of(documents, item);

  return place != NULL && place->text->origin != NULL ? g_strdup(place->text->origin)
                                                      : documents_line(documents, item);
}

char *documents_raw(const Documents *documents, const cJSON *item)
{
  const Place *place = place_of(documents, item);

  if (place == NULL)
    return NULL;
  return g_strndup(place->text->shown + place->span.start,
                   place->span.end - place->span.start);
}

char *documents_place(const Documents *documents, const cJSON *item)
{
  const Place *place = place_of(documents, item);
  guint line = 0, column = 0;

  if (place == NULL)
    return NULL;
  if (place->text->is_flat)
    return g_strdup(place->text->name);
  text_position(place->text, place->span.start, &line, &column);
  return g_strdup_printf("%s:%u:%u", place->text->name, line, column);
}

void documents_blame(const Documents *documents, Problems *problems, const cJSON *item,
                     const char *key, const char *cause)
{
  const Place *place = place_of(documents, item);

  g_return_if_fail(documents->texts->len > 0);
  if (place != NULL)
    problems_add(problems, place->text, place->span.start, key, cause);
  else
    problems_add(problems, g_ptr_array_index(documents->texts, 0), 0, key, cause);
}

void documents_blame_key(const Documents *documents, Problems *problems, const cJSON *item,
                         const char *key, const char *cause)
{
  const Place *place = place_of(documents, item);

  if (place == NULL || place->span.key == SYNTAX_NO_KEY)
    documents_blame(documents, problems, item, key, cause);
  else
    problems_add(problems, place->text, place->span.key, key, cause);
}
