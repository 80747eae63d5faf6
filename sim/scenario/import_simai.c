/**
 * @file import_simai.c
 * @brief A network, or a node, from a topology of SimAI.
 */
#include "sim/base/units.h"
#include "sim/scenario/import_simai_text.h"

#include <math.h>

/* Rates are the same that differ by rounding alone. */
#define SAME_RATE 1e-9

/* Twice a latency is shown without the rounding of its last bit. */
#define SHOWN_DIGITS 12

/* What the links of every GPU carry together, to NVSwitches or to switches. */
static double *sums_Bps(const Simai *self, bool nvlink)
{
  double *sums = g_new0(double, self->n_gpus);

  for (guint i = 0; i < self->cables->len; i++) {
    const Cable *cable = simai_cable_at(self, i);
    const guint gpu = simai_end_of(self, cable, KIND_GPU);
    if (gpu != G_MAXUINT && simai_is_nvlink(self, cable) == nvlink)
      sums[gpu] += cable->rate_Bps;
  }
  return sums;
}

/* ---- network ----------------------------------------------------------------------- */

static void add_cable(NetworkGraph *graph, const Cable *cable)
{
  for (guint i = 0; i < 2; i++) {
    const guint link =
      network_graph_add_link(graph, cable->rate_Bps, cable->latency_s, true);
    network_graph_add_edge(graph, cable->ends[i], cable->ends[1 - i], &link, 1);
  }
}

NetworkGraph *import_simai_network(const ImportFile *file, GError **error)
{
  g_auto(Simai) self = { 0 };
  g_autoptr(NetworkGraph) graph = network_graph_new();
  g_autoptr(GError) cause = NULL;

  if (!simai_parse(&self, file, error))
    return NULL;
  g_autofree double *rates_Bps = sums_Bps(&self, false);
  for (guint vertex = 0; vertex < self.n_vertices; vertex++)
    network_graph_add_vertex(graph, self.kinds[vertex] == KIND_SWITCH);
  for (guint i = 0; i < self.cables->len; i++)
    if (!simai_is_nvlink(&self, simai_cable_at(&self, i)))
      add_cable(graph, simai_cable_at(&self, i));
  for (guint gpu = 0; gpu < self.n_gpus; gpu++) {
    if (rates_Bps[gpu] <= 0) {
      import_blame(error, file, 0, "GPU %u has no link to a switch", gpu);
      return NULL;
    }
    network_graph_add_port(graph, gpu, rates_Bps[gpu]);
  }
  if (!network_graph_seal(graph, &cause)) {
    import_blame(error, file, 0, "%s", cause->message);
    return NULL;
  }
  return g_steal_pointer(&graph);
}

/* ---- node -------------------------------------------------------------------------- */

static bool check_alike(const Simai *self, const double *rates_Bps, const char *what,
                        GError **error)
{
  for (guint gpu = 1; gpu < self->n_gpus; gpu++) {
    if (fabs(rates_Bps[gpu] - rates_Bps[0]) <= SAME_RATE * rates_Bps[0])
      continue;
    g_autofree char *mine = units_format_rate(rates_Bps[gpu]);
    g_autofree char *first = units_format_rate(rates_Bps[0]);
    return import_blame(error, self->file, 0,
                        "GPU %u has %s of %s, GPU 0 has %s: cannot be represented", gpu,
                        what, mine, first);
  }
  return true;
}

/* One way through an NVSwitch is two links, all alike. */
static bool nvlink_latency_s(const Simai *self, double *latency_s, GError **error)
{
  *latency_s = -1;
  for (guint i = 0; i < self->cables->len; i++) {
    const Cable *cable = simai_cable_at(self, i);
    if (!simai_is_nvlink(self, cable))
      continue;
    if (*latency_s < 0)
      *latency_s = 2 * cable->latency_s;
    if (fabs(*latency_s - 2 * cable->latency_s) > SAME_RATE * *latency_s)
      return import_blame(error, self->file, cable->line,
                          "NVLinks of different latencies cannot be represented");
  }
  return true;
}

static void add_text(cJSON *object, const char *key, char *text)
{
  cJSON_AddStringToObject(object, key, text);
  g_free(text);
}

cJSON *import_simai_node(const ImportFile *file, GError **error)
{
  g_auto(Simai) self = { 0 };
  double latency_s = 0;

  if (!simai_parse(&self, file, error) || !nvlink_latency_s(&self, &latency_s, error))
    return NULL;
  g_autofree double *nvlink_Bps = sums_Bps(&self, true);
  g_autofree double *nic_Bps = sums_Bps(&self, false);
  if (!check_alike(&self, nvlink_Bps, "NVLinks", error) ||
      !check_alike(&self, nic_Bps, "links to switches", error))
    return NULL;

  cJSON *node = cJSON_CreateObject();
  add_text(node, "source", g_strdup(file->name));
  cJSON_AddNumberToObject(node, "gpus", self.gpus_per_node);
  if (nic_Bps[0] > 0) {
    cJSON_AddNumberToObject(node, "nics", self.gpus_per_node);
    add_text(node, "nic_rate", units_format_rate(nic_Bps[0]));
  }
  if (nvlink_Bps[0] > 0) {
    cJSON *fabric = cJSON_AddObjectToObject(node, "fabric");
    add_text(fabric, "kind", g_strdup("nvswitch"));
    add_text(fabric, "port_rate", units_format_rate(nvlink_Bps[0]));
    add_text(fabric, "port_latency", units_show_seconds(latency_s, SHOWN_DIGITS));
  }
  return node;
}
