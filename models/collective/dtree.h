/**
 * @file dtree.h
 * @brief The two binary trees of nodes, as NCCL builds them.
 */
#pragma once

#include "models/collective/tree.h"

#define DTREE_N 2

/**
 * Parent of node @p node of @p n in tree @p tree (0, 1); TREE_ROOT for its root.
 * NCCL 2.30.7 src/graph/trees.cc, ncclGetDtree(): a node that has children in one tree has
 * none in the other.
 * @param is_first_child  of its parent, which has up to two
 */
guint dtree_parent(guint tree, guint node, guint n, bool *is_first_child);

/** Levels of edges: ceil(log2 n). */
guint dtree_depth(guint n);

/** What the busiest of @p n nodes sends when each tree carries half of the buffer up and
 * down again, in parts of the buffer: up, down twice, and up as a leaf of the other tree.
 */
double dtree_share(guint n);

/** What ports need for a chunk from the deepest leaf to the root, in parts of the buffer:
 * the chunks of two children at every level. */
double dtree_way(guint n);
