#include "models/move.h"

#include <math.h>

const char *const move_names[] = {
  [MOVE_LOCAL_REDUCE_SCATTER] = "local_reduce_scatter",
  [MOVE_LOCAL_ALL_GATHER] = "local_all_gather",
  [MOVE_LOCAL_REDUCE] = "local_reduce",
  [MOVE_LOCAL_BROADCAST] = "local_broadcast",
  [MOVE_TO_HOST] = "to_host",
  [MOVE_FROM_HOST] = "from_host",
  [MOVE_LEADER_TO_HOST] = "leader_to_host",
  [MOVE_LEADER_FROM_HOST] = "leader_from_host",
  [MOVE_RACK_PUSH] = "rack_push",
  [MOVE_RACK_PULL] = "rack_pull",
  [MOVE_RACK_REDUCE_SCATTER] = "rack_reduce_scatter",
  [MOVE_RACK_ALL_GATHER] = "rack_all_gather",
  [MOVE_ACROSS_ALL_REDUCE] = "across_all_reduce",
  [MOVE_ACROSS_ALL_GATHER] = "across_all_gather",
  [MOVE_PUSH] = "push",
  [MOVE_PULL] = "pull",
  [MOVE_CROSS_ALL_REDUCE] = "cross_all_reduce",
  [MOVE_HOST_ALL_REDUCE] = "host_all_reduce",
  [MOVE_N] = NULL,
};

bool move_needs_server(Move move)
{
  return move == MOVE_PUSH || move == MOVE_PULL;
}

/* Copy the flows of one node's ring into the set of all. */
static void append_set(FlowSet *all, const FlowSet *one)
{
  for (guint f = 0; f < flow_set_n_flows(one); f++) {
    const Flow *flow = flow_set_flow(one, f);
    flow_set_add(all, flow->share, flow->cap_Bps, flow_set_links(one, flow), flow->n_links);
  }
}

/* Nodes that take part. */
static guint first_node(const MoveSpec *spec)
{
  return spec->one_node > 0 ? spec->one_node - 1 : 0;
}

static guint end_node(const Topology *topology, const MoveSpec *spec)
{
  return spec->one_node > 0 ? spec->one_node : topology_n_nodes(topology);
}

/* GPUs that sum among themselves. */
static guint group_gpus(const Topology *topology, const MoveSpec *spec)
{
  const guint g = topology_gpus_per_node(topology);
  return spec->switch_gpus == 0 ? g : MIN(spec->switch_gpus, g);
}

/* GPUs @p first, @p first + @p step, ... */
typedef struct {
  guint first, n, step;
} Row;

static void add_ring(const Topology *topology, CollKind kind, Row row, CollPhase *phase)
{
  g_autofree guint *gpus = g_new(guint, row.n);
  g_autoptr(GArray) phases = coll_phases_new();

  for (guint i = 0; i < row.n; i++)
    gpus[i] = row.first + i * row.step;
  g_autoptr(Group) group = group_new(gpus, row.n, topology_gpus_per_node(topology));
  const CollCall call = { .kind = kind,
                          .group = group,
                          .n_rails = group->n_nodes > 1
                                       ? MAX(topology_nics_per_node(topology), 1)
                                       : 1 };
  coll_ring.phases(&call, topology, phases);
  for (guint p = 0; p < phases->len; p++) {
    const CollPhase *own = &g_array_index(phases, CollPhase, p);
    append_set(phase->set, own->set);
    phase->n_local_hops = MAX(phase->n_local_hops, own->n_local_hops);
    phase->n_net_hops = MAX(phase->n_net_hops, own->n_net_hops);
    phase->path_latency_s = MAX(phase->path_latency_s, own->path_latency_s);
    phase->fill_s_per_B = MAX(phase->fill_s_per_B, own->fill_s_per_B);
  }
}

/* In every rack, or between them. */
static CollPhase rack_rings(const Topology *topology, const MoveSpec *spec, CollKind kind,
                            bool across, FlowSet *set)
{
  const guint n = topology_n_gpus(topology);
  const guint rack = MAX(spec->rack_nodes, 1) * topology_gpus_per_node(topology);
  CollPhase phase = { .set = set };

  for (guint first = 0; first < (across ? rack : n); first += across ? 1 : rack)
    add_ring(topology, kind,
             across ? (Row){ .first = first, .n = n / rack, .step = rack }
                    : (Row){ .first = first, .n = rack, .step = 1 },
             &phase);
  return phase;
}

static CollPhase local_rings(const Topology *topology, const MoveSpec *spec, CollKind kind,
                             FlowSet *set)
{
  const guint g = topology_gpus_per_node(topology), part = group_gpus(topology, spec);
  CollPhase phase = { .set = set };

  for (guint node = first_node(spec); node < end_node(topology, spec); node++)
    for (guint first = 0; first < g; first += part)
      add_ring(topology, kind,
               (Row){ .first = node * g + first, .n = MIN(part, g - first), .step = 1 },
               &phase);
  return phase;
}

/* Between GPUs and host memory: every GPU its part, or the first of every node all. */
static CollPhase staging(const Topology *topology, const MoveSpec *spec, bool to_host,
                         bool leaders, FlowSet *set)
{
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  const guint g = topology_gpus_per_node(topology);
  const guint part = group_gpus(topology, spec);

  for (guint node = first_node(spec); node < end_node(topology, spec); node++)
    for (guint local = 0; local < (leaders ? 1 : g); local++) {
      g_array_set_size(links, 0);
      topology_route_staging(topology, node * g + local, to_host, links);
      const guint n_parts = leaders ? 1 : MIN(part, g - local / part * part);
      flow_set_add(set, 1.0 / n_parts, INFINITY, (const guint32 *)(const void *)links->data,
                   links->len);
    }
  return (CollPhase){ .set = set };
}

