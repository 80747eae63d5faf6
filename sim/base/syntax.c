#include "sim/base/syntax.h"

#include <math.h>
#include <string.h>

/* Far deeper than any scenario; keeps the recursion small. */
#define MAX_DEPTH 64

/* cJSON reads at most 63 characters of a number. */
#define MAX_NUMBER_LENGTH 60

typedef struct {
  const char *text;
  const char *p;
  guint depth;
  SyntaxVisit visit;
  void *data;
  const char *where;
  char *cause;
} Walker;

static bool walk_value(Walker *walker, cJSON *item, const char *key);

static bool fail(Walker *walker, const char *where, const char *format, ...)
  G_GNUC_PRINTF(3, 4);

static bool fail(Walker *walker, const char *where, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  walker->cause = g_strdup_vprintf(format, args);
  va_end(args);
  walker->where = where;
  return false;
}

static void skip_blanks(Walker *walker)
{
  walker->p += strspn(walker->p, " \t\r\n");
}

/* The bare words at @p p, up to what could end a value. */
static char *words_at(const char *p)
{
  return g_strchomp(g_strndup(p, strcspn(p, ",:{}[]\"'\r\n")));
}

static bool fail_unclosed(Walker *walker, const char *open)
{
  guint last_line = 1;

  for (const char *p = walker->text; *p != '\0'; p++)
    last_line += *p == '\n' && p[1] != '\0';
  return fail(walker, open, "this '%c' is never closed: the text ends at line %u", *open,
              last_line);
}

static bool hex4(const char *p, guint *code)
{
  *code = 0;
  for (guint i = 0; i < 4; i++) {
    if (!g_ascii_isxdigit(p[i]))
      return false;
    *code = *code * 16 + (guint)g_ascii_xdigit_value(p[i]);
  }
  return true;
}

/* At the 'u' of an escape. */
static bool walk_unicode_escape(Walker *walker)
{
  guint code = 0, low = 0;

  if (!hex4(walker->p + 1, &code))
    return fail(walker, walker->p - 1, "\\u needs four hexadecimal digits");
  walker->p += 5;
  if (code == 0)
    return fail(walker, walker->p - 6, "a NUL character cannot stand in text");
  if (code < 0xD800 || code > 0xDFFF)
    return true;
  if (code > 0xDBFF || walker->p[0] != '\\' || walker->p[1] != 'u' ||
      !hex4(walker->p + 2, &low) || low < 0xDC00 || low > 0xDFFF)
    return fail(walker, walker->p - 6, "half of a surrogate pair");
  walker->p += 6;
  return true;
}

static bool walk_string(Walker *walker)
{
  const char *open = walker->p++;

  while (*walker->p != '"') {
    if (*walker->p == '\0' || *walker->p == '\n' || *walker->p == '\r')
      return fail(walker, open, "this string is not closed on its line");
    if ((guchar)*walker->p < ' ')
      return fail(walker, walker->p, "a control character in a string: write \\u%04x",
                  (guint)(guchar)*walker->p);
    if (*walker->p++ != '\\')
      continue;
    if (*walker->p == 'u') {
      if (!walk_unicode_escape(walker))
        return false;
    } else if (*walker->p != '\0' && strchr("\"\\/bfnrt", *walker->p) != NULL) {
      walker->p++;
    } else {
      return fail(walker, walker->p - 1, "unknown escape: a backslash is written \\\\");
    }
  }
  walker->p++;
  return true;
}

/* Like JSON: no leading zeros, digits on both sides of the point. NULL if it is not. */
static const char *end_of_number(const char *p)
{
  p += *p == '-';
  if (*p == '0' && g_ascii_isdigit(p[1]))
    return NULL;
  const gsize n_digits = strspn(p, "0123456789");
  p += n_digits;
  if (n_digits == 0)
    return NULL;
  if (*p == '.') {
    const gsize n_decimals = strspn(++p, "0123456789");
    p += n_decimals;
    if (n_decimals == 0)
      return NULL;
  }
  if (*p == 'e' || *p == 'E') {
    p += 1 + (p[1] == '+' || p[1] == '-');
    const gsize n_exponent = strspn(p, "0123456789");
    p += n_exponent;
    if (n_exponent == 0)
      return NULL;
  }
  return p;
}

static bool walk_number(Walker *walker)
{
  const char *start = walker->p, *end = end_of_number(start);
  g_autofree char *words = words_at(start);

  const char *after = end == NULL ? NULL : end + strspn(end, " \t");
  if (after != NULL && (g_ascii_isalpha(*after) || *after == '%' || (guchar)*after >= 0x80))
    return fail(walker, start, "a value with a unit needs quotes: \"%s\"", words);
  if (end == NULL)
    return fail(walker, start, "'%s' is not a number", words);
  if (end - start > MAX_NUMBER_LENGTH)
    return fail(walker, start, "a number of more than %d characters", MAX_NUMBER_LENGTH);
  if (!isfinite(g_ascii_strtod(start, NULL)))
    return fail(walker, start, "'%s' is too large a number", words);
  walker->p = end;
  return true;
}

