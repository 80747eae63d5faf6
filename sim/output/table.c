#include "sim/output/output.h"

#include <string.h>

/* In the order that lists and messages show them. */
const ModuleInfo *const output_table[] = {
  &output_text.info,  &output_json.info, &output_csv.info,
  &output_trace.info, &output_svg.info,  NULL,
};

static const OutputOps *writer_at(guint index)
{
  return (const OutputOps *)output_table[index];
}

/* "json:PATH": the writer named before the colon, or NULL. */
static const OutputOps *find_named(const char *path, const char **out_file)
{
  for (guint i = 0; output_table[i] != NULL; i++) {
    const gsize length = strlen(output_table[i]->name);
    if (strncmp(path, output_table[i]->name, length) == 0 && path[length] == ':') {
      *out_file = path + length + 1;
      return writer_at(i);
    }
  }
  return NULL;
}

static const OutputOps *find_suffix(const char *path)
{
  const OutputOps *longest = NULL;

  for (guint i = 0; output_table[i] != NULL; i++) {
    const OutputOps *writer = writer_at(i);
    if (g_str_has_suffix(path, writer->suffix) &&
        (longest == NULL || strlen(writer->suffix) > strlen(longest->suffix)))
      longest = writer;
  }
  return longest;
}

static void refuse_suffix(const char *path, GError **error)
{
  g_autoptr(GPtrArray) suffixes = g_ptr_array_new();
  g_autofree char *base = g_path_get_basename(path);
  const char *suffix = strrchr(base, '.');

  for (guint i = 0; output_table[i] != NULL; i++)
    g_ptr_array_add(suffixes, (gpointer)writer_at(i)->suffix);
  g_ptr_array_add(suffixes, NULL);

  const char *const *names = (const char *const *)suffixes->pdata;
  const char *nearest = suffix != NULL ? registry_nearest(names, suffix) : NULL;
  g_autofree char *guess =
    nearest != NULL ? g_strdup_printf("; did you mean '%s'?", nearest) : g_strdup("");
  g_autofree char *known = g_strjoinv(" ", (char **)suffixes->pdata);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "%s: %s '%s' picks no writer%s (known: %s; or name one in front, "
              "\"json:PATH\")",
              path, suffix != NULL ? "suffix" : "the name", suffix != NULL ? suffix : base,
              guess, known);
}

const OutputOps *output_find(const char *path, const char **out_file, GError **error)
{
  const char *file = path;
  const OutputOps *writer = find_named(path, &file);

  if (writer == NULL)
    writer = find_suffix(path);
  if (writer == NULL)
    refuse_suffix(path, error);
  else if (out_file != NULL)
    *out_file = file;
  return writer;
}

bool output_render(const OutputOps *writer, const Result *const *results, guint n,
                   GString *out, GError **error)
{
  for (guint i = 0; i < n; i++)
    if (!result_check(results[i], error)) {
      g_prefix_error(error, "%s: ", results[i]->name != NULL ? results[i]->name : "?");
      return false;
    }
  return writer->render(results, n, out, error);
}

bool output_wants_timeline(const char *const *paths)
{
  for (; *paths != NULL; paths++) {
    const OutputOps *writer = output_find(*paths, NULL, NULL);
    if (writer != NULL && writer->wants_timeline)
      return true;
  }
  return false;
}
