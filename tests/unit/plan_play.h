/**
 * @file plan_play.h
 * @brief Plays a plan on sets instead of numbers: what does every rank end up with?
 */
#pragma once

#include "models/collective.h"
#include "sim/base/rng.h"

/* What a rank holds of a chunk. Sums: how often each rank's part is in it. Else one count:
 * is it what the operation is about? */
typedef struct {
  CollKind kind;
  guint n; /* ranks; then come switches, which begin with nothing */
  guint n_holders, n_chunks, n_parts;
  guint8 *counts; /* [(rank * n_chunks + chunk) * n_parts + part] */
} Memory;

static inline guint8 *cell(const Memory *memory, guint rank, guint chunk)
{
  return &memory->counts[((gsize)rank * memory->n_chunks + chunk) * memory->n_parts];
}

static inline bool is_sum(CollKind kind)
{
  return kind & (COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_REDUCE);
}

static inline bool starts_with(const Memory *memory, guint rank, guint chunk)
{
  switch (memory->kind) {
  case COLL_ALL_GATHER:
    return chunk % memory->n == rank;
  case COLL_BROADCAST:
    return rank == 0;
  case COLL_ALL_TO_ALL:
    return chunk / memory->n == rank;
  case COLL_SEND_RECV:
    return chunk == rank;
  default:
    return true;
  }
}

static inline bool must_end_with(const Memory *memory, guint rank, guint chunk)
{
  switch (memory->kind) {
  case COLL_REDUCE_SCATTER:
  case COLL_ALL_TO_ALL:
    return chunk % memory->n == rank;
  case COLL_REDUCE:
    return rank == 0;
  case COLL_SEND_RECV:
    return rank == (chunk + 1) % memory->n;
  default:
    return true;
  }
}

static inline void memory_init(Memory *memory, const CollCall *call, const Plan *plan)
{
  const guint n = call->group->n_ranks;
  const guint n_parts = is_sum(call->kind) ? n : 1;
  const guint n_holders = plan_n_ranks(plan), n_chunks = plan_n_chunks(plan);

  *memory =
    (Memory){ call->kind, n,       n_holders,
              n_chunks,   n_parts, g_new0(guint8, (gsize)n_holders * n_chunks * n_parts) };
  for (guint rank = 0; rank < n; rank++)
    for (guint chunk = 0; chunk < n_chunks; chunk++)
      if (starts_with(memory, rank, chunk))
        cell(memory, rank, chunk)[n_parts > 1 ? rank : 0] = 1;
}

/* What a message carries. Transfer: caller frees with g_free(). */
static inline guint8 *take(const Memory *memory, const PlanStep *step)
{
  return g_memdup2(cell(memory, step->src, step->first_chunk),
                   (gsize)step->n_chunks * memory->n_parts);
}

static inline void arrive(const Memory *memory, const PlanStep *step, const guint8 *carried)
{
  guint8 *dst = cell(memory, step->dst, step->first_chunk);

  for (guint i = 0; i < step->n_chunks * memory->n_parts; i++)
    dst[i] = (guint8)((step->reduce ? dst[i] : 0) + carried[i]);
}

static inline bool is_right(const Memory *memory, guint rank, guint chunk)
{
  if (!must_end_with(memory, rank, chunk))
    return true;
  for (guint i = 0; i < memory->n_parts; i++)
    if (cell(memory, rank, chunk)[i] != 1)
      return false;
  return true;
}

/* Which of the messages on their way arrives next. */
typedef enum { OLDEST, NEWEST, ANY, N_ORDERS } Order;

/* One message. */
typedef struct {
  guint n_missing;  /* messages that it waits for */
  guint follower;   /* the next one between the same ranks; PLAN_START: none */
  bool is_blocked;  /* the one before it has not arrived */
  guint8 *carried;  /* once it has left */
  guint first_next; /* range of Play.next: steps that wait for it */
} Flight;

typedef struct {
  const Plan *plan;
  const Memory *memory;
  Flight *flights; /* and one more */
  guint *next;
  GArray *ready; /* of guint: on their way, may arrive */
  Rng *rng;
} Play;

static inline void depart(Play *play, guint id)
{
  Flight *flight = &play->flights[id];
  flight->carried = take(play->memory, plan_step(play->plan, id));
  if (!flight->is_blocked)
    g_array_append_val(play->ready, id);
}

