/**
 * @file fat_tree.c
 * @brief Leaves, spines and cores: a folded Clos network of three tiers.
 *
 * Leaves stand in pods. A leaf of m nodes with k NICs of rate B has uplinks to the spines
 * of its pod of m k B / oversubscription in all, each way; a pod of p leaves has p times
 * that / pod_oversubscription to the cores. Ideal multipath spreads every flow over all of
 * them, so that each tier is one link per leaf or pod. Hashed multipath (ECMP) pins a flow
 * to one spine and one core: spine s of every pod meets the same cores.
 *
 * "radix" r stands for the tree of identical r-port switches: r pods of r/2 leaves with r/2
 * NICs, r/2 spines a pod, (r/2)^2 cores, r^3/4 NICs in all.
 *
 * Source: M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity data center network
 * architecture", SIGCOMM 2008; C. Hopps, RFC 2992 (ECMP).
 */
#include "models/network/hop.h"
#include "models/network/size.h"
#include "models/topology.h"

typedef enum { ECMP_IDEAL, ECMP_HASHED } Ecmp;

static const char *const ecmp_names[] = { "ideal", "hashed", NULL };

typedef struct {
  guint radix;
  guint nodes_per_leaf;
  guint leaves_per_pod;
  double oversubscription;
  double pod_oversubscription;
  guint ecmp; /* Ecmp */
  guint spines;
  guint cores;
  double latency_s;
} FatTreeParams;

// clang-format off
static const ParamSpec fat_tree_params[] = {
  { .key = "radix", .type = PARAM_COUNT, .offset = offsetof(FatTreeParams, radix),
    .fallback = "0", .max = 4096,
    .help = "ports of each of its identical switches; 0: sizes are given one by one",
    .origin = "none unless given" },
  { .key = "nodes_per_leaf", .type = PARAM_COUNT,
    .offset = offsetof(FatTreeParams, nodes_per_leaf), .fallback = "0", .max = 65536,
    .help = "nodes on one leaf switch", .origin = "what radix says" },
  { .key = "leaves_per_pod", .type = PARAM_COUNT,
    .offset = offsetof(FatTreeParams, leaves_per_pod), .fallback = "0", .max = 65536,
    .help = "leaf switches in one pod", .origin = "what radix says" },
  { .key = "oversubscription", .type = PARAM_NUMBER,
    .offset = offsetof(FatTreeParams, oversubscription), .fallback = "1", .min = 0.01,
    .max = 1000, .help = "what the NICs of a full leaf carry, over what its uplinks do",
    .origin = "non-blocking" },
  { .key = "pod_oversubscription", .type = PARAM_NUMBER,
    .offset = offsetof(FatTreeParams, pod_oversubscription), .fallback = "1", .min = 0.01,
    .max = 1000, .help = "what the uplinks of a pod's leaves carry, over what the pod's do",
    .origin = "non-blocking" },
  { .key = "ecmp", .type = PARAM_NAME, .offset = offsetof(FatTreeParams, ecmp),
    .names = ecmp_names, .fallback = "ideal",
    .help = "ideal: flows use all uplinks; hashed: each is pinned to a spine and a core",
    .origin = "assumed: adaptive routing or many small flows" },
  { .key = "spines", .type = PARAM_COUNT, .offset = offsetof(FatTreeParams, spines),
    .fallback = "0", .max = 1024,
    .help = "spines of a pod, and so uplinks of a leaf; needed with hashed ecmp only",
    .origin = "what radix says" },
  { .key = "cores", .type = PARAM_COUNT, .offset = offsetof(FatTreeParams, cores),
    .fallback = "0", .max = 1024,
    .help = "cores above each spine, its uplinks; needed with hashed ecmp only",
    .origin = "what radix says" },
  HOP_LATENCY_PARAM(FatTreeParams, latency_s),
  PARAM_END,
};
// clang-format on

/* Uplink s of leaf l is link first_leaf + 2 (l n_spines + s); uplink c of spine s of pod p
 * is first_core + 2 ((p n_spines + s) n_cores + c); the downlink is always the next. */
typedef struct {
  guint nodes_per_leaf, nodes_per_pod;
  guint n_leaves, n_pods;
  guint n_spines; /* that a path may choose from */
  guint n_cores;  /* over each of them */
  guint32 first_leaf, first_core;
} FatTree;

static bool has_sizes(const FatTreeParams *params, GError **error)
{
  const bool by_size = params->nodes_per_leaf > 0 && params->leaves_per_pod > 0;
  const bool has_paths = params->spines > 0 && params->cores > 0;

  if (params->radix > 0 && (params->nodes_per_leaf > 0 || params->leaves_per_pod > 0 ||
                            params->spines > 0 || params->cores > 0))
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "\"radix\" says all sizes: give no nodes_per_leaf, leaves_per_pod, spines "
                "or cores beside it");
  else if (params->radix % 2 != 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "switches of %u ports cannot have half of them up: \"radix\" must be even",
                params->radix);
  else if (params->radix == 0 && !by_size)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "give either \"radix\", or \"nodes_per_leaf\" and \"leaves_per_pod\"");
  else if (params->radix == 0 && params->ecmp == ECMP_HASHED && !has_paths)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "hashed ecmp needs to know how many \"spines\" and \"cores\" there are");
  else
    return true;
  return false;
}

