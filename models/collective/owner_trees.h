/**
 * @file owner_trees.h
 * @brief The double binary trees of nodes, one pair for every block of a grid.
 *
 * In every node one rank owns the sum of a block, see grid.h; the owners of a block run the
 * two trees of dtree.h, each with half of it. All other ranks are alone in those trees.
 */
#pragma once

#include "models/collective/dtree.h"
#include "models/collective/grid.h"

/** Tree @p t of the owners of @p block. Clear with tree_clear(). */
void owner_tree_init(Tree *tree, const CollCall *call, const Grid *grid, guint block,
                     guint t);

/** Add the flows of the trees of all blocks in one direction; blocks are spread over rails
 *  as in grid_rail_share(). @return the longest way through any */
TreePath owner_trees_add(const CollCall *call, const Grid *grid, bool up, Draft *draft);
