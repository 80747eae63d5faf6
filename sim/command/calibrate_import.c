/* calibrate import: logs that people already have, as samples. */
#include "calibrate/import.h"

#include "sim/command/calibrate.h"
#include "sim/command/targets.h"

#include <string.h>

#define RANKS_MAX 1000000

typedef struct {
  char **outputs;
  char *scenario; /* where a workload goes; NULL: nowhere */
  char *kind, *collective, *time_unit;
  int ranks, nodes;
  int only_gradients; /* GLib's truth, and so below */
  int strict, quiet;
} ImportCommand;

static void import_command_clear(ImportCommand *command)
{
  g_strfreev(command->outputs);
  g_free(command->kind);
  g_free(command->collective);
  g_free(command->time_unit);
  g_free(command->scenario);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ImportCommand, import_command_clear)

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

static void append_notes(const Imported *imported)
{
  for (guint i = 0; i < imported->notes->len; i++) {
    g_autofree char *line = g_strconcat(imported->notes->pdata[i], "\n", NULL);
    command_say(line);
  }
}

/* What a file said beyond its samples. */
static void append_facts(const char *path, const ImporterOps *importer,
                         const Imported *imported, GString *out)
{
  g_string_append_printf(out, "%s: %s, %u samples", path, importer->info.name,
                         imported->samples->len);
  if (imported->n_unreadable > 0)
    g_string_append_printf(out, ", %u rows left out", imported->n_unreadable);
  g_string_append_c(out, '\n');
  for (guint i = 0; i < imported->facts->len; i++) {
    const BackendFact *fact = imported->facts->pdata[i];
    g_string_append_printf(out, "  %s: %s\n", fact->name, fact->value);
  }
}

/* A file that gave nothing was not what the user meant. */
static bool check_gain(const char *path, const Imported *imported, bool strict,
                       GError **error)
{
  if (imported->samples->len == 0 && imported->facts->len == 0 &&
      imported->scenario == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s: no sample in it", path);
    return false;
  }
  if (strict && imported->n_unreadable > 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%s: %u rows cannot be read, and --strict forbids it", path,
                imported->n_unreadable);
    return false;
  }
  return true;
}

static bool write_scenario(const ImportCommand *command, const char *path,
                           const Imported *imported, GError **error)
{
  if (command->scenario == NULL)
    return true;
  if (imported->scenario == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%s: no workload, so there is nothing for --scenario", path);
    return false;
  }
  return g_file_set_contents(command->scenario, imported->scenario, -1, error);
}

/* Of a file; "" for what cannot be read twice. */
static char *digest_of(const char *path)
{
  g_autofree char *text = NULL;
  gsize length = 0;

  if (strcmp(path, "-") == 0 || !g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
      !g_file_get_contents(path, &text, &length, NULL))
    return g_strdup("");
  return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, length);
}

static void add_to_profile(Profile *profile, const char *path, const ImporterOps *importer,
                           const Imported *imported)
{
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *name = g_utf8_make_valid(base, -1);
  g_autofree char *digest = digest_of(path);
  const ProfileInput input = {
    .kind = (char *)importer->info.name,
    .path = name,
    .sha256 = digest,
    .n_samples = imported->samples->len,
    .n_unreadable = imported->n_unreadable,
  };

  profile_add_input(profile, &input);
  profile_add_samples(profile, imported->samples);
  for (guint i = 0; i < imported->facts->len; i++) {
    const BackendFact *fact = imported->facts->pdata[i];
    g_autofree char *key = g_strdup_printf("%s: %s", name, fact->name);
    backend_facts_add(profile->facts, key, fact->value);
  }
}

static bool import_all(const ImportCommand *command, int n, char **paths, Profile *profile,
                       GString *out, GError **error)
{
  ImportOptions options = { .kind = command->kind,
                            .collective = command->collective,
                            .ranks = (guint)command->ranks,
                            .nodes = (guint)command->nodes,
                            .only_gradients = command->only_gradients != 0 };

  if (!read_time_unit(command->time_unit, &options.time_unit_s, error))
    return false;
  for (int i = 0; i < n; i++) {
    const ImporterOps *importer = NULL;
    g_autoptr(Imported) imported = import_file(paths[i], &options, &importer, error);
    if (imported == NULL || !check_gain(paths[i], imported, command->strict, error) ||
        !write_scenario(command, paths[i], imported, error))
      return false;
    if (!command->quiet) {
      append_notes(imported);
      append_facts(paths[i], importer, imported, out);
    }
    add_to_profile(profile, paths[i], importer, imported);
  }
  return true;
}

/* Laws take a while, and only profiles hold them. */
static void fit(const ImportCommand *command, Profile *profile)
{
  const FitOptions options = FIT_DEFAULTS;
  bool wanted = false;

  for (char **path = command->outputs; path != NULL && *path != NULL; path++)
    wanted = wanted || g_str_has_suffix(*path, ".json");
  if (wanted)
    profile_fit(profile, &options);
  g_free(profile->command);
  profile->command = g_strdup("calibrate import");
}

static bool import_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(ImportCommand) command = { 0 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME_ARRAY, &command.outputs,
      "write PATH: a profile (.json), samples (.csv)", "PATH" },
    { "kind", 0, 0, G_OPTION_ARG_STRING, &command.kind,
      "what the files are, instead of telling by their content", "KIND" },
    { "collective", 0, 0, G_OPTION_ARG_STRING, &command.collective,
      "for tables that do not say which", "NAME" },
    { "ranks", 0, 0, G_OPTION_ARG_INT, &command.ranks, "for logs that do not say how many",
      "N" },
    { "nodes", 0, 0, G_OPTION_ARG_INT, &command.nodes, "likewise", "M" },
    { "scenario", 0, 0, G_OPTION_ARG_FILENAME, &command.scenario,
      "write a workload as part of a scenario, to be included", "PATH" },
    { "time-unit", 0, 0, G_OPTION_ARG_STRING, &command.time_unit,
      "of workloads of ASTRA-sim and SimAI", "ns|us" },
    { "only-gradients", 0, 0, G_OPTION_ARG_NONE, &command.only_gradients,
      "leave out collectives of workloads that no scenario can hold", NULL },
    { "strict", 0, 0, G_OPTION_ARG_NONE, &command.strict,
      "refuse a file if any of its rows cannot be read", NULL },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &command.quiet, "no notes and no table", NULL },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&calibrate_import, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&calibrate_import, argc, 1, G_MAXINT, "a FILE", error) ||
      !check_numbers(&command, error) || !check_collective(command.collective, error) ||
      !check_kind(command.kind, error) ||
      !calibrate_check_outputs(command.outputs, error) ||
      !check_targets(&command, argv + 1, error))
    return false;
  g_autoptr(Profile) profile = calibrate_new_profile(command.outputs, "import");
  if (!import_all(&command, argc - 1, argv + 1, profile, out, error))
    return false;
  fit(&command, profile);
  if (!calibrate_write(command.outputs, profile, error))
    return false;
  if (!command.quiet)
    calibrate_append_samples(profile->samples, out);
  return true;
}

const Command calibrate_import = {
  .name = "calibrate import",
  .summary = "read logs of nccl-tests, OSU, perftest, iperf3, NCCL, PyTorch ...",
  .usage = "FILE... [-o PATH]...",
  .run = import_run,
};
