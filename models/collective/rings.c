#include "models/collective/rings.h"

struct Rings {
  const CollCall *call;
  const Topology *topology; /* NULL: rings by rank */
  bool are_chains;
  guint n_rails, n_orders, n_channels;
  guint n_common; /* channels after which rails and orders meet again */
  guint *first;   /* local GPU that each channel enters a node at */
  guint *out;   /* NIC that each channel leaves its first node by; n_rails: as it enters */
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

/* Where channels go on beyond n_common, the next rail meets each order. */
static const guint *order_of(const Rings *rings, guint channel)
{
  const guint index = (channel + channel / rings->n_common) % rings->n_orders;
  return topology_ring_order(rings->topology, index);
}

/* Links between the last rank that a channel visits in node @p from and the first in node
 * @p to. */
static guint length_between_nodes(const Rings *rings, guint channel, guint from, guint to)
{
  const Group *group = rings->call->group;
  const guint n_local = group_n_local(group, from);
  g_autofree guint *ranks = g_new0(guint, topology_gpus_per_node(rings->topology));
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  rings_visit(rings, channel, from, ranks);
  const guint src = group->gpus[ranks[n_local - 1]];
  rings_visit(rings, channel, to, ranks);
  topology_route(rings->topology, src, group->gpus[ranks[0]],
                 coll_nic(rings->call, rings_rail(rings, channel)), 0, links);
  return links->len;
}

/* To and from the node with most ranks, if the channel enters at @p gpu or the first rank
 * after it. */
static guint length_around(Rings *rings, guint channel, guint gpu)
{
  const Group *group = rings->call->group;
  guint node = 0;

  for (guint i = 1; i < group->n_nodes; i++)
    if (group_n_local(group, i) > group_n_local(group, node))
      node = i;
  const guint other = (node + 1) % group->n_nodes;
  rings->first[channel] = gpu;
  return length_between_nodes(rings, channel, node, other) +
         length_between_nodes(rings, channel, other, node);
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
  const guint *order = order_of(rings, channel);

  if (rings->call->group->n_nodes == 1 || n_nics == 0) {
    rings->first[channel] = order[0];
    return;
  }
  const guint nearest = topology_nic_gpu(
    rings->topology, coll_nic(rings->call, rings_rail(rings, channel)) % n_nics);
  rings->first[channel] = nearest;
  if (rings->are_chains)
    return;
  const guint next = order[(find(order, nearest) + 1) % n];
  const guint enter = length_around(rings, channel, nearest);
  const guint leave = length_around(rings, channel, next);
  rings->first[channel] = leave < enter ? next : nearest;
}

/* Does what @p gpu of one node sends to @p other of the next pass NVLink first? */
static bool is_relayed(const Rings *rings, guint gpu, guint other, guint rail)
{
  const Topology *topology = rings->topology;
  g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint32));

  topology_route(topology, gpu, topology_gpus_per_node(topology) + other, rail, 0, route);
  return topology_links(topology)[g_array_index(route, guint32, 0)].tier == TIER_NVLINK;
}

/* The NIC of GPU @p last that is to it what @p rail is to its own GPU; n_rails: none. */
static guint twin_of(const Rings *rings, guint rail, guint last)
{
  const guint own = topology_nic_gpu(rings->topology, rail);
  guint skip = 0, nic = 0;

  for (guint i = 0; i < rail; i++)
    skip += topology_nic_gpu(rings->topology, i) == own;
  while (nic < rings->n_rails &&
         (topology_nic_gpu(rings->topology, nic) != last || skip-- > 0))
    nic++;
  return nic;
}

static void choose_out(Rings *rings, guint channel)
{
  const guint n = topology_gpus_per_node(rings->topology);
  const guint rail = rings_rail(rings, channel), first = rings->first[channel];
  const guint *order = order_of(rings, channel);
  const guint last = order[(find(order, first) + n - 1) % n];

  if (topology_nic_gpu(rings->topology, rail) == first &&
      is_relayed(rings, last, first, rail))
    rings->out[channel] = twin_of(rings, rail, last);
}

