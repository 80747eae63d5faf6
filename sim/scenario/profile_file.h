/**
 * @file profile_file.h
 * @brief Calibration profiles from files and from the program itself.
 */
#pragma once

#include "calibrate/profile.h"
#include "sim/scenario/document.h"

/**
 * Read the profile at @p path; everything wrong with it is told, with its place.
 * Transfer: caller frees
 */
Profile *profile_file_load(const char *path, GError **error);

/** The same for a text. */
Profile *profile_file_parse(const char *name, const char *text, gsize length,
                            GError **error);
