/* Ways through the cluster, round links that have failed. */
#include "models/network.h"
#include "models/topology/whole.h"
#include "sim/base/rng.h"

const Drawing *topology_drawing(const Topology *topology, guint kind)
{
  return &g_array_index(topology->kinds, Drawing, kind);
}

guint topology_n_kinds(const Topology *topology)
{
  return topology->kinds->len - 1;
}

const NodeGraph *topology_drawn(const Topology *topology, guint node, guint32 *first_link)
{
  guint kind = 0;

  while (node >= topology_drawing(topology, kind + 1)->first_node)
    kind++;
  const Drawing *drawing = topology_drawing(topology, kind);
  *first_link =
    drawing->first_link + (node - drawing->first_node) * node_graph_n_links(drawing->graph);
  return drawing->graph;
}

guint32 topology_first_cable(const Topology *topology, guint machine)
{
  return topology->first_cable + 2 * machine * topology_nics_per_node(topology);
}

static void append_in_node(guint32 first_link, NodeRoute route, GArray *links)
{
  for (guint i = 0; i < route.n_links; i++) {
    const guint32 link = first_link + route.links[i];
    g_array_append_val(links, link);
  }
}

/* From cable to cable. */
static void append_between(const Topology *topology, guint src, guint dst, guint nic,
                           guint64 hash, GArray *links)
{
  const guint32 up = topology_first_cable(topology, src) + 2 * nic;
  const guint32 down = topology_first_cable(topology, dst) + 2 * nic + 1;

  g_array_append_val(links, up);
  topology->network->route(topology->network_state, src, nic, dst, nic, hash, links);
  g_array_append_val(links, down);
}

/* As if nothing had failed. */
static void append_route(const Topology *topology, guint src, guint dst, guint rail,
                         guint64 hash, GArray *links)
{
  const guint n_gpus = topology_gpus_per_node(topology);
  const guint nic = rail % MAX(topology_nics_per_node(topology), 1);
  const guint src_node = src / n_gpus, dst_node = dst / n_gpus;
  guint32 src_first, dst_first;
  const NodeGraph *src_graph = topology_drawn(topology, src_node, &src_first);
  const NodeGraph *dst_graph = topology_drawn(topology, dst_node, &dst_first);

  if (src_node == dst_node) {
    append_in_node(src_first, node_graph_gpu_route(src_graph, src % n_gpus, dst % n_gpus),
                   links);
    return;
  }
  append_in_node(src_first, node_graph_nic_out(src_graph, src % n_gpus, nic), links);
  append_between(topology, src_node, dst_node, nic, hash, links);
  append_in_node(dst_first, node_graph_nic_in(dst_graph, nic, dst % n_gpus), links);
}

/* Servers' memory is as fast as their NICs. */
static void append_host_way(const Topology *topology, guint machine, HostWay way,
                            guint index, GArray *links)
{
  guint32 first_link;

  if (machine >= topology->n_nodes)
    return;
  const NodeGraph *graph = topology_drawn(topology, machine, &first_link);
  append_in_node(first_link, node_graph_host_way(graph, way, index), links);
}

static void append_host_route(const Topology *topology, guint src, guint dst, guint rail,
                              guint64 hash, GArray *links)
{
  if (src == dst)
    return;

  const guint nic = rail % topology_nics_per_node(topology);
  append_host_way(topology, src, HOST_TO_NIC, nic, links);
  append_between(topology, src, dst, nic, hash, links);
  append_host_way(topology, dst, HOST_FROM_NIC, nic, links);
}

typedef void (*Append)(const Topology *topology, guint src, guint dst, guint rail,
                       guint64 hash, GArray *links);

static bool is_whole(const Topology *topology, const GArray *links, guint first)
{
  for (guint i = first; i < links->len; i++)
    if (topology->failed[g_array_index(links, guint32, i)])
      return false;
  return true;
}

/* Paths of hashed multipath that are tried before a NIC is given up. */
#define MAX_PATHS 64

static bool find(const Topology *topology, Append append, const guint ends[2], guint rail,
                 guint64 hash, GArray *links)
{
  const guint first = links->len;
  const guint n_nics = MAX(topology_nics_per_node(topology), 1);

  append(topology, ends[0], ends[1], rail, hash, links);
  if (topology->failed == NULL || is_whole(topology, links, first))
    return true;
  for (guint nic = 0; nic < n_nics; nic++) {
    for (guint path = 0; path < MAX_PATHS; path++) {
      g_array_set_size(links, first);
      append(topology, ends[0], ends[1], rail + nic,
             path == 0 ? hash : rng_hash(hash, path, 0), links);
      if (is_whole(topology, links, first))
        return true;
    }
  }
  return false;
}

bool topology_find_route(const Topology *topology, guint src, guint dst, guint rail,
                         guint64 hash, GArray *links)
{
  return find(topology, append_route, (const guint[]){ src, dst }, rail, hash, links);
}

bool topology_find_host_route(const Topology *topology, guint src, guint dst, guint rail,
                              guint64 hash, GArray *links)
{
  return find(topology, append_host_route, (const guint[]){ src, dst }, rail, hash, links);
}

void topology_route(const Topology *topology, guint src, guint dst, guint rail,
                    guint64 hash, GArray *links)
{
  g_return_if_fail(MAX(src, dst) < topology_n_gpus(topology));
  topology_find_route(topology, src, dst, rail, hash, links);
}

void topology_route_hosts(const Topology *topology, guint src, guint dst, guint rail,
                          guint64 hash, GArray *links)
{
  g_return_if_fail(src < topology->n_machines && dst < topology->n_machines);
  topology_find_host_route(topology, src, dst, rail, hash, links);
}

void topology_route_staging(const Topology *topology, guint gpu, bool to_host,
                            GArray *links)
{
  const guint n_gpus = topology_gpus_per_node(topology);

  append_host_way(topology, gpu / n_gpus, to_host ? HOST_FROM_GPU : HOST_TO_GPU,
                  gpu % n_gpus, links);
}
