#include "models/network/graph.h"

#define UNREACHED G_MAXUINT16
#define NO_CORE G_MAXUINT

typedef struct {
  guint src, dst;
  guint first, n_links; /* of NetworkGraph.edge_links */
} Edge;

typedef struct {
  guint vertex;
  double rate_Bps;
} GraphPort;

/* The edges at each vertex: those of v are edges[first[v]] to edges[first[v + 1] - 1]. */
typedef struct {
  guint *first, *edges;
} Fans;

struct NetworkGraph {
  int n_references;
  GArray *core;  /* of guint, per vertex: its number among those that forward, or NO_CORE */
  GArray *links; /* of GraphLink */
  GArray *edges; /* of Edge */
  GArray *edge_links; /* of guint */
  GArray *ports;      /* of GraphPort */
  guint n_core;

  Fans out, in;
  guint16 *distance; /* in links, [from * n_core + to] */
};

NetworkGraph *network_graph_new(void)
{
  NetworkGraph *graph = g_new0(NetworkGraph, 1);

  graph->n_references = 1;
  graph->core = g_array_new(FALSE, FALSE, sizeof(guint));
  graph->links = g_array_new(FALSE, FALSE, sizeof(GraphLink));
  graph->edges = g_array_new(FALSE, FALSE, sizeof(Edge));
  graph->edge_links = g_array_new(FALSE, FALSE, sizeof(guint));
  graph->ports = g_array_new(FALSE, FALSE, sizeof(GraphPort));
  return graph;
}

NetworkGraph *network_graph_ref(NetworkGraph *graph)
{
  graph->n_references++;
  return graph;
}

void network_graph_unref(NetworkGraph *graph)
{
  if (graph == NULL || --graph->n_references > 0)
    return;
  g_array_unref(graph->core);
  g_array_unref(graph->links);
  g_array_unref(graph->edges);
  g_array_unref(graph->edge_links);
  g_array_unref(graph->ports);
  g_free(graph->out.first);
  g_free(graph->out.edges);
  g_free(graph->in.first);
  g_free(graph->in.edges);
  g_free(graph->distance);
  g_free(graph);
}

guint network_graph_add_vertex(NetworkGraph *graph, bool forwards)
{
  const guint core = forwards ? graph->n_core++ : NO_CORE;

  g_array_append_val(graph->core, core);
  return graph->core->len - 1;
}

guint network_graph_add_link(NetworkGraph *graph, double rate_Bps, double latency_s,
                             bool is_shared)
{
  const GraphLink link = { rate_Bps, latency_s, is_shared };

  g_return_val_if_fail(rate_Bps > 0 && latency_s >= 0, 0);
  g_array_append_val(graph->links, link);
  return graph->links->len - 1;
}

void network_graph_add_edge(NetworkGraph *graph, guint src, guint dst, const guint *links,
                            guint n_links)
{
  const Edge edge = { src, dst, graph->edge_links->len, n_links };

  g_return_if_fail(n_links > 0 && src < graph->core->len && dst < graph->core->len);
  g_array_append_vals(graph->edge_links, links, n_links);
  g_array_append_val(graph->edges, edge);
}

void network_graph_add_port(NetworkGraph *graph, guint vertex, double rate_Bps)
{
  const GraphPort port = { vertex, rate_Bps };

  g_return_if_fail(vertex < graph->core->len);
  g_array_append_val(graph->ports, port);
}

guint network_graph_n_ports(const NetworkGraph *graph)
{
  return graph->ports->len;
}

guint network_graph_n_links(const NetworkGraph *graph)
{
  return graph->links->len;
}

const GraphLink *network_graph_link(const NetworkGraph *graph, guint link)
{
  return &g_array_index(graph->links, GraphLink, link);
}

static const GraphPort *port_at(const NetworkGraph *graph, guint port)
{
  return &g_array_index(graph->ports, GraphPort, port);
}

