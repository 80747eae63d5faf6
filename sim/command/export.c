/* export: a collective or a cluster in the formats of other simulators. */
#include "models/group_ports.h"
#include "sim/base/registry.h"
#include "sim/command/export_iteration.h"
#include "sim/command/options.h"
#include "sim/output/goal.h"
#include "sim/output/platform.h"
#include "sim/scenario/scenario.h"
#include "sim/training/exchange.h"

#include <string.h>

/* A plan of more messages is no text any more that others can read. */
#define MAX_RANKS 4096

typedef struct {
  char *size, *algo, *group; /* as written */
  char **settings;
} Options;

static void options_clear(Options *options)
{
  g_free(options->size);
  g_free(options->algo);
  g_free(options->group);
  g_strfreev(options->settings);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static bool parse_options(int *argc, char ***argv, Options *options, GString *out,
                          bool *is_done, GError **error)
{
  const GOptionEntry entries[] = {
    { "bytes", 'b', 0, G_OPTION_ARG_STRING, &options->size,
      "size of the collective (default 64 MiB)", "SIZE" },
    { "algo", 0, 0, G_OPTION_ARG_STRING, &options->algo,
      "its algorithm (`list collective`); default: the library's choice", "NAME" },
    { "group", 0, 0, G_OPTION_ARG_STRING, &options->group,
      "groups of that name, all at once; NAME[0]: the first alone (default: all ranks)",
      "NAME" },
    { "set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->settings,
      "give a key of the scenario another value", "PATH=VALUE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&command_export, entries, argc, argv, out, is_done, error) || *is_done)
    return *is_done;
  return options_check_count(&command_export, *argc, 2, 2,
                             "`platform`, `iteration` or a collective, and FILE", error);
}

static bool export_platform(const Setup *setup, GString *out, GError **error)
{
  const ClusterSpec cluster = setup_cluster(setup);
  g_autoptr(Topology) topology = topology_new(&cluster, error);

  return topology != NULL &&
         platform_render(topology, 0, topology_message_latency_s(topology), out, error);
}

/* ---- collectives ------------------------------------------------------------------- */

/* One collective of some groups. */
typedef struct {
  const Setup *setup;
  const Topology *topology;
  CollKind kind;
  double size_B;
  const char *algo;      /* NULL: what the library would run */
  const char *algorithm; /* of the last group that was planned */
} Request;

/* The algorithm by name, or what the library would run. */
static const CollOps *choose(const Request *request, CollCall *call, GError **error)
{
  if (request->algo != NULL) {
    const CollOps *ops = coll_find(request->algo, error);
    if (ops == NULL || (ops->kinds & request->kind))
      return ops;
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "export: %s cannot do %s", request->algo,
                coll_kind_name(request->kind));
    return NULL;
  }
  const ExchangeNeeds needs = { .kinds = request->kind,
                                .topology = request->topology,
                                .group = call->group };
  g_autoptr(Exchange) exchange = exchange_new(request->setup, &needs, error);
  if (exchange == NULL)
    return NULL;
  const LibraryChoice choice = exchange_choose(exchange, request->kind, request->size_B);
  call->chunk_B = choice.terms.chunk_B;
  return choice.collective;
}

/* Transfer: caller frees with plan_free(). */
static Plan *plan_of(Request *request, const Group *group, GError **error)
{
  g_auto(GroupPorts) ports = group_ports_of(group, request->topology);
  CollCall call = {
    .kind = request->kind,
    .group = group,
    .n_rails = ports.n_rails,
    .nics = ports.nics,
    .cross_nic = setup_cluster(request->setup).rules.cross_nic,
    .layout = request->topology,
  };
  const CollOps *ops = choose(request, &call, error);

  if (ops == NULL)
    return NULL;
  request->algorithm = ops->info.name;
  return coll_plan_new(ops, &call, request->size_B);
}

/* All groups at once: ranks are GPUs, and behind them the switches that sum. */
static Plan *plan_all(Request *request, const GPtrArray *groups, guint *n_switches,
                      GError **error)
{
  const guint n_gpus = topology_n_gpus(request->topology);
  g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)plan_free);

  *n_switches = 0;
  for (guint g = 0; g < groups->len; g++) {
    const Group *group = g_ptr_array_index(groups, g);
    Plan *part = plan_of(request, group, error);
    if (part == NULL)
      return NULL;
    *n_switches += plan_n_ranks(part) - group->n_ranks;
    g_ptr_array_add(parts, part);
  }
  Plan *all = plan_new(n_gpus + *n_switches, 0);
  guint next_switch = n_gpus;
  for (guint g = 0; g < groups->len; g++) {
    const Group *group = g_ptr_array_index(groups, g);
    const Plan *part = g_ptr_array_index(parts, g);
    g_autofree guint *ranks = g_new(guint, plan_n_ranks(part));
    for (guint i = 0; i < plan_n_ranks(part); i++)
      ranks[i] = i < group->n_ranks ? group->gpus[i] : next_switch++;
    plan_append(all, part, ranks);
  }
  return all;
}

