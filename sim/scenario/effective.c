#include "sim/scenario/effective.h"

#include <stdbool.h>
#include <string.h>

/* Comments stand in one column, unless the value is longer than this. */
#define COMMENT_COLUMN_MAX 48

typedef struct {
  guint depth; /* of nested objects */
  char *key;
  char *json; /* NULL: an object begins */
  char *origin;
} Row;

struct Effective {
  GArray *rows; /* of Row */
  guint depth;
};

static void row_clear(void *data)
{
  Row *row = data;

  g_free(row->key);
  g_free(row->json);
  g_free(row->origin);
}

Effective *effective_new(void)
{
  Effective *effective = g_new0(Effective, 1);

  effective->rows = g_array_new(FALSE, TRUE, sizeof(Row));
  g_array_set_clear_func(effective->rows, row_clear);
  return effective;
}

void effective_free(Effective *effective)
{
  g_array_unref(effective->rows);
  g_free(effective);
}

void effective_open(Effective *effective, const char *key)
{
  const Row row = { .depth = effective->depth++, .key = g_strdup(key) };

  g_array_append_val(effective->rows, row);
}

void effective_close(Effective *effective)
{
  g_return_if_fail(effective->depth > 0);
  effective->depth--;
}

void effective_add(Effective *effective, const char *key, const char *json,
                   const char *origin)
{
  const Row row = {
    .depth = effective->depth,
    .key = g_strdup(key),
    .json = g_strdup(json),
    .origin = g_strdup(origin),
  };

  g_array_append_val(effective->rows, row);
}

static const Row *row_at(const Effective *effective, guint index)
{
  return &g_array_index(effective->rows, Row, index);
}

/* Does the object of row @p index end with it? */
static bool is_last(const Effective *effective, guint index)
{
  return index + 1 == effective->rows->len ||
         row_at(effective, index + 1)->depth < row_at(effective, index)->depth;
}

/* The line of row @p index without its comment. */
static char *line_of(const Effective *effective, guint index)
{
  const Row *row = row_at(effective, index);

  if (row->json != NULL)
    return g_strdup_printf("%*s\"%s\": %s%s", 2 * (int)row->depth + 2, "", row->key,
                           row->json, is_last(effective, index) ? "" : ",");
  return g_strdup_printf("%*s\"%s\": {", 2 * (int)row->depth + 2, "", row->key);
}

/* Close the objects that end before a row of @p depth; a comma if one follows. */
static void append_ends(GString *out, guint from, guint depth, bool is_end)
{
  while (from > depth) {
    from--;
    g_string_append_printf(out, "%*s}%s\n", 2 * (int)from + 2, "",
                           from > depth || is_end ? "" : ",");
  }
}

static gsize comment_column(const Effective *effective)
{
  gsize column = 0;

  for (guint i = 0; i < effective->rows->len; i++) {
    g_autofree char *line = line_of(effective, i);
    const gsize length = (gsize)g_utf8_strlen(line, -1);
    if (row_at(effective, i)->json != NULL && length <= COMMENT_COLUMN_MAX)
      column = MAX(column, length);
  }
  return column;
}

char *effective_show(const Effective *effective)
{
  const gsize column = comment_column(effective);
  g_autoptr(GString) out = g_string_new("{\n");
  guint depth = 0;

  for (guint i = 0; i < effective->rows->len; i++) {
    const Row *row = row_at(effective, i);
    const bool was_empty = i > 0 && row_at(effective, i - 1)->json == NULL;
    /* An object without rows is followed by a row of its own depth or less. */
    append_ends(out, was_empty ? MAX(depth, row_at(effective, i - 1)->depth + 1) : depth,
                row->depth, false);
    depth = row->depth;
    g_autofree char *line = line_of(effective, i);
    g_string_append(out, line);
    if (row->json != NULL) {
      const gsize length = (gsize)g_utf8_strlen(line, -1);
      g_string_append_printf(out, "%*s  // %s",
                             length < column ? (int)(column - length) : 0, "", row->origin);
    }
    g_string_append_c(out, '\n');
  }
  const guint n = effective->rows->len;
  const bool ends_empty = n > 0 && row_at(effective, n - 1)->json == NULL;
  append_ends(out, ends_empty ? row_at(effective, n - 1)->depth + 1 : depth, 0, true);
  g_string_append(out, "}\n");
  return g_string_free(g_steal_pointer(&out), FALSE);
}
