#include "sim/command/options.h"
#include "sim/scenario/scenario.h"

static void append_verdict(GString *out, const char *path, const Setup *setup)
{
  g_string_append_printf(out, "%s: accepted: %u x %u GPUs, %s, %s\n", path,
                         setup->cluster.n_nodes, setup->cluster.node.n_gpus,
                         setup->model->name, setup->strategy->info.name);
}

/* All files are looked at, so that all their problems are told at once. */
static bool check_files(char **paths, const char *const *settings, GString *out,
                        GError **error)
{
  g_autoptr(GString) refusals = g_string_new(NULL);
  g_autoptr(GError) first = NULL;

  for (; *paths != NULL; paths++) {
    g_autoptr(GError) cause = NULL;
    g_autoptr(Scenario) scenario = scenario_load(*paths, settings, &cause);
    if (scenario != NULL) {
      append_verdict(out, *paths, scenario_setup(scenario));
      continue;
    }
    g_string_append_printf(refusals, "%s%s", refusals->len > 0 ? "\n" : "", cause->message);
    if (first == NULL)
      first = g_steal_pointer(&cause);
  }
  if (first == NULL)
    return true;
  g_set_error_literal(error, first->domain, first->code, refusals->str);
  return false;
}

static bool check_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(GStrv) settings = NULL;
  bool is_done = false;
  const GOptionEntry entries[] = {
    { "set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &settings, "give a key another value",
      "PATH=VALUE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&command_check, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&command_check, argc, 1, G_MAXINT, "at least one FILE", error))
    return false;
  return check_files(argv + 1, (const char *const *)settings, out, error);
}

const Command command_check = {
  .name = "check",
  .summary = "say whether scenarios are right, and what is wrong with them",
  .usage = "FILE... [--set PATH=VALUE]...",
  .run = check_run,
};
