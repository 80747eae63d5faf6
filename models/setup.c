#include "models/setup.h"

#include "models/fabric.h"
#include "models/transport.h"

#include <string.h>

const ParamSpec run_params[] = {
  { .key = "iterations",
    .type = PARAM_COUNT,
    .offset = offsetof(RunSpec, iterations),
    .fallback = "20",
    .min = 1,
    .max = 1e6,
    .help = "iterations that are measured",
    .origin = "our choice" },
  { .key = "warmup",
    .type = PARAM_COUNT,
    .offset = offsetof(RunSpec, warmup),
    .fallback = "3",
    .max = 1e6,
    .help = "iterations before them, run and not counted",
    .origin = "our choice" },
  { .key = "seed",
    .type = PARAM_COUNT,
    .offset = offsetof(RunSpec, seed),
    .fallback = "1",
    .help = "what every random draw follows from",
    .origin = "our choice" },
  { .key = "replicas",
    .type = PARAM_COUNT,
    .offset = offsetof(RunSpec, replicas),
    .fallback = "1",
    .min = 1,
    .max = 1e4,
    .help = "repetitions with other draws",
    .origin = "our choice" },
  PARAM_END,
};

static const char *const check_names[] = { "refuse", "warn", NULL };

const ParamSpec memory_params[] = {
  { .key = "check",
    .type = PARAM_NAME,
    .offset = offsetof(MemorySpec, check),
    .fallback = "refuse",
    .names = check_names,
    .help = "a batch that does not fit: refuse the scenario, or forecast it and warn",
    .origin = "our choice" },
  PARAM_END,
};

static void constant_clear(void *data)
{
  Constant *constant = data;

  g_free(constant->name);
  g_free(constant->value);
  g_free(constant->source);
}

GArray *constants_new(void)
{
  GArray *constants = g_array_new(FALSE, TRUE, sizeof(Constant));

  g_array_set_clear_func(constants, constant_clear);
  return constants;
}

void constants_add(GArray *constants, const Constant *constant)
{
  const Constant copy = {
    .name = g_strdup(constant->name),
    .value = g_strdup(constant->value),
    .source = g_strdup(constant->source),
    .assumed = constant->assumed,
  };

  g_array_append_val(constants, copy);
}

ClusterSpec setup_cluster(const Setup *setup)
{
  ClusterSpec cluster = setup->cluster;

  if (setup->library != NULL && setup->library->rule_paths != NULL)
    setup->library->rule_paths(setup->library_params, &cluster.rules);
  return cluster;
}

static bool library_uses(const Setup *setup, const char *key, bool network)
{
  const LibraryOps *ops = setup->library;

  return ops == NULL || ops->uses == NULL || ops->uses(setup->library_params, key, network);
}

static bool fabric_uses(const Setup *setup, const char *key)
{
  const NodeSpec *node = &setup->cluster.node;

  return node->fabric == NULL || node->fabric->uses == NULL ||
         setup_cluster(setup).rules.no_p2p || node->fabric->uses(node->fabric_params, key);
}

bool setup_uses(const Setup *setup, const char *constant, bool network)
{
  static const char transport[] = "cluster.transport.", fabric[] = "cluster.node.fabric.";
  static const char library[] = "library.";
  const TransportOps *ops = setup->cluster.transport;

  if (g_str_has_prefix(constant, fabric))
    return fabric_uses(setup, constant + strlen(fabric));
  if (g_str_has_prefix(constant, library))
    return library_uses(setup, constant + strlen(library), network);
  if (!network)
    return !g_str_has_prefix(constant, transport) &&
           !g_str_has_prefix(constant, "cluster.network.") &&
           !g_str_has_prefix(constant, "cluster.nic.");
  return !g_str_has_prefix(constant, transport) || ops->uses == NULL ||
         ops->uses(setup->cluster.transport_params, constant + strlen(transport));
}

Setup *setup_new(void)
{
  Setup *setup = g_new0(Setup, 1);

  setup->constants = constants_new();
  setup->curves = calibration_new();
  param_set_defaults(grouping_params, &setup->grouping);
  setup->codec = &codec_none;
  return setup;
}

static void module_clear(const ModuleInfo *info, void *params)
{
  if (params != NULL)
    param_clear(info->params, params);
  g_free(params);
}

void setup_free(Setup *setup)
{
  if (setup == NULL)
    return;
  cluster_clear(&setup->cluster);
  param_clear(grouping_params, &setup->grouping);
  if (setup->model != NULL)
    model_free(setup->model);
  param_clear(workload_params, &setup->workload);
  param_clear(compute_params, &setup->compute);
  if (setup->strategy != NULL)
    module_clear(&setup->strategy->info, setup->strategy_params);
  if (setup->library != NULL)
    module_clear(&setup->library->info, setup->library_params);
  if (setup->codec != NULL)
    module_clear(&setup->codec->info, setup->codec_params);
  g_array_unref(setup->constants);
  g_array_unref(setup->curves);
  g_free(setup->name);
  g_free(setup->idle_profile);
  g_free(setup);
}
