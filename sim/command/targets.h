/**
 * @file targets.h
 * @brief What a command writes must not replace what it reads.
 */
#pragma once

#include "sim/command/command.h"
#include "sim/scenario/scenario.h"

/** What a command reads and writes; lists end with NULL, or are NULL. */
typedef struct {
  const Command *command;
  char *const *scenarios;
  char *const *outputs; /**< -o, with or without the name of a writer */
  const char *platform; /**< --dump-platform; NULL: not asked for */
} Targets;

/** @return false with SIM_ERROR_USAGE if a path that is written is a scenario, by whatever
 *          name, or -o and --dump-platform are one file */
bool targets_check(const Targets *targets, GError **error);

/** The same of everything that @p scenario was read from.
 *  @return false with SIM_ERROR_USAGE */
bool targets_check_inputs(const Targets *targets, const Scenario *scenario, GError **error);

/** What is written aside and renamed must not replace a device, a pipe or a folder.
 *  @param option  that names it: "--plot"
 *  @return false with SIM_ERROR_USAGE */
bool targets_check_kind(const Command *command, const char *option, const char *path,
                        GError **error);

/** Do two paths name one regular file that is there? */
bool targets_are_one_file(const char *one, const char *other);
