#include "models/group.h"

#include "sim/base/param.h"

#include <stdlib.h>
#include <string.h>

/* Takes @p gpus. */
static Group *group_of(guint *gpus, guint n_gpus, guint gpus_per_node)
{
  Group *group = g_new0(Group, 1);
  GArray *first_rank = g_array_new(FALSE, FALSE, sizeof(guint));

  group->n_ranks = n_gpus;
  group->gpus = gpus;
  group->node = g_new(guint, n_gpus);
  for (guint rank = 0; rank < n_gpus; rank++) {
    if (rank == 0 || gpus[rank] / gpus_per_node != gpus[rank - 1] / gpus_per_node)
      g_array_append_val(first_rank, rank);
    group->node[rank] = first_rank->len - 1;
  }
  group->n_nodes = first_rank->len;
  g_array_append_val(first_rank, n_gpus);
  group->first_rank = (guint *)(gpointer)g_array_free(first_rank, FALSE);
  return group;
}

Group *group_new(const guint *gpus, guint n_gpus, guint gpus_per_node)
{
  return group_of(g_memdup2(gpus, n_gpus * sizeof(guint)), n_gpus, gpus_per_node);
}

Group *group_new_all(const Topology *topology)
{
  const guint n = topology_n_gpus(topology);
  guint *gpus = g_new(guint, n);

  for (guint i = 0; i < n; i++)
    gpus[i] = i;
  return group_of(gpus, n, topology_gpus_per_node(topology));
}

static int compare(const void *a, const void *b)
{
  const guint x = *(const guint *)a, y = *(const guint *)b;
  return (x > y) - (x < y);
}

Group *group_new_gpus(const Topology *topology, const guint *gpus, guint n_gpus,
                      GError **error)
{
  if (n_gpus == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "a group needs at least one GPU");
    return NULL;
  }

  g_autofree guint *sorted = g_memdup2(gpus, n_gpus * sizeof(guint));
  qsort(sorted, n_gpus, sizeof(guint), compare);
  for (guint i = 1; i < n_gpus; i++) {
    if (sorted[i] == sorted[i - 1]) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "GPU %u is in the group twice",
                  sorted[i]);
      return NULL;
    }
  }
  if (sorted[n_gpus - 1] >= topology_n_gpus(topology)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "no GPU %u: the cluster has %u",
                sorted[n_gpus - 1], topology_n_gpus(topology));
    return NULL;
  }
  return group_of(g_steal_pointer(&sorted), n_gpus, topology_gpus_per_node(topology));
}

void group_free(Group *group)
{
  if (group == NULL)
    return;
  g_free(group->gpus);
  g_free(group->node);
  g_free(group->first_rank);
  g_free(group);
}

guint group_n_local(const Group *group, guint node)
{
  return group->first_rank[node + 1] - group->first_rank[node];
}

guint group_max_local(const Group *group)
{
  guint max = 0;
  for (guint node = 0; node < group->n_nodes; node++)
    max = MAX(max, group_n_local(group, node));
  return max;
}

guint group_min_local(const Group *group)
{
  guint min = group->n_ranks;
  for (guint node = 0; node < group->n_nodes; node++)
    min = MIN(min, group_n_local(group, node));
  return min;
}

bool group_is_even(const Group *group)
{
  return group_max_local(group) == group_min_local(group);
}

bool group_is_local(const Group *group, guint rank, guint other)
{
  return group->node[rank] == group->node[other];
}
