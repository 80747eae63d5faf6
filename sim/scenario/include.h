/**
 * @file include.h
 * @brief Files, and the files they include.
 */
#pragma once

#include "sim/scenario/document.h"

/** Read a file; the message of @p error begins with its path. Transfer: caller frees. */
char *include_read(const char *path, gsize *length, GError **error);

/** The same for a file that another file names: not a device or a pipe. */
char *include_read_part(const char *path, gsize *length, GError **error);

/** @p path as it stands in the file @p from: relative to that file's folder.
 *  Transfer: caller frees. */
char *include_resolve(const char *from, const char *path);

/**
 * The scenario in @p text laid over all that it includes.
 * @param name  path of the file
 * @return owned by @p documents; NULL after a problem
 */
cJSON *include_merge(Documents *documents, const char *name, const char *text, gsize length,
                     Problems *problems);
