#include "sim/scenario/describe.h"

#include "sim/scenario/catalogue.h"
#include "sim/scenario/model_file.h"

#include <string.h>

/* An entry that is being read. */
typedef struct {
  Documents *documents;
  Problems *problems;
  cJSON *root; /* NULL: no such entry */
} Entry;

static Entry entry_open(const char *kind, const char *name)
{
  gsize length = 0;
  const char *text = catalogue_text(kind, name, &length);
  Entry entry = { documents_new(), problems_new(), NULL };

  if (text != NULL)
    entry.root = documents_parse(entry.documents, name, text, length, entry.problems);
  return entry;
}

static void entry_close(const Entry *entry)
{
  problems_free(entry->problems);
  documents_free(entry->documents);
}

static const cJSON *member(const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* A text as it is, anything else as JSON writes it. */
static char *plain(const cJSON *item)
{
  if (cJSON_IsString(item))
    return g_strdup(item->valuestring);
  char *json = cJSON_PrintUnformatted(item);
  char *copy = g_strdup(json == NULL ? "" : json);
  cJSON_free(json);
  return copy;
}

static char *summarise_node(const cJSON *node)
{
  g_autofree char *gpus = plain(member(node, "gpus"));
  g_autofree char *gpu = plain(member(node, "gpu"));
  g_autofree char *fabric = plain(member(member(node, "fabric"), "kind"));
  g_autofree char *nics = plain(member(node, "nics"));
  g_autofree char *rate = plain(member(node, "nic_rate"));

  return g_strdup_printf("%s x %s, %s, %s x %s", gpus, gpu, fabric, nics, rate);
}

static char *summarise_gpu(const cJSON *gpu)
{
  g_autofree char *memory = plain(member(gpu, "memory"));
  g_autofree char *bandwidth = plain(member(gpu, "memory_bandwidth"));
  g_autofree char *fp16 = plain(member(gpu, "fp16"));

  return g_strdup_printf("%s at %s, %s in fp16", memory, bandwidth, fp16);
}

static char *summarise_network(const cJSON *network)
{
  g_autoptr(GString) out = g_string_new(NULL);
  const cJSON *item = NULL;

  cJSON_ArrayForEach(item, network)
  {
    g_autofree char *value = plain(item);
    if (strcmp(item->string, "topology") == 0)
      g_string_prepend(out, value);
    else if (strcmp(item->string, "source") != 0 && strcmp(item->string, "name") != 0)
      g_string_append_printf(out, ", %s %s", item->string, value);
  }
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *show_flops(double flops)
{
  static const char *const units[] = { "GFLOP", "TFLOP", "PFLOP" };
  guint i = 0;

  for (flops /= 1e9; flops >= 1000 && i + 1 < G_N_ELEMENTS(units); i++)
    flops /= 1000;
  return g_strdup_printf("%.1f %s", flops, units[i]);
}

static char *summarise_model(const Entry *entry)
{
  g_autoptr(Model) model =
    model_file_bind(entry->root, "", entry->documents, entry->problems, 0);

  if (model == NULL)
    return g_strdup("");
  g_autofree char *flops = show_flops(model_forward_flops(model));
  return g_strdup_printf("%.1f M parameters, %u tensors, %s forward per %s",
                         (double)model_n_parameters(model) / 1e6, model->tensors->len,
                         flops, model->sample == NULL ? "sample" : model->sample);
}

char *describe_summary(const char *kind, const char *name)
{
  const Entry entry = entry_open(kind, name);
  char *summary = NULL;

  if (entry.root == NULL)
    summary = NULL;
  else if (strcmp(kind, "node") == 0)
    summary = summarise_node(entry.root);
  else if (strcmp(kind, "gpu") == 0)
    summary = summarise_gpu(entry.root);
  else if (strcmp(kind, "network") == 0)
    summary = summarise_network(entry.root);
  else
    summary = summarise_model(&entry);
  entry_close(&entry);
  return summary;
}

/* Lists (layers, links) are left out: too long to read here. */
static void append_figures(GString *out, const cJSON *object, const char *prefix)
{
  const cJSON *item = NULL;

  cJSON_ArrayForEach(item, object)
  {
    g_autofree char *key = g_strconcat(prefix, item->string, NULL);
    g_autofree char *nested = g_strconcat(key, ".", NULL);
    if (cJSON_IsObject(item)) {
      append_figures(out, item, nested);
    } else if (!cJSON_IsArray(item) && strcmp(key, "source") != 0 &&
               strcmp(key, "name") != 0) {
      g_autofree char *value = plain(item);
      g_string_append_printf(out, "  %-24s %s\n", key, value);
    }
  }
}

static void append_baselines(GString *out, const cJSON *root)
{
  const cJSON *item = NULL;

  cJSON_ArrayForEach(item, member(root, "baselines"))
  {
    g_autofree char *gpu = plain(member(item, "gpu"));
    g_autofree char *precision = plain(member(item, "precision"));
    g_autofree char *rate = plain(member(item, "samples_per_s"));
    g_autofree char *source = plain(member(item, "source"));
    g_string_append_printf(out, "  measured: %s samples/s on one %s in %s (%s)\n", rate,
                           gpu, precision, source);
  }
}

char *describe_entry(const char *kind, const char *name)
{
  const Entry entry = entry_open(kind, name);
  g_autoptr(GString) out = g_string_new(NULL);
  const char *source = cJSON_GetStringValue(member(entry.root, "source"));

  if (entry.root != NULL) {
    g_autofree char *summary = strcmp(kind, "model") == 0 ? summarise_model(&entry) : NULL;
    g_string_append_printf(out, "%s %s\n", kind, name);
    if (summary != NULL)
      g_string_append_printf(out, "  %s\n", summary);
    append_figures(out, entry.root, "");
    append_baselines(out, entry.root);
    g_string_append_printf(out, "  source: %s\n", source == NULL ? "not given" : source);
  }
  const bool is_known = entry.root != NULL;
  entry_close(&entry);
  return g_string_free(g_steal_pointer(&out), !is_known);
}
