/**
 * @file netns_algo.c
 * @brief Ring, halving and doubling, tree, servers, incast, over TCP.
 */
#include "calibrate/backend/netns_algo.h"

#include <string.h>

static gsize edge(const AlgoCall *call, guint chunk)
{
  return call->n_values * chunk / call->n;
}

static void add(float *total, const float *other, gsize n)
{
  for (gsize i = 0; i < n; i++)
    total[i] += other[i];
}

static Transfer outward(guint peer, float *from, gsize n)
{
  return (Transfer){ peer, true, (guint8 *)from, n * sizeof(float) };
}

static Transfer inward(guint peer, float *to, gsize n)
{
  return (Transfer){ peer, false, (guint8 *)to, n * sizeof(float) };
}

static bool swap(const AlgoCall *call, Transfer out, Transfer in, GError **error)
{
  Transfer both[] = { out, in };
  return mesh_exchange(call->mesh, both, 2, error);
}

/* Chunk c goes round: summed in n - 1 steps, handed on in as many. */
static bool run_ring(const AlgoCall *call, GError **error)
{
  const guint n = call->n, right = (call->rank + 1) % n, left = (call->rank + n - 1) % n;

  for (guint step = 0; step < 2 * (n - 1); step++) {
    const guint out = (call->rank + 2 * n - step) % n, in = (out + n - 1) % n;
    const gsize in_n = edge(call, in + 1) - edge(call, in);
    const bool sums = step < n - 1;
    float *place = sums ? call->space : call->values + edge(call, in);

    if (!swap(call,
              outward(right, call->values + edge(call, out),
                      edge(call, out + 1) - edge(call, out)),
              inward(left, place, in_n), error))
      return false;
    if (sums)
      add(call->values + edge(call, in), place, in_n);
  }
  return true;
}

/* Halves are swapped with ever nearer partners and summed, then gathered the way back. */
static bool run_halving_doubling(const AlgoCall *call, GError **error)
{
  guint first = 0, span = call->n; /* the chunks that are mine to sum */

  for (guint distance = call->n / 2; distance > 0; distance /= 2) {
    const guint peer = call->rank ^ distance;
    const guint keep = first + (call->rank & distance ? span / 2 : 0);
    const guint give = first + (call->rank & distance ? 0 : span / 2);
    const gsize keep_n = edge(call, keep + span / 2) - edge(call, keep);

    if (!swap(call,
              outward(peer, call->values + edge(call, give),
                      edge(call, give + span / 2) - edge(call, give)),
              inward(peer, call->space, keep_n), error))
      return false;
    add(call->values + edge(call, keep), call->space, keep_n);
    first = keep;
    span /= 2;
  }
  for (guint distance = 1; distance < call->n; distance *= 2) {
    const guint peer = call->rank ^ distance;
    const guint theirs = first ^ span;

    if (!swap(call,
              outward(peer, call->values + edge(call, first),
                      edge(call, first + span) - edge(call, first)),
              inward(peer, call->values + edge(call, theirs),
                     edge(call, theirs + span) - edge(call, theirs)),
              error))
      return false;
    first = MIN(first, theirs);
    span *= 2;
  }
  return true;
}

static bool send_whole(const AlgoCall *call, guint peer, GError **error)
{
  Transfer one = outward(peer, call->values, call->n_values);
  return mesh_exchange(call->mesh, &one, 1, error);
}

static bool receive_whole(const AlgoCall *call, guint peer, float *to, GError **error)
{
  Transfer one = inward(peer, to, call->n_values);
  return mesh_exchange(call->mesh, &one, 1, error);
}

/* Binomial: summed to rank 0, then handed down. A send is over when the kernel has it, so
 * that messages to several children share the cable. */
static bool run_tree(const AlgoCall *call, GError **error)
{
  guint distance = 1;

  for (; distance < call->n && !(call->rank & distance); distance *= 2)
    if (call->rank + distance < call->n) {
      if (!receive_whole(call, call->rank + distance, call->space, error))
        return false;
      add(call->values, call->space, call->n_values);
    }
  if (call->rank != 0 && (!send_whole(call, call->rank - distance, error) ||
                          !receive_whole(call, call->rank - distance, call->values, error)))
    return false;
  while ((distance /= 2) > 0)
    if (call->rank + distance < call->n && !send_whole(call, call->rank + distance, error))
      return false;
  return true;
}

