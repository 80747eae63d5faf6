#include "sim/command/kinds.h"
#include "sim/command/options.h"

#include <string.h>

static void append_overview(GString *out)
{
  for (const Command *const *command = command_table; *command != NULL; command++)
    g_string_append_printf(out, "  stepcast %-8s %s\n", (*command)->name,
                           (*command)->summary);
  g_string_append(out,
                  "\nMore: stepcast COMMAND --help, stepcast help KIND:NAME. Kinds:\n");
  for (const Kind *kind = kinds; kind->name != NULL; kind++)
    g_string_append_printf(out, "  %-11s %s\n", kind->name, kind->summary);
}

static const Command *find_command(const char *name)
{
  for (const Command *const *command = command_table; *command != NULL; command++)
    if (strcmp((*command)->name, name) == 0)
      return *command;
  return NULL;
}

/* "strategy:horovod", or the name of a command or of a section. */
static bool explain(const char *topic, GString *out, GError **error)
{
  const char *colon = strchr(topic, ':');
  const Command *command = colon == NULL ? find_command(topic) : NULL;

  if (command != NULL) {
    char *args[] = { (char *)command->name, (char *)"--help", NULL };
    return command->run(2, args, out, error);
  }
  g_autofree char *kind_name =
    colon == NULL ? g_strdup(topic) : g_strndup(topic, (gsize)(colon - topic));
  const Kind *kind = kinds_find(kind_name, error);
  if (kind == NULL)
    return false;
  if (colon == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "help: expected KIND:NAME; `stepcast list %s` lists the names", kind_name);
    return false;
  }
  g_autofree char *text = kinds_describe(kind, colon + 1, error);
  if (text != NULL)
    g_string_append(out, text);
  return text != NULL;
}

static bool help_run(int argc, char **argv, GString *out, GError **error)
{
  bool is_done = false;

  if (!options_parse(&command_help, NULL, &argc, &argv, out, &is_done, error) || is_done)
    return is_done;
  if (!options_check_count(&command_help, argc, 0, 1, "at most one topic", error))
    return false;
  if (argc == 2)
    return explain(argv[1], out, error);
  append_overview(out);
  return true;
}

const Command command_help = {
  .name = "help",
  .summary = "explain a command, or the keys of one module: strategy:horovod",
  .usage = "[COMMAND | KIND:NAME]",
  .run = help_run,
};
