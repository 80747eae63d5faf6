#include "models/crew.h"
#include "models/fabric.h"
#include "models/network.h"
#include "models/topology.h"
#include "models/traffic.h"
#include "models/transport.h"
#include "sim/scenario/bind.h"

static const char *const described[] = { "name", "source", "base", NULL };
static const char *const node_parts[] = { "gpu", "fabric", "base", NULL };
static const char *const gpu_parts[] = { "base", NULL };
static const char *const cluster_parts[] = { "node",      "network",     "nic",
                                             "transport", "other_nodes", NULL };
static const char *const other_node_parts[] = { "node", "nic", NULL };

static const ModuleChoice fabric_choice = { "fabric", "kind", fabric_table, NULL, NULL };
static const ModuleChoice network_choice = { "network topology", "topology", network_table,
                                             "switch", described };
static const ModuleChoice transport_choice = { "transport", "kind", transport_table, "rdma",
                                               NULL };

/* The object of the catalogue entry, or of the object, at @p key. */
static Section named_section(Binder *binder, const Section *parent, const char *key,
                             const char *kind, char **path)
{
  cJSON *item = bind_member(parent, key);
  const char *dot = *parent->path == '\0' ? "" : ".";

  *path = g_strconcat(parent->path, dot, key, NULL);
  cJSON *object = item == NULL ? NULL : bind_catalogue(binder, kind, *path, item);
  return (Section){ *path, object, object == NULL ? parent->place : object };
}

/* A node may also be described by a file of another program. */
static Section node_section(Binder *binder, const Section *cluster, char **path)
{
  cJSON *item = bind_member(cluster, "node");

  if (!cJSON_IsObject(item) || cJSON_GetObjectItemCaseSensitive(item, "file") == NULL)
    return named_section(binder, cluster, "node", "node", path);
  *path = g_strconcat(cluster->path, ".node", NULL);
  cJSON *object = bind_import_node(binder, *path, item);
  return (Section){ *path, object, object == NULL ? cluster->place : object };
}

static void blame_missing_entry(const Binder *binder, const Section *parent,
                                const char *key, const char *example)
{
  if (bind_member(parent, key) != NULL)
    return; /* there, but wrong: already said */
  g_autofree char *cause = g_strdup_printf(
    "missing: a name from the catalogue, such as \"%s\", or an object", example);
  bind_blame(binder, parent, key, NULL, cause);
}

static void bind_gpu(Binder *binder, const Section *node, GpuSpec *gpu)
{
  g_autofree char *path = NULL;
  const Section section = named_section(binder, node, "gpu", "gpu", &path);
  g_autoptr(GError) error = NULL;

  if (section.object == NULL) {
    blame_missing_entry(binder, node, "gpu", "a100_sxm4_80gb");
    return;
  }
  effective_open(binder->effective, "gpu");
  param_set_defaults(gpu_params, gpu);
  bind_params(binder, &section, gpu_params, gpu);
  bind_check_keys(binder, &section, gpu_params, gpu_parts);
  if (problems_count(binder->problems) == 0 && !gpu_check(gpu, &error))
    bind_blame(binder, &section, "", NULL, error->message);
  effective_close(binder->effective);
}

static void check_fabric(const Binder *binder, const Section *section, const NodeSpec *node)
{
  g_autoptr(NodeGraph) graph = NULL;
  g_autoptr(GError) error = NULL;

  if (problems_count(binder->problems) > 0)
    return; /* it may not be safe to draw */
  graph = node_graph_new(node->n_gpus, node->n_nics);
  if (!node->fabric->build(node->fabric_params, node, graph, &error))
    bind_blame(binder, section, "", NULL, error->message);
}

/* The rate of its NICs is told as "cluster.nic.rate", which may override it. */
static void bind_node_keys(const Binder *binder, const Section *section, NodeSpec *node)
{
  Binder quiet = *binder;

  quiet.constants = NULL;
  bind_params(&quiet, section, node_params, node);
}

/* Returns the node's object, whose NICs the cluster may override. */
static Section bind_node(Binder *binder, const Section *cluster, NodeSpec *node,
                         char **path)
{
  const Section section = node_section(binder, cluster, path);
  g_autofree char *fabric_path = NULL;

  if (section.object == NULL) {
    blame_missing_entry(binder, cluster, "node", "dgx_a100");
    return section;
  }
  effective_open(binder->effective, "node");
  param_set_defaults(node_params, node);
  bind_node_keys(binder, &section, node);
  bind_gpu(binder, &section, &node->gpu);
  effective_open(binder->effective, "fabric");
  const Section fabric =
    bind_section(binder, &section, "fabric", &fabric_choice, &fabric_path);
  node->fabric =
    (const FabricOps *)bind_module(binder, &fabric, &fabric_choice, &node->fabric_params);
  effective_close(binder->effective);
  bind_check_keys(binder, &section, node_params, node_parts);
  effective_close(binder->effective);
  return section;
}

