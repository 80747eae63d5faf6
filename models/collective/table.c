#include "models/collective.h"

/* In the order `list` shows them. */
const ModuleInfo *const coll_table[] = {
  &coll_ring.info,
  &coll_double_tree.info,
  &coll_tree.info,
  &coll_recursive_doubling.info,
  &coll_halving_doubling.info,
  &coll_pat.info,
  &coll_hierarchical.info,
  &coll_hierarchical_tree.info,
  &coll_node_leader.info,
  &coll_torus.info,
  &coll_in_network.info,
  &coll_nvls_tree.info,
  &coll_push_pull.info,
  &coll_pairwise.info,
  &coll_direct.info,
  &coll_neighbour.info,
  NULL,
};

const CollOps *coll_find(const char *name, GError **error)
{
  return (const CollOps *)registry_find("collective", coll_table, name, error);
}

char *coll_names_of(CollKind kind)
{
  GString *names = g_string_new(NULL);

  for (guint i = 0; coll_table[i] != NULL; i++)
    if (((const CollOps *)coll_table[i])->kinds & kind)
      g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "",
                             coll_table[i]->name);
  return g_string_free(names, FALSE);
}

const CollOps *coll_default(CollKind kind)
{
  for (guint i = 0; coll_table[i] != NULL; i++) {
    const CollOps *ops = (const CollOps *)coll_table[i];
    if (ops->kinds & kind)
      return ops;
  }
  g_return_val_if_reached(NULL);
}
