#include "sim/command/kinds.h"

#include "calibrate/backend.h"
#include "calibrate/import.h"
#include "models/collective.h"
#include "models/fabric.h"
#include "models/network.h"
#include "models/setup.h"
#include "models/transport.h"
#include "sim/output/output.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/describe.h"
#include "sim/scenario/describe_profile.h"
#include "sim/scenario/scenario.h"

#include <string.h>

/* The sections of a scenario whose keys belong to no module; their source is where to read
 * on. */
static const ModuleInfo sections[] = {
  { "cluster", "the cluster itself",
    "section:node, section:nic; of \"network\" topology:NAME, of \"transport\" "
    "transport:NAME; help lists the kinds",
    cluster_params, 0, NULL },
  { "nic", "network cards: \"cluster.nic\"", "", nic_params, 0, NULL },
  { "node", "a node: \"cluster.node\"", "section:gpu, fabric:NAME", node_params, 0, NULL },
  { "gpu", "a GPU: \"cluster.node.gpu\"", "", gpu_params, 0, NULL },
  { "groups", "ranks that `collective --group` takes together: \"groups\"", "",
    grouping_params, 0, NULL },
  { "workload", "what is trained", "section:compute, model:NAME", workload_params, 0,
    NULL },
  { "compute", "how fast one GPU is: \"workload.compute\"", "", compute_params, 0, NULL },
  { "compression", "which gradients a codec encodes",
    "section:compression_gpu (nodes_per_rack among others), section:compression_cpu, "
    "codec:NAME",
    compression_params, 0, NULL },
  { "compression_gpu", "where GPUs encode", "", compression_gpu_params, 0, NULL },
  { "compression_cpu", "where CPUs encode: BytePS", "", compression_cpu_params, 0, NULL },
  { "run", "how much is simulated", "", run_params, 0, NULL },
  { "memory", "what must fit into the GPUs", "", memory_params, 0, NULL },
  { "calibration", "where constants come from: a key of the scenario itself",
    "profile:NAME; `calibrate --help`", scenario_calibration_params, 0, NULL },
};

static const ModuleInfo *const section_table[] = {
  &sections[0],  &sections[1],  &sections[2],  &sections[3], &sections[4],
  &sections[5],  &sections[6],  &sections[7],  &sections[8], &sections[9],
  &sections[10], &sections[11], &sections[12], NULL,
};

const Kind kinds[] = {
  { "strategy", "how gradients are exchanged: \"strategy.name\"", strategy_table },
  { "library", "what runs collectives: \"library.name\"", library_table },
  { "codec", "how gradients are compressed: \"compression.codec\"", codec_table },
  { "collective", "algorithms that a library may run", coll_table },
  { "topology", "what connects nodes: \"cluster.network.topology\"", network_table },
  { "transport", "protocols between nodes: \"cluster.transport.kind\"", transport_table },
  { "fabric", "what connects the GPUs of a node: \"cluster.node.fabric.kind\"",
    fabric_table },
  { "network", "catalogue: \"cluster.network\"", NULL },
  { "node", "catalogue: \"cluster.node\"", NULL },
  { "gpu", "catalogue: \"cluster.node.gpu\"", NULL },
  { "model", "catalogue: \"workload.model\"", NULL },
  { "profile", "measured machines: \"calibration\"", NULL },
  { "writer", "formats of results: the suffix of \"-o PATH\"", output_table },
  { "backend", "what `calibrate` measures", backend_table },
  { "log", "files that `calibrate import` reads", importer_table },
  { "section", "parts of a scenario", section_table },
  { NULL, NULL, NULL },
};

const Kind *kinds_find(const char *name, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (const Kind *kind = kinds; kind->name != NULL; kind++) {
    if (strcmp(kind->name, name) == 0)
      return kind;
    g_ptr_array_add(names, (void *)kind->name);
  }
  g_ptr_array_add(names, NULL);
  g_autofree char *suggestion =
    registry_suggestion((const char *const *)names->pdata, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "unknown kind '%s'%s", name, suggestion);
  return NULL;
}

char **kinds_members(const Kind *kind)
{
  if (kind->table == NULL)
    return catalogue_names(kind->name);

  GPtrArray *names = g_ptr_array_new();
  for (const ModuleInfo *const *info = kind->table; *info != NULL; info++)
    g_ptr_array_add(names, g_strdup((*info)->name));
  g_ptr_array_add(names, NULL);
  return (char **)g_ptr_array_free(names, FALSE);
}

static const ModuleInfo *find_module(const Kind *kind, const char *member)
{
  for (const ModuleInfo *const *info = kind->table; *info != NULL; info++)
    if (strcmp((*info)->name, member) == 0)
      return *info;
  return NULL;
}

static bool is_profile(const Kind *kind)
{
  return strcmp(kind->name, "profile") == 0;
}

char *kinds_summary(const Kind *kind, const char *member)
{
  const ModuleInfo *info = kind->table == NULL ? NULL : find_module(kind, member);

  if (info != NULL)
    return g_strdup(info->summary);
  return is_profile(kind) ? describe_profile_summary(member)
                          : describe_summary(kind->name, member);
}

/* "a time, such as "3 us", at least 0; default 1 ms (horovod 0.28.1)" */
static void append_row(GString *out, const ParamSpec *spec)
{
  g_autofree char *names =
    spec->type == PARAM_NAME ? g_strjoinv(", ", (char **)spec->names) : NULL;
  g_autofree char *range = param_format_range(spec);

  g_string_append_printf(out, "  %s: %s\n      %s", spec->key, spec->help,
                         names == NULL ? param_type_example(spec->type) : names);
  if (range != NULL)
    g_string_append_printf(out, "; %s", range);
  if (spec->fallback == NULL)
    g_string_append(out, "; required\n");
  else if (*spec->fallback == '\0')
    g_string_append(out, "; none unless given\n");
  else
    g_string_append_printf(out, "; default %s (%s)\n", spec->fallback,
                           spec->origin == NULL ? "assumed" : spec->origin);
  for (const ParamSpec *item = spec->item; item != NULL && item->key != NULL; item++) {
    g_string_append(out, "    each:");
    append_row(out, item);
  }
}

static char *describe_module(const Kind *kind, const ModuleInfo *info)
{
  g_autoptr(GString) out = g_string_new(NULL);

  g_string_printf(out, "%s %s: %s\n", kind->name, info->name, info->summary);
  for (const ParamSpec *spec = info->params; spec != NULL && spec->key != NULL; spec++)
    append_row(out, spec);
  if (info->params == NULL)
    g_string_append(out, "  (no parameters)\n");
  if (info->note != NULL)
    g_string_append_printf(out, "  published, not simulated: %s\n", info->note);
  if (*info->source != '\0')
    g_string_append_printf(out, "  %s: %s\n",
                           kind->table == section_table ? "more" : "source", info->source);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

char *kinds_describe(const Kind *kind, const char *member, GError **error)
{
  const ModuleInfo *info = kind->table == NULL ? NULL : find_module(kind, member);
  char *text = info == NULL ? NULL : describe_module(kind, info);

  if (kind->table == NULL)
    text = is_profile(kind) ? describe_profile(member) : describe_entry(kind->name, member);
  if (text != NULL)
    return text;
  g_auto(GStrv) names = kinds_members(kind);
  g_autofree char *suggestion = registry_suggestion((const char *const *)names, member);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "unknown %s '%s'%s", kind->name, member,
              suggestion);
  return NULL;
}
