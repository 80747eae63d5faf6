#include "sim/training/phase_load.h"

#include "models/result.h"

PhaseLoad phase_load(const Topology *topology, const FlowSet *set)
{
  const Link *links = topology_links(topology);
  g_autofree double *per_link = g_new0(double, topology_n_links(topology));
  PhaseLoad load = { 0 };

  for (guint f = 0; f < flow_set_n_flows(set); f++) {
    const Flow *flow = flow_set_flow(set, f);
    const guint32 *route = flow_set_links(set, flow);
    load.tightest = MAX(load.tightest, flow->share / flow->cap_Bps);
    for (guint i = 0; i < flow->n_links; i++) {
      const Link *link = &links[route[i]];
      per_link[route[i]] += flow->share;
      load.moved[link->tier] += flow->share;
      load.busiest[link->tier] =
        MAX(load.busiest[link->tier], per_link[route[i]] / link->capacity_Bps);
    }
  }
  return load;
}

void demand_add(Demand *demand, const PhaseLoad *load, double wait_s, double wire_B)
{
  demand->wait_s += wait_s;
  demand->limit_s += load->tightest * wire_B;
  for (guint tier = 0; tier < TIER_N; tier++)
    demand->tier_s[tier] += load->busiest[tier] * wire_B;
}

const char *demand_largest(const Demand *demand)
{
  guint slowest = 0;

  for (guint tier = 1; tier < TIER_N; tier++)
    if (demand->tier_s[tier] > demand->tier_s[slowest])
      slowest = tier;
  if (demand->limit_s > demand->tier_s[slowest] && demand->limit_s > demand->wait_s)
    return RESULT_BOUND_CONNECTION;
  return demand->wait_s > demand->tier_s[slowest] ? RESULT_BOUND_LATENCY
                                                  : topology_tier_names[slowest];
}
