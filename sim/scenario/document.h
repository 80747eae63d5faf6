/**
 * @file document.h
 * @brief A JSON text with // comments, and where in it every value stands.
 *
 * All problems of a file are collected before it is refused.
 */
#pragma once

#include "sim/base/registry.h"

#include <cjson/cJSON.h>

/** What is wrong with some files, in the order of their places. */
typedef struct Problems Problems;

Problems *problems_new(void);
void problems_free(Problems *problems);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Problems, problems_free)

guint problems_count(const Problems *problems);

/** Turn them into one error, "file:line:column: key: cause" with line and caret each, at
 *  most ten and how many more; false if there were any. */
bool problems_report(const Problems *problems, GError **error);

/** A set of parsed texts; knows the place of each of their cJSON values. */
typedef struct Documents Documents;

Documents *documents_new(void);
void documents_free(Documents *documents);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Documents, documents_free)

/** Append copies of the names of all texts that were parsed. */
void documents_list(const Documents *documents, GPtrArray *names);

/**
 * Parse @p text. Duplicate keys, NUL bytes, trailing text and bad syntax are problems.
 * @param name  shown in messages, usually the file's path
 * @return the root, owned by @p documents and valid as long as it; NULL after a problem
 */
cJSON *documents_parse(Documents *documents, const char *name, const char *text,
                       gsize length, Problems *problems);

/**
 * Parse what `--set` assigns: JSON if it is JSON, else the text as a string.
 * @param setting  "path=value", shown in messages
 * @return owned by @p documents; NULL after a problem
 */
cJSON *documents_parse_setting(Documents *documents, const char *setting, const char *value,
                               Problems *problems);

/** Own @p item, which was taken out of one of the roots or newly made. */
void documents_adopt(Documents *documents, cJSON *item);

/** Say that @p item, newly made, stands where @p like does. */
void documents_copy_place(Documents *documents, cJSON *item, const cJSON *like);

/** {"key": item}, standing where @p item does and owning it.
 *  @param item  a root or detached
 *  Transfer: the caller adopts the object or makes it part of a tree. */
cJSON *documents_wrap(Documents *documents, cJSON *item, const char *key);

/** The file in which @p item stands, or NULL (a setting, a catalogue). Borrowed. */
const char *documents_file(const Documents *documents, const cJSON *item);

/** Say who vouches for the figures of the text in which @p item stands. */
void documents_set_origin(Documents *documents, const cJSON *item, const char *origin);

/** "FILE:LINE", "--set path=value", or the name of a text with an origin of its own; NULL
 *  if @p item was not parsed here. Transfer: caller frees. */
char *documents_line(const Documents *documents, const cJSON *item);

/** Where a figure comes from: what documents_set_origin() said, else documents_line().
 *  Transfer: caller frees. */
char *documents_origin(const Documents *documents, const cJSON *item);

/** The value as it is written there, a string with its quotes. NULL if @p item was not
 *  parsed here. Transfer: caller frees. */
char *documents_raw(const Documents *documents, const cJSON *item);

/**
 * Note that the value @p item is wrong.
 * @param key    its full path in the scenario, "cluster.nic.rate"; "" for the whole file
 * @param cause  what is wrong and what would be right
 */
void documents_blame(const Documents *documents, Problems *problems, const cJSON *item,
                     const char *key, const char *cause);

/** The same, but the caret stands under the key, not the value: for keys nobody knows. */
void documents_blame_key(const Documents *documents, Problems *problems, const cJSON *item,
                         const char *key, const char *cause);

/** "scenarios/x.json:3:17", or NULL if @p item was not parsed here. Transfer: caller frees.
 */
char *documents_place(const Documents *documents, const cJSON *item);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)