/* The tree of identical switches. */
static bool resolve_radix(const FatTreeParams *params, const NetworkPorts *ports,
                          FatTree *tree, GError **error)
{
  const guint half = params->radix / 2;
  const guint64 n_nodes = (guint64)half * half * params->radix / ports->nics_per_node;

  if (half % ports->nics_per_node != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "leaves of radix %u have %u ports for NICs, which nodes of %u NICs do not "
                "fill",
                params->radix, half, ports->nics_per_node);
    return false;
  }
  if (ports->n_nodes > n_nodes) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "radix %u holds %" G_GUINT64_FORMAT " nodes of %u NICs, the cluster has %u",
                params->radix, n_nodes, ports->nics_per_node, ports->n_nodes);
    return false;
  }
  tree->nodes_per_leaf = half / ports->nics_per_node;
  tree->nodes_per_pod = half * tree->nodes_per_leaf;
  tree->n_spines = tree->n_cores = half;
  return true;
}

/* Sizes of the tree, from radix or as given. */
static bool resolve(const FatTreeParams *params, const NetworkPorts *ports, FatTree *tree,
                    GError **error)
{
  const guint64 nodes_per_pod = (guint64)params->nodes_per_leaf * params->leaves_per_pod;

  *tree = (FatTree){ .nodes_per_leaf = params->nodes_per_leaf,
                     .nodes_per_pod = (guint)MIN(nodes_per_pod, G_MAXUINT),
                     .n_spines = params->spines,
                     .n_cores = params->cores };
  if (!has_sizes(params, error) ||
      (params->radix > 0 && !resolve_radix(params, ports, tree, error)))
    return false;
  if (params->ecmp == ECMP_IDEAL)
    tree->n_spines = tree->n_cores = 1;
  tree->n_leaves = (ports->n_nodes - 1) / tree->nodes_per_leaf + 1;
  tree->n_pods = (ports->n_nodes - 1) / tree->nodes_per_pod + 1;
  const guint64 n_uplinks = tree->n_leaves + (guint64)tree->n_pods * tree->n_cores;
  return network_links_fit(2 * n_uplinks * tree->n_spines, error);
}

static bool fat_tree_check(const void *params, const NetworkPorts *ports, GError **error)
{
  FatTree tree;
  return resolve(params, ports, &tree, error);
}

static void add_links(GArray *links, guint n_pairs, const Link *link)
{
  for (guint i = 0; i < 2 * n_pairs; i++)
    g_array_append_vals(links, link, 1);
}

static void *fat_tree_build(const void *data, const NetworkPorts *ports, GArray *links,
                            GError **error)
{
  const FatTreeParams *params = data;
  FatTree tree;

  if (!resolve(params, ports, &tree, error))
    return NULL;
  const double leaf_Bps = (double)tree.nodes_per_leaf * ports->nics_per_node *
                          ports->nic_Bps / params->oversubscription;
  const double leaves_per_pod = (double)tree.nodes_per_pod / tree.nodes_per_leaf;
  const Link leaf = { TIER_LEAF_UPLINK, leaf_Bps / tree.n_spines, params->latency_s };
  const Link core = { TIER_CORE_UPLINK,
                      leaves_per_pod * leaf_Bps / params->pod_oversubscription /
                        tree.n_spines / tree.n_cores,
                      params->latency_s };

  tree.first_leaf = links->len;
  add_links(links, tree.n_leaves > 1 ? tree.n_leaves * tree.n_spines : 0, &leaf);
  tree.first_core = links->len;
  add_links(links, tree.n_pods > 1 ? tree.n_pods * tree.n_spines * tree.n_cores : 0, &core);
  return g_memdup2(&tree, sizeof tree);
}

static void fat_tree_route(const void *state, guint src_node, guint src_nic G_GNUC_UNUSED,
                           guint dst_node, guint dst_nic G_GNUC_UNUSED, guint64 hash,
                           GArray *path)
{
  const FatTree *tree = state;
  const guint src_leaf = src_node / tree->nodes_per_leaf,
              dst_leaf = dst_node / tree->nodes_per_leaf;
  const guint src_pod = src_node / tree->nodes_per_pod,
              dst_pod = dst_node / tree->nodes_per_pod;
  const guint spine = (guint)(hash % tree->n_spines);
  const guint core = (guint)(hash / tree->n_spines % tree->n_cores);

  if (src_leaf == dst_leaf)
    return;
  const guint32 up = tree->first_leaf + 2 * (src_leaf * tree->n_spines + spine);
  const guint32 down = tree->first_leaf + 2 * (dst_leaf * tree->n_spines + spine) + 1;
  g_array_append_val(path, up);
  if (src_pod != dst_pod) {
    const guint32 first = tree->first_core + 2 * (spine * tree->n_cores + core);
    const guint32 per_pod = 2 * tree->n_spines * tree->n_cores;
    const guint32 pod_up = first + per_pod * src_pod,
                  pod_down = first + per_pod * dst_pod + 1;
    g_array_append_val(path, pod_up);
    g_array_append_val(path, pod_down);
  }
  g_array_append_val(path, down);
}

static double fat_tree_port_latency_s(const void *data)
{
  const FatTreeParams *params = data;
  return hop_port_latency_s(params->latency_s);
}

const NetworkOps network_fat_tree = {
  .info = {
    .name = "fat_tree",
    .summary = "leaves, spines and cores in pods, from switch radix or by sizes",
    .source = "Al-Fares, Loukissas & Vahdat, SIGCOMM 2008; RFC 2992",
    .params = fat_tree_params,
    .params_size = sizeof(FatTreeParams),
  },
  .check = fat_tree_check,
  .build = fat_tree_build,
  .free = g_free,
  .route = fat_tree_route,
  .port_latency_s = fat_tree_port_latency_s,
};
