/* calibrate: the table of its subcommands. */
#include "sim/command/calibrate.h"

#include "sim/base/registry.h"

#include <string.h>

static const char prefix[] = "calibrate ";

const Command *const calibrate_table[] = {
  &calibrate_gpu,
  &calibrate_host,
  &calibrate_import,
  &calibrate_synthetic,
  &calibrate_show,
  &calibrate_check,
  NULL,
};

static const char *short_name(const Command *command)
{
  return command->name + strlen(prefix);
}

static const Command *find(const char *name, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (const Command *const *command = calibrate_table; *command != NULL; command++) {
    if (strcmp(short_name(*command), name) == 0)
      return *command;
    g_ptr_array_add(names, (gpointer)short_name(*command));
  }
  g_ptr_array_add(names, NULL);
  g_autofree char *suggestion =
    registry_suggestion((const char *const *)names->pdata, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "calibrate: unknown subcommand '%s'%s",
              name, suggestion);
  return NULL;
}

static void append_help(GString *out)
{
  g_string_append_printf(out, "Usage: stepcast calibrate %s\n\n%s\n\n",
                         command_calibrate.usage, command_calibrate.summary);
  for (const Command *const *command = calibrate_table; *command != NULL; command++)
    g_string_append_printf(out, "  %-10s %s\n", short_name(*command), (*command)->summary);
  g_string_append(out, "\nstepcast calibrate SUBCOMMAND --help tells more.\n");
}

static bool calibrate_run(int argc, char **argv, GString *out, GError **error)
{
  const char *first = argc > 1 ? argv[1] : "";

  if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
    append_help(out);
    return true;
  }
  if (!options_check_count(&command_calibrate, argc, 1, G_MAXINT, "a SUBCOMMAND", error))
    return false;
  const Command *command = find(first, error);
  return command != NULL && command->run(argc - 1, argv + 1, out, error);
}

const Command command_calibrate = {
  .name = "calibrate",
  .summary = "measure constants of machines, and the laws behind them",
  .usage = "SUBCOMMAND ...",
  .run = calibrate_run,
};
