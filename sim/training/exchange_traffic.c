/* What other jobs exchange over the same network. */
#include "models/traffic.h"
#include "sim/training/exchange_state.h"

void exchange_lay_traffic(Exchange *exchange, const ClusterSpec *cluster)
{
  const guint n = cluster->other_jobs == NULL ? 0 : cluster->other_jobs->len;

  exchange->first_traffic = exchange->laid->len;
  for (guint i = 0; i < n; i++) {
    Laid laid = { .move = { .move = EXCHANGE_TRAFFIC }, .phases = coll_phases_new() };
    const CollPhase phase = traffic_phase(exchange->topology, cluster, i);
    g_array_append_val(laid.phases, phase);
    exchange_keep(exchange, &laid);
  }
}

ExchangePhase exchange_traffic(const Exchange *exchange, guint index, double size_B)
{
  const CollTerms terms = {
    .alpha_net_s = topology_message_latency_s(exchange->topology),
    .wire_factor = 1,
  };
  return exchange_phase_of(
    &g_array_index(exchange->laid, Laid, exchange->first_traffic + index), 0, &terms,
    size_B);
}
