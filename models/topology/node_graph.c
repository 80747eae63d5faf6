#include "models/topology/node_graph.h"

/* A route as a stretch of NodeGraph.path. */
typedef struct {
  guint first, n_links;
} Stretch;

struct NodeGraph {
  guint n_gpus, n_nics;
  guint gdr_level; /* PathType */
  bool no_p2p;
  double host_memory_Bps;         /* of a socket, between GPUs and NICs */
  GArray *links;                  /* of Link */
  GArray *path;                   /* of guint32: routes one after another */
  Stretch *gpu_routes;            /* [src * n_gpus + dst] */
  Stretch *nic_out;               /* [gpu * n_nics + nic] */
  Stretch *nic_in;                /* [gpu * n_nics + nic] */
  Stretch *host_ways[HOST_WAY_N]; /* [gpu], or [nic] */
  guint *nic_gpu;                 /* [nic] */
  guint *path_types;              /* [gpu * n_nics + nic]: PathType */
  GArray *ring_orders;            /* of guint, n_gpus per order */
};

static guint n_host_ways(const NodeGraph *graph, HostWay way)
{
  return way <= HOST_TO_GPU ? graph->n_gpus : graph->n_nics;
}

NodeGraph *node_graph_new(guint n_gpus, guint n_nics)
{
  NodeGraph *graph = g_new0(NodeGraph, 1);
  graph->n_gpus = n_gpus;
  graph->n_nics = n_nics;
  graph->links = g_array_new(FALSE, FALSE, sizeof(Link));
  graph->path = g_array_new(FALSE, FALSE, sizeof(guint32));
  graph->gpu_routes = g_new0(Stretch, (gsize)n_gpus * n_gpus);
  graph->nic_out = g_new0(Stretch, (gsize)n_gpus * n_nics);
  graph->nic_in = g_new0(Stretch, (gsize)n_gpus * n_nics);
  for (guint way = 0; way < HOST_WAY_N; way++)
    graph->host_ways[way] = g_new0(Stretch, n_host_ways(graph, way));
  graph->nic_gpu = g_new0(guint, n_nics);
  graph->path_types = g_new0(guint, (gsize)n_gpus * n_nics);
  graph->ring_orders = g_array_new(FALSE, FALSE, sizeof(guint));
  return graph;
}

void node_graph_free(NodeGraph *graph)
{
  if (graph == NULL)
    return;
  g_array_unref(graph->links);
  g_array_unref(graph->path);
  g_free(graph->gpu_routes);
  g_free(graph->nic_out);
  g_free(graph->nic_in);
  for (guint way = 0; way < HOST_WAY_N; way++)
    g_free(graph->host_ways[way]);
  g_free(graph->nic_gpu);
  g_free(graph->path_types);
  g_array_unref(graph->ring_orders);
  g_free(graph);
}

guint node_graph_n_gpus(const NodeGraph *graph)
{
  return graph->n_gpus;
}

guint node_graph_n_nics(const NodeGraph *graph)
{
  return graph->n_nics;
}

void node_graph_rule(NodeGraph *graph, guint gdr_level, bool p2p, double host_memory_Bps)
{
  graph->gdr_level = gdr_level;
  graph->no_p2p = !p2p;
  graph->host_memory_Bps = host_memory_Bps;
}

guint node_graph_gdr_level(const NodeGraph *graph)
{
  return graph->gdr_level;
}

bool node_graph_has_p2p(const NodeGraph *graph)
{
  return !graph->no_p2p;
}

void node_graph_set_path_type(NodeGraph *graph, guint gpu, guint nic, PathType type)
{
  g_return_if_fail(gpu < graph->n_gpus && nic < graph->n_nics);
  graph->path_types[gpu * graph->n_nics + nic] = type;
}

PathType node_graph_path_type(const NodeGraph *graph, guint gpu, guint nic)
{
  return graph->path_types[gpu * graph->n_nics + nic];
}

double node_graph_host_memory_Bps(const NodeGraph *graph)
{
  return graph->host_memory_Bps;
}

guint32 node_graph_add_link(NodeGraph *graph, guint tier, double capacity_Bps,
                            double latency_s)
{
  const Link link = { .tier = tier, .capacity_Bps = capacity_Bps, .latency_s = latency_s };
  g_array_append_val(graph->links, link);
  return graph->links->len - 1;
}

static void lay_route(NodeGraph *graph, Stretch *stretch, const guint32 *links,
                      guint n_links)
{
  g_return_if_fail(n_links > 0 && stretch->n_links == 0);

  *stretch = (Stretch){ .first = graph->path->len, .n_links = n_links };
  g_array_append_vals(graph->path, links, n_links);
}

