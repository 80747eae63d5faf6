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

/** The profile that comes with the program under that name; an error with a suggestion if
 *  none does. @param other  what else the user may have meant; NULL: nothing.
 *  Transfer: caller frees */
Profile *profile_file_shipped(const char *name, const char *other, GError **error);

/**
 * Read the profile at @p path, or the program's of that name; everything wrong with it is
 * told, with its place. Transfer: caller frees
 */
Profile *profile_file_load(const char *path, GError **error);

/** The same for a text. */
Profile *profile_file_parse(const char *name, const char *text, gsize length,
                            GError **error);