/* Is every NIC the way out of as many channels? */
static bool is_balanced(const Rings *rings)
{
  g_autofree guint *n_out = g_new0(guint, rings->n_rails);
  bool same = true;

  for (guint channel = 0; channel < rings->n_channels; channel++)
    n_out[rings_rail_out(rings, channel, 0)]++;
  for (guint nic = 1; nic < rings->n_rails; nic++)
    same = same && n_out[nic] == n_out[0];
  return same;
}

static void choose_all(Rings *rings, guint n_channels, bool cross)
{
  rings->n_channels = n_channels;
  rings->first = g_renew(guint, rings->first, n_channels);
  rings->out = g_renew(guint, rings->out, n_channels);
  for (guint channel = 0; channel < n_channels; channel++) {
    rings->first[channel] = 0;
    rings->out[channel] = rings->n_rails;
    if (rings->topology != NULL)
      choose_first(rings, channel);
    if (cross)
      choose_out(rings, channel);
  }
}

static bool is_backwards(const Rings *rings, guint channel, guint node)
{
  return rings->out[channel] < rings->n_rails && node % 2 == 1;
}

static bool may_cross(const Rings *rings)
{
  const Group *group = rings->call->group;

  return rings->call->cross_nic && rings->topology != NULL && !rings->are_chains &&
         group->n_nodes > 1 && rings->n_rails > 1 &&
         rings->n_rails == topology_nics_per_node(rings->topology) &&
         group->n_ranks == group->n_nodes * topology_gpus_per_node(rings->topology);
}

static Rings *new_of(const CollCall *call, guint n_rails, const Topology *topology,
                     bool are_chains)
{
  Rings *rings = g_new0(Rings, 1);

  rings->are_chains = are_chains;
  rings->call = call;
  rings->topology = topology;
  rings->n_rails = n_rails;
  rings->n_orders = topology == NULL ? 1 : topology_n_ring_orders(topology);
  if (group_max_local(call->group) == 1)
    rings->n_orders = 1; /* all orders of one rank are the same */
  rings->n_common = least_common_multiple(rings->n_rails, rings->n_orders);
  rings->local = g_new0(guint, topology == NULL ? 1 : topology_gpus_per_node(topology));
  const bool cross = may_cross(rings);
  choose_all(rings, rings->n_common, cross);
  /* Every rail with every order may be fair where some of each are not. */
  if (cross && !is_balanced(rings))
    choose_all(rings, rings->n_rails * rings->n_orders, cross);
  if (cross && !is_balanced(rings))
    choose_all(rings, rings->n_common, false);
  return rings;
}

Rings *rings_new(const CollCall *call, guint n_rails, const Topology *topology)
{
  return new_of(call, n_rails, topology, false);
}

Rings *rings_new_chains(const CollCall *call, guint n_rails, const Topology *topology)
{
  return new_of(call, n_rails, topology, true);
}

