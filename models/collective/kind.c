#include "models/collective.h"

#include <string.h>

/* Bit by bit, in the order of CollKind. */
const char *const coll_kind_names[] = {
  "all_reduce", "reduce_scatter", "all_gather", "broadcast",
  "reduce",     "all_to_all",     "send_recv",  NULL,
};

const char *coll_kind_name(CollKind kind)
{
  return coll_kind_names[g_bit_nth_lsf(kind, -1)];
}

bool coll_kind_find(const char *name, CollKind *kind, GError **error)
{
  for (guint i = 0; coll_kind_names[i] != NULL; i++)
    if (strcmp(coll_kind_names[i], name) == 0) {
      *kind = (CollKind)(1u << i);
      return true;
    }
  g_autofree char *suggestion = registry_suggestion(coll_kind_names, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "unknown collective '%s'%s", name,
              suggestion);
  return false;
}
