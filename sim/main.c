/** @file main.c  @brief The table of commands; the only exit, the only stdout and stderr.
 */
#include "sim/base/registry.h"
#include "sim/base/version.h"
#include "sim/command/command.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

enum {
  EXIT_DONE = 0,
  EXIT_INPUT = 1,
  EXIT_USAGE = 2,
  EXIT_FAULT = 3,
  EXIT_DEVICE = 77, /* what test harnesses take for "skipped" */
  EXIT_PLUGIN = 78
};

void command_say(const char *text)
{
  fputs(text, stderr);
}

static void append_help(GString *out)
{
  g_string_append(
    out, "stepcast " STEPCAST_VERSION
         ": forecast the step time of distributed training before the cluster is bought\n\n"
         "Usage: stepcast COMMAND ...\n\n");
  for (guint i = 0; command_table[i] != NULL; i++)
    g_string_append_printf(out, "  %-9s %s\n", command_table[i]->name,
                           command_table[i]->summary);
  g_string_append(
    out, "\nstepcast COMMAND --help tells more. Exit: 0 done, 1 the input is wrong, 2 the\n"
         "command line is wrong, 3 our fault.\n\n"
         "Examples:\n"
         "  stepcast run scenarios/demo-horovod.json scenarios/demo-ddp.json\n"
         "  stepcast run scenarios/demo-ddp.json --set cluster.nodes=64 -o ddp.svg\n\n"
         "See also: stepcast list, stepcast help KIND:NAME, README.md\n");
}

static const Command *find_command(const char *name, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (guint i = 0; command_table[i] != NULL; i++) {
    if (strcmp(command_table[i]->name, name) == 0)
      return command_table[i];
    g_ptr_array_add(names, (gpointer)command_table[i]->name);
  }
  g_ptr_array_add(names, NULL);
  g_autofree char *suggestion =
    registry_suggestion((const char *const *)names->pdata, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "unknown command '%s'%s", name,
              suggestion);
  return NULL;
}

static int exit_code(const GError *error)
{
  if (error->domain != SIM_ERROR)
    return EXIT_INPUT;
  return error->code == SIM_ERROR_USAGE    ? EXIT_USAGE
         : error->code == SIM_ERROR_FAULT  ? EXIT_FAULT
         : error->code == SIM_ERROR_DEVICE ? EXIT_DEVICE
         : error->code == SIM_ERROR_PLUGIN ? EXIT_PLUGIN
                                           : EXIT_INPUT;
}

static int report(const GError *error)
{
  const int code = exit_code(error);

  fprintf(stderr, "%s%s\n", code == EXIT_USAGE ? "stepcast: " : "", error->message);
  if (code == EXIT_FAULT)
    fputs("This is a fault of stepcast; please report it with the scenario.\n", stderr);
  return code;
}

/* A full disk or a closed pipe must not pass for success. */
static int print_out(const GString *out)
{
  if (fwrite(out->str, 1, out->len, stdout) == out->len && fflush(stdout) == 0)
    return EXIT_DONE;
  perror("stepcast: cannot write to stdout");
  return EXIT_INPUT;
}

int main(int argc, char **argv)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GString) out = g_string_new(NULL);

  setlocale(LC_ALL, "C.UTF-8");
  if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    append_help(out);
    const int code = print_out(out);
    return argc < 2 ? EXIT_USAGE : code;
  }
  if (strcmp(argv[1], "--version") == 0) {
    g_string_append(out, "stepcast " STEPCAST_VERSION "\n");
    return print_out(out);
  }
  const Command *command = find_command(argv[1], &error);
  if (command == NULL || !command->run(argc - 1, argv + 1, out, &error))
    return report(error);
  return print_out(out);
}
