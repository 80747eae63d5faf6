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

/**
 * Parse @p text. Duplicate keys, NUL bytes, trailing text and bad syntax are problems.
 * @param name  shown in messages, usually the file's path
 * @return the root, owned by @p documents and valid as long as it; NULL after a problem
 */
cJSON *documents_parse(Documents *documents, const char *name, const char *text, gsize length,
                       Problems *problems);

/**
 * Note that the value @p item is wrong.
 * @param key    its full path in the scenario, "cluster.nic.rate"; "" for the whole file
 * @param cause  what is wrong and what would be right
 */
void documents_blame(const Documents *documents, Problems *problems, const cJSON *item,
                     const char *key, const char *cause);

/** "scenarios/x.json:3:17", or NULL if @p item was not parsed here. Transfer: caller frees. */
char *documents_place(const Documents *documents, const cJSON *item);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)
