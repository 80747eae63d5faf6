#include "models/group_ports.h"

#include <math.h>

static bool is_whole(const Group *group, const Topology *topology)
{
  return group_min_local(group) == topology_gpus_per_node(topology);
}

/* ---- NICs -------------------------------------------------------------------------- */

/* Links from GPU @p local of a node to the same of the next through @p nic. */
static guint way_length(const Topology *topology, guint local, guint nic)
{
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  topology_route(topology, local, topology_gpus_per_node(topology) + local, nic, 0, links);
  return links->len;
}

/* near[local * n_nics + nic]: no other NIC is nearer to the GPU. */
static bool *find_near(const Topology *topology)
{
  const guint n_gpus = topology_gpus_per_node(topology);
  const guint n_nics = topology_nics_per_node(topology);
  bool *near = g_new(bool, (gsize)n_gpus *n_nics);

  for (guint local = 0; local < n_gpus; local++) {
    guint shortest = G_MAXUINT;
    for (guint nic = 0; nic < n_nics; nic++)
      shortest = MIN(shortest, way_length(topology, local, nic));
    for (guint nic = 0; nic < n_nics; nic++)
      near[local * n_nics + nic] = way_length(topology, local, nic) == shortest;
  }
  return near;
}

/* Mark the NICs that GPU @p local uses. */
static void use_nics(const Topology *topology, const bool *near, guint local, bool *used)
{
  const guint n_nics = topology_nics_per_node(topology);
  g_autofree guint *mine = g_new(guint, n_nics);
  guint n = 0, n_peers = 0, turn = 0;

  for (guint nic = 0; nic < n_nics; nic++)
    if (near[local * n_nics + nic])
      mine[n++] = nic;
  for (guint gpu = 0; gpu < topology_gpus_per_node(topology); gpu++)
    if (near[gpu * n_nics + mine[0]]) {
      turn += gpu < local;
      n_peers++;
    }
  const guint n_used = (n + n_peers - 1) / n_peers;
  for (guint i = 0; i < n_used; i++)
    used[mine[(turn * n_used + i) % n]] = true;
}

static void find_nics(const Group *group, const Topology *topology, GroupPorts *ports)
{
  const guint n_nics = topology_nics_per_node(topology);
  const guint n_gpus = topology_gpus_per_node(topology);
  g_autofree bool *near = find_near(topology);
  g_autofree bool *used = g_new0(bool, n_nics);
  g_autofree bool *seen = g_new0(bool, n_gpus);

  for (guint rank = 0; rank < group->n_ranks; rank++) {
    const guint local = group->gpus[rank] % n_gpus;
    if (!seen[local])
      use_nics(topology, near, local, used);
    seen[local] = true;
  }
  ports->nics = g_new(guint, n_nics);
  ports->n_rails = 0;
  for (guint nic = 0; nic < n_nics; nic++)
    if (used[nic])
      ports->nics[ports->n_rails++] = nic;
}

/* ---- inside nodes ------------------------------------------------------------------ */

/* Of the ports of @p rank towards the others of its node. */
static double ports_Bps(const Group *group, const Topology *topology, guint rank,
                        bool *counted)
{
  const guint first = group->first_rank[group->node[rank]];
  const guint end = group->first_rank[group->node[rank] + 1];
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  double sum_Bps = 0;

  for (guint other = first; other < end; other++) {
    g_array_set_size(links, 0);
    topology_route(topology, group->gpus[rank], group->gpus[other], 0, 0, links);
    const guint32 port = links->len == 0 ? 0 : g_array_index(links, guint32, 0);
    if (links->len == 0 || counted[port])
      continue;
    counted[port] = true; /* no other rank's routes begin with it */
    sum_Bps += topology_links(topology)[port].capacity_Bps;
  }
  return sum_Bps;
}

static double best_Bps(const Group *group, const Topology *topology)
{
  g_autofree bool *counted = g_new0(bool, topology_n_links(topology));
  double best_Bps = 0;

  for (guint rank = 0; rank < group->n_ranks; rank++)
    best_Bps = MAX(best_Bps, ports_Bps(group, topology, rank, counted));
  return best_Bps > 0 ? best_Bps : INFINITY;
}

/* Does the way from a rank to another of its node begin with NVLink? */
static bool begins_with_nvlink(const Group *group, const Topology *topology)
{
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint rank = 1; rank < group->n_ranks && links->len == 0; rank++)
    if (group_is_local(group, rank - 1, rank))
      topology_route(topology, group->gpus[rank - 1], group->gpus[rank], 0, 0, links);
  return links->len > 0 &&
         topology_links(topology)[g_array_index(links, guint32, 0)].tier == TIER_NVLINK;
}

GroupPorts group_ports_of(const Group *group, const Topology *topology)
{
  const bool whole = is_whole(group, topology);
  GroupPorts ports = {
    .n_rails = 1,
    .gpu_Bps = whole ? topology_gpu_Bps(topology) : best_Bps(group, topology),
    .nvlink = begins_with_nvlink(group, topology),
  };

  if (group->n_nodes > 1 && whole)
    ports.n_rails = topology_nics_per_node(topology);
  else if (group->n_nodes > 1)
    find_nics(group, topology, &ports);
  return ports;
}

void group_ports_clear(GroupPorts *ports)
{
  g_clear_pointer(&ports->nics, g_free);
}
