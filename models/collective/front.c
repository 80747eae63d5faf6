#include "models/collective/front.h"

/* Sums of the same terms in another order differ by less. */
static const double rounding = 1e-12;

static bool is_covered(double value, double by)
{
  return value <= by + rounding * by;
}

static guint n_hops(Chain chain)
{
  return chain.n_local_hops + chain.n_net_hops;
}

/* Is @p chain never longer than @p other? */
static bool covers(Chain other, Chain chain)
{
  return n_hops(chain) <= n_hops(other) && chain.n_net_hops <= other.n_net_hops &&
         is_covered(chain.latency_s, other.latency_s) &&
         is_covered(chain.s_per_B, other.s_per_B);
}

static Chain as_long_as_both(Chain a, Chain b)
{
  const guint n_net_hops = MAX(a.n_net_hops, b.n_net_hops);
  return (Chain){
    .n_local_hops = MAX(n_hops(a), n_hops(b)) - n_net_hops,
    .n_net_hops = n_net_hops,
    .latency_s = MAX(a.latency_s, b.latency_s),
    .s_per_B = MAX(a.s_per_B, b.s_per_B),
  };
}

void front_add(Front *front, Chain chain)
{
  guint n_kept = 0;

  for (guint i = 0; i < front->n; i++)
    if (covers(front->chains[i], chain))
      return;
  for (guint i = 0; i < front->n; i++)
    if (!covers(chain, front->chains[i]))
      front->chains[n_kept++] = front->chains[i];
  if (n_kept == FRONT_MAX)
    chain = as_long_as_both(front->chains[--n_kept], chain);
  front->chains[n_kept] = chain;
  front->n = n_kept + 1;
}

void front_add_extended(Front *front, const Front *other, Chain hop)
{
  if (other->n == 0)
    front_add(front, hop);
  for (guint i = 0; i < other->n; i++)
    front_add(front, chain_join(other->chains[i], hop));
}

double front_s_per_B(const Front *front)
{
  double s_per_B = 0;
  for (guint i = 0; i < front->n; i++)
    s_per_B = MAX(s_per_B, front->chains[i].s_per_B);
  return s_per_B;
}

GArray *front_chains_new(const Front *front)
{
  GArray *chains = g_array_new(FALSE, FALSE, sizeof(CollChain));
  g_array_append_vals(chains, front->chains, front->n);
  return chains;
}
