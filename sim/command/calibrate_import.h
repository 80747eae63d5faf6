/**
 * @file calibrate_import.h
 * @brief What `calibrate import` was asked for, and whether it makes sense.
 */
#pragma once

#include "calibrate/import.h"
#include "sim/command/calibrate.h"

typedef struct {
  char **outputs;
  char *into;     /**< a profile to add to; NULL: a new one */
  char *scenario; /**< where a workload goes; NULL: nowhere */
  char *kind, *collective, *time_unit;
  char *date;   /**< when the logs were taken; NULL: today, or what --into has */
  char **facts; /**< "NAME=TEXT", NULL-terminated; or NULL */
  int ranks, nodes;
  int only_gradients; /**< GLib's truth, and so below */
  int strict, quiet;
} ImportCommand;

/** @param files  the operands, NULL-terminated. @return false with SIM_ERROR_USAGE */
bool calibrate_import_check(const ImportCommand *command, char *const *files,
                            GError **error);

/** What importers are told. @return false with SIM_ERROR_USAGE */
bool calibrate_import_options(const ImportCommand *command, ImportOptions *options,
                              GError **error);
