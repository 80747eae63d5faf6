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

/* Bytes that all the sets load each link with. Transfer: caller frees. */
static double *sum_loads(const Topology *topology, const FlowSet *const *sets,
                         const double *wire_B, guint n)
{
  double *load_B = g_new0(double, topology_n_links(topology));

  for (guint s = 0; s < n; s++)
    for (guint f = 0; f < flow_set_n_flows(sets[s]); f++) {
      const Flow *flow = flow_set_flow(sets[s], f);
      const guint32 *route = flow_set_links(sets[s], flow);
      for (guint i = 0; i < flow->n_links; i++)
        load_B[route[i]] += flow->share * wire_B[s];
    }
  return load_B;
}

void demand_add_all(Demand *demand, const Topology *topology, const FlowSet *const *sets,
                    const double *wire_B, guint n)
{
  g_autofree double *load_B = sum_loads(topology, sets, wire_B, n);
  double busiest_s[TIER_N] = { 0 };

  for (guint i = 0; i < topology_n_links(topology); i++) {
    const Link *link = &topology_links(topology)[i];
    busiest_s[link->tier] = MAX(busiest_s[link->tier], load_B[i] / link->capacity_Bps);
  }
  for (guint tier = 0; tier < TIER_N; tier++)
    demand->tier_s[tier] += busiest_s[tier];
}
