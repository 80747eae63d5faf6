#include "sim/training/timeline.h"

void timeline_init(Timeline *timeline, bool traced, guint n_stages, Result *result)
{
  *timeline = (Timeline){
    .traced = traced,
    .stage_s = g_new0(double, n_stages),
    .latencies_s = g_array_new(FALSE, FALSE, sizeof(double)),
    .result = result,
  };
}

void timeline_clear(Timeline *timeline)
{
  g_clear_pointer(&timeline->stage_s, g_free);
  g_clear_pointer(&timeline->latencies_s, g_array_unref);
}

void timeline_begin(Timeline *timeline, double now_s)
{
  timeline->measuring = true;
  timeline->busy_since_s = now_s;
}

void timeline_end(Timeline *timeline, double now_s)
{
  if (timeline->n_in_flight > 0)
    timeline->busy_s += now_s - timeline->busy_since_s;
  timeline->measuring = false;
}

void timeline_depart(Timeline *timeline, double now_s)
{
  if (timeline->n_in_flight++ == 0)
    timeline->busy_since_s = now_s;
}

void timeline_arrive(Timeline *timeline, double now_s)
{
  if (--timeline->n_in_flight == 0 && timeline->measuring)
    timeline->busy_s += now_s - timeline->busy_since_s;
}

void timeline_add_transfer(Timeline *timeline, const Exchange *exchange,
                           const ExchangePhase *phase, double start_s, double end_s)
{
  if (!timeline->measuring || !(end_s > start_s))
    return;
  for (guint tier = 0; tier < TIER_N; tier++) {
    const double moved_B = phase->load->moved[tier] * phase->wire_B;
    if (!(moved_B > 0))
      continue;
    const double peak = phase->load->busiest[tier] * phase->wire_B / (end_s - start_s);
    timeline->moved_B[tier] += moved_B;
    timeline->peak[tier] = MAX(timeline->peak[tier], MIN(peak, 1));
    if (!timeline->traced)
      continue;
    const double mean =
      moved_B / exchange_tier_capacity_Bps(exchange, tier) / (end_s - start_s);
    const LinkSpan span = {
      .tier = tier, .start_s = start_s, .end_s = end_s, .mean = MIN(mean, 1)
    };
    g_array_append_val(timeline->result->link_spans, span);
  }
}
