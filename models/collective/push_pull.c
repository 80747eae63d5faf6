/**
 * @file push_pull.c
 * @brief All-reduce through servers: push every part to its server, pull the sums.
 *
 * The buffer is cut into one part per server. Servers are ranks, spread evenly over them;
 * where every rank serves, the bytes are the least possible, in two hops. All ranks push at
 * once, and a server answers when it has heard from all: M. Li et al., "Scaling distributed
 * machine learning with the parameter server", OSDI 2014.
 */
#include "models/collective/rounds.h"

static guint push_pull_n_chunks(const CollCall *call, double size_B G_GNUC_UNUSED)
{
  const guint n = call->group->n_ranks;
  return call->n_servers > 0 ? MIN(call->n_servers, n) : n;
}

static double chunk_share(const CollCall *call)
{
  return 1.0 / push_pull_n_chunks(call, 0);
}

static guint n_rounds(const CollCall *call)
{
  return call->group->n_ranks > 1 ? 2 : 0;
}

static guint server_rank(const CollCall *call, guint server)
{
  return (guint)((guint64)server * call->group->n_ranks / push_pull_n_chunks(call, 0));
}

/* The part of @p worker's turn @p turn: everyone begins with another server, so that none
 * is sent to by all at once. */
static guint part_of(const CollCall *call, guint worker, guint turn)
{
  const guint k = push_pull_n_chunks(call, 0);
  return (guint)(((guint64)worker * k / call->group->n_ranks + 1 + turn) % k);
}

/* The push of a server goes to the ranks after it in turn, so that its pulls do as well. */
static void add_messages(const CollCall *call, guint round, GArray *messages)
{
  const guint n = call->group->n_ranks, k = push_pull_n_chunks(call, 0);

  for (guint i = 0; i < n * k; i++) {
    const bool pull = round == 1;
    const guint part = pull ? i / n : part_of(call, i / k, i % k);
    const guint server = server_rank(call, part);
    const guint worker = pull ? (server + i % n) % n : i / k;
    const RoundMessage message = { .src = pull ? server : worker,
                                   .dst = pull ? worker : server,
                                   .first_chunk = part,
                                   .n_chunks = 1,
                                   .reduce = !pull };
    if (worker != server)
      g_array_append_val(messages, message);
  }
}

static const Rounds push_pull = {
  .phase = "push_pull",
  .n_rounds = n_rounds,
  .chunk_share = chunk_share,
  .messages = add_messages,
  .direct = true,
  .answers = true,
};

ROUNDS_HOOKS(push_pull)

const CollOps coll_push_pull = {
  .info = {
    .name = "push_pull",
    .summary = "push every part to its server, pull the sums; all ranks at once",
    .source = "Li et al., OSDI 2014",
  },
  .kinds = COLL_ALL_REDUCE,
  .exact = true,
  .fans = true,
  .plan = push_pull_plan,
  .n_chunks = push_pull_n_chunks,
  .phases = push_pull_phases,
  .ideal_s = push_pull_ideal_s,
};
