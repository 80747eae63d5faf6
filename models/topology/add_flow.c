/* Flows and the paths that hashed multipath gives their connections. */
#include "models/topology.h"
#include "sim/base/rng.h"

#include <math.h>
#include <string.h>

typedef void (*Route)(const Topology *topology, guint src, guint dst, guint rail,
                      guint64 hash, GArray *links);

/* From a place to another: what asks for a route. */
typedef struct {
  const Topology *topology;
  Route route;
  guint src, dst, rail;
} Way;

static void append_path(const Way *way, guint path, GArray *links)
{
  const guint64 hash = rng_hash(way->src, way->dst, way->rail);
  way->route(way->topology, way->src, way->dst, way->rail,
             path == 0 ? hash : rng_hash(hash, path, 0), links);
}

/* As many as the transport has connections, if the network tells any two apart. */
static guint n_paths(const Way *way)
{
  const guint n = topology_transport(way->topology)->n_paths;
  if (n == 1)
    return 1; /* before anything is allocated: an all-to-all asks for millions of flows */

  g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autoptr(GArray) other = g_array_new(FALSE, FALSE, sizeof(guint32));

  append_path(way, 0, first);
  for (guint path = 1; path < n; path++) {
    g_array_set_size(other, 0);
    append_path(way, path, other);
    if (other->len != first->len ||
        memcmp(other->data, first->data, first->len * sizeof(guint32)) != 0)
      return n;
  }
  return 1;
}

static double add(const Way *way, bool is_local, double share, FlowSet *set)
{
  const double cap_Bps = is_local ? INFINITY : topology_flow_cap_Bps(way->topology);
  const guint n = is_local ? 1 : n_paths(way);
  double latency_s = 0;

  for (guint path = 0; path < n; path++) {
    const guint first = set->links->len;
    append_path(way, path, set->links);
    if (set->links->len == first)
      continue;
    flow_set_add_laid(set, share / n, cap_Bps / n, first);
    const guint32 *links = &g_array_index(set->links, guint32, first);
    latency_s =
      MAX(latency_s, topology_latency_s(way->topology, links, set->links->len - first));
  }
  return latency_s;
}

double topology_add_flow(const Topology *topology, guint src, guint dst, guint rail,
                         double share, FlowSet *set)
{
  const Way way = { topology, topology_route, src, dst, rail };
  const guint n_gpus = topology_gpus_per_node(topology);

  return add(&way, src / n_gpus == dst / n_gpus, share, set);
}

double topology_add_host_flow(const Topology *topology, guint src, guint dst, guint rail,
                              double share, FlowSet *set)
{
  const Way way = { topology, topology_route_hosts, src, dst, rail };

  return add(&way, src == dst, share, set);
}

static void route_push(const Topology *topology, guint src, guint dst, guint rail,
                       guint64 hash, GArray *links)
{
  guint32 sum_link;

  topology_route_hosts(topology, src, dst, rail, hash, links);
  if (topology_sum_link(topology, dst, &sum_link))
    g_array_append_val(links, sum_link);
}

double topology_add_push(const Topology *topology, guint src, guint dst, guint rail,
                         double share, FlowSet *set)
{
  const Way way = { topology, route_push, src, dst, rail };

  return add(&way, src == dst, share, set);
}
