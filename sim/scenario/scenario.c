#include "sim/scenario/scenario.h"

#include "models/assembly.h"
#include "sim/scenario/bind.h"
#include "sim/scenario/include.h"
#include "sim/scenario/setting.h"

#include <string.h>

struct Scenario {
  Setup *setup;
  Effective *effective;
  GPtrArray *inputs; /* of char *: the files it was read from */
};

/* What there is one of so far. */
typedef struct {
  char *name;
  char *calibration;
} Fixed;

static const ParamSpec name_params[] = {
  { .key = "name",
    .type = PARAM_TEXT,
    .offset = offsetof(Fixed, name),
    .fallback = "",
    .help = "what the results are called" },
  PARAM_END,
};

const ParamSpec scenario_calibration_params[] = {
  { .key = "calibration",
    .type = PARAM_TEXT,
    .offset = offsetof(Fixed, calibration),
    .fallback = "preset",
    .help =
      "whose measurements constants come from: a profile of `list profile`, a file of "
      "calibrate, or preset",
    .origin = "published constants" },
  PARAM_END,
};

static const char *const sections[] = { "include",     "name",     "cluster", "groups",
                                        "workload",    "strategy", "library", "compression",
                                        "calibration", "run",      "memory",  NULL };

static const ModuleChoice strategy_choice = { "strategy", "name", strategy_table, "ddp",
                                              NULL };
static const ModuleChoice library_choice = { "library", "name", library_table, "nccl",
                                             NULL };

/* Their rows stand in models/compression_params.c. */
static const char *const gpu_extra[] = { "min_size",         "skip_first_layers",
                                         "skip_last_layers", "nodes_per_rack",
                                         "kernel_launch",    NULL };
static const char *const cpu_extra[] = { "min_size",         "skip_first_layers",
                                         "skip_last_layers", "cpu_threads",
                                         "cpu_rate",         NULL };
static const ModuleChoice gpu_codec = { "codec", "codec", codec_table, "none", gpu_extra };
static const ModuleChoice cpu_codec = { "codec", "codec", codec_table, "none", cpu_extra };

static void bind_name(Binder *binder, const Section *root, Setup *setup)
{
  Fixed fixed = { 0 };

  bind_params(binder, root, name_params, &fixed);
  setup->name = fixed.name;
  if (setup->name != NULL)
    return;
  g_autofree char *base = g_path_get_basename(binder->file);
  g_autoptr(cJSON) json = NULL;
  if (g_str_has_suffix(base, ".json"))
    base[strlen(base) - strlen(".json")] = '\0';
  setup->name = g_utf8_make_valid(base, -1);
  json = cJSON_CreateString(setup->name);
  char *quoted = cJSON_PrintUnformatted(json);
  effective_add(binder->effective, "name", quoted, "default: the file's name");
  cJSON_free(quoted);
}

/* Does the key have its default? As `show` writes it, that it may stand anywhere. */
static bool is_default(const ParamSpec *spec, const ModuleInfo *info, const void *params)
{
  g_autofree void *usual = g_malloc0(MAX(info->params_size, 1));

  if (spec->type == PARAM_LIST || spec->type == PARAM_TEXT || spec->fallback == NULL)
    return false;
  param_set(spec, usual, spec->fallback, NULL);
  g_autofree char *value = param_format(spec, params);
  g_autofree char *fallback = param_format(spec, usual);
  return g_str_equal(value, fallback);
}

/* Keys that are given for nothing. */
static void check_ignored(const Binder *binder, const Section *section, const Setup *setup)
{
  const StrategyOps *ops = setup->strategy;

  if (ops == NULL || ops->ignores == NULL || problems_count(binder->problems) > 0)
    return;
  for (guint i = 0; i < param_count(ops->info.params); i++) {
    const ParamSpec *spec = &ops->info.params[i];
    const cJSON *item = bind_member(section, spec->key);
    const char *cause =
      item == NULL ? NULL : ops->ignores(setup->strategy_params, spec->key);
    if (cause != NULL && !is_default(spec, &ops->info, setup->strategy_params))
      bind_blame(binder, section, spec->key, item, cause);
  }
}

