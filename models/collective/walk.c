#include "models/collective/walk.h"

struct Walk {
  guint n_ranks;
  Front *done;   /* per rank: the chains that it waits for */
  Front *coming; /* per rank: those of the round under way */
};

Walk *walk_new(guint n_ranks)
{
  Walk *walk = g_new0(Walk, 1);
  walk->n_ranks = n_ranks;
  walk->done = g_new0(Front, n_ranks);
  walk->coming = g_new0(Front, n_ranks);
  return walk;
}

void walk_free(Walk *walk)
{
  if (walk == NULL)
    return;
  g_free(walk->done);
  g_free(walk->coming);
  g_free(walk);
}

static void pass(Walk *walk, guint rank, const RoundMessage *message, Chain hop)
{
  front_add_extended(&walk->coming[rank], &walk->done[message->src], hop);
  front_add_extended(&walk->coming[rank], &walk->done[message->dst], hop);
}

static void settle(Walk *walk, guint rank)
{
  if (walk->coming[rank].n > 0)
    walk->done[rank] = walk->coming[rank];
  walk->coming[rank].n = 0;
}

void walk_round(Walk *walk, const GArray *messages, const Chain *hops)
{
  for (guint i = 0; i < messages->len; i++) {
    const RoundMessage *message = &g_array_index(messages, RoundMessage, i);
    pass(walk, message->src, message, hops[i]);
    pass(walk, message->dst, message, hops[i]);
  }
  for (guint i = 0; i < messages->len; i++) {
    const RoundMessage *message = &g_array_index(messages, RoundMessage, i);
    settle(walk, message->src);
    settle(walk, message->dst);
  }
}

Front walk_longest(const Walk *walk)
{
  Front longest = { 0 };

  for (guint rank = 0; rank < walk->n_ranks; rank++)
    for (guint i = 0; i < walk->done[rank].n; i++)
      front_add(&longest, walk->done[rank].chains[i]);
  return longest;
}