double network_graph_port_rate_Bps(const NetworkGraph *graph, guint port)
{
  return port_at(graph, port)->rate_Bps;
}

static const Edge *edge_at(const NetworkGraph *graph, guint edge)
{
  return &g_array_index(graph->edges, Edge, edge);
}

static guint core_of(const NetworkGraph *graph, guint vertex)
{
  return g_array_index(graph->core, guint, vertex);
}

/* ---- sealing ----------------------------------------------------------------------- */

/* Sort the edges by where they begin, or end; those of one vertex keep their order. */
static void fan(const NetworkGraph *graph, bool by_dst, Fans *fans)
{
  const guint n = graph->core->len;
  fans->first = g_new0(guint, n + 2);
  fans->edges = g_new(guint, MAX(graph->edges->len, 1));

  for (guint e = 0; e < graph->edges->len; e++)
    fans->first[(by_dst ? edge_at(graph, e)->dst : edge_at(graph, e)->src) + 2]++;
  for (guint v = 2; v < n + 2; v++)
    fans->first[v] += fans->first[v - 1];
  for (guint e = 0; e < graph->edges->len; e++)
    fans->edges[fans->first[(by_dst ? edge_at(graph, e)->dst : edge_at(graph, e)->src) +
                            1]++] = e;
}

/* Distances from the forwarding vertex @p source to all others. An edge counts its links;
 * few have more than one, so that a queue corrects hardly any distance twice. */
static bool measure_from(NetworkGraph *graph, guint source, GQueue *queue, bool *is_queued)
{
  guint16 *distance = graph->distance + (gsize)core_of(graph, source) * graph->n_core;

  for (guint i = 0; i < graph->n_core; i++)
    distance[i] = UNREACHED;
  distance[core_of(graph, source)] = 0;
  g_queue_push_tail(queue, GUINT_TO_POINTER(source));
  while (!g_queue_is_empty(queue)) {
    const guint v = GPOINTER_TO_UINT(g_queue_pop_head(queue));
    is_queued[v] = false;
    for (guint i = graph->out.first[v]; i < graph->out.first[v + 1]; i++) {
      const Edge *edge = edge_at(graph, graph->out.edges[i]);
      const guint to = core_of(graph, edge->dst);
      const guint64 length = distance[core_of(graph, v)] + (guint64)edge->n_links;
      if (to == NO_CORE || length >= distance[to]) {
        if (to != NO_CORE && distance[to] == UNREACHED)
          return false;
        continue;
      }
      distance[to] = (guint16)length;
      if (!is_queued[edge->dst])
        g_queue_push_tail(queue, GUINT_TO_POINTER(edge->dst));
      is_queued[edge->dst] = true;
    }
  }
  return true;
}

bool network_graph_seal(NetworkGraph *graph, GError **error)
{
  const guint n = graph->core->len;
  g_autofree bool *is_queued = g_new0(bool, n + 1);
  GQueue queue = G_QUEUE_INIT;
  bool fits = true;

  if (graph->n_core > GRAPH_MAX_FORWARDING) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u switches are too many: at most %u can be routed through", graph->n_core,
                GRAPH_MAX_FORWARDING);
    return false;
  }
  fan(graph, false, &graph->out);
  fan(graph, true, &graph->in);
  graph->distance = g_new(guint16, (gsize)graph->n_core * graph->n_core + 1);
  for (guint v = 0; v < n && fits; v++)
    if (core_of(graph, v) != NO_CORE)
      fits = measure_from(graph, v, &queue, is_queued);
  g_queue_clear(&queue);
  if (!fits)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "paths of %u links are too long",
                UNREACHED);
  return fits;
}

/* ---- paths ------------------------------------------------------------------------- */