/* Racks that have more nodes than there are. */
static void check_aggregators(const Binder *binder, const Section *section,
                              const Setup *setup)
{
  static const char key[] = "nodes_per_aggregator";
  const cJSON *item = bind_member(section, key);
  const guint n_nodes = setup->cluster.n_nodes;

  if (item == NULL || problems_count(binder->problems) > 0 || item->valuedouble <= n_nodes)
    return;
  g_autofree char *cause =
    g_strdup_printf("there are only %u nodes: write %u at most", n_nodes, n_nodes);
  bind_blame(binder, section, key, item, cause);
}

static void bind_strategy(Binder *binder, const Section *root, Setup *setup)
{
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;
  const Section section = bind_section(binder, root, "strategy", &strategy_choice, &path);

  effective_open(binder->effective, "strategy");
  setup->strategy = (const StrategyOps *)bind_module(binder, &section, &strategy_choice,
                                                     &setup->strategy_params);
  effective_close(binder->effective);
  if (setup->strategy != NULL && setup->strategy->check != NULL &&
      problems_count(binder->problems) == 0 &&
      !setup->strategy->check(setup->strategy_params, &error))
    bind_blame(binder, &section, "", NULL, error->message);
  check_ignored(binder, &section, setup);
  check_aggregators(binder, &section, setup);
}

static void blame_place(const Binder *binder, const Section *section,
                        const LibraryPlace *place, const char *cause)
{
  if (place->key == NULL)
    bind_blame(binder, section, "", NULL, cause);
  else if (place->index == LIBRARY_NO_ELEMENT)
    bind_blame(binder, section, place->key, bind_member(section, place->key), cause);
  else
    bind_blame_element(binder, section, place->key, place->index, cause);
}

static void bind_library(Binder *binder, const Section *root, Setup *setup)
{
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;
  LibraryPlace place = { NULL, LIBRARY_NO_ELEMENT };
  const Section section = bind_section(binder, root, "library", &library_choice, &path);

  effective_open(binder->effective, "library");
  setup->library = (const LibraryOps *)bind_module(binder, &section, &library_choice,
                                                   &setup->library_params);
  effective_close(binder->effective);
  if (setup->library != NULL && setup->library->check != NULL &&
      !setup->library->check(setup->library_params, &place, &error))
    blame_place(binder, &section, &place, error->message);
}

/* What only codec, strategy and model together can show. */
static void check_compression(const Binder *binder, const Section *section,
                              const Setup *setup)
{
  g_autoptr(GError) error = NULL;

  if (problems_count(binder->problems) > 0 || setup->codec == &codec_none ||
      setup->model == NULL)
    return;
  if (setup->strategy->place == COMPRESS_NOTHING) {
    g_autofree char *cause = g_strdup_printf(
      setup->strategy->chooses
        ? "strategy %s chooses codecs itself: list it in strategy.codecs, such as "
          "[{\"codec\": \"topk\", \"ratio\": \"1 %%\"}], and leave it out here"
        : "strategy %s takes no codec but \"none\": write that, or choose another "
          "strategy, such as ddp, horovod or byteps",
      setup->strategy->info.name);
    bind_blame(binder, section, "codec", bind_member(section, "codec"), cause);
    return;
  }
  g_autoptr(Workload) workload = assembly_workload(setup, 0, NULL);
  g_autoptr(Compression) compression = assembly_compression(setup, workload);
  if (compression == NULL)
    return;
  g_auto(Composition) composition = { 0 };
  assembly_compose_messages(setup, workload, compression, &composition);
  if (!compression_check(compression, &error) ||
      !composition_check(&composition, compression, &error))
    bind_blame(binder, section, "", NULL, error->message);
}

