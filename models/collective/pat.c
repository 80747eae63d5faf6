/**
 * @file pat.c
 * @brief Parallel aggregated trees: all-gathers and reduce-scatters in log2(n) rounds.
 *
 * Every rank's block goes down a binomial tree of its own, the farthest ranks first, so
 * that long distances see few blocks: in the round of distance d a rank hands rank + d what
 * it has of the blocks that rank misses, in one message. A reduce-scatter runs the same
 * backwards, the nearest first. Any number of ranks: trees lose the branches that would
 * leave them. Where the buffers do not hold a round's blocks NCCL sends them in several
 * messages, which cost bandwidth nothing and are not drawn here.
 *
 * Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at
 * scale", arXiv 2506.20252; J. Bruck et al., IEEE TPDS 8 (1997) 1143-1156, reversed.
 */
#include "models/collective/rounds.h"

/* ceil(log2 n) */
static guint n_rounds(const CollCall *call)
{
  return call->group->n_ranks > 1 ? g_bit_storage(call->group->n_ranks - 1) : 0;
}

static guint pat_n_chunks(const CollCall *call, double size_B G_GNUC_UNUSED)
{
  return call->group->n_ranks;
}

static double chunk_share(const CollCall *call)
{
  return 1.0 / call->group->n_ranks;
}

static guint distance_of(const CollCall *call, guint round)
{
  return call->kind == COLL_ALL_GATHER ? 1u << (n_rounds(call) - 1 - round) : 1u << round;
}

/* Trees number ranks from their root on: those at multiples of 2 d hand on to d further. */
static void add_messages(const CollCall *call, guint round, GArray *messages)
{
  const guint n = call->group->n_ranks, d = distance_of(call, round);
  const bool gathers = call->kind == COLL_ALL_GATHER;

  for (guint rank = 0; rank < n; rank++) {
    for (guint place = 0; place + d < n; place += 2 * d) {
      const guint parent = rank, child = (rank + d) % n;
      const RoundMessage message = {
        .src = gathers ? parent : child,
        .dst = gathers ? child : parent,
        .first_chunk = (rank + n - place) % n,
        .n_chunks = 1,
        .reduce = !gathers,
      };
      g_array_append_val(messages, message);
    }
  }
}

/* The same with one message from rank to rank, as many blocks as it has: for who counts
 * bytes only. */
static void add_sums(const CollCall *call, guint round, GArray *messages)
{
  const guint n = call->group->n_ranks, d = distance_of(call, round);
  const bool gathers = call->kind == COLL_ALL_GATHER;

  for (guint rank = 0; rank < n; rank++) {
    const guint other = (rank + d) % n;
    const RoundMessage message = {
      .src = gathers ? rank : other,
      .dst = gathers ? other : rank,
      .n_chunks = (n - d - 1) / (2 * d) + 1,
      .reduce = !gathers,
    };
    g_array_append_val(messages, message);
  }
}

static const Rounds blocks = {
  .phase = "pat",
  .n_rounds = n_rounds,
  .chunk_share = chunk_share,
  .messages = add_messages,
};

static const Rounds sums = {
  .phase = "pat",
  .n_rounds = n_rounds,
  .chunk_share = chunk_share,
  .messages = add_sums,
};

static void pat_plan(const CollCall *call, double size_B, Plan *plan)
{
  rounds_plan(&blocks, call, size_B, plan);
}

static void pat_phases(const CollCall *call, const Topology *topology, GArray *phases)
{
  rounds_phases(&sums, call, topology, phases);
}

static double pat_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  return rounds_ideal_s(&sums, call, size_B, cost);
}

const CollOps coll_pat = {
  .info = {
    .name = "pat",
    .summary = "a binomial tree for every block, all at once; any number of ranks",
    .source = "Jeaugey 2025, arXiv 2506.20252",
  },
  .kinds = COLL_REDUCE_SCATTER | COLL_ALL_GATHER,
  .exact = true,
  .plan = pat_plan,
  .n_chunks = pat_n_chunks,
  .phases = pat_phases,
  .ideal_s = pat_ideal_s,
};
