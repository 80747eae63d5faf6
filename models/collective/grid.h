/**
 * @file grid.h
 * @brief An all-reduce along the rows, then the columns, then the rows of a grid of ranks.
 *
 * The buffer is cut into as many blocks as the longest row has ranks. A row shares the
 * blocks out evenly and reduce-scatters them around a ring; all rows then all-reduce each
 * block around a ring of its owners; then the rows all-gather. In a short row some ranks
 * own several blocks.
 */
#pragma once

#include "models/collective/rings.h"

typedef struct {
  guint n_rows;
  const guint *first; /**< rank at the begin of each row; [n_rows] is the number of ranks */
  guint n_blocks;     /**< of the longest row */
} Grid;

/** Blocks that place @p place of row @p row owns: from grid_first_block() of it up to that
 *  of the next place; and who owns a block. */
guint grid_first_block(const Grid *grid, guint row, guint place);
guint grid_owner(const Grid *grid, guint row, guint block);

/** Bytes that the ring of a row sends from @p place to @p next, per byte of message. */
double grid_row_share(const Grid *grid, guint row, guint place, guint next, CollKind kind);

/** The part of the buffer that is in @p block and on @p rail: blocks and rails are laid
 * side by side, and neighbours meet. */
double grid_rail_share(const Grid *grid, guint block, guint rail, guint n_rails);

guint grid_n_chunks(const Grid *grid);
void grid_plan(const Grid *grid, double size_B, Plan *plan);
