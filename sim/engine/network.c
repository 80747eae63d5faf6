#include "sim/engine/network.h"

#include <math.h>

/* SimGrid moves whole bytes, at most 2^63 of them. A message that takes one second is
 * this many for the largest class: 1 us is then known to 1e-9, and two hours still fit. */
#define AMOUNT_PER_SECOND 1e15

#define LARGEST_AMOUNT 9e18 /* below 2^63 - 1 */

/* For classes without a cap: beyond any sum of capacities. */
#define UNLIMITED "1e30"

const FlowClass *network_class(const Network *network, guint index)
{
  return &g_array_index(network->folded->classes, FlowClass, index);
}

bool network_class_moves(const FlowClass *class)
{
  return class->n_links > 0 || isfinite(class->cap_Bps);
}

double network_amount(const Network *network, const FlowClass *class, double size_B)
{
  return round(class->n_flows * class->share * size_B * network->scale);
}

bool network_amounts_fit(const Network *network, guint set, double size_B)
{
  for (guint c = network->first_class[set]; c < network->first_class[set + 1]; c++)
    if (!(network_amount(network, network_class(network, c), size_B) < LARGEST_AMOUNT))
      return false;
  return true;
}

/* Seconds per byte that the busiest link, or the tightest cap, of a set needs. */
static double set_bound_s_per_B(const Network *network, guint set)
{
  const Folded *folded = network->folded;
  g_autofree double *load = g_new0(double, folded->capacity_Bps->len);
  double bound = 0;

  for (guint c = network->first_class[set]; c < network->first_class[set + 1]; c++) {
    const FlowClass *class = network_class(network, c);
    bound = MAX(bound, class->share / class->cap_Bps);
    for (guint i = 0; i < class->n_links; i++)
      load[g_array_index(folded->route, guint32, class->first_link + i)] +=
        class->n_flows * class->share;
  }
  for (guint i = 0; i < folded->capacity_Bps->len; i++)
    bound = MAX(bound, load[i] / g_array_index(folded->capacity_Bps, double, i));
  return bound;
}

static double choose_scale(const Network *network)
{
  double per_second = 0;

  for (guint c = 0; c < network->folded->classes->len; c++) {
    const FlowClass *class = network_class(network, c);
    const double bound_s_per_B = network->bound_s_per_B[class->set];
    if (bound_s_per_B > 0)
      per_second = MAX(per_second, class->n_flows * class->share / bound_s_per_B);
  }
  return per_second > 0 ? exp10(floor(log10(AMOUNT_PER_SECOND / per_second))) : 1;
}

Network *network_new(const FlowSet *const *sets, guint n_sets, const Link *links,
                     guint n_links, bool fold)
{
  Network *network = g_new0(Network, 1);

  network->folded = fold_sets(sets, n_sets, links, n_links, fold);
  network->n_sets = n_sets;
  network->first_class = g_new0(guint, n_sets + 1);
  for (guint c = 0; c < network->folded->classes->len; c++) {
    network->first_class[network_class(network, c)->set + 1]++;
    network->n_flows += network_class(network, c)->n_flows;
  }
  for (guint s = 0; s < n_sets; s++)
    network->first_class[s + 1] += network->first_class[s];
  network->bound_s_per_B = g_new(double, n_sets);
  for (guint s = 0; s < n_sets; s++)
    network->bound_s_per_B[s] = set_bound_s_per_B(network, s);
  network->n_hosts = (guint)ceil(sqrt(network->folded->classes->len));
  network->scale = choose_scale(network);
  return network;
}

void network_free(Network *network)
{
  folded_free(network->folded);
  g_free(network->first_class);
  g_free(network->bound_s_per_B);
  g_free(network);
}

char *network_host_name(guint number, char direction, guint host)
{
  return g_strdup_printf("n%u%c%u", number, direction, host);
}

static void append_number(GString *xml, double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append(xml, g_ascii_dtostr(text, sizeof text, number));
}

static void write_private_link(const Network *network, guint number, guint c, GString *xml)
{
  const FlowClass *class = network_class(network, c);

  g_string_append_printf(
    xml, "    <link id=\"n%uc%u\" sharing_policy=\"FATPIPE\" bandwidth=\"", number, c);
  if (isfinite(class->cap_Bps))
    append_number(xml, class->n_flows * class->cap_Bps * network->scale);
  else
    g_string_append(xml, UNLIMITED);
  g_string_append(xml, "Bps\" latency=\"");
  append_number(xml, (double)network->n_flows / class->n_flows);
  g_string_append(xml, "s\"/>\n");
}

static void write_route(const Network *network, guint number, guint c, GString *xml)
{
  const FlowClass *class = network_class(network, c);

  g_string_append_printf(
    xml,
    "    <route src=\"n%us%u\" dst=\"n%ud%u\" symmetrical=\"NO\"><link_ctn id=\"n%uc%u\"/>",
    number, c / network->n_hosts, number, c % network->n_hosts, number, c);
  for (guint i = 0; i < class->n_links; i++)
    g_string_append_printf(
      xml, "<link_ctn id=\"n%ul%u\"/>", number,
      g_array_index(network->folded->route, guint32, class->first_link + i));
  g_string_append(xml, "</route>\n");
}

void network_write(const Network *network, guint number, GString *xml)
{
  const Folded *folded = network->folded;

  g_string_append_printf(xml, "  <zone id=\"n%u\" routing=\"Full\">\n", number);
  for (guint i = 0; i < network->n_hosts; i++)
    g_string_append_printf(xml,
                           "    <host id=\"n%us%u\" speed=\"1f\"/>\n"
                           "    <host id=\"n%ud%u\" speed=\"1f\"/>\n",
                           number, i, number, i);
  for (guint i = 0; i < folded->capacity_Bps->len; i++) {
    g_string_append_printf(xml, "    <link id=\"n%ul%u\" bandwidth=\"", number, i);
    append_number(xml, g_array_index(folded->capacity_Bps, double, i) * network->scale);
    g_string_append(xml, "Bps\" latency=\"0s\"/>\n");
  }
  for (guint c = 0; c < folded->classes->len; c++)
    write_private_link(network, number, c, xml);
  for (guint c = 0; c < folded->classes->len; c++)
    write_route(network, number, c, xml);
  g_string_append(xml, "  </zone>\n");
}
