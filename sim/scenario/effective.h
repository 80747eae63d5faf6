/**
 * @file effective.h
 * @brief The scenario as it was understood: every value, and where it comes from.
 */
#pragma once

#include <glib.h>

typedef struct Effective Effective;

Effective *effective_new(void);
void effective_free(Effective *effective);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Effective, effective_free)

/** Begin the object @p key; end the one begun last. */
void effective_open(Effective *effective, const char *key);
void effective_close(Effective *effective);

/** Append a value to the object that is open.
 *  @param json    as JSON writes it, on one line
 *  @param origin  where it comes from */
void effective_add(Effective *effective, const char *key, const char *json,
                   const char *origin);

/** All of it as JSON with comments. Transfer: caller frees. */
char *effective_show(const Effective *effective);
