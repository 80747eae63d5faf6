#include "sim/command/options.h"
#include "sim/scenario/scenario.h"

static bool show_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(GStrv) settings = NULL;
  bool is_done = false;
  const GOptionEntry entries[] = {
    { "set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &settings, "give a key another value",
      "PATH=VALUE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&command_show, entries, &argc, &argv, out, &is_done, error) || is_done)
    return is_done;
  if (!options_check_count(&command_show, argc, 1, 1, "one FILE", error))
    return false;
  g_autoptr(Scenario) scenario =
    scenario_load(argv[1], (const char *const *)settings, error);
  if (scenario == NULL)
    return false;
  g_autofree char *text = scenario_show(scenario);
  g_string_append(out, text);
  return true;
}

const Command command_show = {
  .name = "show",
  .summary = "print a scenario with every default filled in, and where each comes from",
  .usage = "FILE [--set PATH=VALUE]...",
  .run = show_run,
};