static GPtrArray *find_groups(const Request *request, const char *name, GError **error)
{
  if (name != NULL)
    return grouping_find(&request->setup->grouping, name, request->topology, error);
  GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)group_free);
  g_ptr_array_add(all, group_new_all(request->topology));
  return all;
}

static bool check_ranks(const GPtrArray *groups, GError **error)
{
  guint n = 0;

  for (guint g = 0; g < groups->len; g++)
    n += ((const Group *)g_ptr_array_index(groups, g))->n_ranks;
  if (n <= MAX_RANKS)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "%u ranks are too many to write every message; at most %u", n, MAX_RANKS);
  return false;
}

static bool export_goal(const Setup *setup, const char *collective, double size_B,
                        const Options *options, GString *out, GError **error)
{
  Request request = { .setup = setup, .size_B = size_B, .algo = options->algo };
  guint n_switches = 0;

  if (!coll_kind_find(collective, &request.kind, error))
    return false;
  const ClusterSpec cluster = setup_cluster(setup);
  g_autoptr(Topology) topology = topology_new(&cluster, error);
  request.topology = topology;
  g_autoptr(GPtrArray) groups =
    topology == NULL ? NULL : find_groups(&request, options->group, error);
  if (groups == NULL || !check_ranks(groups, error))
    return false;
  g_autoptr(Plan) plan = plan_all(&request, groups, &n_switches, error);
  if (plan == NULL)
    return false;
  g_autofree char *who =
    options->group == NULL
      ? g_strdup("")
      : g_strdup_printf(", group%s %s", groups->len > 1 ? "s" : "", options->group);
  g_autofree char *comment =
    g_strdup_printf("%s of %.0f bytes%s, %s, on %s: %u GPUs%s", collective, size_B, who,
                    request.algorithm, setup->name, topology_n_gpus(topology),
                    n_switches > 0 ? "; ranks beyond are switches" : "");
  goal_render(plan, comment, out);
  return true;
}

/* What an iteration exchanges is the scenario's business. */
static bool check_iteration(const Options *options, GError **error)
{
  if (options->size == NULL && options->algo == NULL && options->group == NULL)
    return true;
  g_set_error_literal(error, SIM_ERROR, SIM_ERROR_USAGE,
                      "export: -b, --algo and --group are for a collective, not for an "
                      "iteration; see `stepcast export --help`");
  return false;
}

static bool export_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(Options) options = { 0 };
  bool is_done = false;
  double size_B = 64.0 * 1024 * 1024;

  if (!parse_options(&argc, &argv, &options, out, &is_done, error) || is_done)
    return is_done;
  if (options.size != NULL &&
      !options_parse_size(&command_export, "-b", options.size, &size_B, error))
    return false;
  const char *const *settings = (const char *const *)options.settings;
  const bool iteration = strcmp(argv[1], "iteration") == 0;
  if (iteration && !check_iteration(&options, error))
    return false;
  g_autoptr(Scenario) scenario = iteration
                                   ? scenario_load(argv[2], settings, error)
                                   : scenario_load_cluster(argv[2], settings, error);
  if (scenario == NULL)
    return false;
  if (iteration)
    return export_iteration(scenario_setup(scenario), out, error);
  if (strcmp(argv[1], "platform") == 0)
    return export_platform(scenario_setup(scenario), out, error);
  return export_goal(scenario_setup(scenario), argv[1], size_B, &options, out, error);
}

const Command command_export = {
  .name = "export",
  .summary =
    "write a collective or an iteration as GOAL, or a cluster as a SimGrid platform",
  .usage = "platform|iteration|COLLECTIVE FILE [-b SIZE] [--algo NAME]",
  .run = export_run,
};
