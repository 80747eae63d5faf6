#include "sim/command/options.h"

#include "sim/base/registry.h"

#include <string.h>

bool options_parse(const Command *command, const GOptionEntry *entries, int *argc,
                   char ***argv, GString *out, bool *is_done, GError **error)
{
  g_autoptr(GOptionContext) context = g_option_context_new(command->usage);
  g_autoptr(GError) cause = NULL;
  gboolean wants_help = FALSE;
  const GOptionEntry help[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, &wants_help, "print this help", NULL },
    G_OPTION_ENTRY_NULL,
  };

  /* GLib's own --help would end the program from in here. */
  g_option_context_set_help_enabled(context, FALSE);
  g_option_context_set_summary(context, command->summary);
  if (entries != NULL)
    g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_main_entries(context, help, NULL);
  if (!g_option_context_parse(context, argc, argv, &cause)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "%s: %s; see `stepcast %s --help`",
                command->name, cause->message, command->name);
    return false;
  }
  *is_done = wants_help;
  if (wants_help) {
    /* GLib's first paragraph knows the program, but not the command. */
    g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
    const char *rest = strstr(text, "\n\n");
    g_string_append_printf(out, "Usage: stepcast %s %s%s", command->name, command->usage,
                           rest == NULL ? "\n" : rest);
  }
  return true;
}

bool options_check_count(const Command *command, int argc, int min, int max,
                         const char *what, GError **error)
{
  if (argc - 1 >= min && argc - 1 <= max)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "%s: expected %s; see `stepcast %s --help`", command->name, what,
              command->name);
  return false;
}
