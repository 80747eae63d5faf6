/**
 * @file import_nccl.c
 * @brief The topology of one node as NCCL writes it to NCCL_TOPO_DUMP_FILE.
 *
 * Rates of NVLinks and PCIe lanes are those that NCCL itself reckons with. GPUs are taken
 * in the order of "dev"; the PCIe tree must be regular: as many GPUs on each switch, as
 * many switches and NICs on each CPU.
 *
 * Source: NCCL 2.30, src/graph/topo.h and topo.cc, xml.cc.
 */
#include "sim/base/units.h"
#include "sim/scenario/import_nccl_devices.h"

#include <string.h>

/* What NCCL reckons one NVLink of a generation to carry. */
static double nvlink_Bps(guint sm)
{
  static const struct {
    guint sm;
    double rate_Bps;
  } rates[] = { { 100, 40.1e9 }, { 90, 20.6e9 }, { 87, 20e9 }, { 86, 12e9 },
                { 80, 20e9 },    { 70, 20e9 },   { 60, 18e9 } };

  for (guint i = 0; i < G_N_ELEMENTS(rates); i++)
    if (sm >= rates[i].sm)
      return rates[i].rate_Bps;
  return 0;
}

/* ---- PCIe -------------------------------------------------------------------------- */

static guint cpu_of(const Nccl *self, const XmlElement *cpu)
{
  guint index = 0;

  g_ptr_array_find(self->cpus, cpu, &index);
  return index;
}

/* Regular: what pcie_tree.c draws from "gpus_per_switch" and "sockets". */
typedef struct {
  guint gpus_per_switch, n_switches, n_sockets;
} Tree;

static bool blame_tree(const Nccl *self, const Gpu *gpu, GError **error)
{
  return import_blame(error, self->file, gpu->gpu->line,
                      "GPU %u breaks the regular order of GPUs on PCIe switches and CPUs: "
                      "cannot be represented",
                      gpu->dev);
}

static bool read_tree(const Nccl *self, Tree *tree, GError **error)
{
  const guint n = self->gpus->len;
  guint run = 1, n_sockets = 1;

  while (run < n && nccl_gpu_at(self, run)->top == nccl_gpu_at(self, 0)->top)
    run++;
  for (guint i = 1; i < n; i++)
    n_sockets += nccl_gpu_at(self, i)->cpu != nccl_gpu_at(self, i - 1)->cpu;
  *tree = (Tree){ run, (n - 1) / run + 1, n_sockets };
  for (guint i = 0; i < n; i++) {
    for (guint j = 0; j < i; j++)
      if ((nccl_gpu_at(self, i)->top == nccl_gpu_at(self, j)->top) !=
            (i / run == j / run) ||
          (nccl_gpu_at(self, i)->cpu == nccl_gpu_at(self, j)->cpu) !=
            (i / run * n_sockets / tree->n_switches ==
             j / run * n_sockets / tree->n_switches))
        return blame_tree(self, nccl_gpu_at(self, i), error);
  }
  return true;
}

/* NICs are spread evenly over the switches: no CPU may have more than its share. */
static bool check_nets(const Nccl *self, const Tree *tree, GError **error)
{
  const guint n_nets = self->nets->len;
  g_autofree guint *here = g_new0(guint, self->cpus->len + 1);

  for (guint i = 0; i < n_nets; i++) {
    const Net *net = &g_array_index(self->nets, Net, i);
    const guint first = g_array_index(self->nets, Net, 0).mbitps;
    if (net->mbitps != first)
      return import_blame(error, self->file, 0,
                          "NICs of %u and of %u Mbit/s cannot be represented: take out the "
                          "<net>s that training does not use",
                          first, net->mbitps);
    here[cpu_of(self, net->cpu)]++;
  }
  for (guint i = 0; i < n_nets; i++) {
    const guint n = here[cpu_of(self, g_array_index(self->nets, Net, i).cpu)];
    if (n > (n_nets - 1) / tree->n_sockets + 1)
      return import_blame(error, self->file, 0,
                          "%u of %u NICs hang on one of %u CPUs with GPUs: only an even "
                          "spread can be represented",
                          n, n_nets, tree->n_sockets);
  }
  return true;
}

/* What NCCL reckons a lane to carry [B/s]; 0 if the speed is unknown, as in many virtual
 * machines. */
static double lane_Bps(const char *speed)
{
  static const struct {
    const char *speed;
    double rate_Bps;
  } lanes[] = { { "2.5 GT/s", 15e8 / 8 },   { "5 GT/s", 30e8 / 8 },
                { "5.0 GT/s", 30e8 / 8 },   { "8 GT/s", 60e8 / 8 },
                { "8.0 GT/s", 60e8 / 8 },   { "16 GT/s", 120e8 / 8 },
                { "16.0 GT/s", 120e8 / 8 }, { "32 GT/s", 240e8 / 8 },
                { "32.0 GT/s", 240e8 / 8 }, { "64 GT/s", 480e8 / 8 },
                { "64.0 GT/s", 480e8 / 8 } };
  const gsize n_shown = strlen(speed) - (g_str_has_suffix(speed, " PCIe") ? 5 : 0);

  for (guint i = 0; i < G_N_ELEMENTS(lanes); i++)
    if (strlen(lanes[i].speed) == n_shown && strncmp(speed, lanes[i].speed, n_shown) == 0)
      return lanes[i].rate_Bps;
  return 0;
}

