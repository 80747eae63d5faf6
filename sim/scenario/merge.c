#include "sim/scenario/merge.h"

#include <string.h>

/* Keys that name what the other keys of an object belong to. */
static const struct {
  const char *path, *key;
} selectors[] = {
  { "strategy", "name" },
  { "library", "name" },
  { "compression", "codec" },
  { "cluster.transport", "kind" },
  { "cluster.network", "topology" },
  { "cluster.network", "base" },
  { "cluster.node", "base" },
  { "cluster.node.gpu", "base" },
  { "cluster.node.fabric", "kind" },
};

/* Objects that a catalogue's name may stand for. */
static const char *const named_objects[] = { "cluster.node", "cluster.node.gpu",
                                             "cluster.network", NULL };

/* Of which an object has at most one. */
static const char *const compute_ways[] = { "samples_per_s", "efficiency", "layers", NULL };

static const cJSON *member(const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void drop(Documents *documents, cJSON *object, cJSON *item)
{
  if (item != NULL)
    documents_adopt(documents, cJSON_DetachItemViaPointer(object, item));
}

static bool names_another_module(const char *path, const cJSON *under, const cJSON *over)
{
  for (guint i = 0; i < G_N_ELEMENTS(selectors); i++) {
    const cJSON *chosen = member(over, selectors[i].key);
    if (strcmp(selectors[i].path, path) == 0 && chosen != NULL &&
        !cJSON_Compare(chosen, member(under, selectors[i].key), true))
      return true;
  }
  return false;
}

static void drop_other_ways(Documents *documents, const char *path, cJSON *under,
                            const char *key)
{
  if (strcmp(path, "workload.compute") != 0 || !g_strv_contains(compute_ways, key))
    return;
  for (const char *const *way = compute_ways; *way != NULL; way++)
    if (strcmp(*way, key) != 0)
      drop(documents, under, cJSON_GetObjectItemCaseSensitive(under, *way));
}

bool merge_takes_name(const char *path)
{
  return g_strv_contains(named_objects, path);
}

/* "dgx_h100" becomes {"base": "dgx_h100"}, so that keys can be laid over it. */
static void spell_out_name(Documents *documents, const char *path, cJSON *object,
                           cJSON **item)
{
  if (!cJSON_IsString(*item) || !merge_takes_name(path))
    return;
  g_autofree char *key = g_strdup((*item)->string);
  cJSON *spelled =
    documents_wrap(documents, cJSON_DetachItemViaPointer(object, *item), "base");
  cJSON_AddItemToObject(object, key, spelled);
  *item = spelled;
}

static void merge_member(Documents *documents, const char *path, cJSON *under, cJSON *item)
{
  g_autofree char *key = g_strdup(item->string);
  g_autofree char *item_path =
    *path == '\0' ? g_strdup(key) : g_strdup_printf("%s.%s", path, key);
  cJSON *old = cJSON_GetObjectItemCaseSensitive(under, key);

  drop_other_ways(documents, path, under, key);
  if (cJSON_IsNull(item)) {
    documents_adopt(documents, item);
    drop(documents, under, old);
    return;
  }
  if (old != NULL && cJSON_IsObject(item) && !names_another_module(item_path, old, item))
    spell_out_name(documents, item_path, under, &old);
  if (cJSON_IsObject(old) && cJSON_IsObject(item) &&
      !names_another_module(item_path, old, item)) {
    merge_objects(documents, item_path, old, item);
    documents_adopt(documents, item);
    return;
  }
  drop(documents, under, old);
  cJSON_AddItemToObject(under, key, item);
}

void merge_objects(Documents *documents, const char *path, cJSON *under, cJSON *over)
{
  if (names_another_module(path, under, over))
    while (under->child != NULL)
      drop(documents, under, under->child);
  while (over->child != NULL)
    merge_member(documents, path, under, cJSON_DetachItemViaPointer(over, over->child));
}
