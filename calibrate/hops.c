#include "calibrate/hops.h"

#include <math.h>
#include <string.h>

/* Of one way: into the sum, or out of it. */
typedef struct {
  double intra, inter, bytes;
} Way;

static Way ring_way(double n, double nodes, double size_B, bool is_last)
{
  const double inter = nodes == 1 ? 0 : nodes - (is_last ? 1 : 0);

  return (Way){ n - 1 - inter, inter, (n - 1) / n * size_B };
}

static Way tree_way(double n, double nodes, double size_B, bool is_last G_GNUC_UNUSED)
{
  return (Way){ n / nodes - 1, floor(log2(nodes)), size_B };
}

static Way halving_way(double n, double nodes, double size_B, bool is_last G_GNUC_UNUSED)
{
  const double inter = ceil(log2(nodes));

  return (Way){ ceil(log2(n)) - inter, inter, (n - 1) / n * size_B };
}

/* Every rank to every other at once: one step. */
static Way direct_way(double n, double nodes, double size_B, bool is_last G_GNUC_UNUSED)
{
  return (Way){ nodes == 1 ? 1 : 0, nodes == 1 ? 0 : 1, (n - 1) / n * size_B };
}

/* Every rank to the next: one message. */
static Way neighbour_way(double n G_GNUC_UNUSED, double nodes, double size_B,
                         bool is_last G_GNUC_UNUSED)
{
  return (Way){ nodes == 1 ? 1 : 0, nodes == 1 ? 0 : 1, size_B };
}

/* All ranks to one, and back. */
static Way star_way(double n, double nodes, double size_B, bool is_last G_GNUC_UNUSED)
{
  return (Way){ nodes == 1 ? 1 : 0, nodes == 1 ? 0 : 1, (n - 1) * size_B };
}

static Way doubling_way(double n, double nodes, double size_B, bool is_last G_GNUC_UNUSED)
{
  const double inter = ceil(log2(nodes));

  /* Half of the steps: of both ways together each step moves the whole message once. */
  return (Way){ (ceil(log2(n)) - inter) / 2, inter / 2, ceil(log2(n)) * size_B / 2 };
}

static const struct {
  const char *algo;
  Way (*way)(double n, double nodes, double size_B, bool is_last);
} ways[] = {
  { "ring", ring_way },
  { "tree", tree_way },
  { "halving_doubling", halving_way },
  { "recursive_doubling", doubling_way },
  { "sharded_ps", direct_way },
  { "direct", direct_way },
  { "neighbour", neighbour_way },
  { "ps_star", star_way },
  { "push_pull", star_way },
};

/* How many ways an operation has, and whether it adds up. */
static const struct {
  const char *probe;
  guint n_ways;
  bool adds;
} probes[] = {
  { "all_reduce", 2, true }, { "reduce_scatter", 1, true }, { "all_gather", 1, false },
  { "broadcast", 1, false }, { "reduce", 1, true },         { "all_to_all", 1, false },
  { "incast", 1, false },    { "send_recv", 1, false },
};

static gint find_way(const Sample *key)
{
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++)
    if (strcmp(ways[i].algo, key->algo) == 0)
      return (gint)i;
  return -1;
}

static gint find_probe(const Sample *key)
{
  for (guint i = 0; i < G_N_ELEMENTS(probes); i++)
    if (strcmp(probes[i].probe, key->probe) == 0)
      return (gint)i;
  return -1;
}

bool hops_known(const Sample *key)
{
  return find_way(key) >= 0 && find_probe(key) >= 0;
}

Hops hops_of(const Sample *key, double size_B, guint ranks, guint nodes)
{
  const gint way = find_way(key), probe = find_probe(key);
  Hops hops = { .launch = 1 };

  g_return_val_if_fail(way >= 0 && probe >= 0 && ranks > 0 && nodes > 0, hops);
  for (guint i = 0; i < probes[probe].n_ways; i++) {
    const Way one = ways[way].way(ranks, nodes, size_B, i + 1 == probes[probe].n_ways);
    hops.intra += one.intra;
    hops.inter += one.inter;
    *(nodes == 1 ? &hops.local_B : &hops.net_B) += one.bytes;
  }
  if (probes[probe].adds)
    hops.reduced_B = ways[way].way(ranks, nodes, size_B, true).bytes;
  return hops;
}
