/* What a command line of `calibrate import` may say. */
#include "sim/command/calibrate_import.h"
#include "sim/command/targets.h"
#include "sim/scenario/profile_file.h"

#include <string.h>

#define RANKS_MAX 1000000

static bool check_numbers(const ImportCommand *command, GError **error)
{
  if (command->ranks < 0 || command->ranks > RANKS_MAX || command->nodes < 0 ||
      command->nodes > RANKS_MAX) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate import: --ranks and --nodes are whole numbers from 1 to %u",
                RANKS_MAX);
    return false;
  }
  if (command->ranks > 0 && command->nodes > command->ranks) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate import: --nodes %d is more than --ranks %d", command->nodes,
                command->ranks);
    return false;
  }
  return true;
}

static bool read_time_unit(const char *unit, double *unit_s, GError **error)
{
  *unit_s = unit == NULL              ? 0
            : strcmp(unit, "ns") == 0 ? 1e-9
            : strcmp(unit, "us") == 0 ? 1e-6
                                      : -1;
  if (*unit_s >= 0)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "calibrate import: --time-unit is ns or us, not '%s'", unit);
  return false;
}

static bool check_collective(const char *name, GError **error)
{
  static const char *const names[] = { "all_reduce", "all_gather", "reduce_scatter",
                                       "all_to_all", "broadcast",  "reduce",
                                       "send_recv",  NULL };

  if (name == NULL || g_strv_contains(names, name))
    return true;
  g_autofree char *suggestion = registry_suggestion(names, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "calibrate import: --collective: unknown collective '%s'%s", name,
              suggestion);
  return false;
}

static bool check_target(const char *option, const char *output, char *const *files,
                         GError **error)
{
  for (guint i = 0; files[i] != NULL; i++)
    if (targets_are_one_file(output, files[i])) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                  "calibrate import: %s names the log itself, %s", option, files[i]);
      return false;
    }
  return true;
}

static bool check_targets(const ImportCommand *command, char *const *files, GError **error)
{
  for (guint o = 0; command->outputs != NULL && command->outputs[o] != NULL; o++)
    if (!check_target("-o", command->outputs[o], files, error))
      return false;
  if (command->into != NULL && !check_target("--into", command->into, files, error))
    return false;
  if (command->scenario == NULL)
    return true;
  if (files[0] != NULL && files[1] != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate import: --scenario takes one workload, not several files");
    return false;
  }
  return check_target("--scenario", command->scenario, files, error);
}

/* A misspelt kind is the command line's fault, not the file's. */
static bool check_kind(const char *name, GError **error)
{
  g_autoptr(GError) cause = NULL;

  if (name == NULL || registry_find("kind of file", importer_table, name, &cause) != NULL)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "calibrate import: --kind: %s",
              cause->message);
  return false;
}

static bool check_into(const ImportCommand *command, GError **error)
{
  if (command->into != NULL && command->outputs != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate import: --into adds to a profile and -o makes a new one: give "
                "one of them");
    return false;
  }
  if (command->into != NULL && profile_file_is_name(command->into)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate import: --into %s: profiles of the program stay as they are; a "
                "file is written ./%s",
                command->into, command->into);
    return false;
  }
  return true;
}

static bool check_facts(const ImportCommand *command, GError **error)
{
  for (char **fact = command->facts; fact != NULL && *fact != NULL; fact++)
    if (strchr(*fact, '=') == NULL || **fact == '=' || !g_utf8_validate(*fact, -1, NULL)) {
      g_autofree char *valid = g_utf8_make_valid(*fact, -1);
      g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                  "calibrate import: --fact wants NAME=TEXT, not '%s'", valid);
      return false;
    }
  return true;
}

bool calibrate_import_check(const ImportCommand *command, char *const *files,
                            GError **error)
{
  return check_numbers(command, error) && check_collective(command->collective, error) &&
         check_kind(command->kind, error) && check_into(command, error) &&
         check_facts(command, error) && calibrate_check_outputs(command->outputs, error) &&
         check_targets(command, files, error);
}

bool calibrate_import_options(const ImportCommand *command, ImportOptions *options,
                              GError **error)
{
  *options = (ImportOptions){ .kind = command->kind,
                              .collective = command->collective,
                              .ranks = (guint)command->ranks,
                              .nodes = (guint)command->nodes,
                              .only_gradients = command->only_gradients != 0 };
  return read_time_unit(command->time_unit, &options->time_unit_s, error);
}
