#include "models/collective/rings.h"

#include "sim/base/rng.h"

#include <math.h>

struct Rings {
  const CollCall *call;
  const Topology *topology; /* NULL: rings by rank */
  guint n_rails, n_orders, n_channels;
  guint *first; /* local GPU (or rank) that each channel enters a node at */
  guint *local; /* scratch: rank on each GPU of a node, G_MAXUINT if none */
};

static guint least_common_multiple(guint a, guint b)
{
  guint x = a, y = b;
  while (y != 0) {
    const guint rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

guint rings_n_laps(CollKind kind)
{
  return kind == COLL_ALL_REDUCE ? 2 : 1;
}

double rings_share(CollKind kind, guint n)
{
  return rings_n_laps(kind) * (n - 1.0) / n;
}

/* Links between the last rank that a channel visits in one node and the first in the
 * next, if it enters nodes at @p gpu or the first rank after it. */
static guint length_between_nodes(Rings *rings, guint channel, guint gpu, guint *ranks)
{
  const guint last = rings->call->group.ranks_per_node - 1;
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  rings->first[channel] = gpu;
  rings_visit(rings, channel, 0, ranks);
  const guint src = rings->call->group.gpus[ranks[last]];
  rings_visit(rings, channel, 1, ranks);
  const guint dst = rings->call->group.gpus[ranks[0]];
  topology_route(rings->topology, src, dst, rings_rail(rings, channel), 0, links);
  return links->len;
}

static guint find(const guint *order, guint value)
{
  guint i = 0;
  while (order[i] != value)
    i++;
  return i;
}

static void choose_first(Rings *rings, guint channel)
{
  const guint n = topology_gpus_per_node(rings->topology);
  const guint n_nics = topology_nics_per_node(rings->topology);
  const guint *order = topology_ring_order(rings->topology, channel % rings->n_orders);
  g_autofree guint *ranks = g_new0(guint, rings->call->group.ranks_per_node);

  if (rings->call->group.n_nodes == 1 || n_nics == 0) {
    rings->first[channel] = order[0];
    return;
  }
  const guint nearest =
    topology_nic_gpu(rings->topology, rings_rail(rings, channel) % n_nics);
  const guint next = order[(find(order, nearest) + 1) % n];
  const guint enter = length_between_nodes(rings, channel, nearest, ranks);
  const guint leave = length_between_nodes(rings, channel, next, ranks);
  rings->first[channel] = leave < enter ? next : nearest;
}

Rings *rings_new(const CollCall *call, guint n_rails, const Topology *topology)
{
  Rings *rings = g_new0(Rings, 1);
  const guint n_local = call->group.ranks_per_node;

  rings->call = call;
  rings->topology = topology;
  rings->n_rails = n_rails;
  rings->n_orders = topology == NULL ? 1 : topology_n_ring_orders(topology);
  if (n_local == 1)
    rings->n_orders = 1; /* all orders of one rank are the same */
  rings->n_channels = least_common_multiple(rings->n_rails, rings->n_orders);
  rings->first = g_new0(guint, rings->n_channels);
  rings->local = g_new0(guint, topology == NULL ? 1 : topology_gpus_per_node(topology));
  for (guint channel = 0; channel < rings->n_channels; channel++) {
    if (topology == NULL)
      rings->first[channel] = (guint)((guint64)channel * n_local / n_rails);
    else
      choose_first(rings, channel);
  }
  return rings;
}

void rings_free(Rings *rings)
{
  if (rings == NULL)
    return;
  g_free(rings->first);
  g_free(rings->local);
  g_free(rings);
}

guint rings_n_channels(const Rings *rings)
{
  return rings->n_channels;
}

guint rings_rail(const Rings *rings, guint channel)
{
  return channel % rings->n_rails;
}

void rings_visit(const Rings *rings, guint channel, guint node, guint *ranks)
{
  const guint n_local = rings->call->group.ranks_per_node;
  const guint first_rank = node * n_local;

  if (rings->topology == NULL) {
    for (guint i = 0; i < n_local; i++)
      ranks[i] = first_rank + (rings->first[channel] + i) % n_local;
    return;
  }
  const guint n_gpus = topology_gpus_per_node(rings->topology);
  const guint *order = topology_ring_order(rings->topology, channel % rings->n_orders);
  const guint start = find(order, rings->first[channel]);
  guint n_found = 0;

  for (guint gpu = 0; gpu < n_gpus; gpu++)
    rings->local[gpu] = G_MAXUINT;
  for (guint rank = first_rank; rank < first_rank + n_local; rank++)
    rings->local[rings->call->group.gpus[rank] % n_gpus] = rank;
  for (guint i = 0; i < n_gpus; i++) {
    const guint rank = rings->local[order[(start + i) % n_gpus]];
    if (rank != G_MAXUINT)
      ranks[n_found++] = rank;
  }
}

/* Of @p count edges from @p first on. */
static RingChain add_edges(const RingEdge *edges, guint n, guint first, guint count)
{
  RingChain sum = { 0 };

  for (guint i = 0; i < count; i++) {
    const RingEdge *edge = &edges[(first + i) % n];
    sum.n_net_hops += edge->is_net;
    sum.n_local_hops += !edge->is_net;
    sum.latency_s += edge->latency_s;
  }
  return sum;
}

RingChain rings_chain(const RingEdge *edges, guint n, guint n_laps)
{
  const RingChain lap = add_edges(edges, n, 0, n);
  RingChain left_out = add_edges(edges, n, 0, n_laps);

  for (guint first = 1; first < n; first++) {
    const RingChain window = add_edges(edges, n, first, n_laps);
    if (window.n_net_hops < left_out.n_net_hops ||
        (window.n_net_hops == left_out.n_net_hops && window.latency_s < left_out.latency_s))
      left_out = window;
  }
  return (RingChain){
    .n_local_hops = n_laps * lap.n_local_hops - left_out.n_local_hops,
    .n_net_hops = n_laps * lap.n_net_hops - left_out.n_net_hops,
    .latency_s = n_laps * lap.latency_s - left_out.latency_s,
  };
}

RingEdge rings_add_flow(const CollCall *call, const Topology *topology, guint src,
                        guint dst, guint rail, double share, FlowSet *set)
{
  const guint src_gpu = call->group.gpus[src], dst_gpu = call->group.gpus[dst];
  const bool is_net = src / call->group.ranks_per_node != dst / call->group.ranks_per_node;
  const double cap_Bps = is_net ? topology_flow_cap_Bps(topology) : INFINITY;
  const guint first_link = set->links->len;

  topology_route(topology, src_gpu, dst_gpu, rail, rng_hash(src_gpu, dst_gpu, rail),
                 set->links);
  flow_set_add_laid(set, share, cap_Bps, first_link);
  return (RingEdge){
    .is_net = is_net,
    .latency_s =
      topology_latency_s(topology, &g_array_index(set->links, guint32, first_link),
                         set->links->len - first_link),
  };
}

void rings_add_phase(GArray *phases, const char *name, FlowSet *set, RingChain chain,
                     const Topology *topology)
{
  const CollPhase phase = {
    .name = name,
    .set = set,
    .n_local_hops = chain.n_local_hops,
    .n_net_hops = chain.n_net_hops,
    .path_latency_s = chain.latency_s,
    .bound_s_per_B =
      flow_set_bound_s_per_B(set, topology_links(topology), topology_n_links(topology)),
  };
  g_array_append_val(phases, phase);
}

void rings_plan_round(const PlanRing *ring, guint round, bool reduce, Plan *plan)
{
  const guint n = ring->n;
  g_autofree guint *sent = g_new(guint, n);

  for (guint p = 0; p < n; p++) {
    /* What arrived last round goes on this round, so the owner falls by one a round. A
     * sum begins at its owner's right-hand neighbour and so ends at its owner. */
    const guint owner = (p + 2 * n - round - (reduce ? 1 : 0)) % n;
    sent[p] = plan_add(plan, (PlanStep){
                               .src = ring->ranks[p],
                               .dst = ring->ranks[(p + 1) % n],
                               .first_chunk = ring->first_chunks[owner],
                               .n_chunks = ring->n_chunks,
                               .after = ring->arrived[ring->ranks[p]],
                               .reduce = reduce,
                               .size_B = ring->size_B,
                             });
  }
  for (guint p = 0; p < n; p++)
    ring->arrived[ring->ranks[(p + 1) % n]] = sent[p];
}
