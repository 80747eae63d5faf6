/**
 * @file bind_import.c
 * @brief Networks and nodes that a scenario takes from files of other programs.
 */
#include "sim/scenario/bind.h"
#include "sim/scenario/import.h"
#include "sim/scenario/include.h"
#include "sim/scenario/merge.h"

#include <string.h>

static const ImportNetwork network_readers[] = {
  [GRAPH_SIMAI] = import_simai_network,
  [GRAPH_SIMGRID] = import_simgrid_network,
};

static const struct {
  const char *format;
  ImportNode read;
} node_readers[] = {
  { "nccl", import_nccl_node },
  { "simai", import_simai_node },
};

/* The path of @p item as the file that names it sees it. */
static char *path_of(const Binder *binder, const cJSON *item)
{
  const char *from = documents_file(binder->documents, item);
  return include_resolve(from == NULL ? binder->file : from, item->valuestring);
}

static char *read_file(const char *path, gsize *length, GError **error)
{
  /* A device or a pipe may never end. */
  if (g_file_test(path, G_FILE_TEST_EXISTS) &&
      !g_file_test(path, G_FILE_TEST_IS_REGULAR | G_FILE_TEST_IS_DIR)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: is not a regular file", path);
    return NULL;
  }
  return include_read(path, length, error);
}

void bind_import_anchor(const Binder *binder, const Section *section)
{
  cJSON *item = bind_member(section, "file");
  const char *from = cJSON_IsString(item) ? documents_file(binder->documents, item) : NULL;

  if (from == NULL)
    return;
  g_autofree char *folder = g_path_get_dirname(from);
  g_autofree char *own_folder = g_path_get_dirname(binder->file);
  g_autofree char *path = path_of(binder, item);
  g_autofree char *full = g_canonicalize_filename(path, NULL);
  if (strcmp(folder, own_folder) != 0)
    cJSON_SetValuestring(item, full);
}

void bind_import_network(Binder *binder, const Section *section, GraphParams *params)
{
  const cJSON *item = bind_member(section, "file");
  g_autoptr(GError) error = NULL;
  gsize length = 0;

  if (problems_count(binder->problems) > 0 || !cJSON_IsString(item))
    return;
  g_autofree char *path = path_of(binder, item);
  g_autofree char *text = read_file(path, &length, &error);
  if (text != NULL) {
    const ImportFile file = { path, text, length };
    params->graph = network_readers[params->format](&file, &error);
  }
  if (error != NULL)
    bind_blame(binder, section, "file", item, error->message);
}

/* ---- nodes ------------------------------------------------------------------------- */

static ImportNode find_reader(const Binder *binder, const Section *node)
{
  const cJSON *item = bind_member(node, "format");
  const char *known[G_N_ELEMENTS(node_readers) + 1] = { NULL };

  for (guint i = 0; i < G_N_ELEMENTS(node_readers); i++) {
    known[i] = node_readers[i].format;
    if (cJSON_IsString(item) && strcmp(item->valuestring, known[i]) == 0)
      return node_readers[i].read;
  }
  g_autofree char *names = g_strjoinv(", ", (char **)known);
  g_autofree char *suggestion =
    cJSON_IsString(item) ? registry_suggestion(known, item->valuestring) : NULL;
  g_autofree char *cause =
    cJSON_IsString(item)
      ? g_strdup_printf("unknown format '%s'%s", item->valuestring, suggestion)
      : g_strdup_printf("%s: the format of the file, one of %s",
                        item == NULL ? "missing" : "expected text", names);
  bind_blame(binder, node, "format", item, cause);
  return NULL;
}

/* The object that a file describes, as if it stood in a text of its own. */
static cJSON *read_node(Binder *binder, ImportNode read, const char *path, GError **error)
{
  gsize length = 0;
  g_autofree char *text = read_file(path, &length, error);

  if (text == NULL)
    return NULL;
  const ImportFile file = { path, text, length };
  g_autoptr(cJSON) node = read(&file, error);
  if (node == NULL)
    return NULL;
  char *json = cJSON_Print(node);
  g_autofree char *name = g_strconcat("node of ", path, NULL);
  cJSON *entry =
    documents_parse(binder->documents, name, json, strlen(json), binder->problems);
  cJSON_free(json);
  documents_set_origin(binder->documents, entry, name);
  return entry;
}

/* Lay @p item over @p entry. What is missing is missing in the scenario. */
static void merge_node(const Binder *binder, const char *path, cJSON *entry, cJSON *item)
{
  cJSON *fabric = cJSON_GetObjectItemCaseSensitive(entry, "fabric");

  if (fabric != NULL)
    documents_copy_place(binder->documents, fabric, item);
  merge_objects(binder->documents, path, entry, item);
  documents_copy_place(binder->documents, entry, item);
}

cJSON *bind_import_node(Binder *binder, const char *path, cJSON *item)
{
  const Section section = { path, item, item };
  cJSON *file = bind_member(&section, "file"), *format = bind_member(&section, "format");
  g_autoptr(GError) error = NULL;

  if (bind_member(&section, "base") != NULL) {
    bind_blame(binder, &section, "base", bind_member(&section, "base"),
               "give either \"base\" or \"file\"");
    return NULL;
  }
  if (!cJSON_IsString(file)) {
    bind_blame(binder, &section, "file", file, "expected the path of a file");
    return NULL;
  }
  const ImportNode read = find_reader(binder, &section);
  if (read == NULL)
    return NULL;
  g_autofree char *full = path_of(binder, file);
  cJSON *entry = read_node(binder, read, full, &error);
  if (entry == NULL) {
    bind_blame(binder, &section, "file", file, error->message);
    return NULL;
  }
  documents_adopt(binder->documents, cJSON_DetachItemViaPointer(item, file));
  documents_adopt(binder->documents, cJSON_DetachItemViaPointer(item, format));
  merge_node(binder, path, entry, item);
  return entry;
}
