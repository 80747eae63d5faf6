/* collective: nccl-tests' flags and table, predicted. */
#include "sim/base/registry.h"
#include "sim/command/nccl_flags.h"
#include "sim/command/options.h"
#include "sim/command/targets.h"
#include "sim/output/output.h"
#include "sim/scenario/scenario.h"
#include "sim/training/collective_forecast.h"

#include <math.h>
#include <string.h>

#define MAX_SIZES 100000
#define UNSET (-G_MAXDOUBLE)

typedef struct {
  char *min, *max, *step, *engine, *fold, *group; /* as written */
  double factor;
  char **outputs, **settings;
  gboolean quiet;
  NcclFlags flags;
} Options;

static void options_clear(Options *options)
{
  g_free(options->min);
  g_free(options->max);
  g_free(options->step);
  g_free(options->engine);
  g_free(options->fold);
  g_free(options->group);
  g_strfreev(options->outputs);
  g_strfreev(options->settings);
  nccl_flags_clear(&options->flags);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static bool refuse(GError **error, const char *option, const char *cause)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "collective: %s: %s; see `stepcast collective --help`", option, cause);
  return false;
}

static bool list_sizes(const Options *options, GArray *sizes_B, GError **error)
{
  double min_B, max_B, step_B = 0;

  const Command *command = &command_collective;
  if (!options_parse_size(command, "-b", options->min, &min_B, error) ||
      !options_parse_size(command, "-e", options->max, &max_B, error) ||
      (options->step != NULL &&
       !options_parse_size(command, "-i", options->step, &step_B, error)))
    return false;
  if (max_B < min_B)
    return refuse(error, "-e", "is smaller than -b");
  if (step_B > 0 && options->factor != UNSET)
    return refuse(error, "-f -i", "exclude each other: sizes grow by a factor or by bytes");
  if (options->factor != UNSET && !(options->factor > 1 && options->factor < 1e6))
    return refuse(error, "-f", "wants a factor above 1");
  const double factor = options->factor == UNSET ? 2 : options->factor;
  for (double size_B = min_B; size_B <= max_B;
       size_B = step_B > 0 ? size_B + step_B : ceil(size_B * factor)) {
    if (sizes_B->len == MAX_SIZES)
      return refuse(error, "-b -e", "give more than 100,000 sizes");
    g_array_append_val(sizes_B, size_B);
  }
  return true;
}

/* "-o sum" is nccl-tests' flag. */
static void take_ops(Options *options)
{
  guint n = 0;

  for (guint i = 0; options->outputs != NULL && options->outputs[i] != NULL; i++) {
    if (!nccl_flags_is_op(options->outputs[i])) {
      options->outputs[n++] = options->outputs[i];
      continue;
    }
    g_free(options->flags.op);
    options->flags.op = options->outputs[i];
  }
  if (options->outputs != NULL)
    options->outputs[n] = NULL;
}

static bool parse_options(int *argc, char ***argv, Options *options, GString *out,
                          bool *is_done, GError **error)
{
  const GOptionEntry entries[] = {
    { "minbytes", 'b', 0, G_OPTION_ARG_STRING, &options->min, "first size (default 8)",
      "SIZE" },
    { "maxbytes", 'e', 0, G_OPTION_ARG_STRING, &options->max, "last size (default 8G)",
      "SIZE" },
    { "stepfactor", 'f', 0, G_OPTION_ARG_DOUBLE, &options->factor,
      "next size is this times larger (default 2)", "FACTOR" },
    { "stepbytes", 'i', 0, G_OPTION_ARG_STRING, &options->step,
      "next size is this many bytes larger, instead", "SIZE" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->outputs,
      "also write PATH (.json .csv .svg .txt)", "PATH" },
    { "set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->settings,
      "give a key of the scenario another value", "PATH=VALUE" },
    { "group", 0, 0, G_OPTION_ARG_STRING, &options->group,
      "groups of that name, all at once; NAME[0]: the first alone (default: all ranks)",
      "NAME" },
    { "engine", 0, 0, G_OPTION_ARG_STRING, &options->engine,
      "flows (default); messages simulates every message, to check", "flows|messages" },
    { "fold", 0, 0, G_OPTION_ARG_STRING, &options->fold,
      "on (default); off simulates every flow, every time", "on|off" },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, "no table", NULL },
  };
  g_autoptr(GArray) all = g_array_new(TRUE, FALSE, sizeof(GOptionEntry));

  g_array_append_vals(all, entries, G_N_ELEMENTS(entries));
  nccl_flags_add_entries(&options->flags, all);
  if (!options_parse(&command_collective, &g_array_index(all, GOptionEntry, 0), argc, argv,
                     out, is_done, error) ||
      *is_done)
    return *is_done;
  take_ops(options);
  if (!options_check_count(&command_collective, *argc, 2, 2, "COLLECTIVE and FILE", error))
    return false;
  if (options->engine != NULL && strcmp(options->engine, "flows") != 0 &&
      strcmp(options->engine, "messages") != 0)
    return refuse(error, "--engine", "wants flows or messages");
  if (options->fold != NULL && strcmp(options->fold, "on") != 0 &&
      strcmp(options->fold, "off") != 0)
    return refuse(error, "--fold", "wants on or off");
  if (options->min == NULL)
    options->min = g_strdup("8");
  if (options->max == NULL)
    options->max = g_strdup("8G");
  return true;
}

