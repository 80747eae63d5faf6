#include "sim/engine/bounds.h"

#include <math.h>

/* Sums of the same rates differ by rounding only. */
static const double rounding = 1e-12;

/* A place in a route: hop of a class. */
typedef struct {
  guint32 class, hop;
} Place;

/* Who crosses which link, and what has been left out so far. */
typedef struct {
  const Network *network;
  guint n_links;
  guint32 *first; /* of each link, and one beyond: index into places */
  Place *places;
  bool *left_out;
  guint32 *number_of; /* of each link that has not */
  guint32 *seen;      /* of each link: stamp of the last search that it was found in */
  guint32 stamp;
} Search;

static guint32 link_at(const Network *network, const FlowClass *class, guint hop)
{
  return g_array_index(network->folded->route, guint32, class->first_link + hop);
}

static double capacity_Bps(const Search *search, guint32 link)
{
  return g_array_index(search->network->folded->capacity_Bps, double, link);
}

static void list_places(Search *search)
{
  const Network *network = search->network;
  const GArray *classes = network->folded->classes;

  search->first = g_new0(guint32, search->n_links + 2);
  search->places = g_new(Place, network->folded->route->len + 1);
  for (guint i = 0; i < network->folded->route->len; i++)
    search->first[g_array_index(network->folded->route, guint32, i) + 2]++;
  for (guint l = 2; l <= search->n_links; l++)
    search->first[l] += search->first[l - 1];
  for (guint c = 0; c < classes->len; c++) {
    const FlowClass *class = network_class(network, c);
    for (guint hop = 0; hop < class->n_links; hop++)
      search->places[search->first[link_at(network, class, hop) + 1]++] =
        (Place){ .class = c, .hop = hop };
  }
}

/* The next link that counts, one way along the route. @return false at its end */
static bool find_neighbour(const Search *search, Place place, bool onwards, guint32 *link)
{
  const FlowClass *class = network_class(search->network, place.class);
  guint hop = place.hop;

  while (onwards ? hop + 1 < class->n_links : hop > 0) {
    hop = onwards ? hop + 1 : hop - 1;
    *link = link_at(search->network, class, hop);
    if (!search->left_out[*link])
      return true;
  }
  return false;
}

/* Do the neighbours on one side of @p link let no more through than it does itself? */
static bool is_covered(Search *search, guint32 link, bool onwards)
{
  const double limit_Bps = capacity_Bps(search, link) * (1 + rounding);
  double sum_Bps = 0;
  guint32 other = 0;

  search->stamp++;
  for (guint32 p = search->first[link]; p < search->first[link + 1]; p++) {
    if (!find_neighbour(search, search->places[p], onwards, &other) || other == link)
      return false;
    if (search->seen[other] == search->stamp)
      continue;
    search->seen[other] = search->stamp;
    sum_Bps += capacity_Bps(search, other);
    if (sum_Bps > limit_Bps)
      return false;
  }
  return true;
}

/* Number the links that are left. */
static void number_links(Search *search, Bounds *bounds)
{
  search->number_of = g_new0(guint32, search->n_links + 1);
  bounds->limit_Bps = g_new(double, search->n_links + 1);
  for (guint32 l = 0; l < search->n_links; l++) {
    if (search->left_out[l])
      continue;
    search->number_of[l] = bounds->n;
    bounds->limit_Bps[bounds->n++] = capacity_Bps(search, l);
  }
}

static int compare_caps(gconstpointer a, gconstpointer b)
{
  const double *one = a, *other = b;
  return (*one > *other) - (*one < *other);
}

static void list_caps(const Search *search, Bounds *bounds)
{
  const guint n = search->network->folded->classes->len;
  guint n_different = 0;

  bounds->cap_Bps = g_new(double, n + 1);
  for (guint c = 0; c < n; c++)
    bounds->cap_Bps[c] = network_class(search->network, c)->cap_Bps;
  bounds->caps_Bps = g_memdup2(bounds->cap_Bps, (n + 1) * sizeof(double));
  qsort(bounds->caps_Bps, n, sizeof(double), compare_caps);
  for (guint c = 0; c < n; c++) {
    const double cap_Bps = bounds->caps_Bps[c];
    if (isfinite(cap_Bps) &&
        (n_different == 0 || cap_Bps > bounds->caps_Bps[n_different - 1]))
      bounds->caps_Bps[n_different++] = cap_Bps;
  }
  bounds->n_caps = n_different;
}

