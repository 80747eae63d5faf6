#include "sim/scenario/import_nccl_devices.h"

#include <string.h>

/* More than node_params allow, so that those speak first. */
#define MAX_GPUS 1024u
#define MAX_NICS 1024u
#define MAX_NVLINKS 64u
#define MAX_MBITPS 100000000u

static void gpu_free(void *data)
{
  g_free(((Gpu *)data)->n_to);
}

void nccl_clear(Nccl *self)
{
  if (self->gpus == NULL)
    return;
  g_array_unref(self->gpus);
  g_array_unref(self->nets);
  g_ptr_array_unref(self->cpus);
}
Gpu *nccl_gpu_at(const Nccl *self, guint index)
{
  return &g_array_index(self->gpus, Gpu, index);
}

/* ---- collecting -------------------------------------------------------------------- */

static const XmlElement *ancestor(const XmlElement *element, const char *name)
{
  while (element != NULL && !xml_is(element, name))
    element = element->parent;
  return element;
}

static bool add_gpu(Nccl *self, const XmlElement *element, GError **error)
{
  Gpu gpu = { .gpu = element, .pci = element->parent, .cpu = ancestor(element, "cpu") };

  if (gpu.pci == NULL || !xml_is(gpu.pci, "pci") || gpu.cpu == NULL)
    return import_blame(error, self->file, element->line,
                        "a <gpu> must stand in a <pci> of a <cpu>");
  if (self->gpus->len == MAX_GPUS)
    return import_blame(error, self->file, element->line, "more than %u GPUs", MAX_GPUS);
  if (!xml_require_count(self->file, element, "dev", MAX_GPUS, &gpu.dev, error) ||
      !xml_require_count(self->file, element, "sm", 999, &gpu.sm, error))
    return false;
  gpu.top = gpu.pci;
  while (gpu.top->parent != NULL && xml_is(gpu.top->parent, "pci"))
    gpu.top = gpu.top->parent;
  g_array_append_val(self->gpus, gpu);
  return true;
}

static bool add_net(Nccl *self, const XmlElement *element, GError **error)
{
  Net net = { .cpu = ancestor(element, "cpu") };

  if (net.cpu == NULL)
    return import_blame(error, self->file, element->line, "a <net> must stand in a <cpu>");
  if (!xml_require_count(self->file, element, "speed", MAX_MBITPS, &net.mbitps, error))
    return false;
  if (net.mbitps == 0)
    return import_blame(error, self->file, element->line, "a <net> of speed 0");
  if (self->nets->len == MAX_NICS)
    return import_blame(error, self->file, element->line, "more than %u NICs", MAX_NICS);
  g_array_append_val(self->nets, net);
  return true;
}

static bool collect(Nccl *self, const XmlElement *element, GError **error)
{
  static const char *const passive[] = { "pci", "nic", "nvlink", "c2c", NULL };

  for (guint i = 0; i < element->children->len; i++) {
    const XmlElement *child = xml_child(element, i);
    if (xml_is(child, "gpu")) {
      if (!add_gpu(self, child, error))
        return false;
    } else if (xml_is(child, "net")) {
      if (!add_net(self, child, error))
        return false;
    } else if (xml_is(child, "cpu") && element->parent == NULL) {
      g_ptr_array_add(self->cpus, (void *)child);
    } else if (!g_strv_contains(passive, child->name)) {
      return import_blame(error, self->file, child->line, "<%s> is not known here",
                          child->name);
    }
    if (!collect(self, child, error))
      return false;
  }
  return true;
}

static int by_dev(const void *a, const void *b)
{
  const guint x = ((const Gpu *)a)->dev, y = ((const Gpu *)b)->dev;
  return x < y ? -1 : x > y;
}

static bool check_hosts(const Nccl *self, GError **error)
{
  for (guint i = 1; i < self->cpus->len; i++) {
    const XmlElement *first = self->cpus->pdata[0], *cpu = self->cpus->pdata[i];
    if (g_strcmp0(xml_get(first, "host_hash"), xml_get(cpu, "host_hash")) != 0)
      return import_blame(error, self->file, cpu->line,
                          "a second host: only one node can be read");
  }
  return true;
}

static bool sort_gpus(Nccl *self, GError **error)
{
  if (self->gpus->len == 0)
    return import_blame(error, self->file, 0, "has no <gpu>");
  g_array_sort(self->gpus, by_dev);
  for (guint i = 0; i < self->gpus->len; i++) {
    if (nccl_gpu_at(self, i)->dev != i)
      return import_blame(error, self->file, nccl_gpu_at(self, i)->gpu->line,
                          "the GPUs are not numbered 0 to %u, each once, by \"dev\"",
                          self->gpus->len - 1);
    nccl_gpu_at(self, i)->n_to = g_new0(guint, self->gpus->len);
  }
  return true;
}

