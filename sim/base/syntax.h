/**
 * @file syntax.h
 * @brief A strict walk over a JSON text that knows where it is.
 *
 * cJSON remembers no positions, takes any byte up to ' ' as a blank, accepts rubbish after
 * the value and duplicate keys. So the text is walked first, to refuse with place and cause
 * what is not JSON, and once more beside cJSON's tree, to note where each value stands.
 */
#pragma once

#include <cjson/cJSON.h>
#include <glib.h>
#include <stdbool.h>

#define SYNTAX_NO_KEY G_MAXSIZE /**< key offset of an array's element and of the root */

/** Offsets into the text [bytes]. */
typedef struct {
  gsize key, start, end;
} SyntaxSpan;

/** Called for each value, children before their parent. */
typedef void (*SyntaxVisit)(cJSON *item, SyntaxSpan span, void *data);

/**
 * @param text   NUL-terminated, valid UTF-8, comments blanked
 * @param root   what cJSON made of it, or NULL to check the syntax only
 * @param visit  NULL if @p root is
 * @param where  set on failure: offset of the mistake
 * @return NULL if the text is JSON; else the cause. Transfer: caller frees.
 */
char *syntax_walk(const char *text, cJSON *root, SyntaxVisit visit, void *data,
                  gsize *where);
