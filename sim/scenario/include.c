#include "sim/scenario/include.h"

#include "sim/scenario/merge.h"

#include <glib/gstdio.h>
#include <string.h>

#define MAX_DEPTH 16
/* Files that include one another without a cycle can still be exponentially many. */
#define MAX_FILES 64

typedef struct {
  Documents *documents;
  Problems *problems;
  GPtrArray *chain; /* of char *: the files that include one another, outermost first */
  guint n_files;
} Including;

static cJSON *merge_text(Including *including, const char *name, const char *text,
                         gsize length);

/* A device may never end; a pipe, such as /dev/stdin, does. */
static bool is_device(const char *path)
{
  GStatBuf status;
  return g_stat(path, &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
}

char *include_read(const char *path, gsize *length, GError **error)
{
  g_autoptr(GError) cause = NULL;
  char *text = NULL;

  if (is_device(path)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: is a device, not a file", path);
    return NULL;
  }
  if (g_file_get_contents(path, &text, length, &cause))
    return text;

  const char *why = cause->message;
  if (g_file_test(path, G_FILE_TEST_IS_DIR))
    why = "is a folder";
  else if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
    why = "no such file";
  else if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_ACCES))
    why = "permission denied";
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: %s", path, why);
  return NULL;
}

char *include_read_part(const char *path, gsize *length, GError **error)
{
  /* A device or a pipe may never end. */
  if (g_file_test(path, G_FILE_TEST_EXISTS) &&
      !g_file_test(path, G_FILE_TEST_IS_REGULAR | G_FILE_TEST_IS_DIR)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: not a regular file", path);
    return NULL;
  }
  return include_read(path, length, error);
}

char *include_resolve(const char *from, const char *path)
{
  g_autofree char *folder = g_path_get_dirname(from);

  return g_path_is_absolute(path) || strcmp(folder, ".") == 0
           ? g_strdup(path)
           : g_build_filename(folder, path, NULL);
}

static void blame(const Including *including, const cJSON *item, const char *cause)
{
  documents_blame(including->documents, including->problems, item, "include", cause);
}

/* "cause: a.json -> b.json -> a.json" */
static void blame_chain(const Including *including, const cJSON *item, const char *cause,
                        const char *path)
{
  g_autoptr(GString) message = g_string_new(cause);

  g_string_append(message, ": ");
  for (guint i = 0; i < including->chain->len; i++)
    g_string_append_printf(message, "%s -> ",
                           (const char *)g_ptr_array_index(including->chain, i));
  g_string_append(message, path);
  blame(including, item, message->str);
}

static bool is_included_already(const Including *including, const char *path)
{
  g_autofree char *wanted = g_canonicalize_filename(path, NULL);

  for (guint i = 0; i < including->chain->len; i++) {
    g_autofree char *open =
      g_canonicalize_filename(g_ptr_array_index(including->chain, i), NULL);
    if (strcmp(open, wanted) == 0)
      return true;
  }
  return false;
}

/* Lay the file that @p item names onto @p merged. */
static void merge_file(Including *including, const char *from, const cJSON *item,
                       cJSON *merged)
{
  g_autoptr(GError) error = NULL;
  gsize length = 0;

  if (!cJSON_IsString(item)) {
    blame(including, item, "expected a path, or a list of paths");
    return;
  }
  g_autofree char *path = include_resolve(from, item->valuestring);
  if (is_included_already(including, path)) {
    blame_chain(including, item, "a file includes itself", path);
    return;
  }
  if (including->chain->len >= MAX_DEPTH) {
    blame_chain(including, item, "more than 16 files deep", path);
    return;
  }
  if (++including->n_files > MAX_FILES) {
    blame(including, item, "more than 64 files are included");
    return;
  }
  g_autofree char *text = include_read_part(path, &length, &error);
  if (error != NULL) {
    blame(including, item, error->message);
    return;
  }
  cJSON *included = merge_text(including, path, text, length);
  if (included != NULL)
    merge_objects(including->documents, "", merged, included);
}

/* Lay @p root over what it includes. */
static cJSON *merge_root(Including *including, const char *name, cJSON *root)
{
  cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "include"), *item = NULL;
  cJSON *merged = cJSON_CreateObject();

  if (list != NULL)
    cJSON_DetachItemViaPointer(root, list);
  documents_adopt(including->documents, merged);
  documents_copy_place(including->documents, merged, root);
  if (cJSON_IsArray(list)) {
    cJSON_ArrayForEach(item, list) merge_file(including, name, item, merged);
  } else if (list != NULL) {
    merge_file(including, name, list, merged);
  }
  if (list != NULL)
    documents_adopt(including->documents, list);
  merge_objects(including->documents, "", merged, root);
  return merged;
}

static cJSON *merge_text(Including *including, const char *name, const char *text,
                         gsize length)
{
  cJSON *root =
    documents_parse(including->documents, name, text, length, including->problems);

  if (root == NULL)
    return NULL;
  if (!cJSON_IsObject(root)) {
    documents_blame(including->documents, including->problems, root, "",
                    "expected an object: { ... }");
    return NULL;
  }
  g_ptr_array_add(including->chain, g_strdup(name));
  cJSON *merged = merge_root(including, name, root);
  g_ptr_array_remove_index(including->chain, including->chain->len - 1);
  return merged;
}

cJSON *include_merge(Documents *documents, const char *name, const char *text, gsize length,
                     Problems *problems)
{
  g_autoptr(GPtrArray) chain = g_ptr_array_new_with_free_func(g_free);
  Including including = { .documents = documents, .problems = problems, .chain = chain };

  return merge_text(&including, name, text, length);
}
