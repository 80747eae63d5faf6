/**
 * @file walk.h
 * @brief Through the rounds of a collective, rank by rank: who waits for whom.
 *
 * A message of a round leaves once both of its ranks are done with the rounds before. Ranks
 * that are early need not wait for the slowest pair of a round, but for their own.
 */
#pragma once

#include "models/collective/front.h"
#include "models/collective/rounds.h"

typedef struct Walk Walk;

/** Transfer: caller frees with walk_free(). */
Walk *walk_new(guint n_ranks);
void walk_free(Walk *walk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Walk, walk_free)

/** One more round of messages (RoundMessage). @param hops  of each, with its bytes */
void walk_round(Walk *walk, const GArray *messages, const Chain *hops);

/** The longest chains to any rank. */
Front walk_longest(const Walk *walk);