void rings_free(Rings *rings)
{
  if (rings == NULL)
    return;
  g_free(rings->first);
  g_free(rings->out);
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

guint rings_rail_out(const Rings *rings, guint channel, guint node)
{
  const bool crosses = rings->out[channel] < rings->n_rails && node % 2 == 0;
  return crosses ? rings->out[channel] : rings_rail(rings, channel);
}

void rings_plan_rails(const Rings *rings, guint channel, guint *rails)
{
  const Group *group = rings->call->group;

  for (guint rank = 0; rank < group->n_ranks; rank++)
    rails[rank] =
      group->n_nodes > 1 ? 1 + rings_rail_out(rings, channel, group->node[rank]) : 0;
}

/* Where some ranks are nearer to a NIC than others, a ring enters at the second of them and
 * leaves from the first. */
static void visit_by_rank(const Rings *rings, guint channel, guint node, guint *ranks)
{
  const Group *group = rings->call->group;
  const guint n = group_n_local(group, node);
  const bool share_nics = rings->n_rails > 1 && n >= 2 * rings->n_rails;
  const guint start = (guint)((guint64)channel * n / rings->n_rails) +
                      (share_nics && !rings->are_chains ? 1 : 0);

  for (guint i = 0; i < n; i++)
    ranks[i] = group->first_rank[node] + (start + i) % n;
}

void rings_visit(const Rings *rings, guint channel, guint node, guint *ranks)
{
  const Group *group = rings->call->group;
  if (rings->topology == NULL) {
    visit_by_rank(rings, channel, node, ranks);
    return;
  }

  const guint n_gpus = topology_gpus_per_node(rings->topology);
  const guint *order = order_of(rings, channel);
  const guint start = find(order, rings->first[channel]);
  guint n_found = 0;

  for (guint gpu = 0; gpu < n_gpus; gpu++)
    rings->local[gpu] = G_MAXUINT;
  for (guint rank = group->first_rank[node]; rank < group->first_rank[node + 1]; rank++)
    rings->local[group->gpus[rank] % n_gpus] = rank;
  for (guint i = 0; i < n_gpus; i++) {
    const guint place = is_backwards(rings, channel, node) ? n_gpus - 1 - i : i;
    const guint rank = rings->local[order[(start + place) % n_gpus]];
    if (rank != G_MAXUINT)
      ranks[n_found++] = rank;
  }
}

void rings_visit_all(const Rings *rings, guint channel, guint *ranks)
{
  const Group *group = rings->call->group;
  for (guint node = 0; node < group->n_nodes; node++)
    rings_visit(rings, channel, node, &ranks[group->first_rank[node]]);
}

/* Of @p count hops from @p first on. */
static Chain add_hops(const Chain *hops, guint n, guint first, guint count)
{
  Chain sum = { 0 };
  for (guint i = 0; i < count; i++)
    sum = chain_join(sum, hops[(first + i) % n]);
  return sum;
}

Chain rings_chain(const Chain *hops, guint n, guint n_laps)
{
  const Chain lap = add_hops(hops, n, 0, n);
  Chain left_out = add_hops(hops, n, 0, n_laps);

  for (guint first = 1; first < n; first++) {
    const Chain window = add_hops(hops, n, first, n_laps);
    if (chain_is_longer(left_out, window))
      left_out = window;
  }
  return (Chain){
    .n_local_hops = n_laps * lap.n_local_hops - left_out.n_local_hops,
    .n_net_hops = n_laps * lap.n_net_hops - left_out.n_net_hops,
    .latency_s = n_laps * lap.latency_s - left_out.latency_s,
    .s_per_B = n_laps * lap.s_per_B - left_out.s_per_B,
  };
}

Chain rings_chain_of_flows(const Draft *draft, const double *loads, guint first,
                           guint stride, const Chain *hops, guint n, guint n_laps)
{
  g_autofree Chain *timed = g_memdup2(hops, n * sizeof *hops);

  /* A flow carries one chunk in each of its rounds. */
  for (guint p = 0; p < n; p++)
    timed[p].s_per_B =
      draft_flow_s_per_B(draft, loads, first + p * stride) / (n_laps * (n - 1));
  return rings_chain(timed, n, n_laps);
}

void rings_plan_round(const PlanRing *ring, guint round, bool reduce,
                      const PlanRingWait *wait, Plan *plan)
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
                               .n_chunks = ring->n_chunks[owner],
                               .after = ring->arrived[(gsize)p * ring->stride],
                               .reduce = reduce,
                               .channel = ring->channel,
                               .rail = ring->rails == NULL ? 0 : ring->rails[p],
                               .size_B = ring->n_chunks[owner] * ring->chunk_B,
                             });
    for (guint i = wait == NULL ? 0 : wait->first[p];
         wait != NULL && i < wait->first[p + 1]; i++)
      plan_also_after(plan, wait->ids[i]);
  }
  for (guint p = 0; p < n; p++)
    ring->arrived[(gsize)((p + 1) % n) * ring->stride] = sent[p];
}
