#include "models/topology.h"

#include <math.h>

/* What each sender sent while the timeouts were counted: 100 blocks of 256 KiB. Assumed to
 * be those of the paper's fixed-fragment workload. */
static const double counted_B = 100 * 256 * 1024;

/* Timeouts per sender and counted_B, and the number of senders from which more do not add
 * any: Chen et al. 2009, RTO of 200 ms. */
static const double timeouts_per_sender = 3.5;
static const guint timeouts_senders = 10;

TransportEffect transport_none(void)
{
  return (TransportEffect){
    .goodput = 1,
    .flow_cap_Bps = INFINITY,
    .n_paths = 1,
    .gpu_direct = true,
    .incast.buffer_B = INFINITY,
  };
}

double transport_incast_share(const TransportIncast *incast, guint n_senders,
                              double link_Bps)
{
  if (n_senders < 2 || !(n_senders * incast->window_B > incast->bdp_B + incast->buffer_B))
    return 1;
  const double ideal_s = n_senders * counted_B / link_Bps;
  const double lost_s =
    timeouts_per_sender * MIN(n_senders, timeouts_senders) * incast->timeout_s;
  return ideal_s / (ideal_s + lost_s);
}

/* A flow between nodes: its first and its last cable. */
typedef struct {
  guint32 from, to;
  guint flow;
} Arrival;

static gint compare_arrivals(gconstpointer a, gconstpointer b)
{
  const Arrival *left = a, *right = b;

  if (left->to != right->to)
    return left->to < right->to ? -1 : 1;
  if (left->from != right->from)
    return left->from < right->from ? -1 : 1;
  return left->flow < right->flow ? -1 : left->flow > right->flow;
}

/* By receiver, then by sender. */
static GArray *find_arrivals(const Link *links, const FlowSet *set)
{
  GArray *arrivals = g_array_new(FALSE, FALSE, sizeof(Arrival));

  for (guint f = 0; f < flow_set_n_flows(set); f++) {
    const Flow *flow = flow_set_flow(set, f);
    const guint32 *route = flow_set_links(set, flow);
    guint n_cables = 0;
    Arrival arrival = { .flow = f };

    for (guint i = 0; i < flow->n_links; i++) {
      if (links[route[i]].tier != TIER_NIC)
        continue;
      if (n_cables++ == 0)
        arrival.from = route[i];
      arrival.to = route[i];
    }
    if (n_cables >= 2)
      g_array_append_val(arrivals, arrival);
  }
  g_array_sort(arrivals, compare_arrivals);
  return arrivals;
}

/* The flows @p first .. of one receiver. */
static void limit_receiver(const TransportIncast *incast, const Link *links,
                           const Arrival *first, guint n, FlowSet *set)
{
  const double link_Bps = links[first->to].capacity_Bps;
  double share = 0;
  guint n_senders = 0;

  for (guint i = 0; i < n; i++) {
    n_senders += i == 0 || first[i].from != first[i - 1].from;
    share += flow_set_flow(set, first[i].flow)->share;
  }
  const double left = transport_incast_share(incast, n_senders, link_Bps);
  for (guint i = 0; left < 1 && i < n; i++) {
    Flow *flow = &g_array_index(set->flows, Flow, first[i].flow);
    flow->cap_Bps = MIN(flow->cap_Bps, left * link_Bps * flow->share / share);
  }
}

void transport_limit_incast(const TransportIncast *incast, const Link *links, FlowSet *set)
{
  if (isinf(incast->buffer_B))
    return;

  g_autoptr(GArray) arrivals = find_arrivals(links, set);
  for (guint i = 0, n = 0; i < arrivals->len; i += n) {
    const Arrival *first = &g_array_index(arrivals, Arrival, i);
    for (n = 1; i + n < arrivals->len && first[n].to == first->to; n++)
      ;
    limit_receiver(incast, links, first, n, set);
  }
}
