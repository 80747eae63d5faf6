#include "sim/engine/shares.h"

#include <math.h>

/* Rates of links that saturate together differ by rounding only. */
static const double same_level = 1e-13;

/* What is remembered at most, in rates: 24 MiB. */
#define MAX_REMEMBERED (2u << 20)

struct Shares {
  const Network *network;
  GHashTable *known; /* GBytes of classes -> GBytes of their rates */
  guint n_remembered;
  GBytes *last;      /* what was handed out */
  double *left_Bps;  /* of each link class: capacity that nobody has yet */
  double *weight;    /* of each link class: flows without a rate yet */
  guint *unsettled;  /* entries without a rate yet */
  double *level_Bps; /* per entry: what a flow gets where it is tightest */
  guint n_room;      /* of the two above */
};

static guint hash_classes(gconstpointer key)
{
  gsize size_B;
  const guint32 *classes = g_bytes_get_data((GBytes *)key, &size_B);
  guint hash = 0;

  for (gsize i = 0; i < size_B / sizeof *classes; i++)
    hash = 31 * hash + classes[i];
  return hash;
}

Shares *shares_new(const Network *network)
{
  Shares *shares = g_new0(Shares, 1);
  shares->network = network;
  shares->known =
    g_hash_table_new_full(hash_classes, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                          (GDestroyNotify)g_bytes_unref);
  shares->left_Bps = g_new0(double, network->folded->capacity_Bps->len);
  shares->weight = g_new0(double, network->folded->capacity_Bps->len);
  return shares;
}

void shares_free(Shares *shares)
{
  if (shares == NULL)
    return;
  g_hash_table_unref(shares->known);
  g_clear_pointer(&shares->last, g_bytes_unref);
  g_free(shares->left_Bps);
  g_free(shares->weight);
  g_free(shares->unsettled);
  g_free(shares->level_Bps);
  g_free(shares);
}

static const guint32 *route_of(const Shares *shares, const FlowClass *class)
{
  return &g_array_index(shares->network->folded->route, guint32, class->first_link);
}

static void load_links(Shares *shares, const guint32 *classes, guint n)
{
  const GArray *capacity_Bps = shares->network->folded->capacity_Bps;

  for (guint i = 0; i < n; i++) {
    const FlowClass *class = network_class(shares->network, classes[i]);
    const guint32 *route = route_of(shares, class);
    for (guint k = 0; k < class->n_links; k++) {
      shares->left_Bps[route[k]] = g_array_index(capacity_Bps, double, route[k]);
      shares->weight[route[k]] = 0;
    }
  }
  for (guint i = 0; i < n; i++) {
    const FlowClass *class = network_class(shares->network, classes[i]);
    const guint32 *route = route_of(shares, class);
    for (guint k = 0; k < class->n_links; k++)
      shares->weight[route[k]] += class->n_flows;
  }
}

static double level_of(const Shares *shares, const FlowClass *class)
{
  const guint32 *route = route_of(shares, class);
  double level_Bps = class->cap_Bps;

  for (guint k = 0; k < class->n_links; k++)
    level_Bps = MIN(level_Bps, shares->left_Bps[route[k]] / shares->weight[route[k]]);
  return level_Bps;
}

static void take(Shares *shares, const FlowClass *class, double rate_Bps)
{
  const guint32 *route = route_of(shares, class);

  for (guint k = 0; k < class->n_links; k++) {
    shares->left_Bps[route[k]] = MAX(0, shares->left_Bps[route[k]] - rate_Bps);
    shares->weight[route[k]] -= class->n_flows;
  }
}

/* Give the flows of the tightest links and caps their rates. @return how many are left */
static guint settle(Shares *shares, const guint32 *classes, guint n_unsettled,
                    double *rates_Bps)
{
  double lowest_Bps = INFINITY;
  guint n_left = 0;

  for (guint u = 0; u < n_unsettled; u++) {
    const guint i = shares->unsettled[u];
    shares->level_Bps[i] = level_of(shares, network_class(shares->network, classes[i]));
    lowest_Bps = MIN(lowest_Bps, shares->level_Bps[i]);
  }
  for (guint u = 0; u < n_unsettled; u++) {
    const guint i = shares->unsettled[u];
    if (shares->level_Bps[i] > lowest_Bps * (1 + same_level)) {
      shares->unsettled[n_left++] = i;
      continue;
    }
    const FlowClass *class = network_class(shares->network, classes[i]);
    rates_Bps[i] = class->n_flows * shares->level_Bps[i];
    take(shares, class, rates_Bps[i]);
  }
  return n_left;
}

static double *solve(Shares *shares, const guint32 *classes, guint n)
{
  double *rates_Bps = g_new(double, n);
  guint n_left = n;

  if (n > shares->n_room) {
    shares->n_room = MAX(n, 2 * shares->n_room);
    shares->unsettled = g_renew(guint, shares->unsettled, shares->n_room);
    shares->level_Bps = g_renew(double, shares->level_Bps, shares->n_room);
  }
  load_links(shares, classes, n);
  for (guint i = 0; i < n; i++)
    shares->unsettled[i] = i;
  while (n_left > 0)
    n_left = settle(shares, classes, n_left, rates_Bps);
  return rates_Bps;
}

const double *shares_of(Shares *shares, const guint32 *classes, guint n)
{
  g_autoptr(GBytes) key = g_bytes_new_static(classes, n * sizeof *classes);
  GBytes *rates = g_hash_table_lookup(shares->known, key);

  if (rates != NULL)
    return g_bytes_get_data(rates, NULL);
  g_clear_pointer(&shares->last, g_bytes_unref);
  shares->last = g_bytes_new_take(solve(shares, classes, n), n * sizeof(double));
  if (shares->n_remembered + n <= MAX_REMEMBERED) {
    shares->n_remembered += n;
    g_hash_table_insert(shares->known, g_bytes_new(classes, n * sizeof *classes),
                        g_bytes_ref(shares->last));
  }
  return g_bytes_get_data(shares->last, NULL);
}
