/**
 * @file emit.h
 * @brief Writes JSON, one key to a line, and numbers that do not depend on the locale.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** Append @p value as %.17g: exact when read again. It must be finite. */
void emit_double(GString *out, double value);

/** Append @p value with @p decimals digits behind the point. It must be finite. */
void emit_fixed(GString *out, double value, guint decimals);

/** Append @p text as a JSON string, null for NULL. What is not UTF-8 is replaced. */
void emit_string(GString *out, const char *text);

/** Append @p text as a cell of CSV, nothing for NULL: quoted only where a reader could take
 * it for more than one (RFC 4180). */
void emit_cell(GString *out, const char *text);

/** Where in a JSON text the next value goes. */
typedef struct {
  GString *out;
  guint depth;
  bool started; /**< the innermost array or object has a member */
} JsonEmit;

/** @param key  in an object; NULL in an array */
void json_open(JsonEmit *emit, const char *key, char bracket);
void json_close(JsonEmit *emit, char bracket);
void json_text(JsonEmit *emit, const char *key, const char *value);
void json_double(JsonEmit *emit, const char *key, double value);
void json_count(JsonEmit *emit, const char *key, guint64 value);
void json_bool(JsonEmit *emit, const char *key, bool value);
/** Start a member; the caller appends its value to @ref JsonEmit.out. */
void json_member(JsonEmit *emit, const char *key);

/** Member "constants": name, value, unit, source, assumed of each (GArray of Constant). */
void json_constants(JsonEmit *emit, const GArray *constants);
