/* run: simulate scenarios, print a table, write files. */
#include "sim/base/registry.h"
#include "sim/base/units.h"
#include "sim/command/farm.h"
#include "sim/command/options.h"
#include "sim/command/targets.h"
#include "sim/output/output.h"
#include "sim/scenario/scenario.h"
#include "sim/training/training.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILES 100000
#define MAX_JOBS 1024
#define UNSET G_MININT
#define PROGRESS_AFTER_US 1000000 /* quick runs stay silent */

typedef struct {
  char **files;
  char **outputs;  /* -o */
  char **settings; /* --set, then --seed and --replicas as settings */
  int seed, replicas, jobs;
  char *engine, *fold, *dump_platform;
  gboolean quiet;
} Options;

/* A replica of a scenario: one task of the farm. */
typedef struct {
  guint scenario, replica;
} Task;

typedef struct {
  const Options *options;
  GPtrArray *scenarios; /* of Scenario */
  GArray *tasks;        /* of Task */
  bool traced, shows_progress;
  gint64 begin_us;
} Run;

static void options_clear(Options *options)
{
  g_strfreev(options->files);
  g_strfreev(options->outputs);
  g_strfreev(options->settings);
  g_free(options->engine);
  g_free(options->fold);
  g_free(options->dump_platform);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static void run_clear(Run *run)
{
  g_clear_pointer(&run->scenarios, g_ptr_array_unref);
  g_clear_pointer(&run->tasks, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

static bool usage_error(GError **error, const char *cause)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "run: %s; see `stepcast run --help`",
              cause);
  return false;
}

static bool check_options(const Options *options, GError **error)
{
  if (options->jobs < 0 || options->jobs > MAX_JOBS)
    return usage_error(error, "--jobs wants 0 (one per core) to 1024");
  if (options->seed != UNSET && options->seed < 0)
    return usage_error(error, "--seed wants 0 or more");
  if (options->replicas != UNSET && options->replicas < 1)
    return usage_error(error, "--replicas wants 1 or more");
  if (strcmp(options->engine, "flows") != 0 && strcmp(options->engine, "messages") != 0)
    return usage_error(error, "--engine wants flows or messages");
  if (strcmp(options->fold, "on") != 0 && strcmp(options->fold, "off") != 0)
    return usage_error(error, "--fold wants on or off");
  if (options->dump_platform != NULL && options->files[0] != NULL &&
      options->files[1] != NULL)
    return usage_error(error, "--dump-platform wants a single scenario");
  const Targets targets = {
    .command = &command_run,
    .scenarios = options->files,
    .outputs = options->outputs,
    .platform = options->dump_platform,
  };
  return targets_check(&targets, error);
}

/* --seed and --replicas are settings with a shorter name. */
static void add_setting(Options *options, const char *path, int value)
{
  if (value == UNSET)
    return;
  g_autoptr(GStrvBuilder) settings = g_strv_builder_new();
  g_autofree char *setting = g_strdup_printf("%s=%d", path, value);

  if (options->settings != NULL)
    g_strv_builder_addv(settings, (const char **)options->settings);
  g_strv_builder_add(settings, setting);
  g_strfreev(options->settings);
  options->settings = g_strv_builder_end(settings);
}

static bool parse_options(int argc, char **argv, Options *options, GString *out,
                          bool *is_done, GError **error)
{
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->outputs,
      "also write PATH; its suffix picks the writer (`list writer`)", "PATH" },
    { "set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->settings,
      "give a key of every scenario another value", "PATH=VALUE" },
    { "seed", 0, 0, G_OPTION_ARG_INT, &options->seed, "same as --set run.seed=N", "N" },
    { "replicas", 0, 0, G_OPTION_ARG_INT, &options->replicas,
      "same as --set run.replicas=N", "N" },
    { "jobs", 'j', 0, G_OPTION_ARG_INT, &options->jobs,
      "simulations at a time; 0: one per core (default)", "N" },
    { "engine", 0, 0, G_OPTION_ARG_STRING, &options->engine,
      "flows (default); messages simulates every message, to check", "flows|messages" },
    { "fold", 0, 0, G_OPTION_ARG_STRING, &options->fold,
      "on (default); off simulates every flow, every time", "on|off" },
    { "dump-platform", 0, 0, G_OPTION_ARG_FILENAME, &options->dump_platform,
      "also write what SimGrid is given (XML)", "PATH" },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, "no table, no progress", NULL },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&command_run, entries, &argc, &argv, out, is_done, error) || *is_done)
    return *is_done;
  if (!options_check_count(&command_run, argc, 1, MAX_FILES, "FILE...", error))
    return false;
  options->files = g_strdupv(argv + 1);
  if (options->engine == NULL)
    options->engine = g_strdup("flows");
  if (options->fold == NULL)
    options->fold = g_strdup("on");
  if (!check_options(options, error))
    return false;
  add_setting(options, "run.seed", options->seed);
  add_setting(options, "run.replicas", options->replicas);
  return true;
}

/* Every scenario is read before anything runs; all that are wrong are reported. */
static bool load_scenarios(const Options *options, Run *run, GError **error)
{
  g_autoptr(GString) problems = g_string_new(NULL);
  GError *first = NULL;

  for (guint i = 0; options->files[i] != NULL; i++) {
    g_autoptr(GError) cause = NULL;
    Scenario *scenario =
      scenario_load(options->files[i], (const char *const *)options->settings, &cause);
    if (scenario != NULL) {
      g_ptr_array_add(run->scenarios, scenario);
      continue;
    }
    g_string_append_printf(problems, "%s%s", problems->len > 0 ? "\n" : "", cause->message);
    if (first == NULL)
      first = g_steal_pointer(&cause);
  }
  if (first == NULL)
    return true;
  g_free(first->message);
  first->message = g_string_free(g_steal_pointer(&problems), FALSE);
  g_propagate_error(error, first);
  return false;
}

