/**
 * @file crew.h
 * @brief Nodes whose workers behave alike: the same GPUs, slowed down alike.
 *
 * Synchronous workers that behave alike compute in step, so one stands for all of a crew;
 * a gradient is ready when the slowest crew has it.
 */
#pragma once

#include "models/cluster.h"

typedef struct {
  guint kind;      /**< of its nodes, see cluster_kind() */
  double slowdown; /**< its GPUs compute so many times longer, >= 1 */
  guint n_nodes;
} Crew;

typedef struct {
  GArray *crews;       /**< of Crew, in the order of their first nodes; at least one */
  guint *crew_of_node; /**< index of each node */
  guint n_nodes;
} Crews;

/**
 * Find the crews of @p cluster. A node that is a straggler more than once is slowed
 * down by all.
 * @param seed  of the draws, see ClusterSpec.random_stragglers
 * Transfer: caller frees with crews_free().
 */
Crews *crews_new(const ClusterSpec *cluster, guint64 seed);
/** The crew of one of its nodes, alone. Transfer: caller frees with crews_free(). */
Crews *crews_new_of_node(const Crews *crews, guint node);
void crews_free(Crews *crews);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Crews, crews_free)

const Crew *crews_at(const Crews *crews, guint index);

/** @return false with SIM_ERROR_VALUE if a straggler, @p which, is not there or named twice
 */
bool crews_check(const ClusterSpec *cluster, guint *which, GError **error);
