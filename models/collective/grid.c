#include "models/collective/grid.h"

static guint row_length(const Grid *grid, guint row)
{
  return grid->first[row + 1] - grid->first[row];
}

guint grid_first_block(const Grid *grid, guint row, guint place)
{
  return (guint)((guint64)place * grid->n_blocks / row_length(grid, row));
}

guint grid_owner(const Grid *grid, guint row, guint block)
{
  guint place = 0;
  while (grid_first_block(grid, row, place + 1) <= block)
    place++;
  return grid->first[row] + place;
}

static guint n_blocks_of(const Grid *grid, guint row, guint place)
{
  return grid_first_block(grid, row, place + 1) - grid_first_block(grid, row, place);
}

/* A sum goes around all but the hop from its owner; a known block all but the hop to it. */
double grid_row_share(const Grid *grid, guint row, guint place, guint next, CollKind kind)
{
  const double sum = 1 - (double)n_blocks_of(grid, row, place) / grid->n_blocks;
  const double spread = 1 - (double)n_blocks_of(grid, row, next) / grid->n_blocks;

  return (kind == COLL_ALL_GATHER ? 0 : sum) + (kind == COLL_REDUCE_SCATTER ? 0 : spread);
}

double grid_rail_share(const Grid *grid, guint block, guint rail, guint n_rails)
{
  const guint64 n = grid->n_blocks;
  const guint64 from = MAX((guint64)block * n_rails, rail * n);
  const guint64 to = MIN((block + 1ull) * n_rails, (rail + 1) * n);
  return to > from ? (double)(to - from) / ((double)n * n_rails) : 0;
}

guint grid_n_chunks(const Grid *grid)
{
  return grid->n_blocks * grid->n_rows;
}

/* A plan in the making. Chunk block * n_rows + row of a block belongs to that row's owner
 * of the block while the columns reduce-scatter. */
typedef struct {
  const Grid *grid;
  guint n;             /* ranks */
  guint *ranks;        /* 0, 1, 2, ... */
  guint *first_chunks; /* of each rank, in its row */
  guint *n_chunks;
  guint *arrived_row; /* per rank */
  guint *own_wait;    /* 0, 1, 2, ... : each position waits for one id */
  guint *owners;      /* [block * n_rows + row] */
  guint *arrived;     /* [row * n_blocks + block] */
  guint *started;     /* [block * n_rows + row]: what the column waited for */
  guint *ones;
} Draught;

static guint *count_up(guint n)
{
  guint *numbers = g_new(guint, n);
  for (guint i = 0; i < n; i++)
    numbers[i] = i;
  return numbers;
}

static guint *repeat(guint value, guint n)
{
  guint *values = g_new(guint, n);
  for (guint i = 0; i < n; i++)
    values[i] = value;
  return values;
}

static void draught_init(Draught *draught, const Grid *grid)
{
  const guint n = grid->first[grid->n_rows];
  const guint n_chunks = grid_n_chunks(grid);

  *draught = (Draught){
    .grid = grid,
    .n = n,
    .ranks = count_up(n),
    .first_chunks = g_new(guint, n),
    .n_chunks = g_new(guint, n),
    .arrived_row = repeat(PLAN_START, n),
    .own_wait = count_up(grid->n_rows + 1),
    .owners = g_new(guint, n_chunks),
    .arrived = repeat(PLAN_START, n_chunks),
    .started = repeat(PLAN_START, n_chunks),
    .ones = repeat(1, grid->n_rows),
  };
  for (guint row = 0; row < grid->n_rows; row++) {
    for (guint place = 0; place < row_length(grid, row); place++) {
      const guint rank = grid->first[row] + place;
      const guint block = grid_first_block(grid, row, place);
      draught->first_chunks[rank] = block * grid->n_rows;
      draught->n_chunks[rank] =
        (grid_first_block(grid, row, place + 1) - block) * grid->n_rows;
    }
    for (guint block = 0; block < grid->n_blocks; block++)
      draught->owners[block * grid->n_rows + row] = grid_owner(grid, row, block);
  }
}

static void draught_clear(Draught *draught)
{
  g_free(draught->ranks);
  g_free(draught->first_chunks);
  g_free(draught->n_chunks);
  g_free(draught->arrived_row);
  g_free(draught->own_wait);
  g_free(draught->owners);
  g_free(draught->arrived);
  g_free(draught->started);
  g_free(draught->ones);
}

/* Once around every row. What a rank gathers it sends on at once; what it owns must have
 * come through all the columns that it stands in. */
static void plan_rows(const Draught *draught, bool reduce, double chunk_B, Plan *plan)
{
  const Grid *grid = draught->grid;

  for (guint round = 0; round + 1 < grid->n_blocks; round++) {
    for (guint row = 0; row < grid->n_rows; row++) {
      const guint first = grid->first[row], n = row_length(grid, row);
      g_autofree guint *blocks = g_new(guint, n + 1);
      for (guint place = 0; place <= n; place++)
        blocks[place] = grid_first_block(grid, row, place);
      const PlanRingWait wait = { blocks, &draught->arrived[(gsize)row * grid->n_blocks] };
      const PlanRing ring = { .n = n,
                              .ranks = &draught->ranks[first],
                              .first_chunks = &draught->first_chunks[first],
                              .n_chunks = &draught->n_chunks[first],
                              .chunk_B = chunk_B,
                              .arrived = &draught->arrived_row[first],
                              .stride = 1 };
      if (round + 1 < n)
        rings_plan_round(&ring, round, reduce, !reduce && round == 0 ? &wait : NULL, plan);
    }
  }
}

/* Once around every column. Nobody may send on a sum before its own row is done. */
static void plan_columns(const Draught *draught, bool reduce, double chunk_B, Plan *plan)
{
  const Grid *grid = draught->grid;
  g_autofree guint *chunks = count_up(grid_n_chunks(grid));

  for (guint round = 0; round + 1 < grid->n_rows; round++) {
    for (guint block = 0; block < grid->n_blocks; block++) {
      const gsize first = (gsize)block * grid->n_rows;
      const PlanRingWait wait = { draught->own_wait, &draught->started[first] };
      const PlanRing ring = { .n = grid->n_rows,
                              .ranks = &draught->owners[first],
                              .first_chunks = &chunks[first],
                              .n_chunks = draught->ones,
                              .chunk_B = chunk_B,
                              .arrived = &draught->arrived[block],
                              .stride = grid->n_blocks,
                              .channel = block };
      rings_plan_round(&ring, round, reduce, &wait, plan);
    }
  }
}

void grid_plan(const Grid *grid, double size_B, Plan *plan)
{
  const double chunk_B = size_B / grid_n_chunks(grid);
  Draught draught;

  draught_init(&draught, grid);
  plan_rows(&draught, true, chunk_B, plan);
  for (guint i = 0; i < grid_n_chunks(grid); i++)
    draught.started[i] = draught.arrived_row[draught.owners[i]];
  plan_columns(&draught, true, chunk_B, plan);
  plan_columns(&draught, false, chunk_B, plan);
  plan_rows(&draught, false, chunk_B, plan);
  draught_clear(&draught);
}