/* "cluster.nic" speaks for the node's own NICs. */
static void bind_nic(Binder *binder, const Section *cluster, const Section *node,
                     NodeSpec *spec)
{
  g_autofree char *path = NULL;
  const Section section = bind_section(binder, cluster, "nic", NULL, &path);
  const cJSON *count = bind_member(&section, "count"),
              *rate = bind_member(&section, "rate");

  effective_open(binder->effective, "nic");
  if (count == NULL)
    count = bind_member(node, "nics");
  if (rate == NULL)
    rate = bind_member(node, "nic_rate");
  bind_value(binder, &section, param_find(nic_params, "count"), spec, count);
  if (spec->n_nics > 0)
    bind_value(binder, &section, param_find(nic_params, "rate"), spec, rate);
  bind_check_keys(binder, &section, nic_params, NULL);
  effective_close(binder->effective);
}

/* Kinds of nodes that collectives can treat alike. */
static void check_group(const Binder *binder, const Section *section,
                        const ClusterSpec *cluster, const NodeSpec *node)
{
  const NodeSpec *first = &cluster->node;

  if (problems_count(binder->problems) > 0)
    return;
  if (node->n_gpus != first->n_gpus || node->n_nics != first->n_nics) {
    g_autofree char *cause = g_strdup_printf(
      "a node has %u GPUs and %u NICs, the first nodes have %u and %u: collectives need as "
      "many in every node; give \"node\": {\"base\": ..., \"gpus\": %u} and \"nic\": "
      "{\"count\": %u}",
      node->n_gpus, node->n_nics, first->n_gpus, first->n_nics, first->n_gpus,
      first->n_nics);
    bind_blame(binder, section, "node", bind_member(section, "node"), cause);
  }
}

static void bind_node_group(Binder *binder, const Section *section, ClusterSpec *cluster)
{
  g_autofree char *path = NULL;
  ClusterSpec part = { 0 };
  NodeGroup group = { 0 };

  bind_params(binder, section, other_node_params, &part);
  group.n_nodes = part.n_nodes;
  const Section node = bind_node(binder, section, &group.node, &path);
  bind_nic(binder, section, &node, &group.node);
  bind_check_keys(binder, section, other_node_params, other_node_parts);
  check_fabric(binder, &node, &group.node);
  check_group(binder, section, cluster, &group.node);
  g_array_append_val(cluster->others, group);
  cluster->n_nodes = (guint)MIN((guint64)cluster->n_nodes + group.n_nodes, G_MAXUINT);
}

/* Other kinds of nodes; `show` prints them as they are given. */
static void bind_other_nodes(Binder *binder, const Section *cluster, ClusterSpec *spec)
{
  cJSON *list = bind_member(cluster, "other_nodes"), *element = NULL;
  g_autoptr(Effective) unseen = effective_new();
  Binder part_binder = *binder;

  spec->others = g_array_new(FALSE, TRUE, sizeof(NodeGroup));
  if (list == NULL)
    return;
  if (!cJSON_IsArray(list)) {
    bind_blame(binder, cluster, "other_nodes", list,
               "expected a list of objects, such as [{\"nodes\": 4, \"node\": "
               "\"dgx1_v100\"}]");
    return;
  }
  bind_note(binder, "other_nodes", list);
  part_binder.effective = unseen;
  cJSON_ArrayForEach(element, list)
  {
    g_autofree char *path =
      g_strdup_printf("%s.other_nodes[%u]", cluster->path, spec->others->len);
    const Section part = { path, element, element };
    if (cJSON_IsObject(element))
      bind_node_group(&part_binder, &part, spec);
    else
      bind_blame(binder, &part, "", element, "expected an object: { ... }");
  }
}

static Section bind_network(Binder *binder, const Section *cluster, ClusterSpec *spec,
                            char **path)
{
  const Section section = named_section(binder, cluster, "network", "network", path);

  if (section.object == NULL && bind_member(cluster, "network") != NULL)
    return section;
  bind_import_anchor(binder, &section);
  effective_open(binder->effective, "network");
  spec->network = (const NetworkOps *)bind_module(binder, &section, &network_choice,
                                                  &spec->network_params);
  effective_close(binder->effective);
  if (spec->network == &network_graph)
    bind_import_network(binder, &section, spec->network_params);
  return section;
}

/* Does the network hold the nodes? */
static void check_network(const Binder *binder, const Section *section,
                          const ClusterSpec *cluster)
{
  g_autoptr(GError) error = NULL;

  if (problems_count(binder->problems) > 0 || cluster->n_nodes == 1 ||
      cluster->network->check == NULL)
    return;
  const NodeSpec *node = &cluster->node;
  const TransportLink link = { .nic_rate_Bps = node->nic_rate_Bps };
  const TransportEffect effect =
    cluster->transport->apply(cluster->transport_params, &link);
  const NetworkPorts ports = {
    .n_nodes = cluster->n_nodes,
    .nics_per_node = node->n_nics,
    .nic_Bps = node->nic_rate_Bps * effect.goodput,
    .goodput = effect.goodput,
  };
  if (!cluster->network->check(cluster->network_params, &ports, &error))
    bind_blame(binder, section, "", NULL, error->message);
}

