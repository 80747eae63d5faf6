/* calibrate show: a profile for people, and as a picture. */
#include "calibrate/report.h"

#include "sim/command/calibrate.h"
#include "sim/command/calibrate_plot.h"
#include "sim/command/calibrate_predict.h"
#include "sim/command/targets.h"
#include "sim/scenario/profile_file.h"

typedef struct {
  int samples, csv, residuals, constants; /* GLib's truth */
  char *plot;
  char **questions; /* --predict; or NULL */
} ShowCommand;

static void show_command_clear(ShowCommand *command)
{
  g_free(command->plot);
  g_strfreev(command->questions);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ShowCommand, show_command_clear)

static void append_all(const ShowCommand *command, const Profile *profile, GString *out)
{
  if (command->csv) {
    sample_write_csv(profile->samples, out);
  } else if (command->residuals) {
    report_residuals(profile, out);
  } else if (command->samples) {
    calibrate_append_samples(profile->samples, out);
  } else if (command->constants) {
    report_constants(profile, out);
  } else {
    report_provenance(profile, out);
    report_laws(profile, out);
    report_constants(profile, out);
  }
}

static bool write_plot(const ShowCommand *command, const char *file, const Profile *profile,
                       GError **error)
{
  g_autoptr(GString) svg = g_string_new(NULL);

  if (command->plot == NULL)
    return true;
  if (targets_are_one_file(command->plot, file)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate show: --plot names the profile itself, %s", file);
    return false;
  }
  if (!targets_check_kind(&calibrate_show, "--plot", command->plot, error))
    return false;
  calibrate_plot(profile, svg);
  return calibrate_save(command->plot, svg->str, svg->len, error);
}

static bool show_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(ShowCommand) command = { 0 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    { "samples", 0, 0, G_OPTION_ARG_NONE, &command.samples, "the samples alone", NULL },
    { "csv", 0, 0, G_OPTION_ARG_NONE, &command.csv, "the samples as CSV", NULL },
    { "residuals", 0, 0, G_OPTION_ARG_NONE, &command.residuals,
      "every sample beside its law, as CSV", NULL },
    { "constants", 0, 0, G_OPTION_ARG_NONE, &command.constants,
      "what forecasts take from it", NULL },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &command.plot,
      "also draw samples and laws on logarithmic axes", "OUT.svg" },
    { "predict", 0, 0, G_OPTION_ARG_STRING_ARRAY, &command.questions,
      "what its laws say there, with 95 % intervals", "[OP:]SIZE[:n=RANKS][:nodes=NODES]" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&calibrate_show, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&calibrate_show, argc, 1, 1, "one PROFILE", error))
    return false;
  g_autoptr(Profile) profile = profile_file_load(argv[1], error);
  if (profile == NULL || !write_plot(&command, argv[1], profile, error))
    return false;
  if (command.questions != NULL)
    return calibrate_predict(profile, command.questions, out, error);
  append_all(&command, profile, out);
  return true;
}

const Command calibrate_show = {
  .name = "calibrate show",
  .summary = "print a profile: laws with intervals and sources; draw it",
  .usage = "PROFILE [--plot OUT.svg]",
  .run = show_run,
};
