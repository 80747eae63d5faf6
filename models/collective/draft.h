/**
 * @file draft.h
 * @brief A phase in the making: flows between ranks, and the way that takes longest.
 */
#pragma once

#include "models/collective.h"

/** Of hops that wait for one another. */
typedef CollChain Chain;

/** The chain followed by one more. */
Chain chain_join(Chain chain, Chain next);
/** More hops between nodes, or as many and more latency, or as much and more hops. */
bool chain_is_longer(Chain chain, Chain other);

typedef struct Draft Draft;

/** Both are borrowed. Transfer: draft_finish() frees it, or draft_free(). */
Draft *draft_new(const CollCall *call, const Topology *topology);
void draft_free(Draft *draft);

/** Add a flow of GPUs from rank @p src to @p dst and return its one hop. */
Chain draft_add_flow(Draft *draft, guint src, guint dst, guint rail, double share);

/** The same, spread evenly over all rails if it leaves the node. Nothing if src is dst. */
Chain draft_add_message(Draft *draft, guint src, guint dst, double share);

guint draft_n_flows(const Draft *draft);

/** Bytes on each link of the topology, per byte of message, by the flows from number
 *  @p first on. Transfer: caller frees with g_free(). */
double *draft_loads(const Draft *draft, guint first);

/** Add @p times the bytes of flow @p index to the loads of its links. */
void draft_add_loads(const Draft *draft, guint index, double times, double *loads);

/** How long flow @p index needs per byte of message among the flows that make up @p loads:
 *  what its busiest link, or its own limit, takes [s/B]. */
double draft_flow_s_per_B(const Draft *draft, const double *loads, guint index);

/** Limit flows that many senders send to one receiver; draft_finish() does so as well. */
void draft_limit(Draft *draft);

/** The longest time that one of the flows from number @p first on needs, as
 *  draft_flow_s_per_B() has it [s/B]. */
double draft_slowest_s_per_B(const Draft *draft, const double *loads, guint first, guint n);

/** What the busiest link, or the tightest limit of a flow, needs [s/B]. */
double draft_bound_s_per_B(const Draft *draft);

/** Append the phase, unless it has no flows.
 *  @param way_s_per_B  of a pipeline: what one chunk takes on all hops of the longest way,
 *                      per byte of chunk; 0: nothing is pipelined [s/B] */
void draft_finish(Draft *draft, const char *name, Chain chain, double way_s_per_B,
                  GArray *phases);
