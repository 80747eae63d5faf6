/**
 * @file profile_file.h
 * @brief Calibration profiles from files and from the program itself.
 */
#pragma once

#include "calibrate/profile.h"
#include "sim/scenario/document.h"

/** Is @p text the name of a profile that comes with the program, not a path: without
 *  folder and suffix? */
bool profile_file_is_name(const char *text);

/** The text of the profile that comes with the program under that name, borrowed for ever;
 * an error with a suggestion if none does.
 *  @param other  what else the user may have meant; NULL: nothing */
const char *profile_file_shipped_text(const char *name, const char *other, gsize *length,
                                      GError **error);

/** What messages call its file. Transfer: caller frees */
char *profile_file_shipped_path(const char *name);

/** That profile. Transfer: caller frees */
Profile *profile_file_shipped(const char *name, GError **error);

/**
 * Read the profile at @p path, or the program's of that name; everything wrong with it is
 * told, with its place. Transfer: caller frees
 */
Profile *profile_file_load(const char *path, GError **error);

/** The same for a text. */
Profile *profile_file_parse(const char *name, const char *text, gsize length,
                            GError **error);

/** The same as part of a scenario that is being read. @return NULL after a problem */
Profile *profile_file_bind(const char *name, const char *text, gsize length,
                           Documents *documents, Problems *problems);