/* Of every GPU's slot; 0 if the file does not say. */
static bool pcie_Bps(const Nccl *self, double *rate_Bps, GError **error)
{
  for (guint i = 0; i < self->gpus->len; i++) {
    const XmlElement *pci = nccl_gpu_at(self, i)->pci;
    const char *speed = xml_get(pci, "link_speed");
    guint width = 0;
    double this_Bps = speed == NULL ? 0 : lane_Bps(speed);
    if (this_Bps > 0 &&
        !xml_require_count(self->file, pci, "link_width", 32, &width, error))
      return false;
    this_Bps *= width;
    if (i > 0 && this_Bps != *rate_Bps)
      return import_blame(error, self->file, pci->line,
                          "GPU %u has another PCIe slot than GPU 0: cannot be represented",
                          i);
    *rate_Bps = this_Bps;
  }
  return true;
}

/* ---- node -------------------------------------------------------------------------- */

static void add_rate(cJSON *object, const char *key, double rate_Bps)
{
  g_autofree char *text = units_format_rate(rate_Bps);
  cJSON_AddStringToObject(object, key, text);
}

static void add_mesh(const Nccl *self, cJSON *fabric)
{
  cJSON *links = cJSON_AddArrayToObject(fabric, "links");

  for (guint i = 0; i < self->gpus->len; i++)
    for (guint j = i + 1; j < self->gpus->len; j++) {
      if (nccl_gpu_at(self, i)->n_to[j] == 0)
        continue;
      g_autofree char *ends = g_strdup_printf("%u-%u", i, j);
      cJSON *link = cJSON_CreateObject();
      cJSON_AddStringToObject(link, "gpus", ends);
      cJSON_AddNumberToObject(link, "count", nccl_gpu_at(self, i)->n_to[j]);
      cJSON_AddItemToArray(links, link);
    }
}

static bool has_peers(const Nccl *self)
{
  for (guint i = 0; i < self->gpus->len; i++)
    for (guint j = 0; j < self->gpus->len; j++)
      if (nccl_gpu_at(self, i)->n_to[j] > 0)
        return true;
  return false;
}

static void add_fabric(const Nccl *self, const Tree *tree, double slot_Bps, cJSON *node)
{
  cJSON *fabric = cJSON_AddObjectToObject(node, "fabric");
  const Gpu *gpu = nccl_gpu_at(self, 0);

  if (gpu->n_to_switches > 0) {
    cJSON_AddStringToObject(fabric, "kind", "nvswitch");
    add_rate(fabric, "port_rate", gpu->n_to_switches * nvlink_Bps(gpu->sm));
  } else if (has_peers(self)) {
    cJSON_AddStringToObject(fabric, "kind", "nvlink_mesh");
    add_rate(fabric, "link_rate", nvlink_Bps(gpu->sm));
    add_mesh(self, fabric);
  } else {
    cJSON_AddStringToObject(fabric, "kind", "pcie");
  }
  if (slot_Bps > 0)
    add_rate(fabric, "pcie_rate", slot_Bps);
  cJSON_AddNumberToObject(fabric, "gpus_per_switch", tree->gpus_per_switch);
  cJSON_AddNumberToObject(fabric, "sockets", tree->n_sockets);
}

static cJSON *node_of(const Nccl *self, const Tree *tree, double slot_Bps)
{
  cJSON *node = cJSON_CreateObject();
  g_autofree char *source = g_strdup_printf(
    "%s; rates of NVLink and PCIe: NCCL 2.30, src/graph/topo.h", self->file->name);

  cJSON_AddStringToObject(node, "source", source);
  cJSON_AddNumberToObject(node, "gpus", self->gpus->len);
  cJSON_AddNumberToObject(node, "nics", self->nets->len);
  if (self->nets->len > 0)
    add_rate(node, "nic_rate", g_array_index(self->nets, Net, 0).mbitps * 1e6 / 8);
  add_fabric(self, tree, slot_Bps, node);
  return node;
}

cJSON *import_nccl_node(const ImportFile *file, GError **error)
{
  g_autoptr(XmlElement) root = xml_parse(file, error);
  g_auto(Nccl) self = { .file = file };
  Tree tree;
  double slot_Bps = 0;

  if (root == NULL || !nccl_collect(&self, root, error) ||
      !read_tree(&self, &tree, error) || !check_nets(&self, &tree, error) ||
      !pcie_Bps(&self, &slot_Bps, error))
    return NULL;
  if (nccl_gpu_at(&self, 0)->sm < 60) {
    import_blame(error, file, nccl_gpu_at(&self, 0)->gpu->line,
                 "NCCL has no rate for the NVLinks of sm %u", nccl_gpu_at(&self, 0)->sm);
    return NULL;
  }
  return node_of(&self, &tree, slot_Bps);
}
