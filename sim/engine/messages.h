/**
 * @file messages.h
 * @brief The reference: collectives run message by message, as their plans say.
 *
 * Every message of plan() is a communication of its own on the physical links: nothing is
 * folded, no phase is assumed, and what a message waits for is what the plan says. Slow,
 * and independent of everything that the fast way assumes.
 *
 * A message leaves when all that it waits for have arrived; alpha (inside a node or between
 * nodes) and the latency of its links pass before its first byte; messages of one wire
 * (wires.h) follow one another; different wires share links max-min fairly.
 */
#pragma once

#include "models/library.h"
#include "sim/engine/engine.h"

/** Larger groups are refused: a ring of n ranks is 2n(n-1) messages. */
#define MESSAGES_MAX_RANKS 256

/** The collectives of a group, or of several that have no rank in common, on one cluster.
 */
typedef struct Messages Messages;

/** @param n_ranks  of all groups together. The topology is borrowed. Transfer: caller frees
 * with messages_free().
 *  @return NULL with SIM_ERROR_VALUE for more than MESSAGES_MAX_RANKS ranks */
Messages *messages_new(const Topology *topology, guint n_ranks, GError **error);
void messages_free(Messages *messages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Messages, messages_free)

/** Lay the wires that @p collective uses for @p call, whose chunks do not matter.
 *  @return false with SIM_ERROR_VALUE if it has switches sum: no wire ends at those */
bool messages_lay(Messages *messages, const CollCall *call, const CollOps *collective,
                  GError **error);

/** Announce the wires to @p engine, before it runs.
 *  @param alone  no two collectives are ever under way at once: one that was run before,
 *                with the same size, then takes as long as it took */
void messages_announce(Messages *messages, Engine *engine, bool alone);

/** Inside processes: run what a library has chosen for @p size_B bytes, without its
 *  launch; returns when the last message has arrived, and the channels of the busiest rank
 *  (CollTerms.rank_Bps) have sent their bytes. */
void messages_run(Messages *messages, const CollCall *call, const LibraryChoice *choice,
                  double size_B);

/**
 * What @p choice takes for each size with the cluster to itself, launch included [s]. Once
 * per operating-system process: see engine.h.
 * @return false with SIM_ERROR_VALUE or SIM_ERROR_FAULT
 */
bool messages_measure(const Topology *topology, const CollCall *call,
                      const LibraryChoice *choice, const double *sizes_B, guint n_sizes,
                      double *times_s, GError **error);
