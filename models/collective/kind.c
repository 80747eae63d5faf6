#include "models/collective.h"

#include <string.h>

/* Bit by bit, in the order of CollKind. */
static const char *const kind_names[] = {
  "all_reduce",
  "reduce_scatter",
  "all_gather",
  NULL,
};

const char *coll_kind_name(CollKind kind)
{
  return kind_names[g_bit_nth_lsf(kind, -1)];
}

bool coll_kind_find(const char *name, CollKind *kind, GError **error)
{
  for (guint i = 0; kind_names[i] != NULL; i++)
    if (strcmp(kind_names[i], name) == 0) {
      *kind = (CollKind)(1u << i);
      return true;
    }
  g_autofree char *suggestion = registry_suggestion(kind_names, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "unknown collective '%s'%s", name,
              suggestion);
  return false;
}