static bool check_inputs(const Run *run, GError **error)
{
  const Targets targets = { .command = &command_run,
                            .outputs = run->options->outputs,
                            .platform = run->options->dump_platform };

  for (guint i = 0; i < run->scenarios->len; i++)
    if (!targets_check_inputs(&targets, g_ptr_array_index(run->scenarios, i), error))
      return false;
  return true;
}

static void list_tasks(Run *run)
{
  for (guint s = 0; s < run->scenarios->len; s++) {
    const Setup *setup = scenario_setup(g_ptr_array_index(run->scenarios, s));
    for (guint r = 0; r < setup->run.replicas; r++) {
      const Task task = { .scenario = s, .replica = r };
      g_array_append_val(run->tasks, task);
    }
  }
}

static bool forecast(guint index, void *data, GString *out, GError **error)
{
  const Run *run = data;
  const Task *task = &g_array_index(run->tasks, Task, index);
  const bool first = task->replica == 0;
  /* Other replicas draw the constants of a profile anew. */
  g_autoptr(Scenario) drawn =
    first ? NULL
          : scenario_load_replica(run->options->files[task->scenario],
                                  (const char *const *)run->options->settings,
                                  task->replica, error);
  if (!first && drawn == NULL)
    return false;
  const Setup *setup =
    scenario_setup(first ? g_ptr_array_index(run->scenarios, task->scenario) : drawn);
  const TrainingConfig config = {
    .fold = strcmp(run->options->fold, "on") == 0,
    .messages = strcmp(run->options->engine, "messages") == 0,
    .traced = run->traced && first,
    .replica = task->replica,
    .dump_platform = first ? run->options->dump_platform : NULL,
  };
  g_autoptr(Result) result = training_forecast(setup, &config, error);

  if (result == NULL) {
    g_prefix_error(error, "%s: ", setup->name);
    return false;
  }
  result_write_json_private((const Result *const[]){ result }, 1, out);
  return true;
}

static void show_progress(guint n_done, guint n_tasks, void *data)
{
  const Run *run = data;
  const gint64 spent_us = g_get_monotonic_time() - run->begin_us;

  if (!run->shows_progress || spent_us < PROGRESS_AFTER_US)
    return;
  g_autofree char *left =
    units_show_seconds(1e-6 * (double)spent_us * (n_tasks - n_done) / n_done, 2);
  g_autofree char *line =
    g_strdup_printf("\r%u of %u simulations, about %s left   %s", n_done, n_tasks, left,
                    n_done == n_tasks ? "\n" : "");
  command_say(line);
}

/* The replicas of a scenario follow one another in the answers. */
static GPtrArray *merge_answers(const Run *run, GPtrArray *answers, GError **error)
{
  g_autoptr(GPtrArray) results =
    g_ptr_array_new_with_free_func((GDestroyNotify)result_free);
  g_autoptr(GPtrArray) replicas = g_ptr_array_new();

  for (guint i = 0; i < answers->len; i++) {
    const GString *answer = g_ptr_array_index(answers, i);
    g_autoptr(GPtrArray) one = result_read_json(answer->str, answer->len, error);
    if (one == NULL) {
      g_ptr_array_set_free_func(replicas, (GDestroyNotify)result_free);
      return NULL;
    }
    g_ptr_array_add(replicas, g_ptr_array_steal_index(one, 0));
    const guint next =
      i + 1 < answers->len ? g_array_index(run->tasks, Task, i + 1).replica : 0;
    if (next > 0)
      continue;
    g_ptr_array_add(results, training_merge((Result **)replicas->pdata, replicas->len));
    g_ptr_array_set_size(replicas, 0);
  }
  return g_steal_pointer(&results);
}

static GPtrArray *simulate(Run *run, GError **error)
{
  const guint n_workers =
    run->options->jobs > 0 ? (guint)run->options->jobs : g_get_num_processors();
  const Farm farm = { .n_tasks = run->tasks->len,
                      .n_workers = n_workers,
                      .work = forecast,
                      .progress = show_progress,
                      .data = run };
  g_autoptr(GPtrArray) answers = farm_run(&farm, error);

  return answers == NULL ? NULL : merge_answers(run, answers, error);
}

static bool run_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(Options) options = { .seed = UNSET, .replicas = UNSET };
  g_auto(Run) run = { .options = &options };
  bool is_done = false;

  if (!parse_options(argc, argv, &options, out, &is_done, error) || is_done)
    return is_done;
  const char *const none[] = { NULL };
  const char *const *outputs =
    options.outputs != NULL ? (const char *const *)options.outputs : none;
  run.scenarios = g_ptr_array_new_with_free_func((GDestroyNotify)scenario_free);
  run.tasks = g_array_new(FALSE, FALSE, sizeof(Task));
  run.traced = output_wants_timeline(outputs);
  run.begin_us = g_get_monotonic_time();
  run.shows_progress = !options.quiet && isatty(STDERR_FILENO);
  if (!load_scenarios(&options, &run, error) || !check_inputs(&run, error) ||
      !output_check_all(outputs, error))
    return false;
  list_tasks(&run);

  g_autoptr(GPtrArray) results = simulate(&run, error);
  if (results == NULL)
    return false;
  const Result *const *all = (const Result *const *)results->pdata;
  if (!output_write_all(outputs, all, results->len, error))
    return false;
  if (!options.quiet)
    text_render(all, results->len, false, out);
  return true;
}

const Command command_run = {
  .name = "run",
  .summary = "simulate scenarios; print what they take and why",
  .usage = "FILE... [-o PATH]... [--set PATH=VALUE]...",
  .run = run_run,
};
