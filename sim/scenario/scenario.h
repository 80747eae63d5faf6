/**
 * @file scenario.h
 * @brief From a scenario file to a Setup, and back to a complete scenario.
 */
#pragma once

#include "models/setup.h"

typedef struct Scenario Scenario;

/** The key "calibration". */
extern const ParamSpec scenario_calibration_params[];

/**
 * Read, merge (include, catalogues, --set), check and bind. All or nothing.
 * @param settings  "path=value" strings, NULL-terminated; NULL for none
 * @return NULL with every problem of the files in @p error.
 *         Transfer: caller frees with scenario_free().
 */
Scenario *scenario_load(const char *path, const char *const *settings, GError **error);

/** The same for one of several replicas: from 1 on, constants that a calibration profile
 *  gives with an interval are drawn from it, by the scenario's seed. */
Scenario *scenario_load_replica(const char *path, const char *const *settings,
                                guint replica, GError **error);

/** The same, but a scenario without a workload will do: its Setup has no model. */
Scenario *scenario_load_cluster(const char *path, const char *const *settings,
                                GError **error);

/** scenario_load() from a text. @param name  its path, for messages and what it includes */
Scenario *scenario_parse(const char *name, const char *text, gsize length,
                         const char *const *settings, GError **error);
void scenario_free(Scenario *scenario);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scenario, scenario_free)

/** The files it was read from: itself, what it includes, models, a profile; names of
 * catalogue entries are among them. GPtrArray of char *, borrowed. */
const GPtrArray *scenario_inputs(const Scenario *scenario);

/** What it says, typed. Borrowed. */
const Setup *scenario_setup(const Scenario *scenario);

/** The effective scenario: every default filled in, a comment after each value that says
 *  where it comes from; itself a valid scenario. Transfer: caller frees. */
char *scenario_show(const Scenario *scenario);
