#include "sim/base/registry.h"

#include <string.h>

G_DEFINE_QUARK(sim_error, sim_error)

/* Insertions, deletions, substitutions and swaps of neighbours, cost 1 each ("optimal
 * string alignment"). */
static guint edit_distance(const char *a, const char *b)
{
  const gsize len_b = strlen(b), width = len_b + 1;
  g_autofree guint *cells = g_new0(guint, 3 * width);
  guint *before = cells, *above = cells + width, *row = cells + 2 * width;

  for (guint j = 0; j <= len_b; j++)
    row[j] = j;
  for (guint i = 1; a[i - 1] != '\0'; i++) {
    guint *oldest = before;
    before = above;
    above = row;
    row = oldest;
    row[0] = i;
    for (guint j = 1; j <= len_b; j++) {
      row[j] = MIN(above[j - 1] + (a[i - 1] != b[j - 1]), 1 + MIN(above[j], row[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = MIN(row[j], before[j - 2] + 1);
    }
  }
  return row[len_b];
}

const char *registry_nearest(const char *const *names, const char *name)
{
  const char *nearest = NULL;
  guint nearest_distance = (guint)(strlen(name) + 1) / 2 + 1; /* at least half must match */

  for (; *names != NULL; names++) {
    const guint distance = edit_distance(name, *names);
    if (distance < nearest_distance) {
      nearest = *names;
      nearest_distance = distance;
    }
  }
  return nearest;
}

/* The names that @p name begins: "v100" means one of the V100s. */
static GPtrArray *names_begun_by(const char *const *names, const char *name)
{
  GPtrArray *begun = g_ptr_array_new();

  for (; *names != NULL && *name != '\0'; names++)
    if (g_str_has_prefix(*names, name))
      g_ptr_array_add(begun, (gpointer)*names);
  return begun;
}

char *registry_suggestion(const char *const *names, const char *name)
{
  const char *nearest = registry_nearest(names, name);
  g_autoptr(GPtrArray) begun = names_begun_by(names, name);

  if (begun->len > 1) {
    g_ptr_array_add(begun, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)begun->pdata);
    return g_strdup_printf("; did you mean one of %s?", list);
  }
  if (begun->len == 1)
    nearest = g_ptr_array_index(begun, 0);
  if (nearest != NULL)
    return g_strdup_printf("; did you mean '%s'?", nearest);

  g_autofree char *known = g_strjoinv(", ", (char **)names);
  return g_strdup_printf("; known: %s", known);
}

const ModuleInfo *registry_find(const char *kind, const ModuleInfo *const *table,
                                const char *name, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (guint i = 0; table[i] != NULL; i++) {
    if (strcmp(table[i]->name, name) == 0)
      return table[i];
    g_ptr_array_add(names, (gpointer)table[i]->name);
  }
  g_ptr_array_add(names, NULL);
  g_autofree char *suggestion =
    registry_suggestion((const char *const *)names->pdata, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_UNKNOWN, "unknown %s '%s'%s", kind, name,
              suggestion);
  return NULL;
}
