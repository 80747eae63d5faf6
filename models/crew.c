#include "models/crew.h"

#include "sim/base/rng.h"

static const StragglerSpec *straggler_at(const ClusterSpec *cluster, guint index)
{
  return &g_array_index(cluster->stragglers, StragglerSpec, index);
}

static guint n_stragglers(const ClusterSpec *cluster)
{
  return cluster->stragglers == NULL ? 0 : cluster->stragglers->len;
}

bool crews_check(const ClusterSpec *cluster, guint *which, GError **error)
{
  g_autoptr(GHashTable) named = g_hash_table_new(g_direct_hash, g_direct_equal);

  for (guint i = 0; i < n_stragglers(cluster); i++) {
    const guint node = straggler_at(cluster, i)->node;
    *which = i;
    if (node >= cluster->n_nodes) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "there is no node %u: %u nodes are numbered from 0 to %u", node,
                  cluster->n_nodes, cluster->n_nodes - 1);
      return false;
    }
    if (!g_hash_table_add(named, GUINT_TO_POINTER(node))) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "node %u is named twice", node);
      return false;
    }
  }
  return true;
}

static void draw_stragglers(const ClusterSpec *cluster, guint64 seed, double *slowdown)
{
  const GArray *draws = cluster->random_stragglers;
  g_autoptr(Rng) rng = rng_stream(seed, "stragglers");

  for (guint i = 0; draws != NULL && i < draws->len; i++) {
    const RandomStragglers *draw = &g_array_index(draws, RandomStragglers, i);
    for (guint node = 0; node < cluster->n_nodes; node++)
      if (rng_uniform(rng) < draw->share)
        slowdown[node] *= draw->slowdown;
  }
}

/* By how much each node is slowed down. Transfer: caller frees. */
static double *slowdowns(const ClusterSpec *cluster, guint64 seed)
{
  double *slowdown = g_new(double, cluster->n_nodes);

  for (guint node = 0; node < cluster->n_nodes; node++)
    slowdown[node] = 1;
  draw_stragglers(cluster, seed, slowdown);
  for (guint i = 0; i < n_stragglers(cluster); i++)
    slowdown[straggler_at(cluster, i)->node] *= straggler_at(cluster, i)->slowdown;
  return slowdown;
}

/* The crew of such nodes, new if need be. */
static guint crew_of(GArray *crews, guint kind, double slowdown)
{
  const Crew crew = { .kind = kind, .slowdown = slowdown };

  for (guint i = 0; i < crews->len; i++) {
    const Crew *known = &g_array_index(crews, Crew, i);
    if (known->kind == kind && known->slowdown == slowdown)
      return i;
  }
  g_array_append_val(crews, crew);
  return crews->len - 1;
}

Crews *crews_new(const ClusterSpec *cluster, guint64 seed)
{
  Crews *self = g_new(Crews, 1);
  g_autofree double *slowdown = slowdowns(cluster, seed);
  guint kind = 0;

  *self = (Crews){
    .crews = g_array_new(FALSE, FALSE, sizeof(Crew)),
    .crew_of_node = g_new(guint, cluster->n_nodes),
    .n_nodes = cluster->n_nodes,
  };
  for (guint node = 0; node < cluster->n_nodes; node++) {
    while (node == cluster_first_node(cluster, kind + 1))
      kind++;
    const guint crew = crew_of(self->crews, kind, slowdown[node]);
    self->crew_of_node[node] = crew;
    g_array_index(self->crews, Crew, crew).n_nodes++;
  }
  return self;
}

Crews *crews_new_of_node(const Crews *crews, guint node)
{
  Crews *one = g_new0(Crews, 1);
  Crew crew = *crews_at(crews, crews->crew_of_node[node]);

  crew.n_nodes = 1;
  one->crews = g_array_new(FALSE, FALSE, sizeof(Crew));
  g_array_append_val(one->crews, crew);
  one->crew_of_node = g_new0(guint, 1);
  one->n_nodes = 1;
  return one;
}

void crews_free(Crews *crews)
{
  g_array_unref(crews->crews);
  g_free(crews->crew_of_node);
  g_free(crews);
}

const Crew *crews_at(const Crews *crews, guint index)
{
  return &g_array_index(crews->crews, Crew, index);
}
