#include "sim/scenario/problems.h"

#include <string.h>

#define MAX_REPORTED 10

/* Of a source line and of a cause, in characters. */
#define MAX_LINE 84
#define MAX_CAUSE 400

typedef struct {
  Text *text;
  gsize offset;
  char *key, *cause;
} Problem;

struct Problems {
  GPtrArray *list; /* of Problem */
};

Text *text_ref(Text *text)
{
  return g_rc_box_acquire(text);
}

static void text_clear(void *data)
{
  Text *text = data;

  g_free(text->name);
  g_free(text->shown);
  g_free(text->origin);
}

void text_unref(Text *text)
{
  g_rc_box_release_full(text, text_clear);
}

static const char *line_of(const Text *text, gsize offset, guint *line)
{
  const char *start = text->shown;

  *line = 1;
  for (const char *p = text->shown; p < text->shown + offset; p++)
    if (*p == '\n') {
      start = p + 1;
      ++*line;
    }
  return start;
}

void text_position(const Text *text, gsize offset, guint *line, guint *column)
{
  const char *start = line_of(text, offset, line);
  *column = (guint)g_utf8_strlen(start, text->shown + offset - start) + 1;
}

static void problem_free(void *data)
{
  Problem *problem = data;

  text_unref(problem->text);
  g_free(problem->key);
  g_free(problem->cause);
  g_free(problem);
}

Problems *problems_new(void)
{
  Problems *problems = g_new(Problems, 1);
  problems->list = g_ptr_array_new_with_free_func(problem_free);
  return problems;
}

void problems_free(Problems *problems)
{
  g_ptr_array_unref(problems->list);
  g_free(problems);
}

guint problems_count(const Problems *problems)
{
  return problems->list->len;
}

void problems_add(Problems *problems, Text *text, gsize offset, const char *key,
                  const char *cause)
{
  Problem *problem = g_new(Problem, 1);

  *problem = (Problem){
    .text = text_ref(text),
    .offset = offset,
    .key = g_strdup(key),
    .cause = g_strdup(cause),
  };
  g_ptr_array_add(problems->list, problem);
}

/* Append at most @p max characters, none of which moves a terminal's cursor. */
static void append_printable(GString *out, const char *text, gsize length, glong max)
{
  g_autofree char *valid = g_utf8_make_valid(text, (gssize)length);
  const char *p = valid;

  for (; *p != '\0' && max > 0; p = g_utf8_next_char(p), max--) {
    const gunichar c = g_utf8_get_char(p);
    if (c == '\t')
      g_string_append_c(out, ' ');
    else
      g_string_append_unichar(out, g_unichar_iscntrl(c) ? '?' : c);
  }
  if (*p != '\0')
    g_string_append(out, "...");
}

/* "    6 |   ... text ..." and a caret below; a long line is cut around the caret. */
static void append_excerpt(GString *out, const Problem *problem)
{
  guint line = 0;
  const char *start = line_of(problem->text, problem->offset, &line);
  const char *at = problem->text->shown + problem->offset;
  const gsize length = strcspn(start, "\r\n");
  glong before = g_utf8_strlen(start, at - start);
  const char *first = start;

  if (g_utf8_strlen(start, (gssize)length) > MAX_LINE && before > MAX_LINE / 2) {
    first = g_utf8_offset_to_pointer(start, before - MAX_LINE / 2);
    before = MAX_LINE / 2;
  }
  const bool is_cut = first > start;
  g_string_append_printf(out, "\n%5u | %s", line, is_cut ? "..." : "");
  append_printable(out, first, (gsize)(start + length - first), MAX_LINE);
  g_string_append_printf(out, "\n      | %*s^", (int)before + (is_cut ? 3 : 0), "");
}

static void append_problem(GString *out, const Problem *problem)
{
  if (out->len > 0)
    g_string_append_c(out, '\n');
  append_printable(out, problem->text->name, strlen(problem->text->name), MAX_CAUSE);
  if (!problem->text->is_flat) {
    guint line = 0, column = 0;
    text_position(problem->text, problem->offset, &line, &column);
    g_string_append_printf(out, ":%u:%u", line, column);
  }
  if (*problem->key != '\0') {
    g_string_append(out, ": ");
    append_printable(out, problem->key, strlen(problem->key), MAX_CAUSE);
  }
  g_string_append(out, ": ");
  append_printable(out, problem->cause, strlen(problem->cause), MAX_CAUSE);
  if (!problem->text->is_flat)
    append_excerpt(out, problem);
}

static gint compare(gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const Problem *x = *(Problem *const *)a, *y = *(Problem *const *)b;

  if (x->text->number != y->text->number)
    return x->text->number < y->text->number ? -1 : 1;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

bool problems_report(const Problems *problems, GError **error)
{
  const guint n = problems->list->len;
  g_autoptr(GString) out = g_string_new(NULL);

  if (n == 0)
    return true;
  /* Stable, so that problems of one place stay in the order of the checks. */
  g_ptr_array_sort_with_data(problems->list, compare, NULL);
  for (guint i = 0; i < MIN(n, MAX_REPORTED); i++)
    append_problem(out, g_ptr_array_index(problems->list, i));
  if (n > MAX_REPORTED)
    g_string_append_printf(out, "\nand %u more", n - MAX_REPORTED);
  g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE, out->str);
  return false;
}
