#include "models/cluster.h"

#include "models/fabric.h"
#include "models/network.h"
#include "models/topology.h"
#include "models/transport.h"

const ParamSpec node_params[] = {
  { .key = "name",
    .type = PARAM_TEXT,
    .offset = offsetof(NodeSpec, name),
    .fallback = "own",
    .help = "what the node is called",
    .origin = "not in the catalogue" },
  { .key = "gpus",
    .type = PARAM_COUNT,
    .offset = offsetof(NodeSpec, n_gpus),
    .min = 1,
    .max = 1024,
    .help = "GPUs in a node" },
  { .key = "nics",
    .type = PARAM_COUNT,
    .offset = offsetof(NodeSpec, n_nics),
    .fallback = "0",
    .max = 64,
    .help = "network cards in a node that training uses",
    .origin = "none unless given" },
  { .key = "nic_rate",
    .type = PARAM_RATE,
    .offset = offsetof(NodeSpec, nic_rate_Bps),
    .fallback = "0",
    .max = 1e15,
    .help = "nominal rate of each card in each direction",
    .origin = "none unless given" },
  { .key = "source",
    .type = PARAM_TEXT,
    .offset = offsetof(NodeSpec, source),
    .fallback = "the scenario",
    .help = "where these figures come from",
    .origin = "not in the catalogue" },
  PARAM_END,
};

const ParamSpec nic_params[] = {
  { .key = "count",
    .type = PARAM_COUNT,
    .offset = offsetof(NodeSpec, n_nics),
    .fallback = "0",
    .max = 64,
    .help = "network cards in a node, instead of the node's own \"nics\"",
    .origin = "the node's own" },
  { .key = "rate",
    .type = PARAM_RATE,
    .offset = offsetof(NodeSpec, nic_rate_Bps),
    .help = "nominal rate of each card in each direction, instead of \"nic_rate\"" },
  PARAM_END,
};

/* Slower nodes are not slow but broken. */
#define MAX_SLOWDOWN 1000

static const ParamSpec straggler_params[] = {
  { .key = "node",
    .type = PARAM_COUNT,
    .offset = offsetof(StragglerSpec, node),
    .help = "its number; the first node is 0" },
  { .key = "slowdown",
    .type = PARAM_NUMBER,
    .offset = offsetof(StragglerSpec, slowdown),
    .min = 1,
    .max = MAX_SLOWDOWN,
    .help = "its GPUs compute so many times longer" },
  PARAM_END,
};

static const ParamSpec random_straggler_params[] = {
  { .key = "share",
    .type = PARAM_FRACTION,
    .offset = offsetof(RandomStragglers, share),
    .help = "chance of every node to be one" },
  { .key = "slowdown",
    .type = PARAM_NUMBER,
    .offset = offsetof(RandomStragglers, slowdown),
    .min = 1,
    .max = MAX_SLOWDOWN,
    .help = "its GPUs compute so many times longer" },
  PARAM_END,
};

static const ParamSpec fault_params[] = {
  { .key = "link",
    .type = PARAM_NAME,
    .offset = offsetof(FaultSpec, link),
    .names = topology_tier_names,
    .help = "tier of links, as results name them" },
  { .key = "node",
    .type = PARAM_COUNT,
    .offset = offsetof(FaultSpec, node),
    .fallback = "",
    .help = "node whose nic, nvlink, pcie or host links are meant; the first is 0" },
  { .key = "index",
    .type = PARAM_COUNT,
    .offset = offsetof(FaultSpec, index),
    .fallback = "",
    .help = "which: a NIC of the node, an uplink (leaf x uplinks of a leaf + uplink), both "
            "ways, or a link of another tier; all unless given" },
  { .key = "capacity",
    .type = PARAM_FRACTION,
    .offset = offsetof(FaultSpec, capacity),
    .help = "share that is left; 0: failed, and other ways are taken" },
  PARAM_END,
};

static const ParamSpec other_job_params[] = {
  { .key = "nodes",
    .type = PARAM_COUNT,
    .offset = offsetof(OtherJob, n_nodes),
    .min = 2,
    .max = 65536,
    .help = "machines of the job" },
  { .key = "first_node",
    .type = PARAM_COUNT,
    .offset = offsetof(OtherJob, first_node),
    .fallback = "",
    .help =
      "it runs on nodes of the cluster, this and those behind it; else on machines of "
      "its own behind all others, with the first nodes' NICs" },
  { .key = "bytes",
    .type = PARAM_BYTES,
    .offset = offsetof(OtherJob, size_B),
    .min = 1,
    .max = 0x1p50,
    .help = "message that they sum over a ring of hosts" },
  { .key = "from",
    .type = PARAM_SECONDS,
    .offset = offsetof(OtherJob, from_s),
    .fallback = "0 s",
    .max = 1e6,
    .help = "time from the begin of training to its first exchange",
    .origin = "it is there from the begin" },
  { .key = "every",
    .type = PARAM_SECONDS,
    .offset = offsetof(OtherJob, every_s),
    .min = 1e-4,
    .max = 1e6,
    .help = "time from one exchange to the next, or longer if one takes longer" },
  PARAM_END,
};