/* What is given of racks must make sense, and a difference. */
static void check_racks(const Binder *binder, const Section *section, const Setup *setup)
{
  static const char key[] = "nodes_per_rack";
  const cJSON *item = bind_member(section, key);
  const guint n_nodes = setup->cluster.n_nodes;
  g_autofree char *cause = NULL;

  if (problems_count(binder->problems) > 0 || item == NULL || !(item->valuedouble > 0))
    return;
  if (setup->codec == &codec_none && !setup->strategy->chooses)
    cause = g_strdup("codec none encodes nothing, whatever leaves a rack: leave it out, or "
                     "choose a codec");
  else if (item->valuedouble > n_nodes)
    cause = g_strdup_printf("there are only %u nodes: choose a divisor of them", n_nodes);
  if (cause != NULL)
    bind_blame(binder, section, key, item, cause);
}

/* The same of the codecs that the strategy chooses from. */
static void check_choices(const Binder *binder, const Section *section, const Setup *setup)
{
  g_auto(Composition) composition = { 0 };

  if (problems_count(binder->problems) > 0 || setup->model == NULL ||
      !setup->strategy->chooses)
    return;
  if (setup->compression.nodes_per_rack > 0) {
    bind_blame(binder, section, "nodes_per_rack", bind_member(section, "nodes_per_rack"),
               "this strategy chooses codecs for the exchange of all nodes: leave it out, "
               "or choose another strategy, such as ddp");
    return;
  }
  g_autoptr(Workload) workload = assembly_workload(setup, 0, NULL);
  assembly_compose(setup, workload, NULL, &composition);
  g_autoptr(GPtrArray) choices = assembly_choices(setup, workload, &composition);
  for (guint i = 0; i < choices->len; i++) {
    g_autoptr(GError) error = NULL;
    if (compression_check(g_ptr_array_index(choices, i), &error))
      continue;
    g_autofree char *cause = g_strdup_printf("strategy.codecs[%u]: %s", i, error->message);
    bind_blame(binder, section, "", NULL, cause);
  }
}

static void bind_compression(Binder *binder, const Section *root, Setup *setup)
{
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;
  const bool on_cpu = setup->strategy != NULL && setup->strategy->place == COMPRESS_PIECES;
  const ModuleChoice *choice = on_cpu ? &cpu_codec : &gpu_codec;
  const ParamSpec *device = on_cpu ? compression_cpu_params : compression_gpu_params;
  const Section section = bind_section(binder, root, "compression", choice, &path);

  effective_open(binder->effective, "compression");
  setup->codec =
    (const CodecOps *)bind_module(binder, &section, choice, &setup->codec_params);
  if (setup->codec != NULL && (setup->codec != &codec_none ||
                               (setup->strategy != NULL && setup->strategy->chooses))) {
    param_set_defaults(compression_params, &setup->compression);
    bind_params(binder, &section, compression_params, &setup->compression);
    param_set_defaults(device, &setup->compression);
    bind_params(binder, &section, device, &setup->compression);
  }
  effective_close(binder->effective);
  if (setup->codec != NULL && setup->codec->check != NULL &&
      !setup->codec->check(setup->codec_params, &error))
    bind_blame(binder, &section, "", NULL, error->message);
  check_racks(binder, &section, setup);
  check_compression(binder, &section, setup);
  check_choices(binder, &section, setup);
}

static void bind_run(Binder *binder, const Section *root, RunSpec *run)
{
  g_autofree char *path = NULL;
  const Section section = bind_section(binder, root, "run", NULL, &path);

  effective_open(binder->effective, "run");
  param_set_defaults(run_params, run);
  bind_params(binder, &section, run_params, run);
  bind_check_keys(binder, &section, run_params, NULL);
  effective_close(binder->effective);
}

