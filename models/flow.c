#include "models/flow.h"

#include <math.h>

FlowSet *flow_set_new(void)
{
  FlowSet *set = g_new0(FlowSet, 1);
  set->flows = g_array_new(FALSE, FALSE, sizeof(Flow));
  set->links = g_array_new(FALSE, FALSE, sizeof(guint32));
  return set;
}

void flow_set_free(FlowSet *set)
{
  if (set == NULL)
    return;
  g_array_unref(set->flows);
  g_array_unref(set->links);
  g_free(set);
}

void flow_set_add(FlowSet *set, double share, double cap_Bps, const guint32 *links,
                  guint n_links)
{
  const guint first_link = set->links->len;

  if (n_links > 0)
    g_array_append_vals(set->links, links, n_links);
  flow_set_add_laid(set, share, cap_Bps, first_link);
}

void flow_set_add_laid(FlowSet *set, double share, double cap_Bps, guint first_link)
{
  g_return_if_fail(share > 0 && cap_Bps > 0 && first_link <= set->links->len);

  const Flow flow = {
    .first_link = first_link,
    .n_links = set->links->len - first_link,
    .share = share,
    .cap_Bps = cap_Bps,
  };
  g_array_append_val(set->flows, flow);
}

guint flow_set_n_flows(const FlowSet *set)
{
  return set->flows->len;
}

const Flow *flow_set_flow(const FlowSet *set, guint index)
{
  return &g_array_index(set->flows, Flow, index);
}

const guint32 *flow_set_links(const FlowSet *set, const Flow *flow)
{
  return &g_array_index(set->links, guint32, flow->first_link);
}

double flow_set_bound_s_per_B(const FlowSet *set, const Link *links, guint n_links)
{
  g_autofree double *load = g_new0(double, n_links); /* bytes per byte of message */
  double bound_s_per_B = 0;

  for (guint f = 0; f < flow_set_n_flows(set); f++) {
    const Flow *flow = flow_set_flow(set, f);
    const guint32 *crossed = flow_set_links(set, flow);

    bound_s_per_B = MAX(bound_s_per_B, flow->share / flow->cap_Bps);
    for (guint i = 0; i < flow->n_links; i++) {
      g_return_val_if_fail(crossed[i] < n_links, INFINITY);
      load[crossed[i]] += flow->share;
    }
  }
  /* A set may use few links of a large cluster, or each of them thousands of times. */
  for (guint i = 0; i < MIN(set->links->len, n_links); i++) {
    const guint32 link =
      set->links->len < n_links ? g_array_index(set->links, guint32, i) : i;
    bound_s_per_B = MAX(bound_s_per_B, load[link] / links[link].capacity_Bps);
  }
  return bound_s_per_B;
}
