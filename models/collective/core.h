/**
 * @file core.h
 * @brief A power of two of ranks: what algorithms that double or halve work on.
 *
 * Of n ranks, 2^k <= n form the core. The n - 2^k others, the even ones of the first, hand
 * what they have to the rank after them before, and get the result from it afterwards.
 * MPICH, src/mpi/coll/allreduce/allreduce_intra_recursive_doubling.c.
 */
#pragma once

#include "models/collective/rounds.h"

typedef struct {
  guint n;      /**< ranks */
  guint n_core; /**< 2^n_levels, the largest power of two in n */
  guint n_levels;
  guint n_extra; /**< n - n_core */
} Core;

Core core_of(const CollCall *call);

/** Rank of member @p member of the core. */
guint core_rank(const Core *core, guint member);

/** Of one chunk per rank: the first that belongs to @p member or its extra rank; those of
 *  members @p first up to @p last - 1 are core_first_chunk(first) .. (last) - 1. */
guint core_first_chunk(const Core *core, guint member);

/** Every extra rank sends @p n_chunks chunks, all from its own if @p own, else from 0. */
void core_add_fold(const Core *core, guint n_chunks, bool reduce, bool own,
                   GArray *messages);

/** Every extra rank gets @p n_chunks chunks, from its own on if @p own, else from 0. */
void core_add_unfold(const Core *core, guint n_chunks, bool own, GArray *messages);

/** All members exchange with the one @p distance away (a power of two): each sends all it
 *  has gathered, the chunks of the @p distance members around it. */
void core_add_gather(const Core *core, guint distance, GArray *messages);
