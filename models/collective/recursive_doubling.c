/**
 * @file recursive_doubling.c
 * @brief Partners twice as far away every round exchange all they have.
 *
 * All-reduce: log2 n rounds of the whole buffer, the fewest that any algorithm with one
 * port per rank needs; for small messages. All-gather: what is exchanged doubles, so the
 * bytes are the least possible as well. Numbers of ranks that are no power of two: see
 * core.h. R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", IJHPCA 19 (2005) 49-66.
 */
#include "models/collective/core.h"

static guint n_rounds(const CollCall *call)
{
  const Core core = core_of(call);
  return core.n_levels + (core.n_extra > 0 ? 2 : 0);
}

static guint recursive_doubling_n_chunks(const CollCall *call, double size_B G_GNUC_UNUSED)
{
  return call->kind == COLL_ALL_GATHER ? call->group->n_ranks : 1;
}

static double chunk_share(const CollCall *call)
{
  return 1.0 / recursive_doubling_n_chunks(call, 0);
}

static void add_exchange(const Core *core, guint distance, GArray *messages)
{
  for (guint member = 0; member < core->n_core; member++) {
    const RoundMessage message = { .src = core_rank(core, member),
                                   .dst = core_rank(core, member ^ distance),
                                   .n_chunks = 1,
                                   .reduce = true };
    g_array_append_val(messages, message);
  }
}

static void add_messages(const CollCall *call, guint round, GArray *messages)
{
  const Core core = core_of(call);
  const bool gathers = call->kind == COLL_ALL_GATHER;
  const guint folds = core.n_extra > 0 ? 1 : 0;

  if (round < folds)
    core_add_fold(&core, 1, !gathers, gathers, messages);
  else if (round - folds == core.n_levels)
    core_add_unfold(&core, gathers ? core.n : 1, false, messages);
  else if (gathers)
    core_add_gather(&core, 1u << (round - folds), messages);
  else
    add_exchange(&core, 1u << (round - folds), messages);
}

static const Rounds recursive_doubling = {
  .phase = "recursive_doubling",
  .n_rounds = n_rounds,
  .chunk_share = chunk_share,
  .messages = add_messages,
};

ROUNDS_HOOKS(recursive_doubling)

const CollOps coll_recursive_doubling = {
  .info = {
    .name = "recursive_doubling",
    .summary = "partners twice as far every round exchange all they have",
    .source = "Thakur, Rabenseifner & Gropp 2005",
  },
  .kinds = COLL_ALL_REDUCE | COLL_ALL_GATHER,
  .exact = true,
  .plan = recursive_doubling_plan,
  .n_chunks = recursive_doubling_n_chunks,
  .phases = recursive_doubling_phases,
  .ideal_s = recursive_doubling_ideal_s,
};
