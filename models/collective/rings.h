/**
 * @file rings.h
 * @brief What ring algorithms share: channels, orders, rounds and chains of hops.
 *
 * A channel is one ring with its part of the message: it follows one ring order of the
 * fabric and one rail of the nodes. There are so many channels that every order and every
 * rail has the same number of them.
 */
#pragma once

#include "models/collective.h"

/** The rings of one call on one cluster. */
typedef struct Rings Rings;

/**
 * @param n_rails   rails to spread over; 1 if the rings stay inside the nodes
 * @param topology  NULL: one order, by rank; rail r of R begins R-ths of a node later
 * Both are borrowed. Transfer: caller frees with rings_free().
 */
Rings *rings_new(const CollCall *call, guint n_rails, const Topology *topology);
void rings_free(Rings *rings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rings, rings_free)

guint rings_n_channels(const Rings *rings);
guint rings_rail(const Rings *rings, guint channel);

/**
 * The ranks of @p node in the order in which @p channel visits them. Where the ring goes
 * from node to node it enters at the GPU nearest to the NIC of its rail, or at the next
 * one, so that it leaves from the nearest: whichever route is shorter.
 * @param ranks  ranks_per_node entries
 */
void rings_visit(const Rings *rings, guint channel, guint node, guint *ranks);

/** How often a message of this kind travels around a ring: 2 for an all-reduce. */
guint rings_n_laps(CollKind kind);

/** Bytes that each of @p n ranks sends per byte of the message. */
double rings_share(CollKind kind, guint n);

/** One edge of a ring. */
typedef struct {
  bool is_net;
  double latency_s; /**< of its links [s] */
} RingEdge;

/** Hops that wait for one another. */
typedef struct {
  guint n_local_hops, n_net_hops;
  double latency_s; /**< of the links along them [s] */
} RingChain;

/**
 * The longest chain of messages: @p n_laps times around the ring less @p n_laps edges,
 * which are those neighbours with the fewest hops between nodes.
 */
RingChain rings_chain(const RingEdge *edges, guint n, guint n_laps);

/** Add a flow of GPUs from rank to rank to @p set and return its edge. */
RingEdge rings_add_flow(const CollCall *call, const Topology *topology, guint src,
                        guint dst, guint rail, double share, FlowSet *set);

/** Append a phase whose chain is @p chain; takes @p set. */
void rings_add_phase(GArray *phases, const char *name, FlowSet *set, RingChain chain,
                     const Topology *topology);

/** A ring of a plan: position p is rank ranks[p] and owns chunks first_chunks[p].. */
typedef struct {
  guint n;
  const guint *ranks;
  const guint *first_chunks;
  guint n_chunks; /**< of each position */
  double size_B;  /**< of them */
  guint *arrived; /**< per rank: the message it waits for; updated */
} PlanRing;

/** Append round @p round (0..n-2) of a reduce-scatter (@p reduce) or an all-gather. */
void rings_plan_round(const PlanRing *ring, guint round, bool reduce, Plan *plan);
