#include "models/collective.h"

#include <math.h>

guint coll_nic(const CollCall *call, guint rail)
{
  return call->nics == NULL ? rail : call->nics[rail % call->n_rails];
}

guint coll_n_chunks(double size_B, double chunk_B)
{
  const double n = ceil(size_B / (chunk_B > 0 ? chunk_B : COLL_CHUNK_B));
  return (guint)CLAMP(n, 1, COLL_MAX_CHUNKS);
}

double coll_chunk_B(double size_B, double chunk_B)
{
  return size_B / coll_n_chunks(size_B, chunk_B);
}

double coll_phase_least_s(const CollPhase *phase, const CollTerms *terms, double size_B)
{
  return terms->rank_Bps > 0 ? size_B * phase->rank_share / terms->rank_Bps : 0;
}

static double flows_s(const CollPhase *phase, const CollTerms *terms, double size_B)
{
  return phase->bound_s_per_B * size_B * terms->wire_factor;
}

/* Latencies of the longest chain that no queue hides. The chain takes its hops and its own
 * bytes, the busiest link the latency of one hop and its queue; the longer of the two
 * counts. (The cycle time of a ring of queues: F. Baccelli, G. Cohen, G. J. Olsder, J.-P.
 * Quadrat, "Synchronization and Linearity", 1992, chapter 3.) Channels that limit all hops
 * alike leave no slack beyond what the links take longer than they do. */
static double hops_s(const CollPhase *phase, const CollTerms *terms, double size_B)
{
  const double all_s = phase->n_local_hops * terms->alpha_local_s +
                       phase->n_net_hops * terms->alpha_net_s + phase->path_latency_s;
  const double one_s =
    phase->n_net_hops > 0
      ? terms->alpha_net_s + phase->path_latency_s / phase->n_net_hops
      : terms->alpha_local_s + phase->path_latency_s / MAX(phase->n_local_hops, 1);
  const double slack_s = phase->slack_s_per_B * size_B * terms->wire_factor;
  const double beyond_s =
    flows_s(phase, terms, size_B) - coll_phase_least_s(phase, terms, size_B);
  const double hidden_s = MAX(0, MIN(slack_s, beyond_s));

  if (terms->additive)
    return all_s;
  return MAX(MIN(one_s, all_s), all_s - hidden_s);
}

static double chains_s(const CollPhase *phase, const CollTerms *terms, double bytes_B)
{
  double longest_s = 0;

  for (guint i = 0; i < phase->chains->len; i++) {
    const CollChain *chain = &g_array_index(phase->chains, CollChain, i);
    longest_s = MAX(longest_s, chain->n_local_hops * terms->alpha_local_s +
                                 chain->n_net_hops * terms->alpha_net_s + chain->latency_s +
                                 chain->s_per_B * bytes_B);
  }
  return longest_s;
}

double coll_phase_wait_s(const CollPhase *phase, const CollTerms *terms, double size_B)
{
  const double flow_s = flows_s(phase, terms, size_B);
  const double least_s = coll_phase_least_s(phase, terms, size_B);
  const double chunk_B = coll_chunk_B(size_B, terms->chunk_B) * terms->wire_factor;
  /* Channels that slow the flows down slow the first chunk down alike. */
  const double slower = flow_s > 0 && least_s > flow_s ? least_s / flow_s : 1;

  if (phase->chains != NULL) {
    const double bytes_B = size_B * terms->wire_factor * slower;
    return MAX(0, chains_s(phase, terms, bytes_B) - phase->chains_bound_s_per_B * bytes_B);
  }
  const double fill_s_per_B = terms->additive ? phase->fill_s_per_B : phase->first_s_per_B;
  return hops_s(phase, terms, size_B) + fill_s_per_B * chunk_B * slower;
}

double coll_phase_idle_s(const CollPhase *phase, const CollTerms *terms, double size_B)
{
  return coll_phase_wait_s(phase, terms, size_B) +
         MAX(flows_s(phase, terms, size_B), coll_phase_least_s(phase, terms, size_B));
}

static void phase_clear(CollPhase *phase)
{
  flow_set_free(phase->set);
  g_clear_pointer(&phase->chains, g_array_unref);
}

GArray *coll_phases_new(void)
{
  GArray *phases = g_array_new(FALSE, FALSE, sizeof(CollPhase));
  g_array_set_clear_func(phases, (GDestroyNotify)phase_clear);
  return phases;
}

Plan *coll_plan_new(const CollOps *ops, const CollCall *call, double size_B)
{
  const guint n_switches = ops->n_switches == NULL ? 0 : ops->n_switches(call);
  Plan *plan = plan_new(call->group->n_ranks + n_switches, ops->n_chunks(call, size_B));

  ops->plan(call, size_B, plan);
  return plan;
}