/* Does every class of the set that moves cross the link once? */
static bool is_common(const Search *search, guint set, guint32 link)
{
  const Network *network = search->network;

  for (guint c = network->first_class[set]; c < network->first_class[set + 1]; c++) {
    const FlowClass *class = network_class(network, c);
    guint n = 0;
    for (guint hop = 0; hop < class->n_links; hop++)
      n += link_at(network, class, hop) == link;
    if (network_class_moves(class) && n != 1)
      return false;
  }
  return true;
}

/* Stamps the common links of the set: seen. */
static void list_common(Search *search, Bounds *bounds, guint set)
{
  const Network *network = search->network;
  guint c = network->first_class[set];

  search->stamp++;
  bounds->first_common[set + 1] = bounds->first_common[set];
  while (c < network->first_class[set + 1] &&
         !network_class_moves(network_class(network, c)))
    c++;
  if (c == network->first_class[set + 1])
    return;
  const FlowClass *one = network_class(network, c);
  for (guint hop = 0; hop < one->n_links; hop++) {
    const guint32 link = link_at(network, one, hop);
    if (search->left_out[link] || !is_common(search, set, link))
      continue;
    search->seen[link] = search->stamp;
    bounds->common[bounds->first_common[set + 1]++] = search->number_of[link];
  }
}

/* Links of a class that its set has not in common. */
static guint list_own(const Search *search, guint32 c, guint32 *own)
{
  const FlowClass *class = network_class(search->network, c);
  guint n = 0;

  for (guint hop = 0; hop < class->n_links; hop++) {
    const guint32 link = link_at(search->network, class, hop);
    if (search->left_out[link] || search->seen[link] == search->stamp)
      continue;
    if (own != NULL)
      own[n] = search->number_of[link];
    n++;
  }
  return n;
}

/* Of the classes of one set; all have room for the most links that any has. */
static void list_set(Search *search, Bounds *bounds, guint set, bool count)
{
  const Network *network = search->network;

  list_common(search, bounds, set);
  for (guint c = network->first_class[set]; c < network->first_class[set + 1]; c++) {
    bounds->set[c] = set;
    bounds->n_flows[c] = network_class(network, c)->n_flows;
    if (count) {
      bounds->width = MAX(bounds->width, list_own(search, c, NULL));
      continue;
    }
    guint32 *own = &bounds->of[(gsize)c * bounds->width];
    for (guint k = list_own(search, c, own); k < bounds->width; k++)
      own[k] = bounds->n;
  }
}

static void list_bounds(Search *search, Bounds *bounds)
{
  const Network *network = search->network;
  const guint n = network->folded->classes->len;

  bounds->set = g_new(guint32, n + 1);
  bounds->n_flows = g_new(double, n + 1);
  bounds->first_common = g_new0(guint32, network->n_sets + 1);
  bounds->common = g_new(guint32, network->folded->route->len + 1);
  for (guint set = 0; set < network->n_sets; set++)
    list_set(search, bounds, set, true);
  bounds->of = g_new(guint32, (gsize)n * bounds->width + 1);
  for (guint set = 0; set < network->n_sets; set++)
    list_set(search, bounds, set, false);
}

Bounds *bounds_new(const Network *network)
{
  Bounds *bounds = g_new0(Bounds, 1);
  Search search = { .network = network, .n_links = network->folded->capacity_Bps->len };

  search.left_out = g_new0(bool, search.n_links + 1);
  search.seen = g_new0(guint32, search.n_links + 1);
  list_places(&search);
  for (guint32 l = 0; l < search.n_links; l++)
    search.left_out[l] = is_covered(&search, l, true) || is_covered(&search, l, false);
  number_links(&search, bounds);
  list_caps(&search, bounds);
  list_bounds(&search, bounds);
  g_free(search.first);
  g_free(search.places);
  g_free(search.left_out);
  g_free(search.seen);
  g_free(search.number_of);
  return bounds;
}

void bounds_free(Bounds *bounds)
{
  if (bounds == NULL)
    return;
  g_free(bounds->limit_Bps);
  g_free(bounds->caps_Bps);
  g_free(bounds->of);
  g_free(bounds->set);
  g_free(bounds->n_flows);
  g_free(bounds->cap_Bps);
  g_free(bounds->first_common);
  g_free(bounds->common);
  g_free(bounds);
}