static void bind_transport(Binder *binder, const Section *cluster, ClusterSpec *spec)
{
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;
  const Section section =
    bind_section(binder, cluster, "transport", &transport_choice, &path);

  effective_open(binder->effective, "transport");
  spec->transport = (const TransportOps *)bind_module(binder, &section, &transport_choice,
                                                      &spec->transport_params);
  effective_close(binder->effective);
  if (spec->transport != NULL && spec->transport->check != NULL &&
      !spec->transport->check(spec->transport_params, &error))
    bind_blame(binder, &section, "", NULL, error->message);
}

/* 1000000000 as "1,000,000,000" */
static char *grouped(guint64 number)
{
  g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, number);
  g_autoptr(GString) out = g_string_new(digits);

  for (gssize at = (gssize)out->len - 3; at > 0; at -= 3)
    g_string_insert_c(out, at, ',');
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static void check_size(const Binder *binder, const Section *cluster,
                       const ClusterSpec *spec)
{
  const guint64 n_gpus = (guint64)spec->n_nodes * spec->node.n_gpus;
  g_autofree char *nodes = grouped(spec->n_nodes);
  g_autofree char *gpus = grouped(n_gpus);
  g_autofree char *most = grouped(CLUSTER_MAX_GPUS);

  if (n_gpus > CLUSTER_MAX_GPUS) {
    g_autofree char *cause =
      g_strdup_printf("%s nodes x %u GPUs are %s GPUs: at most %s can be simulated", nodes,
                      spec->node.n_gpus, gpus, most);
    bind_blame(binder, cluster, "nodes", bind_member(cluster, "nodes"), cause);
  } else if (spec->n_nodes > 1 && spec->node.fabric != NULL && spec->node.n_nics == 0) {
    g_autofree char *cause = g_strdup_printf(
      "%s nodes need a NIC each: add \"nic\": {\"count\": 1, \"rate\": \"100 Gbit/s\"}",
      nodes);
    bind_blame(binder, cluster, "nic", bind_member(cluster, "nic"), cause);
  }
}

static void check_stragglers(const Binder *binder, const Section *section,
                             const ClusterSpec *cluster)
{
  g_autoptr(GError) error = NULL;
  guint which = 0;

  if (problems_count(binder->problems) == 0 && !crews_check(cluster, &which, &error))
    bind_blame_element(binder, section, "stragglers", which, error->message);
}

static void check_faults(const Binder *binder, const Section *section,
                         const ClusterSpec *cluster)
{
  g_autoptr(GError) error = NULL;
  guint which = G_MAXUINT;

  if (problems_count(binder->problems) > 0 ||
      topology_check_faults(cluster, &which, &error))
    return;
  if (which == G_MAXUINT)
    bind_blame(binder, section, "", NULL, error->message);
  else
    bind_blame_element(binder, section, "faults", which, error->message);
}

static void check_jobs(const Binder *binder, const Section *section,
                       const ClusterSpec *cluster)
{
  g_autoptr(GError) error = NULL;
  guint which = 0;

  if (problems_count(binder->problems) == 0 && !traffic_check(cluster, &which, &error))
    bind_blame_element(binder, section, "other_jobs", which, error->message);
}

void bind_cluster(Binder *binder, const Section *root, ClusterSpec *cluster)
{
  g_autofree char *path = NULL, *node_path = NULL, *network_path = NULL;
  const Section section = bind_section(binder, root, "cluster", NULL, &path);

  if (section.object == NULL) {
    if (bind_member(root, "cluster") == NULL)
      bind_blame(binder, root, "cluster", NULL,
                 "missing: an object with at least \"nodes\" and \"node\"");
    return;
  }
  effective_open(binder->effective, "cluster");
  param_set_defaults(cluster_params, cluster);
  bind_params(binder, &section, cluster_params, cluster);
  const Section node = bind_node(binder, &section, &cluster->node, &node_path);
  bind_nic(binder, &section, &node, &cluster->node);
  bind_other_nodes(binder, &section, cluster);
  const Section network = bind_network(binder, &section, cluster, &network_path);
  bind_transport(binder, &section, cluster);
  bind_check_keys(binder, &section, cluster_params, cluster_parts);
  effective_close(binder->effective);
  check_size(binder, &section, cluster);
  check_fabric(binder, &node, &cluster->node);
  check_network(binder, &network, cluster);
  check_stragglers(binder, &section, cluster);
  check_faults(binder, &section, cluster);
  check_jobs(binder, &section, cluster);
}