/* What one node says to @p server, or hears from it. */
static void add_exchange(const Topology *topology, bool push, guint node, guint server,
                         CollPhase *phase)
{
  const guint n_rails = MAX(topology_nics_per_node(topology), 1);
  const double share = 1.0 / n_rails;

  for (guint rail = 0; rail < n_rails; rail++) {
    const double latency_s =
      push ? topology_add_push(topology, node, server, rail, share, phase->set)
           : topology_add_host_flow(topology, server, node, rail, share, phase->set);
    phase->n_net_hops = node == server ? phase->n_net_hops : 1;
    phase->path_latency_s = MAX(phase->path_latency_s, latency_s);
  }
}

/* With one machine, or inside every rack. */
static CollPhase exchange_with(const Topology *topology, const MoveSpec *spec, bool push,
                               bool in_rack, FlowSet *set)
{
  const guint rack = MAX(spec->rack_nodes, 1);
  CollPhase phase = { .set = set };

  for (guint node = first_node(spec); node < end_node(topology, spec); node++) {
    const guint leader = node - node % rack;
    if (in_rack)
      add_exchange(topology, push, node, leader, &phase);
    else if (node == leader)
      add_exchange(topology, push, node, spec->machine, &phase);
  }
  transport_limit_incast(&topology_transport(topology)->incast, topology_links(topology),
                         set);
  return phase;
}

/* The second phase of the hierarchical all-reduce. */
static CollPhase cross_rings(const Topology *topology, FlowSet *set)
{
  g_autoptr(Group) group = group_new_all(topology);
  g_autoptr(GArray) phases = coll_phases_new();
  const CollCall call = { .kind = COLL_ALL_REDUCE,
                          .group = group,
                          .n_rails = MAX(topology_nics_per_node(topology), 1) };

  if (topology_n_nodes(topology) == 1)
    return (CollPhase){ .set = set };
  coll_hierarchical.phases(&call, topology, phases);
  const CollPhase *between = &g_array_index(phases, CollPhase, 1);
  append_set(set, between->set);
  return (CollPhase){
    .set = set,
    .n_local_hops = between->n_local_hops,
    .n_net_hops = between->n_net_hops,
    .path_latency_s = between->path_latency_s,
  };
}

static CollPhase host_ring(const Topology *topology, FlowSet *set)
{
  const guint n = topology_n_nodes(topology);
  const guint n_rails = MAX(topology_nics_per_node(topology), 1);
  const guint n_hops = 2 * (n - 1);
  const double share = (double)n_hops / n / n_rails;
  double hop_s = 0;

  for (guint node = 0; node < n && n > 1; node++)
    for (guint rail = 0; rail < n_rails; rail++) {
      const double latency_s =
        topology_add_host_flow(topology, node, (node + 1) % n, rail, share, set);
      hop_s = MAX(hop_s, latency_s);
    }
  return (CollPhase){ .set = set, .n_net_hops = n_hops, .path_latency_s = n_hops * hop_s };
}

CollPhase move_phase(const Topology *topology, const MoveSpec *spec)
{
  const Move move = spec->move;
  FlowSet *set = flow_set_new();
  CollPhase phase = { 0 };

  switch (move) {
  case MOVE_LOCAL_REDUCE_SCATTER:
    phase = local_rings(topology, spec, COLL_REDUCE_SCATTER, set);
    break;
  case MOVE_LOCAL_ALL_GATHER:
    phase = local_rings(topology, spec, COLL_ALL_GATHER, set);
    break;
  case MOVE_LOCAL_REDUCE:
    phase = local_rings(topology, spec, COLL_REDUCE, set);
    break;
  case MOVE_LOCAL_BROADCAST:
    phase = local_rings(topology, spec, COLL_BROADCAST, set);
    break;
  case MOVE_TO_HOST:
  case MOVE_FROM_HOST:
    phase = staging(topology, spec, move == MOVE_TO_HOST, false, set);
    break;
  case MOVE_LEADER_TO_HOST:
  case MOVE_LEADER_FROM_HOST:
    phase = staging(topology, spec, move == MOVE_LEADER_TO_HOST, true, set);
    break;
  case MOVE_PUSH:
  case MOVE_PULL:
    phase = exchange_with(topology, spec, move == MOVE_PUSH, false, set);
    break;
  case MOVE_RACK_PUSH:
  case MOVE_RACK_PULL:
    phase = exchange_with(topology, spec, move == MOVE_RACK_PUSH, true, set);
    break;
  case MOVE_RACK_REDUCE_SCATTER:
    phase = rack_rings(topology, spec, COLL_REDUCE_SCATTER, false, set);
    break;
  case MOVE_RACK_ALL_GATHER:
    phase = rack_rings(topology, spec, COLL_ALL_GATHER, false, set);
    break;
  case MOVE_ACROSS_ALL_REDUCE:
    phase = rack_rings(topology, spec, COLL_ALL_REDUCE, true, set);
    break;
  case MOVE_ACROSS_ALL_GATHER:
    phase = rack_rings(topology, spec, COLL_ALL_GATHER, true, set);
    break;
  case MOVE_CROSS_ALL_REDUCE:
    phase = cross_rings(topology, set);
    break;
  case MOVE_HOST_ALL_REDUCE:
    phase = host_ring(topology, set);
    break;
  case MOVE_N:
    g_return_val_if_reached(phase);
  }
  phase.name = move_names[move];
  phase.bound_s_per_B =
    flow_set_bound_s_per_B(set, topology_links(topology), topology_n_links(topology));
  return phase;
}
