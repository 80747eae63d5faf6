/**
 * @file flow.h
 * @brief A flow set: who loads which links, per byte of a message.
 *
 * A collective in its steady state is a set of flows that run together. Each
 * flow knows the links it crosses and how many bytes it carries per byte of
 * the message (its share). Links are numbers into the topology's table.
 */
#pragma once

#include <glib.h>

/** A directed link as the engine and the flow sets see it. */
typedef struct {
  guint tier;          /**< index into topology_tier_names */
  double capacity_Bps; /**< what an application gets out of it, > 0 [B/s] */
  double latency_s;    /**< one way, >= 0 [s] */
} Link;

typedef struct {
  guint first_link; /**< index into FlowSet.links */
  guint n_links;    /**< 0 is allowed: a flow that loads nothing */
  double share;     /**< bytes on this flow per byte of the message, > 0 */
  double cap_Bps;   /**< its own limit; INFINITY if none [B/s] */
} Flow;

typedef struct {
  GArray *flows; /**< of Flow */
  GArray *links; /**< of guint32: link numbers, flow after flow */
} FlowSet;

/** Transfer: caller frees with flow_set_free(). */
FlowSet *flow_set_new(void);
void flow_set_free(FlowSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FlowSet, flow_set_free)

/** Append a flow; @p links is copied. */
void flow_set_add(FlowSet *set, double share, double cap_Bps, const guint32 *links,
                  guint n_links);

/** Append a flow whose links were appended to @p set->links already, from @p first_link to
 *  the end: for who makes millions of them. */
void flow_set_add_laid(FlowSet *set, double share, double cap_Bps, guint first_link);

guint flow_set_n_flows(const FlowSet *set);
const Flow *flow_set_flow(const FlowSet *set, guint index);
const guint32 *flow_set_links(const FlowSet *set, const Flow *flow);

/**
 * Seconds per byte of message that the busiest link or the tightest cap needs when
 * nothing else runs: max over links of (sum of shares / capacity) and over flows of
 * share / cap. A lower bound of the max-min fair finish time, and equal to it where
 * the flows of the busiest link meet no other bottleneck.
 */
double flow_set_bound_s_per_B(const FlowSet *set, const Link *links, guint n_links);
