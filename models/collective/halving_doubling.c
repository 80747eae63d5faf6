/**
 * @file halving_doubling.c
 * @brief Recursive halving sums, recursive doubling gathers: Rabenseifner's all-reduce.
 *
 * Partners exchange halves of what they are still responsible for, then gather the sums in
 * the opposite order: 2 log2 n rounds and 2(n-1)/n of the buffer per rank. The all-reduce
 * halves with the nearest partners first, so that the largest messages stay close. Numbers
 * of ranks that are no power of two cost the others two more messages of the whole buffer,
 * see core.h. R. Rabenseifner, "Optimization of collective reduction operations", ICCS
 * 2004; MPICH, src/mpi/coll/allreduce/allreduce_intra_reduce_scatter_allgather.c.
 */
#include "models/collective/core.h"

static guint n_passes(const CollCall *call)
{
  return call->kind == COLL_ALL_REDUCE ? 2 : 1;
}

static guint n_rounds(const CollCall *call)
{
  const Core core = core_of(call);
  return n_passes(call) * core.n_levels + (core.n_extra > 0 ? 2 : 0);
}

static guint halving_doubling_n_chunks(const CollCall *call, double size_B G_GNUC_UNUSED)
{
  return call->kind == COLL_ALL_REDUCE ? core_of(call).n_core : call->group->n_ranks;
}

static double chunk_share(const CollCall *call)
{
  return 1.0 / halving_doubling_n_chunks(call, 0);
}

/* First of the chunks that a member is responsible for after @p level halvings with the
 * nearest partners first; they are n_core >> level. */
static guint responsible_for(const Core *core, guint member, guint level)
{
  guint first = 0;
  for (guint i = 0; i < level; i++)
    first += (member >> i & 1) * (core->n_core >> (i + 1));
  return first;
}

/* Level @p level of the all-reduce: each sends the half that its partner sums (@p reduce),
 * or the half that it has the sums of. */
static void add_halves(const Core *core, guint level, bool reduce, GArray *messages)
{
  for (guint member = 0; member < core->n_core; member++) {
    const guint partner = member ^ (1u << level);
    const RoundMessage message = {
      .src = core_rank(core, member),
      .dst = core_rank(core, partner),
      .first_chunk = responsible_for(core, reduce ? partner : member, level + 1),
      .n_chunks = core->n_core >> (level + 1),
      .reduce = reduce,
    };
    g_array_append_val(messages, message);
  }
}

/* Reduce-scatter: the farthest partners first, so that everyone ends with its own chunk. */
static void add_scatter(const Core *core, guint distance, GArray *messages)
{
  for (guint member = 0; member < core->n_core; member++) {
    const guint partner = member ^ distance;
    const guint first = partner & ~(distance - 1);
    const guint chunk = core_first_chunk(core, first);
    const RoundMessage message = {
      .src = core_rank(core, member),
      .dst = core_rank(core, partner),
      .first_chunk = chunk,
      .n_chunks = core_first_chunk(core, first + distance) - chunk,
      .reduce = true,
    };
    g_array_append_val(messages, message);
  }
}

static void add_core(const CollCall *call, const Core *core, guint round, GArray *messages)
{
  const guint n = core->n_levels;

  if (call->kind == COLL_REDUCE_SCATTER)
    add_scatter(core, core->n_core >> (round + 1), messages);
  else if (call->kind == COLL_ALL_GATHER)
    core_add_gather(core, 1u << round, messages);
  else
    add_halves(core, round < n ? round : 2 * n - 1 - round, round < n, messages);
}

static void add_messages(const CollCall *call, guint round, GArray *messages)
{
  const Core core = core_of(call);
  const bool gathers = call->kind == COLL_ALL_GATHER;
  const bool scatters = call->kind == COLL_REDUCE_SCATTER;
  const guint folds = core.n_extra > 0 ? 1 : 0;
  const guint all = halving_doubling_n_chunks(call, 0);

  if (round < folds)
    core_add_fold(&core, gathers ? 1 : all, !gathers, gathers, messages);
  else if (round - folds == n_passes(call) * core.n_levels)
    core_add_unfold(&core, scatters ? 1 : all, scatters, messages);
  else
    add_core(call, &core, round - folds, messages);
}

static const Rounds halving_doubling = {
  .phase = "halving_doubling",
  .n_rounds = n_rounds,
  .chunk_share = chunk_share,
  .messages = add_messages,
};

ROUNDS_HOOKS(halving_doubling)

const CollOps coll_halving_doubling = {
  .info = {
    .name = "halving_doubling",
    .summary = "recursive halving sums, recursive doubling gathers",
    .source = "Rabenseifner 2004",
  },
  .kinds = COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_ALL_GATHER,
  .exact = true,
  .plan = halving_doubling_plan,
  .n_chunks = halving_doubling_n_chunks,
  .phases = halving_doubling_phases,
  .ideal_s = halving_doubling_ideal_s,
};
