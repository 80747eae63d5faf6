#include "sim/output/emit.h"

#include <string.h>

#include <math.h>

void emit_double(GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_return_if_fail(isfinite(value));
  g_string_append(out, g_ascii_formatd(text, sizeof text, "%.17g", value));
}

void emit_fixed(GString *out, double value, guint decimals)
{
  char text[512]; /* 309 digits before the point */
  char format[8];

  g_return_if_fail(isfinite(value) && decimals < 100);
  g_snprintf(format, sizeof format, "%%.%uf", decimals);
  g_string_append(out, g_ascii_formatd(text, sizeof text, format, value));
}

static void emit_char(GString *out, char c)
{
  static const char *const escapes[] = {
    ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
    ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t",
  };
  const guchar code = (guchar)c;

  if (code < G_N_ELEMENTS(escapes) && escapes[code] != NULL)
    g_string_append(out, escapes[code]);
  else if (code < 0x20)
    g_string_append_printf(out, "\\u%04x", code);
  else
    g_string_append_c(out, c);
}

void emit_string(GString *out, const char *text)
{
  if (text == NULL) {
    g_string_append(out, "null");
    return;
  }
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_string_append_c(out, '"');
  for (const char *c = valid; *c != '\0'; c++)
    emit_char(out, *c);
  g_string_append_c(out, '"');
}

static void new_line(JsonEmit *emit)
{
  g_string_append_c(emit->out, '\n');
  for (guint i = 0; i < emit->depth; i++)
    g_string_append(emit->out, "  ");
}

void json_member(JsonEmit *emit, const char *key)
{
  if (emit->started)
    g_string_append_c(emit->out, ',');
  if (emit->depth > 0)
    new_line(emit);
  emit->started = true;
  if (key != NULL) {
    emit_string(emit->out, key);
    g_string_append(emit->out, ": ");
  }
}

void json_open(JsonEmit *emit, const char *key, char bracket)
{
  json_member(emit, key);
  g_string_append_c(emit->out, bracket);
  emit->depth++;
  emit->started = false;
}

void json_close(JsonEmit *emit, char bracket)
{
  g_return_if_fail(emit->depth > 0);
  emit->depth--;
  if (emit->started)
    new_line(emit);
  g_string_append_c(emit->out, bracket);
  emit->started = true;
  if (emit->depth == 0)
    g_string_append_c(emit->out, '\n');
}

void json_text(JsonEmit *emit, const char *key, const char *value)
{
  json_member(emit, key);
  emit_string(emit->out, value);
}

void json_double(JsonEmit *emit, const char *key, double value)
{
  json_member(emit, key);
  emit_double(emit->out, value);
}

void json_count(JsonEmit *emit, const char *key, guint64 value)
{
  json_member(emit, key);
  g_string_append_printf(emit->out, "%" G_GUINT64_FORMAT, value);
}

void json_bool(JsonEmit *emit, const char *key, bool value)
{
  json_member(emit, key);
  g_string_append(emit->out, value ? "true" : "false");
}

void emit_cell(GString *out, const char *text)
{
  if (text == NULL)
    return;
  if (strpbrk(text, ",\"\r\n") == NULL) {
    g_string_append(out, text);
    return;
  }
  g_string_append_c(out, '"');
  for (const char *c = text; *c != '\0'; c++) {
    if (*c == '"')
      g_string_append_c(out, '"');
    g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}