/* Links from the forwarding vertex @p from to @p dst. */
static guint distance_to(const NetworkGraph *graph, guint from, guint dst)
{
  const guint16 *row = graph->distance + (gsize)core_of(graph, from) * graph->n_core;
  guint least = UNREACHED;

  if (core_of(graph, dst) != NO_CORE)
    return row[core_of(graph, dst)];
  for (guint i = graph->in.first[dst]; i < graph->in.first[dst + 1]; i++) {
    const Edge *edge = edge_at(graph, graph->in.edges[i]);
    if (core_of(graph, edge->src) != NO_CORE && row[core_of(graph, edge->src)] != UNREACHED)
      least = MIN(least, row[core_of(graph, edge->src)] + edge->n_links);
  }
  return least;
}

/* Links to @p dst by way of @p edge; at least UNREACHED if it does not lead there. */
static guint64 length_over(const NetworkGraph *graph, const Edge *edge, guint dst)
{
  if (edge->dst == dst)
    return edge->n_links;
  if (core_of(graph, edge->dst) == NO_CORE)
    return UNREACHED;
  const guint rest = distance_to(graph, edge->dst, dst);
  return rest == UNREACHED ? UNREACHED : (guint64)edge->n_links + rest;
}

/* The edge to take from @p at to @p dst, or NULL; uses up a part of @p hash. */
static const Edge *next_edge(const NetworkGraph *graph, guint at, guint dst, guint64 *hash)
{
  guint64 least = UNREACHED;
  guint n_equal = 0;

  for (guint i = graph->out.first[at]; i < graph->out.first[at + 1]; i++) {
    const guint64 length = length_over(graph, edge_at(graph, graph->out.edges[i]), dst);
    if (length < least)
      n_equal = 0;
    if (length <= least && length < UNREACHED) {
      least = length;
      n_equal++;
    }
  }
  if (n_equal == 0)
    return NULL;
  guint chosen = (guint)(*hash % n_equal);
  *hash /= n_equal;
  for (guint i = graph->out.first[at]; i < graph->out.first[at + 1]; i++) {
    const Edge *edge = edge_at(graph, graph->out.edges[i]);
    if (length_over(graph, edge, dst) == least && chosen-- == 0)
      return edge;
  }
  return NULL;
}

bool network_graph_reaches(const NetworkGraph *graph, guint src, guint dst)
{
  const guint from = port_at(graph, src)->vertex, to = port_at(graph, dst)->vertex;
  guint64 hash = 0;

  return from == to || next_edge(graph, from, to, &hash) != NULL;
}

bool network_graph_alike(const NetworkGraph *graph, guint a, guint b)
{
  const guint v = port_at(graph, a)->vertex, w = port_at(graph, b)->vertex;
  const Fans *const fans[] = { &graph->out, &graph->in };

  if (core_of(graph, v) != NO_CORE || core_of(graph, w) != NO_CORE)
    return v == w;
  for (guint f = 0; f < 2; f++) {
    const guint n = fans[f]->first[v + 1] - fans[f]->first[v];
    if (n != fans[f]->first[w + 1] - fans[f]->first[w])
      return false;
    for (guint i = 0; i < n; i++) {
      const Edge *mine = edge_at(graph, fans[f]->edges[fans[f]->first[v] + i]);
      const Edge *yours = edge_at(graph, fans[f]->edges[fans[f]->first[w] + i]);
      const guint other = f == 0 ? mine->dst : mine->src;
      if (other != (f == 0 ? yours->dst : yours->src) || core_of(graph, other) == NO_CORE)
        return false;
    }
  }
  return true;
}

void network_graph_route(const NetworkGraph *graph, guint src, guint dst, guint64 hash,
                         guint32 first, GArray *path)
{
  const guint to = port_at(graph, dst)->vertex;
  guint at = port_at(graph, src)->vertex;

  while (at != to) {
    const Edge *edge = next_edge(graph, at, to, &hash);
    g_return_if_fail(edge != NULL);
    for (guint i = 0; i < edge->n_links; i++) {
      const guint32 link = first + g_array_index(graph->edge_links, guint, edge->first + i);
      g_array_append_val(path, link);
    }
    at = edge->dst;
  }
}
