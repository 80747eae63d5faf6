#include "models/collective/dtree.h"

/* ncclGetBtree(): the lowest set bit is a node's level. */
static guint btree_parent(guint node, guint n)
{
  if (node == 0)
    return TREE_ROOT;
  const guint bit = node & -node;
  const guint up = (node ^ bit) | (bit << 1);
  return up < n ? up : node ^ bit;
}

/* The second tree is the mirror image of the first, or the first shifted by one. */
guint dtree_parent(guint tree, guint node, guint n, bool *is_first_child)
{
  const bool mirror = n % 2 == 0;
  guint place = node;
  if (tree == 1)
    place = mirror ? n - 1 - node : (node + n - 1) % n;

  const guint up = btree_parent(place, n);
  *is_first_child = up != TREE_ROOT && place < up;
  if (up == TREE_ROOT || tree == 0)
    return up;
  return mirror ? n - 1 - up : (up + 1) % n;
}

guint dtree_depth(guint n)
{
  return n > 1 ? g_bit_storage(n - 1) : 0;
}

double dtree_share(guint n)
{
  static const double few[] = { 0, 0, 1, 1.5 }; /* none has two children */
  return n < G_N_ELEMENTS(few) ? few[n] : 2;
}

double dtree_way(guint n)
{
  static const double few[] = { 0, 0, 0.5, 1.5 };
  return n < G_N_ELEMENTS(few) ? few[n] : dtree_depth(n);
}
