/**
 * @file group.h
 * @brief Ranks that communicate together: any of a cluster's GPUs, node after node.
 */
#pragma once

#include "models/topology.h"

/** Nodes may take part with unequal numbers of ranks; nodes without any do not count. */
typedef struct {
  guint n_ranks;     /**< >= 1 */
  guint n_nodes;     /**< with at least one rank */
  guint *gpus;       /**< of each rank, ascending */
  guint *node;       /**< of each rank: 0 .. n_nodes - 1 */
  guint *first_rank; /**< of each node; [n_nodes] is n_ranks */
} Group;

/** Every GPU of the cluster. Transfer: caller frees with group_free(). */
Group *group_new_all(const Topology *topology);

/**
 * The GPUs in @p gpus, in any order.
 * @return NULL with SIM_ERROR_VALUE if there are none, one is named twice or not there
 */
Group *group_new_gpus(const Topology *topology, const guint *gpus, guint n_gpus,
                      GError **error);

/** The same without a cluster: @p n_gpus ascending numbers on nodes of @p gpus_per_node. */
Group *group_new(const guint *gpus, guint n_gpus, guint gpus_per_node);

void group_free(Group *group);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Group, group_free)

/** Ranks on one node. */
guint group_n_local(const Group *group, guint node);
/** The most, and the fewest, ranks on any node. */
guint group_max_local(const Group *group);
guint group_min_local(const Group *group);
/** Do all nodes hold equally many? */
bool group_is_even(const Group *group);
/** Are two ranks on the same node? */
bool group_is_local(const Group *group, guint rank, guint other);
