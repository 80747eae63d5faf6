#include "models/collective/draft.h"

struct Draft {
  const CollCall *call;
  const Topology *topology;
  FlowSet *set;
  double *sent; /* by each rank, per byte of message */
};

Chain chain_join(Chain chain, Chain next)
{
  return (Chain){
    .n_local_hops = chain.n_local_hops + next.n_local_hops,
    .n_net_hops = chain.n_net_hops + next.n_net_hops,
    .latency_s = chain.latency_s + next.latency_s,
    .s_per_B = chain.s_per_B + next.s_per_B,
  };
}

bool chain_is_longer(Chain chain, Chain other)
{
  if (chain.n_net_hops != other.n_net_hops)
    return chain.n_net_hops > other.n_net_hops;
  if (chain.latency_s < other.latency_s || chain.latency_s > other.latency_s)
    return chain.latency_s > other.latency_s;
  return chain.n_local_hops > other.n_local_hops;
}

Draft *draft_new(const CollCall *call, const Topology *topology)
{
  Draft *draft = g_new0(Draft, 1);
  draft->call = call;
  draft->topology = topology;
  draft->set = flow_set_new();
  draft->sent = g_new0(double, call->group->n_ranks);
  return draft;
}

void draft_free(Draft *draft)
{
  flow_set_free(draft->set);
  g_free(draft->sent);
  g_free(draft);
}

Chain draft_add_flow(Draft *draft, guint src, guint dst, guint rail, double share)
{
  const Group *group = draft->call->group;
  const guint src_gpu = group->gpus[src], dst_gpu = group->gpus[dst];
  const bool is_local = group_is_local(group, src, dst);

  draft->sent[src] += share;
  return (Chain){
    .n_local_hops = is_local,
    .n_net_hops = !is_local,
    .latency_s = topology_add_flow(draft->topology, src_gpu, dst_gpu,
                                   coll_nic(draft->call, rail), share, draft->set),
  };
}

Chain draft_add_message(Draft *draft, guint src, guint dst, double share)
{
  const guint n_rails =
    group_is_local(draft->call->group, src, dst) ? 1 : draft->call->n_rails;
  Chain slowest = { 0 };

  if (src == dst)
    return slowest;
  for (guint rail = 0; rail < n_rails; rail++) {
    const Chain hop = draft_add_flow(draft, src, dst, rail, share / n_rails);
    if (chain_is_longer(hop, slowest))
      slowest = hop;
  }
  return slowest;
}

guint draft_n_flows(const Draft *draft)
{
  return flow_set_n_flows(draft->set);
}

void draft_add_loads(const Draft *draft, guint index, double times, double *loads)
{
  const Flow *flow = flow_set_flow(draft->set, index);
  const guint32 *links = flow_set_links(draft->set, flow);
  for (guint i = 0; i < flow->n_links; i++)
    loads[links[i]] += times * flow->share;
}

double *draft_loads(const Draft *draft, guint first)
{
  double *loads = g_new0(double, topology_n_links(draft->topology));

  for (guint f = first; f < flow_set_n_flows(draft->set); f++)
    draft_add_loads(draft, f, 1, loads);
  return loads;
}

double draft_flow_s_per_B(const Draft *draft, const double *loads, guint index)
{
  const Flow *flow = flow_set_flow(draft->set, index);
  const guint32 *links = flow_set_links(draft->set, flow);
  double s_per_B = flow->share / flow->cap_Bps;

  for (guint i = 0; i < flow->n_links; i++)
    s_per_B = MAX(s_per_B,
                  loads[links[i]] / topology_links(draft->topology)[links[i]].capacity_Bps);
  return s_per_B;
}

double draft_slowest_s_per_B(const Draft *draft, const double *loads, guint first, guint n)
{
  double s_per_B = 0;
  for (guint i = first; i < first + n; i++)
    s_per_B = MAX(s_per_B, draft_flow_s_per_B(draft, loads, i));
  return s_per_B;
}

void draft_limit(Draft *draft)
{
  transport_limit_incast(&topology_transport(draft->topology)->incast,
                         topology_links(draft->topology), draft->set);
}

double draft_bound_s_per_B(const Draft *draft)
{
  return flow_set_bound_s_per_B(draft->set, topology_links(draft->topology),
                                topology_n_links(draft->topology));
}

void draft_finish(Draft *draft, const char *name, Chain chain, double way_s_per_B,
                  GArray *phases)
{
  draft_limit(draft);

  CollPhase phase = {
    .name = name,
    .n_local_hops = chain.n_local_hops,
    .n_net_hops = chain.n_net_hops,
    .path_latency_s = chain.latency_s,
    .bound_s_per_B = draft_bound_s_per_B(draft),
  };

  phase.fill_s_per_B = MAX(0, way_s_per_B - phase.bound_s_per_B);
  phase.first_s_per_B = phase.fill_s_per_B;
  if (chain.s_per_B > 0)
    phase.slack_s_per_B = MAX(0, phase.bound_s_per_B - chain.s_per_B);
  for (guint rank = 0; rank < draft->call->group->n_ranks; rank++)
    phase.rank_share = MAX(phase.rank_share, draft->sent[rank]);
  if (flow_set_n_flows(draft->set) > 0) {
    phase.set = g_steal_pointer(&draft->set);
    g_array_append_val(phases, phase);
  }
  draft_free(draft);
}
