/**
 * @file rings.h
 * @brief What ring algorithms share: channels, orders, rounds and chains of hops.
 *
 * A channel is one ring with its part of the message: it follows one ring order of the
 * fabric and one rail of the nodes. There are so many channels that every order and every
 * rail has the same number of them.
 */
#pragma once

#include "models/collective/draft.h"

/** The rings of one call on one cluster. */
typedef struct Rings Rings;

/**
 * @param n_rails   rails to spread over; 1 if the rings stay inside the nodes
 * @param topology  NULL: one order, by rank, and every NIC near its part of a node's ranks
 * Both are borrowed. Transfer: caller frees with rings_free().
 */
Rings *rings_new(const CollCall *call, guint n_rails, const Topology *topology);

/** The same, but chains in the nodes that begin, and need not end, at the nearest GPU. */
Rings *rings_new_chains(const CollCall *call, guint n_rails, const Topology *topology);
void rings_free(Rings *rings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rings, rings_free)

guint rings_n_channels(const Rings *rings);
guint rings_rail(const Rings *rings, guint channel);

/** The NIC through which @p channel leaves @p node: that of its rail, or where rings may
 *  cross and no GPU stands by the rail's NIC on the way out, the one next to the last GPU.
 *  Every second node is crossed backwards then, so that NICs face their like. */
guint rings_rail_out(const Rings *rings, guint channel, guint node);

/** PlanStep.rail of what each rank sends on @p channel.
 *  @param rails  n_ranks entries */
void rings_plan_rails(const Rings *rings, guint channel, guint *rails);

/**
 * The ranks of @p node in the order in which @p channel visits them. Where the ring goes
 * from node to node it enters at the GPU nearest to the NIC of its rail, or at the next
 * one, so that it leaves from the nearest: whichever route is shorter.
 * @param ranks  group_n_local() entries
 */
void rings_visit(const Rings *rings, guint channel, guint node, guint *ranks);

/** The same for all nodes, one after another. @param ranks  n_ranks entries */
void rings_visit_all(const Rings *rings, guint channel, guint *ranks);

/** How often a message of this kind travels around a ring: 2 for an all-reduce. */
guint rings_n_laps(CollKind kind);

/** Bytes that each of @p n ranks sends per byte of the message. */
double rings_share(CollKind kind, guint n);

/**
 * The longest chain of messages: @p n_laps times around the ring of @p n hops less
 * @p n_laps hops, which are those neighbours with the fewest between nodes.
 */
Chain rings_chain(const Chain *hops, guint n, guint n_laps);

/**
 * The same, with what the bytes need along it. Hop p is the flows of @p draft from number
 * @p first + p @p stride on, all alike; @p loads is draft_loads() of all.
 */
Chain rings_chain_of_flows(const Draft *draft, const double *loads, guint first,
                           guint stride, const Chain *hops, guint n, guint n_laps);

/** A ring of a plan: position p is rank ranks[p] and owns chunks first_chunks[p].. */
typedef struct {
  guint n;
  const guint *ranks;
  const guint *first_chunks;
  const guint *n_chunks; /**< of each position */
  double chunk_B;        /**< one of them */
  guint *arrived;        /**< per position: the message it waits for; updated */
  guint stride;          /**< of arrived: position p has arrived[p * stride] */
  guint channel;         /**< as in PlanStep */
  const guint *rails;    /**< per position, of what it sends, as in PlanStep; NULL: all */
} PlanRing;

/** What the ranks of a ring wait for besides: position p for ids[first[p]] up to
 *  ids[first[p + 1] - 1]. */
typedef struct {
  const guint *first;
  const guint *ids;
} PlanRingWait;

/** Append round @p round (0..n-2) of a reduce-scatter (@p reduce) or an all-gather.
 *  @param wait  NULL: nothing */
void rings_plan_round(const PlanRing *ring, guint round, bool reduce,
                      const PlanRingWait *wait, Plan *plan);