/* Every rank serves a chunk: all chunks go to their servers, all sums come back. */
static bool run_servers(const AlgoCall *call, GError **error)
{
  const guint n = call->n, me = call->rank;
  const gsize mine_n = edge(call, me + 1) - edge(call, me);
  Transfer transfers[2 * MESH_MAX];
  guint n_transfers = 0;

  for (guint turn = 1; turn < n; turn++) {
    const guint peer = (me + turn) % n;
    transfers[n_transfers++] = outward(peer, call->values + edge(call, peer),
                                       edge(call, peer + 1) - edge(call, peer));
    transfers[n_transfers++] = inward(peer, call->space + peer * (mine_n + 1), mine_n);
  }
  if (!mesh_exchange(call->mesh, transfers, n_transfers, error))
    return false;
  for (guint peer = 0; peer < n; peer++)
    if (peer != me)
      add(call->values + edge(call, me), call->space + peer * (mine_n + 1), mine_n);

  n_transfers = 0;
  for (guint turn = 1; turn < n; turn++) {
    const guint peer = (me + turn) % n;
    transfers[n_transfers++] = outward(peer, call->values + edge(call, me), mine_n);
    transfers[n_transfers++] = inward(peer, call->values + edge(call, peer),
                                      edge(call, peer + 1) - edge(call, peer));
  }
  return mesh_exchange(call->mesh, transfers, n_transfers, error);
}

/* All others send their messages to rank 0 at once. */
static bool gather_sum(const AlgoCall *call, GError **error)
{
  Transfer transfers[MESH_MAX];

  if (call->rank != 0)
    return send_whole(call, 0, error);
  for (guint peer = 1; peer < call->n; peer++)
    transfers[peer - 1] = inward(peer, call->space + peer * call->n_values, call->n_values);
  if (!mesh_exchange(call->mesh, transfers, call->n - 1, error))
    return false;
  for (guint peer = 1; peer < call->n; peer++)
    add(call->values, call->space + peer * call->n_values, call->n_values);
  return true;
}

static bool run_star(const AlgoCall *call, GError **error)
{
  Transfer transfers[MESH_MAX];

  if (!gather_sum(call, error))
    return false;
  if (call->rank != 0)
    return receive_whole(call, 0, call->values, error);
  for (guint peer = 1; peer < call->n; peer++)
    transfers[peer - 1] = outward(peer, call->values, call->n_values);
  return mesh_exchange(call->mesh, transfers, call->n - 1, error);
}

static bool everyone(guint rank G_GNUC_UNUSED)
{
  return true;
}

static bool root_alone(guint rank)
{
  return rank == 0;
}

static double load_least(guint n)
{
  return 2.0 * (n - 1) / n;
}

static double load_tree(guint n)
{
  double depth = 0;

  for (guint reached = 1; reached < n; reached *= 2)
    depth++;
  return 2 * depth;
}

static double load_star(guint n)
{
  return 2.0 * (n - 1);
}

static double load_incast(guint n)
{
  return n - 1;
}

static const Algo algo_ring = {
  .probe = "all_reduce",
  .name = "ring",
  .variant = "",
  .run = run_ring,
  .has_sum = everyone,
  .load = load_least,
};
static const Algo algo_halving_doubling = {
  .probe = "all_reduce",
  .name = "halving_doubling",
  .variant = "",
  .powers_only = true,
  .run = run_halving_doubling,
  .has_sum = everyone,
  .load = load_least,
};
static const Algo algo_tree = {
  .probe = "all_reduce",
  .name = "tree",
  .variant = "",
  .run = run_tree,
  .has_sum = everyone,
  .load = load_tree,
};
static const Algo algo_servers = {
  .probe = "all_reduce",
  .name = "push_pull",
  .variant = "",
  .run = run_servers,
  .has_sum = everyone,
  .load = load_least,
};
static const Algo algo_star = {
  .probe = "all_reduce",
  .name = "push_pull",
  .variant = "servers=1",
  .run = run_star,
  .has_sum = everyone,
  .load = load_star,
};
static const Algo algo_incast = {
  .probe = "incast",
  .name = "",
  .variant = "",
  .run = gather_sum,
  .has_sum = root_alone,
  .load = load_incast,
};

const Algo *const algo_table[] = {
  &algo_ring, &algo_halving_doubling, &algo_tree, &algo_servers,
  &algo_star, &algo_incast,           NULL,
};
