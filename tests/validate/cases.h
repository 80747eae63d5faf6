/**
 * @file cases.h
 * @brief Published tables of nccl-tests beside what is predicted for them.
 *
 * A case is a line of tests/reference/nccl-tests/index.json with its table. Programs that
 * compare measurements with the program are no part of it: they end at the first file that
 * is not what it should be.
 */
#pragma once

#include <cjson/cJSON.h>
#include <glib.h>
#include <stdbool.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

typedef struct {
  cJSON *entry, *table; /* entry is borrowed from the index */
  guint n_rows;
  double *size_B, *measured_s;
} Case;

typedef struct {
  const char *folder; /* of index.json */
  cJSON *index;
  GPtrArray *cases; /* of Case, in the order of the index */
} Cases;

/** A file of JSON below @p folder. Transfer: caller frees. */
cJSON *cases_read_json(const char *folder, const char *name);

/** The text under @p key; NULL if there is none. Borrowed. */
const char *cases_text(const cJSON *object, const char *key);

void cases_init(Cases *cases, const char *folder);
void cases_clear(Cases *cases);

/** Which case has the table @p name. */
const Case *cases_find(const Cases *cases, const char *name);

/**
 * Predict @p one with the scenario's keys, those of the index and then @p settings
 * ("library.algo=ring", NULL-terminated or NULL), and append "time algorithm/protocol" for
 * each row to @p out. Simulates: in a process of its own.
 */
bool cases_predict(const Cases *cases, const Case *one, const char *const *settings,
                   GString *out, GError **error);
