#include "sim/scenario/bind.h"

#include "models/network.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/merge.h"

#include <string.h>

static char *module_names(const ModuleInfo *const *table)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (; *table != NULL; table++)
    g_ptr_array_add(names, (void *)(*table)->name);
  g_ptr_array_add(names, NULL);
  return g_strjoinv(", ", (char **)names->pdata);
}

/* The name that the user gives, or the default; NULL after a problem. */
static const char *choose(Binder *binder, const Section *section,
                          const ModuleChoice *choice)
{
  const cJSON *item = bind_member(section, choice->key);
  g_autofree char *known = module_names(choice->table);

  if (item == NULL && choice->fallback != NULL) {
    g_autofree char *json = g_strdup_printf("\"%s\"", choice->fallback);
    effective_add(binder->effective, choice->key, json, "default");
    return choice->fallback;
  }
  if (item != NULL && cJSON_IsString(item)) {
    g_autofree char *line = documents_line(binder->documents, item);
    char *json = cJSON_PrintUnformatted(item);
    effective_add(binder->effective, choice->key, json, line);
    cJSON_free(json);
    return item->valuestring;
  }
  g_autofree char *cause =
    g_strdup_printf("%s: the name of a %s, one of %s",
                    item == NULL ? "missing" : "expected text", choice->kind, known);
  bind_blame(binder, section, choice->key, item, cause);
  return NULL;
}

static void check_keys(const Binder *binder, const Section *section,
                       const ModuleChoice *choice, const ParamSpec *specs)
{
  g_autoptr(GPtrArray) extra = g_ptr_array_new();

  g_ptr_array_add(extra, (void *)choice->key);
  for (const char *const *key = choice->extra; key != NULL && *key != NULL; key++)
    g_ptr_array_add(extra, (void *)*key);
  g_ptr_array_add(extra, NULL);
  bind_check_keys(binder, section, specs, (const char *const *)extra->pdata);
}

const ModuleInfo *bind_module(Binder *binder, const Section *section,
                              const ModuleChoice *choice, void **params)
{
  g_autoptr(GError) error = NULL;
  const char *name = choose(binder, section, choice);

  if (name == NULL)
    return NULL;
  const ModuleInfo *info = registry_find(choice->kind, choice->table, name, &error);
  if (info == NULL) {
    bind_blame(binder, section, choice->key, bind_member(section, choice->key),
               error->message);
    return NULL;
  }
  *params = g_malloc0(MAX(info->params_size, 1));
  param_set_defaults(info->params, *params);
  g_autofree char *owner = g_strdup_printf("%s:%s", choice->kind, info->name);
  binder->owner = owner;
  bind_params(binder, section, info->params, *params);
  binder->owner = NULL;
  check_keys(binder, section, choice, info->params);
  return info;
}

/* ---- catalogues -------------------------------------------------------------------- */

/* "network": "switch" names a topology where a catalogue's entry was wanted. */
static bool is_topology(const char *kind, const char *name)
{
  return strcmp(kind, "network") == 0 &&
         registry_find("", network_table, name, NULL) != NULL;
}

static void blame_unknown_entry(const Binder *binder, const char *kind, const char *path,
                                const cJSON *item)
{
  g_auto(GStrv) names = catalogue_names(kind);
  g_autofree char *suggestion =
    is_topology(kind, item->valuestring)
      ? g_strdup_printf("; a topology is written {\"topology\": \"%s\"}", item->valuestring)
      : registry_suggestion((const char *const *)names, item->valuestring);
  g_autofree char *cause =
    g_strdup_printf("unknown %s '%s'%s", kind, item->valuestring, suggestion);

  documents_blame(binder->documents, binder->problems, item, path, cause);
}

/* A fresh copy of the entry that @p item names, vouched for by its own "source". */
static cJSON *read_entry(Binder *binder, const char *kind, const char *path,
                         const cJSON *item)
{
  gsize length = 0;
  const char *text = catalogue_text(kind, item->valuestring, &length);

  if (text == NULL) {
    blame_unknown_entry(binder, kind, path, item);
    return NULL;
  }
  g_autofree char *file = g_strdup_printf("catalogue/%s/%s.json", kind, item->valuestring);
  cJSON *entry = documents_parse(binder->documents, file, text, length, binder->problems);
  const char *source =
    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "source"));
  if (entry != NULL)
    documents_set_origin(binder->documents, entry, source == NULL ? file : source);
  return entry;
}

static void give_name(Binder *binder, cJSON *entry, const cJSON *name)
{
  if (cJSON_GetObjectItemCaseSensitive(entry, "name") != NULL)
    return;
  cJSON *item = cJSON_CreateString(name->valuestring);
  cJSON_AddItemToObject(entry, "name", item);
  documents_copy_place(binder->documents, item, name);
}

cJSON *bind_catalogue(Binder *binder, const char *kind, const char *path, cJSON *item)
{
  cJSON *base =
    cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "base") : item;

  if (cJSON_IsObject(item) && base == NULL)
    return item;
  if (!cJSON_IsString(base)) {
    g_autofree char *cause =
      g_strdup_printf("expected an object, or the name of a %s in the catalogue", kind);
    documents_blame(binder->documents, binder->problems, base, path, cause);
    return NULL;
  }
  cJSON *entry = read_entry(binder, kind, path, base);
  if (entry == NULL)
    return NULL;

  /* An entry may itself lie over a base; the tests see to it that there is no cycle. */
  entry = bind_catalogue(binder, kind, path, entry);
  if (entry == NULL)
    return NULL;
  give_name(binder, entry, base);
  if (cJSON_IsObject(item)) {
    documents_adopt(binder->documents, cJSON_DetachItemViaPointer(item, base));
    merge_objects(binder->documents, path, entry, item);
  }
  documents_copy_place(binder->documents, entry, item);
  return entry;
}
