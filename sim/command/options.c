#include "sim/command/options.h"

#include "sim/base/registry.h"
#include "sim/base/units.h"

#include <math.h>
#include <string.h>

#define LARGEST_B 1e15 /* beyond any memory */

static bool takes_value(const GOptionEntry *entry)
{
  return entry->arg != G_OPTION_ARG_NONE;
}

static const GOptionEntry *find_short(const GOptionEntry *entries, char name)
{
  for (; entries != NULL && entries->long_name != NULL; entries++)
    if (entries->short_name == name)
      return entries;
  return NULL;
}

/* Is the argument after "--NAME" its value? */
static bool wants_next(const GOptionEntry *entries, const char *name)
{
  for (; entries != NULL && entries->long_name != NULL; entries++)
    if (strcmp(entries->long_name, name) == 0)
      return takes_value(entries);
  return false;
}

/* GLib takes the value of a short option from the next argument alone, so that of "-j2"
 * would be whatever follows. It understands "--jobs=2". Interned: operands outlive us. */
static void spell_out_attached(const GOptionEntry *entries, int argc, char **argv)
{
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (g_str_has_prefix(argv[i], "--")) {
      i += wants_next(entries, argv[i] + 2);
      continue;
    }
    const bool is_short = argv[i][0] == '-' && argv[i][1] != '\0';
    const GOptionEntry *entry = is_short ? find_short(entries, argv[i][1]) : NULL;
    if (entry == NULL || !takes_value(entry))
      continue;
    if (argv[i][2] == '\0') {
      i++;
      continue;
    }
    g_autofree char *spelled = g_strdup_printf("--%s=%s", entry->long_name, argv[i] + 2);
    argv[i] = (char *)g_intern_string(spelled);
  }
}

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

  spell_out_attached(entries, *argc, *argv);
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

bool options_parse_size(const Command *command, const char *option, const char *text,
                        double *size_B, GError **error)
{
  static const char suffixes[] = "KMGT";
  char *end = NULL;
  const double number = g_ascii_strtod(text, &end);
  const char *suffix = *end == '\0' ? NULL : strchr(suffixes, g_ascii_toupper(*end));
  const char *cause = NULL;

  if (end != text && (*end == '\0' || (suffix != NULL && end[1] == '\0')))
    *size_B = number * (suffix == NULL ? 1 : pow(1024, (double)(suffix - suffixes + 1)));
  else if (!units_parse_bytes(text, size_B, NULL))
    cause = "wants a size such as 8, 128K, 8G or \"64 MiB\"";
  if (cause == NULL &&
      (!(*size_B >= 1 && *size_B <= LARGEST_B) || *size_B != floor(*size_B)))
    cause = "wants whole bytes, at least 1";
  if (cause != NULL)
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "%s: %s: %s; see `stepcast %s --help`",
                command->name, option, cause, command->name);
  return cause == NULL;
}
