/**
 * @file neighbour.c
 * @brief Every rank sends a message to the next and gets one from the rank before.
 *
 * What nccl-tests' sendrecv measures (NVIDIA/nccl-tests, src/sendrecv.cu). Between nodes it
 * takes the NIC next to the receiver.
 */
#include "models/collective/rounds.h"

static guint neighbour_n_chunks(const CollCall *call, double size_B G_GNUC_UNUSED)
{
  return call->group->n_ranks;
}

static double chunk_share(const CollCall *call G_GNUC_UNUSED)
{
  return 1;
}

static guint n_rounds(const CollCall *call)
{
  return call->group->n_ranks > 1 ? 1 : 0;
}

static void add_messages(const CollCall *call, guint round G_GNUC_UNUSED, GArray *messages)
{
  for (guint src = 0; src < call->group->n_ranks; src++) {
    const RoundMessage message = {
      .src = src, .dst = (src + 1) % call->group->n_ranks, .first_chunk = src, .n_chunks = 1
    };
    g_array_append_val(messages, message);
  }
}

static const Rounds neighbour = {
  .phase = "neighbour",
  .n_rounds = n_rounds,
  .chunk_share = chunk_share,
  .messages = add_messages,
  .direct = true,
};

ROUNDS_HOOKS(neighbour)

const CollOps coll_neighbour = {
  .info = {
    .name = "neighbour",
    .summary = "every rank sends to the next one, as nccl-tests' sendrecv",
    .source = "NVIDIA/nccl-tests src/sendrecv.cu",
  },
  .kinds = COLL_SEND_RECV,
  .exact = true,
  .plan = neighbour_plan,
  .n_chunks = neighbour_n_chunks,
  .phases = neighbour_phases,
  .ideal_s = neighbour_ideal_s,
};
