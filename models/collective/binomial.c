/**
 * @file binomial.c
 * @brief Reduce and broadcast through binomial trees: one inside each node, one of nodes.
 *
 * In round k of the reduction every rank whose number is an odd multiple of 2^k sends all
 * it has to the one 2^k before it; the broadcast runs backwards. log2 n rounds of the whole
 * buffer each way, not pipelined: right for small messages, and what MPI libraries do then.
 * With n ranks and the trees of nodes and of ranks in them, the rounds are those of a tree
 * of ranks where nodes hold a power of two. R. Thakur, R. Rabenseifner, W. Gropp,
 * "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005) 49-66.
 */
#include "models/collective/rounds.h"

/* ceil(log2 n) */
static guint depth_of(guint n)
{
  return n > 1 ? g_bit_storage(n - 1) : 0;
}

static guint n_levels(const CollCall *call)
{
  return depth_of(group_max_local(call->group)) + depth_of(call->group->n_nodes);
}

static guint binomial_n_rounds(const CollCall *call)
{
  return (call->kind == COLL_ALL_REDUCE ? 2 : 1) * n_levels(call);
}

static guint binomial_n_chunks(const CollCall *call G_GNUC_UNUSED,
                               double size_B G_GNUC_UNUSED)
{
  return 1;
}

static double whole(const CollCall *call G_GNUC_UNUSED)
{
  return 1;
}

/* Between members child and child - step of a tree, upwards or downwards. */
static void add_edge(guint child, guint parent, bool up, GArray *messages)
{
  const RoundMessage message = {
    .src = up ? child : parent, .dst = up ? parent : child, .n_chunks = 1, .reduce = up
  };
  g_array_append_val(messages, message);
}

static void add_level(const CollCall *call, guint level, bool up, GArray *messages)
{
  const Group *group = call->group;
  const guint n_inside = depth_of(group_max_local(group));

  if (level >= n_inside) {
    const guint step = 1u << (level - n_inside);
    for (guint node = step; node < group->n_nodes; node += 2 * step)
      add_edge(group->first_rank[node], group->first_rank[node - step], up, messages);
    return;
  }
  const guint step = 1u << level;
  for (guint node = 0; node < group->n_nodes; node++) {
    const guint first = group->first_rank[node];
    for (guint rank = first + step; rank < group->first_rank[node + 1]; rank += 2 * step)
      add_edge(rank, rank - step, up, messages);
  }
}

static void binomial_messages(const CollCall *call, guint round, GArray *messages)
{
  const guint n = n_levels(call);
  const bool up = call->kind == COLL_REDUCE || (call->kind == COLL_ALL_REDUCE && round < n);

  add_level(call, up ? round : n - 1 - round % n, up, messages);
}

static const Rounds binomial = {
  .phase = "tree",
  .n_rounds = binomial_n_rounds,
  .chunk_share = whole,
  .messages = binomial_messages,
};

ROUNDS_HOOKS(binomial)

const CollOps coll_tree = {
  .info = {
    .name = "tree",
    .summary = "binomial trees, the whole buffer at every hop; for small messages",
    .source = "Thakur, Rabenseifner & Gropp 2005",
  },
  .kinds = COLL_ALL_REDUCE | COLL_BROADCAST | COLL_REDUCE,
  .exact = true,
  .plan = binomial_plan,
  .n_chunks = binomial_n_chunks,
  .phases = binomial_phases,
  .ideal_s = binomial_ideal_s,
};
