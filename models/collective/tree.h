/**
 * @file tree.h
 * @brief Rooted trees over the ranks of a group, through which chunks go up and down.
 */
#pragma once

#include "models/collective/draft.h"

#define TREE_ROOT G_MAXUINT /**< parent of a root */

/** One tree over all ranks, or several that share them out. */
typedef struct {
  guint n, n_roots;
  guint *parent; /**< of each rank */
  guint *order;  /**< all ranks, parents before children; the roots first */
} Tree;

/** @param parent  of each rank; taken. Clear with tree_clear(). */
void tree_init(Tree *tree, guint n, guint *parent);
void tree_clear(Tree *tree);

/** A pipeline through one tree, as part of a plan. */
typedef struct {
  const Tree *tree;
  guint first_chunk;
  guint width;    /**< chunks that travel together */
  double chunk_B; /**< of each [B] */
  /** Per rank: what a root waits for before it sends anything down; NULL: for its
   * children's part of the same chunks, if they sent one up. */
  const guint *root_after;
  const guint *own_after; /**< per rank: what brings it its own part, before which it
                             neither sends nor sums anything; NULL: all have theirs */
  guint channel; /**< up and down are channels 2 channel and 2 channel + 1 of the plan */
  guint rail;    /**< as in PlanStep */
  const guint *rails; /**< the same of what each rank sends; NULL: rail */
} PlanTree;

/**
 * Append the messages of one step of the pipeline, number @p index, through every one of
 * @p trees: sums up to the roots if @p up, results down from them if @p down.
 * @param arrived  per rank, set to the message that brought a root its last sum, or anyone
 *                 else what came down; or NULL
 */
void tree_plan_chunk(const PlanTree *trees, guint n_trees, guint index, bool up, bool down,
                     guint *arrived, Plan *plan);

/** The longest way between a leaf and the root. */
typedef struct {
  Chain chain;
  double fill_s_per_B;  /**< of a chunk along it, all hops busy [s/B] */
  double first_s_per_B; /**< of the first chunk, see tree_first_s_per_B() [s/B] */
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

/** A tree whose flows of one direction are in a draft. */
typedef struct {
  const Tree *tree;
  guint first_flow;
  const Chain *hops; /**< of each place in Tree.order */
} LaidTree;

/**
 * What the first chunk needs along the longest way through any of @p trees, which are all
 * that run: it meets those chunks of each that are as many hops from where they began.
 */
double tree_first_s_per_B(const LaidTree *trees, guint n_trees, bool up,
                          const Draft *draft);

/** Append the phase of trees that chunks go up and then down, see draft_finish(). */
void tree_finish(Draft *draft, const char *name, TreePath up, TreePath down,
                 GArray *phases);