/* ---- NVLink ------------------------------------------------------------------------ */

static Gpu *find_gpu(const Nccl *self, const char *busid)
{
  for (guint i = 0; i < self->gpus->len; i++)
    if (g_strcmp0(xml_get(nccl_gpu_at(self, i)->pci, "busid"), busid) == 0)
      return nccl_gpu_at(self, i);
  return NULL;
}

/* "tclass" is the PCI class of the other end: 0x0680.. a bridge, which is an NVSwitch;
 * 0x03.. a GPU. Fused dumps leave it out between GPUs. */
static bool add_nvlink(const Nccl *self, Gpu *gpu, const XmlElement *element,
                       GError **error)
{
  const char *target = xml_require(self->file, element, "target", error);
  const char *class = xml_get(element, "tclass");
  guint count = 0;

  if (target == NULL ||
      !xml_require_count(self->file, element, "count", MAX_NVLINKS, &count, error))
    return false;
  if (class != NULL && strcmp(class, "0x068000") == 0) {
    gpu->n_to_switches += count;
    return true;
  }
  if (class != NULL && !g_str_has_prefix(class, "0x03"))
    return import_blame(error, self->file, element->line,
                        "an NVLink to a device of class %s cannot be represented", class);
  const Gpu *peer = find_gpu(self, target);
  if (peer == NULL)
    return import_blame(error, self->file, element->line,
                        "NVLink target %s does not exist: no GPU has that busid", target);
  if (peer == gpu)
    return import_blame(error, self->file, element->line, "a GPU is linked to itself");
  gpu->n_to[peer->dev] += count;
  return true;
}

static bool read_nvlinks(const Nccl *self, GError **error)
{
  for (guint i = 0; i < self->gpus->len; i++) {
    Gpu *gpu = nccl_gpu_at(self, i);
    for (guint k = 0; k < gpu->gpu->children->len; k++) {
      const XmlElement *child = xml_child(gpu->gpu, k);
      if (xml_is(child, "c2c"))
        return import_blame(error, self->file, child->line,
                            "NVLink-C2C to the CPU cannot be represented");
      if (xml_is(child, "nvlink") && !add_nvlink(self, gpu, child, error))
        return false;
    }
  }
  return true;
}

static bool check_nvlinks(const Nccl *self, GError **error)
{
  const guint n_to_switches = nccl_gpu_at(self, 0)->n_to_switches;

  for (guint i = 0; i < self->gpus->len; i++) {
    const Gpu *gpu = nccl_gpu_at(self, i);
    if (gpu->n_to_switches != n_to_switches)
      return import_blame(error, self->file, gpu->gpu->line,
                          "GPU %u has %u NVLinks to NVSwitches, GPU 0 has %u: cannot be "
                          "represented",
                          i, gpu->n_to_switches, n_to_switches);
    if (gpu->sm != nccl_gpu_at(self, 0)->sm)
      return import_blame(error, self->file, gpu->gpu->line,
                          "GPU %u is sm %u, GPU 0 is sm %u: cannot be represented", i,
                          gpu->sm, nccl_gpu_at(self, 0)->sm);
    for (guint j = 0; j < self->gpus->len; j++) {
      if (gpu->n_to[j] != nccl_gpu_at(self, j)->n_to[i])
        return import_blame(error, self->file, gpu->gpu->line,
                            "%u NVLinks from GPU %u to GPU %u, but %u back", gpu->n_to[j],
                            i, j, nccl_gpu_at(self, j)->n_to[i]);
      if (gpu->n_to[j] > 0 && n_to_switches > 0)
        return import_blame(error, self->file, gpu->gpu->line,
                            "NVLinks to NVSwitches and to GPUs at once cannot be "
                            "represented");
    }
  }
  return true;
}

static bool check_root(const ImportFile *file, const XmlElement *root, GError **error)
{
  const char *version = xml_get(root, "version");

  if (!xml_is(root, "system"))
    return import_blame(error, file, root->line,
                        "begins with <%s>: a topology of NCCL begins with <system>",
                        root->name);
  return g_strcmp0(version, "1") == 0 ||
         import_blame(error, file, root->line,
                      "version %s of the format is not known, only 1 is",
                      version == NULL ? "none" : version);
}

bool nccl_collect(Nccl *self, const XmlElement *root, GError **error)
{
  self->gpus = g_array_new(FALSE, FALSE, sizeof(Gpu));
  self->nets = g_array_new(FALSE, FALSE, sizeof(Net));
  self->cpus = g_ptr_array_new();
  g_array_set_clear_func(self->gpus, gpu_free);
  return check_root(self->file, root, error) && collect(self, root, error) &&
         check_hosts(self, error) && sort_gpus(self, error) && read_nvlinks(self, error) &&
         check_nvlinks(self, error);
}
