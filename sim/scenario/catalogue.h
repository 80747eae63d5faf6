/**
 * @file catalogue.h
 * @brief The catalogues of hardware and models, as they are compiled into the program.
 *
 * Each entry is a JSON text of models/catalogue/KIND/NAME.json.
 */
#pragma once

#include <glib.h>

/** "gpu", "model", "network", "node"; NULL-terminated. */
extern const char *const catalogue_kinds[];

/** The text of an entry, or NULL if there is none. Borrowed for ever.
 *  @param length  set on success [bytes] */
const char *catalogue_text(const char *kind, const char *name, gsize *length);

/** The names of a kind in alphabetical order, NULL-terminated. Transfer: g_strfreev(). */
char **catalogue_names(const char *kind);
