/**
 * @file tree.h
 * @brief Rooted trees over the ranks of a group, through which chunks go up and down.
 */
#pragma once

#include "models/collective/draft.h"

#define TREE_ROOT G_MAXUINT /**< parent of the root */

typedef struct {
  guint n;
  guint *parent; /**< of each rank */
  guint *order;  /**< all ranks, parents before children; the root first */
} Tree;

/** @param parent  of each rank; taken. Clear with tree_clear(). */
void tree_init(Tree *tree, guint n, guint *parent);
void tree_clear(Tree *tree);

/** A pipeline of chunks through one tree, as part of a plan. */
typedef struct {
  const Tree *tree;
  guint first_chunk, n_chunks;
  double chunk_B;
} PlanTree;

/** Append the messages of chunk @p index of every one of @p trees: sums up to the root if
 *  @p up, results down from it if @p down. */
void tree_plan_chunk(const PlanTree *trees, guint n_trees, guint index, bool up, bool down,
                     Plan *plan);

/** The longest way between a leaf and the root. */
typedef struct {
  Chain chain;
  double fill_s_per_B; /**< of a chunk along it [s/B] */
} TreePath;

/**
 * Add the flows of one direction to @p draft, rank after rank as in Tree.order.
 * @param hops  of each place in Tree.order, filled in
 */
void tree_add_flows(const Tree *tree, bool up, guint rail, double share, Draft *draft,
                    Chain *hops);

/** @param first_flow  number of the first of those flows; @param loads  of draft_loads() */
TreePath tree_longest_path(const Tree *tree, const Draft *draft, guint first_flow,
                           const Chain *hops, const double *loads);
