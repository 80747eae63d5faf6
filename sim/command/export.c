/* export: a collective or a cluster in the formats of other simulators. */
#include "sim/base/registry.h"
#include "sim/command/options.h"
#include "sim/output/goal.h"
#include "sim/output/platform.h"
#include "sim/scenario/scenario.h"
#include "sim/training/exchange.h"

#include <string.h>

/* A plan of more messages is no text any more that others can read. */
#define MAX_RANKS 4096

typedef struct {
  char *size, *algo; /* as written */
  char **settings;
} Options;

static void options_clear(Options *options)
{
  g_free(options->size);
  g_free(options->algo);
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
    { "set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->settings,
      "give a key of the scenario another value", "PATH=VALUE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&command_export, entries, argc, argv, out, is_done, error) || *is_done)
    return *is_done;
  return options_check_count(&command_export, *argc, 2, 2,
                             "`platform` or a collective, and FILE", error);
}

static bool export_platform(const Setup *setup, GString *out, GError **error)
{
  const ClusterSpec cluster = setup_cluster(setup);
  g_autoptr(Topology) topology = topology_new(&cluster, error);

  return topology != NULL &&
         platform_render(topology, 0, topology_message_latency_s(topology), out, error);
}

/* The algorithm by name, or what the library would run. */
static const CollOps *choose(const Setup *setup, CollKind kind, double size_B,
                             const char *name, double *chunk_B, GError **error)
{
  if (name != NULL) {
    const CollOps *ops = coll_find(name, error);
    if (ops == NULL || (ops->kinds & kind))
      return ops;
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "export: %s cannot do %s", name,
                coll_kind_name(kind));
    return NULL;
  }
  const ExchangeNeeds needs = { .kinds = kind };
  g_autoptr(Exchange) exchange = exchange_new(setup, &needs, error);
  if (exchange == NULL)
    return NULL;
  const LibraryChoice choice = exchange_choose(exchange, kind, size_B);
  *chunk_B = choice.terms.chunk_B;
  return choice.collective;
}

static bool export_goal(const Setup *setup, const char *collective, double size_B,
                        const char *algo, GString *out, GError **error)
{
  CollCall call = { 0 };

  if (!coll_kind_find(collective, &call.kind, error))
    return false;
  const ClusterSpec cluster = setup_cluster(setup);
  g_autoptr(Topology) topology = topology_new(&cluster, error);
  const CollOps *ops =
    topology == NULL ? NULL : choose(setup, call.kind, size_B, algo, &call.chunk_B, error);
  if (ops == NULL)
    return false;
  g_autoptr(Group) group = group_new_all(topology);
  if (group->n_ranks > MAX_RANKS) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u ranks are too many to write every message; at most %u", group->n_ranks,
                MAX_RANKS);
    return false;
  }
  call.group = group;
  call.n_rails = group->n_nodes > 1 ? topology_nics_per_node(topology) : 1;

  g_autoptr(Plan) plan = coll_plan_new(ops, &call, size_B);
  const guint n_switches = plan_n_ranks(plan) - group->n_ranks;
  g_autofree char *comment = g_strdup_printf(
    "%s of %.0f bytes, %s, on %s: %u GPUs%s", collective, size_B, ops->info.name,
    setup->name, group->n_ranks, n_switches > 0 ? "; ranks beyond are switches" : "");
  goal_render(plan, comment, out);
  return true;
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
  g_autoptr(Scenario) scenario =
    scenario_load_cluster(argv[2], (const char *const *)options.settings, error);
  if (scenario == NULL)
    return false;
  if (strcmp(argv[1], "platform") == 0)
    return export_platform(scenario_setup(scenario), out, error);
  return export_goal(scenario_setup(scenario), argv[1], size_B, options.algo, out, error);
}

const Command command_export = {
  .name = "export",
  .summary = "write a collective as GOAL, or a cluster as a SimGrid platform",
  .usage = "platform|COLLECTIVE FILE [-b SIZE] [--algo NAME]",
  .run = export_run,
};
