/**
 * @file all_to_all.c
 * @brief Every rank has something else for every other: in rounds, or all at once.
 *
 * pairwise: in round k every rank sends to the k-th after it and hears from the k-th before
 * it, so no port has two messages at a time. R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA
 * 19 (2005) 49-66; MPICH, src/mpi/coll/alltoall/alltoall_intra_pairwise.c. direct: all
 * messages leave at once, in that order, as NCCL's grouped sends and receives do
 * (NCCL 2.30.7, ncclAlltoAll): one latency instead of n-1.
 *
 * Between nodes a message takes the NIC next to its receiver (PXN). One flow for each pair
 * of ranks: O(n^2).
 */
#include "models/collective/rounds.h"

static guint pairwise_n_chunks(const CollCall *call, double size_B G_GNUC_UNUSED)
{
  return call->group->n_ranks * call->group->n_ranks;
}

static double chunk_share(const CollCall *call)
{
  return 1.0 / call->group->n_ranks;
}

static guint pairwise_n_rounds(const CollCall *call)
{
  return call->group->n_ranks - 1;
}

static guint direct_n_rounds(const CollCall *call)
{
  return call->group->n_ranks > 1 ? 1 : 0;
}

static void add_shift(const CollCall *call, guint shift, GArray *messages)
{
  const guint n = call->group->n_ranks;

  for (guint src = 0; src < n; src++) {
    const guint dst = (src + shift) % n;
    const RoundMessage message = {
      .src = src, .dst = dst, .first_chunk = src * n + dst, .n_chunks = 1
    };
    g_array_append_val(messages, message);
  }
}

static void add_round(const CollCall *call, guint round, GArray *messages)
{
  add_shift(call, round + 1, messages);
}

static void add_all(const CollCall *call, guint round G_GNUC_UNUSED, GArray *messages)
{
  for (guint shift = 1; shift < call->group->n_ranks; shift++)
    add_shift(call, shift, messages);
}

static const Rounds pairwise = {
  .phase = "pairwise",
  .n_rounds = pairwise_n_rounds,
  .chunk_share = chunk_share,
  .messages = add_round,
  .merged = true,
  .direct = true,
};

static const Rounds direct = {
  .phase = "direct",
  .n_rounds = direct_n_rounds,
  .chunk_share = chunk_share,
  .messages = add_all,
  .direct = true,
  .answers = true,
};

ROUNDS_HOOKS(pairwise)
ROUNDS_HOOKS(direct)

const CollOps coll_pairwise = {
  .info = {
    .name = "pairwise",
    .summary = "all-to-all in rounds: to the k-th rank after, from the k-th before",
    .source = "Thakur, Rabenseifner & Gropp 2005",
  },
  .kinds = COLL_ALL_TO_ALL,
  .exact = true,
  .plan = pairwise_plan,
  .n_chunks = pairwise_n_chunks,
  .phases = pairwise_phases,
  .ideal_s = pairwise_ideal_s,
};

const CollOps coll_direct = {
  .info = {
    .name = "direct",
    .summary = "all messages of an all-to-all at once",
    .source = "NCCL 2.30.7 ncclAlltoAll",
  },
  .kinds = COLL_ALL_TO_ALL,
  .exact = true,
  .fans = true,
  .plan = direct_plan,
  .n_chunks = pairwise_n_chunks,
  .phases = direct_phases,
  .ideal_s = direct_ideal_s,
};