/* Turn "waits for" around. */
static inline void play_link(Play *play, guint n)
{
  for (guint id = 0; id < n; id++) {
    play->flights[id].n_missing = plan_n_after(play->plan, id);
    for (guint i = 0; i < play->flights[id].n_missing; i++)
      play->flights[plan_after(play->plan, id, i) + 1].first_next++;
  }
  for (guint id = 0; id < n; id++)
    play->flights[id + 1].first_next += play->flights[id].first_next;
  play->next = g_new(guint, play->flights[n].first_next + 1);
  g_autofree guint *n_filled = g_new0(guint, n + 1);
  for (guint id = 0; id < n; id++)
    for (guint i = 0; i < play->flights[id].n_missing; i++) {
      const guint dep = plan_after(play->plan, id, i);
      play->next[play->flights[dep].first_next + n_filled[dep]++] = id;
    }
}

/* Messages of one channel from one rank to another arrive in the order of their ids. */
static inline void play_queue(Play *play, guint n)
{
  const guint n_ranks = plan_n_ranks(play->plan), n_pairs = n_ranks * n_ranks;
  guint n_channels = 1;

  for (guint id = 0; id < n; id++)
    n_channels = MAX(n_channels, plan_step(play->plan, id)->channel + 1);
  g_autofree guint *last = g_new(guint, (gsize)n_pairs * n_channels);
  for (guint i = 0; i < n_pairs * n_channels; i++)
    last[i] = PLAN_START;
  for (guint id = 0; id < n; id++) {
    const PlanStep *step = plan_step(play->plan, id);
    guint *before = &last[step->channel * n_pairs + step->src * n_ranks + step->dst];
    play->flights[id].follower = PLAN_START;
    if (*before != PLAN_START)
      play->flights[*before].follower = id;
    play->flights[id].is_blocked = *before != PLAN_START;
    *before = id;
  }
}

static inline void play_init(Play *play, const Plan *plan, const Memory *memory)
{
  const guint n = plan_n_steps(plan);

  *play = (Play){ .plan = plan,
                  .memory = memory,
                  .flights = g_new0(Flight, n + 1),
                  .ready = g_array_new(FALSE, FALSE, sizeof(guint)),
                  .rng = rng_stream(1, "play") };
  play_link(play, n);
  play_queue(play, n);
  for (guint id = 0; id < n; id++)
    if (play->flights[id].n_missing == 0)
      depart(play, id);
}

static inline void play_clear(Play *play)
{
  for (guint id = 0; id < plan_n_steps(play->plan); id++)
    g_free(play->flights[id].carried);
  g_free(play->flights);
  g_free(play->next);
  g_array_unref(play->ready);
  rng_free(play->rng);
}

static inline guint play_pick(Play *play, Order order)
{
  const guint n = play->ready->len;
  const guint at = order == OLDEST ? 0 : order == NEWEST ? n - 1 : rng_below(play->rng, n);
  const guint id = g_array_index(play->ready, guint, at);

  if (order == NEWEST)
    g_array_set_size(play->ready, n - 1);
  else
    g_array_remove_index_fast(play->ready, at);
  return id;
}

static inline void play_next(Play *play, Order order)
{
  const guint id = play_pick(play, order);
  Flight *flight = &play->flights[id];
  const guint follower = flight->follower;

  arrive(play->memory, plan_step(play->plan, id), flight->carried);
  g_clear_pointer(&flight->carried, g_free);
  if (follower != PLAN_START) {
    play->flights[follower].is_blocked = false;
    if (play->flights[follower].carried != NULL)
      g_array_append_val(play->ready, follower);
  }
  for (guint i = flight->first_next; i < play->flights[id + 1].first_next; i++)
    if (--play->flights[play->next[i]].n_missing == 0)
      depart(play, play->next[i]);
}

static inline bool plays_right(const CollCall *call, const Plan *plan, Order order)
{
  Memory memory;
  Play play;
  guint n_played = 0;
  bool right = true;

  memory_init(&memory, call, plan);
  play_init(&play, plan, &memory);
  for (; play.ready->len > 0; n_played++)
    play_next(&play, order);
  for (guint i = 0; right && i < memory.n * memory.n_chunks; i++)
    right = is_right(&memory, i / memory.n_chunks, i % memory.n_chunks);
  play_clear(&play);
  g_free(memory.counts);
  return right && n_played == plan_n_steps(plan);
}