static void bind_all(Binder *binder, cJSON *root, bool needs_workload, Setup *setup)
{
  const Section section = { "", root, root };
  Fixed fixed = { 0 };
  g_autoptr(Profile) profile = bind_calibration_open(binder, &section);

  binder->profile = profile;
  bind_name(binder, &section, setup);
  bind_cluster(binder, &section, &setup->cluster);
  bind_groups(binder, &section, setup);
  if (needs_workload || bind_member(&section, "workload") != NULL)
    bind_workload(binder, &section, setup);
  bind_strategy(binder, &section, setup);
  bind_library(binder, &section, setup);
  bind_compression(binder, &section, setup);
  bind_params(binder, &section, scenario_calibration_params, &fixed);
  g_free(fixed.calibration);
  if (profile != NULL && setup->library != NULL)
    bind_calibration_curves(binder, setup);
  bind_run(binder, &section, &setup->run);
  bind_memory(binder, &section, setup);
  bind_check_keys(binder, &section, NULL, sections);
}

/* What a reader of scenarios asks for. */
typedef struct {
  bool needs_workload;
  guint replica;
} Reading;

/* Of "run", which is bound last: draws need it before. */
static guint64 seed_of(const cJSON *root)
{
  const cJSON *run = cJSON_GetObjectItemCaseSensitive(root, "run");
  const cJSON *seed = cJSON_GetObjectItemCaseSensitive(run, "seed");

  return cJSON_IsNumber(seed) && seed->valuedouble > 0 && seed->valuedouble < 1e18
           ? (guint64)seed->valuedouble
           : 0;
}

static Scenario *parse(const char *name, const char *text, gsize length,
                       const char *const *settings, const Reading *reading, GError **error)
{
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(Scenario) scenario = g_new(Scenario, 1);

  *scenario =
    (Scenario){ setup_new(), effective_new(), g_ptr_array_new_with_free_func(g_free) };
  cJSON *root = include_merge(documents, name, text, length, problems);
  for (; root != NULL && settings != NULL && *settings != NULL; settings++)
    setting_lay(documents, root, *settings, problems);
  if (root != NULL && problems_count(problems) == 0) {
    Binder binder = { .documents = documents,
                      .problems = problems,
                      .effective = scenario->effective,
                      .constants = scenario->setup->constants,
                      .file = name,
                      .replica = reading->replica,
                      .seed = seed_of(root) };
    bind_all(&binder, root, reading->needs_workload, scenario->setup);
  }
  documents_list(documents, scenario->inputs);
  return problems_report(problems, error) ? g_steal_pointer(&scenario) : NULL;
}

Scenario *scenario_parse(const char *name, const char *text, gsize length,
                         const char *const *settings, GError **error)
{
  return parse(name, text, length, settings, &(Reading){ .needs_workload = true }, error);
}

static Scenario *load(const char *path, const char *const *settings, const Reading *reading,
                      GError **error)
{
  gsize length = 0;
  g_autofree char *text = include_read(path, &length, error);

  return text == NULL ? NULL : parse(path, text, length, settings, reading, error);
}

Scenario *scenario_load(const char *path, const char *const *settings, GError **error)
{
  return scenario_load_replica(path, settings, 0, error);
}

Scenario *scenario_load_replica(const char *path, const char *const *settings,
                                guint replica, GError **error)
{
  const Reading reading = { .needs_workload = true, .replica = replica };

  return load(path, settings, &reading, error);
}

Scenario *scenario_load_cluster(const char *path, const char *const *settings,
                                GError **error)
{
  return load(path, settings, &(Reading){ .needs_workload = false }, error);
}

void scenario_free(Scenario *scenario)
{
  setup_free(scenario->setup);
  effective_free(scenario->effective);
  g_ptr_array_unref(scenario->inputs);
  g_free(scenario);
}

const GPtrArray *scenario_inputs(const Scenario *scenario)
{
  return scenario->inputs;
}

const Setup *scenario_setup(const Scenario *scenario)
{
  return scenario->setup;
}

char *scenario_show(const Scenario *scenario)
{
  return effective_show(scenario->effective);
}
