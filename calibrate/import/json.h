/**
 * @file json.h
 * @brief JSON of other programs, and where in the file each of its values stands.
 */
#pragma once

#include "calibrate/import.h"

#include <cjson/cJSON.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

/** A file of one JSON text, or of several after one another; one of them at a time. */
typedef struct ImportJson ImportJson;

/** All of @p input, up to @p limit_B; NULL with an error. */
ImportJson *import_json_new(ImportInput *input, gsize limit_B, GError **error);
void import_json_free(ImportJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportJson, import_json_free)

/**
 * Read the next text; commas and blanks may stand between them.
 * @param root  set to it, valid until the next call; NULL at the end of the file
 * @return false with an error "file:line:column: cause" if it is no JSON
 */
bool import_json_next(ImportJson *json, const cJSON **root, GError **error);

/** Where @p item stands; where the text begins if it is NULL. */
ImportPlace import_json_place(const ImportJson *json, const cJSON *item);

/** "file:line:column: ..." of @p item as an error. Returns false. */
bool import_json_fail(const ImportJson *json, const cJSON *item, GError **error,
                      const char *format, ...) G_GNUC_PRINTF(4, 5);
