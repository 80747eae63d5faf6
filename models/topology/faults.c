/* Links that are slow or have failed, and whether every node still reaches the others. */
#include "models/topology/whole.h"

/* Links that carry less of their rate are as good as failed, which 0 says. */
#define LEAST_CAPACITY 1e-6

/* Larger networks take too long to be walked from every node to every other. */
#define MAX_NODES_OF_FAILED_NETWORK 2048

/* What is left of a failed link: nothing crosses it, but capacities are above 0. */
static const double failed_Bps = 1e-3;

typedef struct {
  guint32 first, end; /* where to look */
  guint step;         /* links of one cable */
} Place;

/* Where links of a tier are, and how many belong together. */
static Place place_of(const Topology *topology, const FaultSpec *fault)
{
  const guint n_links = topology->links->len;
  const guint32 sums = topology->first_sum > 0 ? topology->first_sum : n_links;
  Place place = { .first = topology_first_cable(topology, topology->n_machines),
                  .end = sums,
                  .step = 1 };

  switch ((Tier)fault->link) {
  case TIER_NIC:
    place.first = topology_first_cable(topology, fault->node);
    place.end = topology_first_cable(topology, fault->node + 1);
    place.step = 2;
    break;
  case TIER_NVLINK:
  case TIER_PCIE:
  case TIER_HOST: {
    const NodeGraph *graph = topology_drawn(topology, fault->node, &place.first);
    place.end = place.first + node_graph_n_links(graph);
    break;
  }
  case TIER_LEAF_UPLINK:
  case TIER_CORE_UPLINK:
    place.step = 2;
    break;
  default:
    break;
  }
  return place;
}

static bool is_of_node(guint tier)
{
  return tier == TIER_NIC || tier == TIER_NVLINK || tier == TIER_PCIE || tier == TIER_HOST;
}

static bool check_keys(const Topology *topology, const FaultSpec *fault, GError **error)
{
  const char *tier = topology_tier_names[fault->link];

  if (fault->link == TIER_SERVER)
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE,
                        "a server's CPUs are no link; the strategy says what they sum");
  else if (is_of_node(fault->link) && fault->node == FAULT_ANY)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "missing \"node\": the number of the node whose %s links are meant", tier);
  else if (is_of_node(fault->link) && fault->node >= topology->n_nodes)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "there is no node %u: %u nodes are numbered from 0 to %u", fault->node,
                topology->n_nodes, topology->n_nodes - 1);
  else if (!is_of_node(fault->link) && fault->node != FAULT_ANY)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%s links belong to no node: \"index\" tells which is meant", tier);
  else
    return true;
  return false;
}

/* The links that @p fault means; NULL with an error if there are none. */
static GArray *links_of(const Topology *topology, const FaultSpec *fault, GError **error)
{
  const Place place = place_of(topology, fault);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  guint n = 0;

  for (guint32 link = place.first; link < place.end; link++) {
    if (topology_links(topology)[link].tier != fault->link)
      continue;
    if (fault->index == FAULT_ANY || n / place.step == fault->index)
      g_array_append_val(links, link);
    n++;
  }
  if (links->len > 0)
    return g_steal_pointer(&links);
  if (n == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "there are no %s links here",
                topology_tier_names[fault->link]);
  else
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "there is no %s link %u: they are numbered from 0 to %u",
                topology_tier_names[fault->link], fault->index, n / place.step - 1);
  return NULL;
}

/* Ways inside a node have no alternative. */
static bool reaches_inside(const Topology *topology, guint node, GError **error)
{
  const guint g = topology_gpus_per_node(topology);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint src = node * g; src < (node + 1) * g; src++) {
    for (guint dst = node * g; dst < (node + 1) * g; dst++) {
      g_array_set_size(links, 0);
      if (topology_find_route(topology, src, dst, 0, 0, links))
        continue;
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "GPUs %u and %u of node %u have no other way to one another", src % g,
                  dst % g, node);
      return false;
    }
  }
  return true;
}

/* From the GPUs of a node, and from its memory, to another machine and back. */
static bool reaches(const Topology *topology, guint node, guint other, guint n_gpus,
                    GError **error)
{
  const guint g = topology_gpus_per_node(topology);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  bool found = topology_find_host_route(topology, node, other, 0, 0, links) &&
               topology_find_host_route(topology, other, node, 0, 0, links);

  for (guint gpu = 0; found && MAX(node, other) < topology->n_nodes && gpu < n_gpus; gpu++)
    found = topology_find_route(topology, node * g + gpu, other * g + gpu, 0, 0, links) &&
            topology_find_route(topology, other * g + gpu, node * g + gpu, 0, 0, links);
  if (!found)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "no way is left between node %u and node %u, over no NIC and no path of "
                "hashed multipath; a capacity above 0 slows a link down",
                node, other);
  return found;
}

static bool reaches_all(const Topology *topology, GError **error)
{
  const guint n = topology->n_machines;

  if (n > MAX_NODES_OF_FAILED_NETWORK) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "links between switches can fail in networks of up to %u nodes",
                MAX_NODES_OF_FAILED_NETWORK);
    return false;
  }
  for (guint node = 0; node < n; node++)
    for (guint other = 0; other < node; other++)
      if (!reaches(topology, node, other, 1, error))
        return false;
  return true;
}

static bool check_ways(const Topology *topology, const FaultSpec *fault, GError **error)
{
  const guint n = topology->n_machines;

  if (!is_of_node(fault->link))
    return reaches_all(topology, error);
  return reaches_inside(topology, fault->node, error) &&
         (n == 1 || reaches(topology, fault->node, (fault->node + 1) % n,
                            topology_gpus_per_node(topology), error));
}

static bool check_capacity(const FaultSpec *fault, GError **error)
{
  if (fault->capacity == 0 || fault->capacity >= LEAST_CAPACITY)
    return true;
  g_set_error(
    error, SIM_ERROR, SIM_ERROR_VALUE,
    "capacity: %g is next to nothing: write 0 for a link that failed, or at least %g",
    fault->capacity, LEAST_CAPACITY);
  return false;
}

static bool apply(Topology *topology, const FaultSpec *fault, GError **error)
{
  if (!check_keys(topology, fault, error) || !check_capacity(fault, error))
    return false;
  g_autoptr(GArray) links = links_of(topology, fault, error);
  if (links == NULL)
    return false;
  if (fault->capacity == 0 && topology->failed == NULL)
    topology->failed = g_new0(bool, topology->links->len);
  for (guint i = 0; i < links->len; i++) {
    const guint32 number = g_array_index(links, guint32, i);
    Link *link = &g_array_index(topology->links, Link, number);
    link->capacity_Bps =
      fault->capacity > 0 ? fault->capacity * link->capacity_Bps : failed_Bps;
    if (fault->capacity == 0)
      topology->failed[number] = true;
  }
  return fault->capacity > 0 || check_ways(topology, fault, error);
}

bool topology_break(Topology *topology, const ClusterSpec *cluster, guint *which,
                    GError **error)
{
  for (guint i = 0; cluster->faults != NULL && i < cluster->faults->len; i++) {
    *which = i;
    if (!apply(topology, &g_array_index(cluster->faults, FaultSpec, i), error))
      return false;
  }
  return true;
}

bool topology_check_faults(const ClusterSpec *cluster, guint *which, GError **error)
{
  ClusterSpec sound = *cluster;

  if (cluster->faults == NULL || cluster->faults->len == 0)
    return true;
  sound.faults = NULL;
  g_autoptr(Topology) topology = topology_new(&sound, error);
  return topology != NULL && topology_break(topology, cluster, which, error);
}