const ParamSpec cluster_params[] = {
  { .key = "nodes",
    .type = PARAM_COUNT,
    .offset = offsetof(ClusterSpec, n_nodes),
    .min = 1,
    .max = G_MAXUINT,
    .help = "how many nodes there are" },
  { .key = "faults",
    .type = PARAM_LIST,
    .offset = offsetof(ClusterSpec, faults),
    .fallback = "",
    .item = fault_params,
    .item_size = sizeof(FaultSpec),
    .help = "links that are slow or have failed",
    .origin = "none unless given" },
  { .key = "other_jobs",
    .type = PARAM_LIST,
    .offset = offsetof(ClusterSpec, other_jobs),
    .fallback = "",
    .item = other_job_params,
    .item_size = sizeof(OtherJob),
    .help = "jobs that exchange over the same network",
    .origin = "none unless given" },
  { .key = "stragglers",
    .type = PARAM_LIST,
    .offset = offsetof(ClusterSpec, stragglers),
    .fallback = "",
    .item = straggler_params,
    .item_size = sizeof(StragglerSpec),
    .help = "nodes whose GPUs are slow",
    .origin = "none unless given" },
  { .key = "random_stragglers",
    .type = PARAM_LIST,
    .offset = offsetof(ClusterSpec, random_stragglers),
    .fallback = "",
    .item = random_straggler_params,
    .item_size = sizeof(RandomStragglers),
    .help = "the same of nodes that are drawn with the seed, anew for every replica",
    .origin = "none unless given" },
  PARAM_END,
};

const ParamSpec other_node_params[] = {
  { .key = "nodes",
    .type = PARAM_COUNT,
    .offset = offsetof(ClusterSpec, n_nodes),
    .min = 1,
    .max = G_MAXUINT,
    .help = "how many nodes of this kind there are" },
  PARAM_END,
};

void gpu_clear(GpuSpec *gpu)
{
  param_clear(gpu_params, gpu);
}

static void module_clear(const ModuleInfo *info, void **params)
{
  if (*params != NULL)
    param_clear(info->params, *params);
  g_clear_pointer(params, g_free);
}

void node_clear(NodeSpec *node)
{
  gpu_clear(&node->gpu);
  if (node->fabric != NULL)
    module_clear(&node->fabric->info, &node->fabric_params);
  param_clear(node_params, node);
}

void cluster_clear(ClusterSpec *cluster)
{
  param_clear(cluster_params, cluster);
  node_clear(&cluster->node);
  for (guint i = 0; cluster->others != NULL && i < cluster->others->len; i++)
    node_clear(&g_array_index(cluster->others, NodeGroup, i).node);
  g_clear_pointer(&cluster->others, g_array_unref);
  if (cluster->network != NULL && cluster->network->clear != NULL &&
      cluster->network_params != NULL)
    cluster->network->clear(cluster->network_params);
  if (cluster->network != NULL)
    module_clear(&cluster->network->info, &cluster->network_params);
  if (cluster->transport != NULL)
    module_clear(&cluster->transport->info, &cluster->transport_params);
}

guint cluster_n_kinds(const ClusterSpec *cluster)
{
  return cluster->others == NULL ? 1 : 1 + cluster->others->len;
}

const NodeSpec *cluster_kind(const ClusterSpec *cluster, guint kind)
{
  return kind == 0 ? &cluster->node
                   : &g_array_index(cluster->others, NodeGroup, kind - 1).node;
}

guint cluster_first_node(const ClusterSpec *cluster, guint kind)
{
  guint first = cluster->n_nodes;

  if (kind == 0)
    return 0;
  for (guint i = cluster_n_kinds(cluster) - 1; i >= kind; i--)
    first -= g_array_index(cluster->others, NodeGroup, i - 1).n_nodes;
  return first;
}

const GpuSpec *cluster_slowest_gpu(const ClusterSpec *cluster)
{
  const GpuSpec *slowest = &cluster->node.gpu;

  for (guint kind = 1; kind < cluster_n_kinds(cluster); kind++)
    if (cluster_kind(cluster, kind)->gpu.memory_Bps < slowest->memory_Bps)
      slowest = &cluster_kind(cluster, kind)->gpu;
  return slowest;
}
