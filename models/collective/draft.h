/**
 * @file draft.h
 * @brief A phase in the making: flows between ranks, and the way that takes longest.
 */
#pragma once

#include "models/collective.h"

/** Hops that wait for one another. */
typedef struct {
  guint n_local_hops, n_net_hops;
  double latency_s; /**< of the links along them [s] */
  double s_per_B;   /**< what their bytes need, per byte of message; 0: as long as the flow
                         set [s/B] */
} Chain;

/** The chain followed by one more. */
Chain chain_join(Chain chain, Chain next);
/** More hops between nodes, or as many and more latency, or as much and more hops. */
bool chain_is_longer(Chain chain, Chain other);

typedef struct Draft Draft;

/** Both are borrowed. Transfer: draft_finish() frees it. */
Draft *draft_new(const CollCall *call, const Topology *topology);

/** Add a flow of GPUs from rank @p src to @p dst and return its one hop. */
Chain draft_add_flow(Draft *draft, guint src, guint dst, guint rail, double share);

/** The same, spread evenly over all rails if it leaves the node. Nothing if src is dst. */
Chain draft_add_message(Draft *draft, guint src, guint dst, double share);

guint draft_n_flows(const Draft *draft);

/** Bytes on each link of the topology, per byte of message, by the flows from number
 *  @p first on. Transfer: caller frees with g_free(). */
double *draft_loads(const Draft *draft, guint first);

/** How long flow @p index needs per byte of message among the flows that make up @p loads:
 *  what its busiest link, or its own limit, takes [s/B]. */
double draft_flow_s_per_B(const Draft *draft, const double *loads, guint index);

/** Append the phase, unless it has no flows.
 *  @param way_s_per_B  of a pipeline: what one chunk takes on all hops of the longest way,
 *                      per byte of chunk; 0: nothing is pipelined [s/B] */
void draft_finish(Draft *draft, const char *name, Chain chain, double way_s_per_B,
                  GArray *phases);
