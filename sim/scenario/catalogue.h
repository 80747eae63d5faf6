/**
 * @file catalogue.h
 * @brief The catalogues of hardware, models and profiles, as they are compiled into the
 *        program.
 *
 * Each entry is a JSON text of models/catalogue/KIND/NAME.json; those of kind "profile" are
 * calibrate/profiles/NAME.json.
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
