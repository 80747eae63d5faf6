/* calibrate import: logs that people already have, as samples. */
#include "sim/command/calibrate_import.h"

#include <string.h>

static void import_command_clear(ImportCommand *command)
{
  g_strfreev(command->outputs);
  g_strfreev(command->facts);
  g_free(command->into);
  g_free(command->date);
  g_free(command->kind);
  g_free(command->collective);
  g_free(command->time_unit);
  g_free(command->scenario);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ImportCommand, import_command_clear)

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
  return calibrate_save(command->scenario, imported->scenario, strlen(imported->scenario),
                        error);
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

/* The same bytes twice would count twice. */
static bool check_new(const Profile *profile, const char *path, const char *digest,
                      GError **error)
{
  for (guint i = 0; i < profile->inputs->len && *digest != '\0'; i++) {
    const ProfileInput *input = g_ptr_array_index(profile->inputs, i);
    if (strcmp(input->sha256, digest) != 0)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%s: it is in the profile already, as %s", path, input->path);
    return false;
  }
  return true;
}

static bool add_to_profile(Profile *profile, const char *path, const ImporterOps *importer,
                           const Imported *imported, GError **error)
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

  if (!check_new(profile, path, digest, error))
    return false;
  profile_add_input(profile, &input);
  profile_add_samples(profile, imported->samples);
  for (guint i = 0; i < imported->facts->len; i++) {
    const BackendFact *fact = imported->facts->pdata[i];
    g_autofree char *key = g_strdup_printf("%s: %s", name, fact->name);
    profile_set_fact(profile, key, fact->value);
  }
  return true;
}

static bool import_all(const ImportCommand *command, int n, char **paths, Profile *profile,
                       GString *out, GError **error)
{
  ImportOptions options;

  if (!calibrate_import_options(command, &options, error))
    return false;
  for (int i = 0; i < n; i++) {
    const ImporterOps *importer = NULL;
    g_autoptr(Imported) imported = import_file(paths[i], &options, &importer, error);
    if (imported == NULL || !check_gain(paths[i], imported, command->strict, error) ||
        !add_to_profile(profile, paths[i], importer, imported, error) ||
        !write_scenario(command, paths[i], imported, error))
      return false;
    if (!command->quiet) {
      append_notes(imported);
      append_facts(paths[i], importer, imported, out);
    }
  }
  return true;
}

/* Laws take a while, and only profiles hold them. */
static void fit(const ImportCommand *command, Profile *profile)
{
  const FitOptions options = FIT_DEFAULTS;
  bool wanted = command->into != NULL;

  for (char **path = command->outputs; path != NULL && *path != NULL; path++)
    wanted = wanted || g_str_has_suffix(*path, ".json");
  if (wanted)
    profile_fit(profile, &options);
}

/* The profile that the logs go to: of what was said about them. */
static Profile *begin(const ImportCommand *command, GError **error)
{
  g_autofree char *date = NULL;

  if (command->date != NULL &&
      !calibrate_parse_date("calibrate import: --date", command->date, &date, error))
    return NULL;
  Profile *profile = command->into != NULL
                       ? calibrate_open_profile(command->into, error)
                       : calibrate_new_profile(command->outputs, "import");
  if (profile == NULL)
    return NULL;
  if (command->into == NULL) {
    g_free(profile->command);
    profile->command = g_strdup("calibrate import");
  }
  if (date != NULL) {
    g_free(profile->created_utc);
    profile->created_utc = g_steal_pointer(&date);
  }
  for (char **fact = command->facts; fact != NULL && *fact != NULL; fact++) {
    g_auto(GStrv) parts = g_strsplit(*fact, "=", 2);
    profile_set_fact(profile, parts[0], parts[1]);
  }
  return profile;
}

static bool import_into(const ImportCommand *command, int n, char **paths, GString *out,
                        GError **error)
{
  char *const into[] = { command->into, NULL };
  g_autoptr(Profile) profile = begin(command, error);

  if (profile == NULL || !import_all(command, n, paths, profile, out, error))
    return false;
  fit(command, profile);
  if (!calibrate_write(command->into != NULL ? into : command->outputs, profile, error))
    return false;
  if (!command->quiet)
    calibrate_append_samples(profile->samples, out);
  return true;
}

static bool import_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(ImportCommand) command = { 0 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME_ARRAY, &command.outputs,
      "write PATH: a profile (.json), samples (.csv)", "PATH" },
    { "into", 0, 0, G_OPTION_ARG_FILENAME, &command.into,
      "add to this profile instead, and fit it anew", "PROFILE" },
    { "date", 0, 0, G_OPTION_ARG_STRING, &command.date,
      "when the logs were taken, or unknown (today)", "YYYY-MM-DD" },
    { "fact", 0, 0, G_OPTION_ARG_STRING_ARRAY, &command.facts,
      "what the profile shall say of them, such as their source", "NAME=TEXT" },
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
  return options_check_count(&calibrate_import, argc, 1, G_MAXINT, "a FILE", error) &&
         calibrate_import_check(&command, argv + 1, error) &&
         import_into(&command, argc - 1, argv + 1, out, error);
}

const Command calibrate_import = {
  .name = "calibrate import",
  .summary = "read logs of nccl-tests, OSU, perftest, iperf3, NCCL, PyTorch ...",
  .usage = "FILE... [-o PATH]... [--into PROFILE]",
  .run = import_run,
};
