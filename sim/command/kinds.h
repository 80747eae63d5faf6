/**
 * @file kinds.h
 * @brief The kinds of things that a scenario can name: tables of modules, and catalogues.
 */
#pragma once

#include "sim/base/registry.h"

typedef struct {
  const char *name;               /**< "strategy" */
  const char *summary;            /**< what it is, one line */
  const ModuleInfo *const *table; /**< NULL: it is a catalogue of that name */
} Kind;

extern const Kind kinds[]; /**< ends with a NULL name */

/** NULL with SIM_ERROR_USAGE and a suggestion if there is none. */
const Kind *kinds_find(const char *name, GError **error);

/** Its names in the order of its table, NULL-terminated. Transfer: g_strfreev(). */
char **kinds_members(const Kind *kind);

/** One line about a member. Transfer: caller frees. */
char *kinds_summary(const Kind *kind, const char *member);

/** All about a member: its keys, or its figures. NULL with SIM_ERROR_USAGE and a suggestion
 *  if there is none. Transfer: caller frees. */
char *kinds_describe(const Kind *kind, const char *member, GError **error);