/* What the flags of nccl-tests make of @p sizes_B and the forecast on this cluster. */
static bool apply_flags(const NcclFlags *flags, const Setup *setup, GArray *sizes_B,
                        CollForecast *forecast, GError **error)
{
  const guint ranks_per_node = setup->cluster.node.n_gpus;
  const guint n_ranks = setup->cluster.n_nodes * ranks_per_node;

  if (forecast->group != NULL && (flags->type != NULL || flags->root > 0))
    return refuse(error, flags->type != NULL ? "-d" : "-r",
                  "is not taken with --group, whose ranks are counted later");
  if (!nccl_flags_check(flags, forecast->kind, n_ranks, ranks_per_node, error) ||
      !nccl_flags_cut(flags, forecast->kind, n_ranks, sizes_B, error))
    return false;
  forecast->sizes_B = (const double *)(void *)sizes_B->data;
  forecast->n_sizes = sizes_B->len;
  forecast->launch_s = nccl_flags_launch_s(flags);
  return true;
}

static bool collective_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(Options) options = { .factor = UNSET, .flags = NCCL_FLAGS_INIT };
  g_autoptr(GArray) sizes_B = g_array_new(FALSE, FALSE, sizeof(double));
  CollForecast forecast = { .fold = true };
  bool is_done = false;

  if (!parse_options(&argc, &argv, &options, out, &is_done, error) || is_done)
    return is_done;
  const char *const none[] = { NULL };
  const char *const *outputs =
    options.outputs != NULL ? (const char *const *)options.outputs : none;
  if (!coll_kind_find(argv[1], &forecast.kind, error) ||
      !list_sizes(&options, sizes_B, error))
    return false;
  g_autoptr(Scenario) scenario =
    scenario_load_cluster(argv[2], (const char *const *)options.settings, error);
  const Targets targets = {
    .command = &command_collective,
    .scenarios = argv + 2,
    .outputs = options.outputs,
  };
  forecast.group = options.group;
  if (scenario == NULL || !targets_check(&targets, error) ||
      !targets_check_inputs(&targets, scenario, error) ||
      !output_check_timings(outputs, error) ||
      !apply_flags(&options.flags, scenario_setup(scenario), sizes_B, &forecast, error))
    return false;

  forecast.messages = g_strcmp0(options.engine, "messages") == 0;
  forecast.fold = options.fold == NULL || strcmp(options.fold, "on") == 0;
  g_autoptr(Timings) timings =
    collective_forecast(scenario_setup(scenario), &forecast, error);
  if (timings == NULL)
    return false;
  nccl_flags_describe(&options.flags, forecast.kind, timings);
  if (!output_write_timings(outputs, timings, error))
    return false;
  if (!options.quiet)
    text_render_timings(timings, out);
  return true;
}

const Command command_collective = {
  .name = "collective",
  .summary = "predict nccl-tests' table for a cluster: all_reduce FILE -b 8 -e 8G",
  .usage = "COLLECTIVE FILE [-b SIZE] [-e SIZE] [-f FACTOR] [-o PATH]...",
  .run = collective_run,
};
