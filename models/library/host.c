#include "models/library/host.h"

void host_candidates(const HostRule *rules, const LibraryCall *call, GPtrArray *collectives)
{
  for (const HostRule *rule = rules; rule->collective != NULL; rule++)
    if ((rule->kinds & call->kind) &&
        !g_ptr_array_find(collectives, rule->collective, NULL))
      g_ptr_array_add(collectives, (gpointer)rule->collective);
}

static bool fits(const HostRule *rule, const LibraryCall *call, double size_B)
{
  const double part_B = size_B / ((double)call->n_nodes * call->ranks_per_node);

  return (rule->kinds & call->kind) && (rule->per_rank ? part_B : size_B) < rule->below_B &&
         part_B >= rule->min_per_rank;
}

LibraryChoice host_choose(const HostRule *rules, const HostParams *params,
                          const LibraryCall *call, double size_B)
{
  const HostRule *rule = rules;
  while (rule->collective != NULL && !fits(rule, call, size_B))
    rule++;
  g_return_val_if_fail(rule->collective != NULL, (LibraryChoice){ 0 });

  return (LibraryChoice){
    .collective = rule->collective,
    .protocol = "",
    .launch_s = params->launch_s,
    .terms = { .alpha_local_s = params->local_latency_s,
               .alpha_net_s = params->net_latency_s + call->message_latency_s,
               .wire_factor = 1,
               .rank_Bps = params->thread_Bps },
  };
}
