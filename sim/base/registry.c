#include "sim/base/registry.h"

#include <string.h>

G_DEFINE_QUARK(sim_error, sim_error)

/* Levenshtein distance: insertions, deletions and substitutions, cost 1 each. */
static guint edit_distance(const char *a, const char *b)
{
  const guint len_b = (guint)strlen(b);
  g_autofree guint *row = g_new(guint, len_b + 1);

  for (guint j = 0; j <= len_b; j++)
    row[j] = j;
  for (guint i = 1; a[i - 1] != '\0'; i++) {
    guint diagonal = row[0];
    row[0] = i;
    for (guint j = 1; j <= len_b; j++) {
      const guint substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = MIN(substitute, 1 + MIN(row[j], row[j - 1]));
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

char *registry_suggestion(const char *const *names, const char *name)
{
  const char *nearest = registry_nearest(names, name);
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