static bool walk_word(Walker *walker)
{
  static const char *const known[] = { "true", "false", "null" };
  g_autofree char *words = words_at(walker->p);
  g_autofree char *small = g_ascii_strdown(words, -1);

  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (g_str_has_prefix(walker->p, known[i]) &&
        !g_ascii_isalnum(walker->p[strlen(known[i])])) {
      walker->p += strlen(known[i]);
      return true;
    }
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (strcmp(small, known[i]) == 0)
      return fail(walker, walker->p, "write '%s' in small letters", known[i]);
  if (*walker->p == '\'')
    return fail(walker, walker->p, "strings need double quotes, not single ones");
  if (*walker->p == ',')
    return fail(walker, walker->p, "a value is missing before this comma");
  if (strcmp(small, "nan") == 0 || strstr(small, "inf") == small)
    return fail(walker, walker->p, "'%s' is not a number", words);
  if (*walker->p == '+' || *walker->p == '.')
    return fail(walker, walker->p,
                "'%s' is not a number: it must begin with a digit or '-'", words);
  if (g_ascii_isalpha(*walker->p) || *walker->p == '_')
    return fail(walker, walker->p, "text needs double quotes: \"%s\"", words);
  return fail(walker, walker->p, "expected a value here");
}

static bool walk_key(Walker *walker)
{
  if (*walker->p == '"')
    return walk_string(walker);

  g_autofree char *words = words_at(walker->p);
  if (*walker->p == '\'')
    return fail(walker, walker->p, "keys need double quotes, not single ones");
  if (*words != '\0')
    return fail(walker, walker->p, "keys need double quotes: \"%s\"", words);
  return fail(walker, walker->p, "expected a key in double quotes, or '}'");
}

/* After an element: true if another follows. Otherwise either the closing bracket has been
 * passed, or the cause is set. */
static bool walk_separator(Walker *walker, const char *open, char close)
{
  const char *end = walker->p;

  skip_blanks(walker);
  const char *found = walker->p;
  if (*found == close) {
    walker->p++;
    return false;
  }
  if (*found == '\0')
    return fail_unclosed(walker, open);
  if (*found != ',')
    return fail(walker, end, "expected ',' or '%c' after this value", close);
  walker->p++;
  skip_blanks(walker);
  if (*walker->p == close)
    return fail(walker, found, "a comma too many before '%c'", close);
  if (*walker->p == '\0')
    return fail_unclosed(walker, open);
  return true;
}

/* Past the opening bracket and blanks: true if there is a first element. */
static bool walk_open(Walker *walker, char close)
{
  const char *open = walker->p++;

  skip_blanks(walker);
  if (*walker->p == close) {
    walker->p++;
    return false;
  }
  return *walker->p == '\0' ? fail_unclosed(walker, open) : true;
}

static bool walk_object(Walker *walker, const cJSON *item)
{
  const char *open = walker->p;
  cJSON *child = item == NULL ? NULL : item->child;

  if (!walk_open(walker, '}'))
    return walker->cause == NULL;
  do {
    const char *key = walker->p;
    if (!walk_key(walker))
      return false;
    skip_blanks(walker);
    if (*walker->p != ':')
      return *walker->p == '\0' ? fail_unclosed(walker, open)
                                : fail(walker, walker->p, "expected ':' after the key");
    walker->p++;
    skip_blanks(walker);
    if (*walker->p == '\0')
      return fail_unclosed(walker, open);
    if (!walk_value(walker, child, key))
      return false;
    child = child == NULL ? NULL : child->next;
  } while (walk_separator(walker, open, '}'));
  return walker->cause == NULL;
}

static bool walk_array(Walker *walker, const cJSON *item)
{
  const char *open = walker->p;
  cJSON *child = item == NULL ? NULL : item->child;

  if (!walk_open(walker, ']'))
    return walker->cause == NULL;
  do {
    if (!walk_value(walker, child, NULL))
      return false;
    child = child == NULL ? NULL : child->next;
  } while (walk_separator(walker, open, ']'));
  return walker->cause == NULL;
}

static bool walk_nested(Walker *walker, const cJSON *item)
{
  if (walker->depth == MAX_DEPTH)
    return fail(walker, walker->p, "nested more than %d deep", MAX_DEPTH);
  walker->depth++;
  const bool ok = *walker->p == '{' ? walk_object(walker, item) : walk_array(walker, item);
  walker->depth--;
  return ok;
}

static bool walk_value(Walker *walker, cJSON *item, const char *key)
{
  const char *start = walker->p;
  bool ok = false;

  if (*start == '{' || *start == '[')
    ok = walk_nested(walker, item);
  else if (*start == '"')
    ok = walk_string(walker);
  else if (*start == '-' || g_ascii_isdigit(*start))
    ok = walk_number(walker);
  else
    ok = walk_word(walker);
  if (ok && item != NULL)
    walker->visit(item,
                  (SyntaxSpan){
                    .key = key == NULL ? SYNTAX_NO_KEY : (gsize)(key - walker->text),
                    .start = (gsize)(start - walker->text),
                    .end = (gsize)(walker->p - walker->text),
                  },
                  walker->data);
  return ok;
}

char *syntax_walk(const char *text, cJSON *root, SyntaxVisit visit, void *data,
                  gsize *where)
{
  Walker walker = { .text = text, .p = text, .visit = visit, .data = data };

  skip_blanks(&walker);
  if (*walker.p == '\0')
    fail(&walker, text, "there is nothing in it: expected { ... }");
  else if (walk_value(&walker, root, NULL)) {
    skip_blanks(&walker);
    if (*walker.p != '\0')
      fail(&walker, walker.p, "unexpected text after the end");
  }
  if (walker.cause != NULL && g_str_has_prefix(walker.p, "/*")) {
    g_free(walker.cause);
    fail(&walker, walker.p, "only // comments are known");
  }
  if (walker.cause != NULL)
    *where = (gsize)(walker.where - text);
  return walker.cause;
}