void node_graph_set_gpu_route(NodeGraph *graph, guint src_gpu, guint dst_gpu,
                              const guint32 *links, guint n_links)
{
  g_return_if_fail(src_gpu < graph->n_gpus && dst_gpu < graph->n_gpus);
  lay_route(graph, &graph->gpu_routes[src_gpu * graph->n_gpus + dst_gpu], links, n_links);
}

void node_graph_set_nic_out(NodeGraph *graph, guint gpu, guint nic, const guint32 *links,
                            guint n_links)
{
  g_return_if_fail(gpu < graph->n_gpus && nic < graph->n_nics);
  lay_route(graph, &graph->nic_out[gpu * graph->n_nics + nic], links, n_links);
}

void node_graph_set_nic_in(NodeGraph *graph, guint nic, guint gpu, const guint32 *links,
                           guint n_links)
{
  g_return_if_fail(gpu < graph->n_gpus && nic < graph->n_nics);
  lay_route(graph, &graph->nic_in[gpu * graph->n_nics + nic], links, n_links);
}

void node_graph_set_host_way(NodeGraph *graph, HostWay way, guint index,
                             const guint32 *links, guint n_links)
{
  g_return_if_fail(index < n_host_ways(graph, way));
  lay_route(graph, &graph->host_ways[way][index], links, n_links);
}

void node_graph_set_nic_gpu(NodeGraph *graph, guint nic, guint gpu)
{
  g_return_if_fail(gpu < graph->n_gpus && nic < graph->n_nics);
  graph->nic_gpu[nic] = gpu;
}

void node_graph_add_ring_order(NodeGraph *graph, const guint *order)
{
  g_array_append_vals(graph->ring_orders, order, graph->n_gpus);
}

guint node_graph_n_links(const NodeGraph *graph)
{
  return graph->links->len;
}

const Link *node_graph_links(const NodeGraph *graph)
{
  return &g_array_index(graph->links, Link, 0);
}

static NodeRoute route_of(const NodeGraph *graph, Stretch stretch)
{
  if (stretch.n_links == 0)
    return (NodeRoute){ .links = NULL, .n_links = 0 };
  return (NodeRoute){
    .links = &g_array_index(graph->path, guint32, stretch.first),
    .n_links = stretch.n_links,
  };
}

NodeRoute node_graph_gpu_route(const NodeGraph *graph, guint src_gpu, guint dst_gpu)
{
  return route_of(graph, graph->gpu_routes[src_gpu * graph->n_gpus + dst_gpu]);
}

NodeRoute node_graph_nic_out(const NodeGraph *graph, guint gpu, guint nic)
{
  return route_of(graph, graph->nic_out[gpu * graph->n_nics + nic]);
}

NodeRoute node_graph_nic_in(const NodeGraph *graph, guint nic, guint gpu)
{
  return route_of(graph, graph->nic_in[gpu * graph->n_nics + nic]);
}

NodeRoute node_graph_host_way(const NodeGraph *graph, HostWay way, guint index)
{
  return route_of(graph, graph->host_ways[way][index]);
}

guint node_graph_nic_gpu(const NodeGraph *graph, guint nic)
{
  return graph->nic_gpu[nic];
}

guint node_graph_n_ring_orders(const NodeGraph *graph)
{
  return graph->ring_orders->len / graph->n_gpus;
}

const guint *node_graph_ring_order(const NodeGraph *graph, guint index)
{
  return &g_array_index(graph->ring_orders, guint, (gsize)index * graph->n_gpus);
}

static bool is_permutation(const guint *order, guint n)
{
  g_autofree bool *seen = g_new0(bool, n);

  for (guint i = 0; i < n; i++) {
    if (order[i] >= n || seen[order[i]])
      return false;
    seen[order[i]] = true;
  }
  return true;
}

bool node_graph_is_complete(const NodeGraph *graph)
{
  const guint n = graph->n_gpus;

  for (guint i = 0; i < n * n; i++)
    if (i / n != i % n && graph->gpu_routes[i].n_links == 0)
      return false;
  for (guint i = 0; i < n * graph->n_nics; i++)
    if (graph->nic_out[i].n_links == 0 || graph->nic_in[i].n_links == 0)
      return false;
  for (guint way = 0; way < HOST_WAY_N; way++)
    for (guint i = 0; i < n_host_ways(graph, way); i++)
      if (graph->host_ways[way][i].n_links == 0)
        return false;
  for (guint i = 0; i < node_graph_n_ring_orders(graph); i++)
    if (!is_permutation(node_graph_ring_order(graph, i), n))
      return false;
  return node_graph_n_ring_orders(graph) > 0;
}
