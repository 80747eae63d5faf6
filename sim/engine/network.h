/**
 * @file network.h
 * @brief A folded network in SimGrid's terms: amounts, hosts, the platform file.
 *
 * A class of n flows is one communication of n times the bytes, with n times the weight in
 * the sharing; n links are one of n times the capacity. SimGrid's CM02 model shares a link
 * in proportion to 1/latency of the route: every class gets a private FATPIPE link of
 * latency N/n, where N is the number of all flows, and whose bandwidth is also its cap. The
 * latency factor makes the delay vanish, so that latencies stay time in the plan. Weights
 * of n/N rather than n keep their sums near 1, where SimGrid's absolute precision of them
 * is far from both rounding and the smallest weight.
 */
#pragma once

#include "sim/engine/fold.h"

typedef struct {
  Folded *folded;     /**< owned */
  guint *first_class; /**< of each set, n_sets + 1 entries; owned */
  double
    *bound_s_per_B; /**< of each set: seconds per byte that its busiest link needs; owned */
  guint n_sets;
  guint n_flows; /**< in all sets, before folding */
  guint n_hosts; /**< sources, and as many destinations: class c goes from c / n to c % n */
  double scale;  /**< SimGrid amount per byte: whole numbers without loss of precision */
} Network;

/** @param sets  flow sets that may be in flight together; borrowed for the call only */
Network *network_new(const FlowSet *const *sets, guint n_sets, const Link *links,
                     guint n_links, bool fold);
void network_free(Network *network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Network, network_free)

const FlowClass *network_class(const Network *network, guint index);

/** Does it take any time? Classes without links and caps do not. */
bool network_class_moves(const FlowClass *class);

/** What class @p class sends when a message of @p size_B bytes runs over its set. */
double network_amount(const Network *network, const FlowClass *class, double size_B);

/** Do those amounts of set @p set fit SimGrid's whole numbers? */
bool network_amounts_fit(const Network *network, guint set, double size_B);

/** Append the zone of this network to a platform file. @p number makes its names unique. */
void network_write(const Network *network, guint number, GString *xml);

/** Name of a host: direction 's' (source) or 'd' (destination). Transfer: caller frees. */
char *network_host_name(guint number, char direction, guint host);
