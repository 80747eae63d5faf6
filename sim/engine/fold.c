#include "sim/engine/fold.h"

#include "sim/engine/partition.h"

/* What must be equal for two flows, or two links, to start in one class. */
typedef struct {
  guint set; /* LINK_KEY for a link */
  double a;  /* share, or capacity */
  double b;  /* cap, or 0 */
} Key;

#define LINK_KEY G_MAXUINT

/* The graph under way: flows first, then the links in use. */
typedef struct {
  const FlowSet *const *sets;
  guint n_sets;
  const Link *links;
  guint n_flows;
  GArray *used;       /* of guint32: link numbers, in order of first use */
  guint32 *vertex_of; /* of a link number; 0: not in use */
  PartitionGraph graph;
} Fold;

static guint key_hash(gconstpointer pointer)
{
  const Key *key = pointer;
  return key->set * 2654435761u ^ g_double_hash(&key->a) ^ (g_double_hash(&key->b) << 1);
}

static gboolean key_equal(gconstpointer pointer_a, gconstpointer pointer_b)
{
  const Key *a = pointer_a, *b = pointer_b;
  return a->set == b->set && a->a == b->a && a->b == b->b;
}

/* Number the links in use. */
static void find_used_links(Fold *fold, guint n_links)
{
  fold->used = g_array_new(FALSE, FALSE, sizeof(guint32));
  fold->vertex_of = g_new0(guint32, n_links);
  for (guint s = 0; s < fold->n_sets; s++)
    fold->n_flows += flow_set_n_flows(fold->sets[s]);
  for (guint s = 0; s < fold->n_sets; s++) {
    const GArray *links = fold->sets[s]->links;
    for (guint i = 0; i < links->len; i++) {
      const guint32 link = g_array_index(links, guint32, i);
      if (fold->vertex_of[link] != 0)
        continue;
      fold->vertex_of[link] = fold->n_flows + fold->used->len;
      g_array_append_val(fold->used, link);
    }
  }
}

/* Rows of the flows are their routes; rows of the links are filled from them. */
static void build_graph(Fold *fold)
{
  const guint n = fold->n_flows + fold->used->len;
  guint32 *first = g_new0(guint32, n + 2); /* one beyond, to count ahead */
  guint n_hops = 0, v = 0;

  for (guint s = 0; s < fold->n_sets; s++)
    n_hops += fold->sets[s]->links->len;
  guint32 *adjacent = g_new(guint32, 2 * (gsize)n_hops);

  for (guint s = 0, hop = 0; s < fold->n_sets; s++)
    for (guint f = 0; f < flow_set_n_flows(fold->sets[s]); f++, v++) {
      const Flow *flow = flow_set_flow(fold->sets[s], f);
      const guint32 *route = flow_set_links(fold->sets[s], flow);
      first[v] = hop;
      for (guint i = 0; i < flow->n_links; i++) {
        adjacent[hop++] = fold->vertex_of[route[i]];
        first[fold->vertex_of[route[i]] + 2]++;
      }
    }
  first[v] = first[v + 1] = n_hops;
  for (guint i = v + 2; i <= n; i++)
    first[i] += first[i - 1];
  for (guint flow = 0; flow < v; flow++)
    for (guint32 e = first[flow]; e < first[flow + 1]; e++)
      adjacent[first[adjacent[e] + 1]++] = flow;
  fold->graph = (PartitionGraph){ .n = n, .first = first, .adjacent = adjacent };
}

/* A class for each different key, numbered in order of appearance. */
static guint first_classes(const Fold *fold, guint32 *class_of)
{
  g_autoptr(GHashTable) ids = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
  Key last = { .set = LINK_KEY - 1 };
  guint32 id = 0;
  guint v = 0;

  const guint n = fold->graph.n;
  for (guint s = 0, f = 0; v < n; v++) {
    Key key = { .set = LINK_KEY };
    if (v < fold->n_flows) {
      for (; f == flow_set_n_flows(fold->sets[s]); f = 0)
        s++;
      const Flow *flow = flow_set_flow(fold->sets[s], f++);
      key = (Key){ .set = s, .a = flow->share, .b = flow->cap_Bps };
    } else {
      key.a =
        fold->links[g_array_index(fold->used, guint32, v - fold->n_flows)].capacity_Bps;
    }
    if (!key_equal(&key, &last)) {
      gpointer found = g_hash_table_lookup(ids, &key);
      id = found != NULL ? GPOINTER_TO_UINT(found) - 1 : g_hash_table_size(ids);
      if (found == NULL)
        g_hash_table_insert(ids, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(id + 1));
      last = key;
    }
    class_of[v] = id;
  }
  return g_hash_table_size(ids);
}

static Partition *partition_of(const Fold *fold, bool merge)
{
  g_autofree guint32 *class_of = g_new(guint32, fold->graph.n);

  if (merge) {
    const guint n_classes = first_classes(fold, class_of);
    Partition *partition = partition_new(class_of, fold->graph.n, n_classes);
    partition_refine(partition, &fold->graph);
    return partition;
  }
  for (guint v = 0; v < fold->graph.n; v++)
    class_of[v] = v;
  return partition_new(class_of, fold->graph.n, fold->graph.n);
}

/* Number the link classes and add up their capacities. */
static guint32 *collect_links(const Fold *fold, const Partition *partition, Folded *folded)
{
  guint32 *number_of = g_new(guint32, partition_n_classes(partition));

  for (guint id = 0; id < partition_n_classes(partition); id++)
    number_of[id] = G_MAXUINT32;
  for (guint i = 0; i < fold->used->len; i++) {
    const guint id = partition_class_of(partition, fold->n_flows + i);
    if (number_of[id] != G_MAXUINT32)
      continue;
    const Link *link = &fold->links[g_array_index(fold->used, guint32, i)];
    const double all_Bps = link->capacity_Bps * partition_class_size(partition, id);
    number_of[id] = folded->capacity_Bps->len;
    g_array_append_val(folded->capacity_Bps, all_Bps);
  }
  return number_of;
}

static void collect_flows(const Fold *fold, const Partition *partition,
                          const guint32 *number_of, Folded *folded)
{
  g_autofree bool *seen = g_new0(bool, partition_n_classes(partition));

  for (guint s = 0, v = 0; s < fold->n_sets; s++)
    for (guint f = 0; f < flow_set_n_flows(fold->sets[s]); f++, v++) {
      const guint id = partition_class_of(partition, v);
      if (seen[id])
        continue;
      seen[id] = true;
      const Flow *flow = flow_set_flow(fold->sets[s], f);
      const FlowClass class = { .set = s,
                                .n_flows = partition_class_size(partition, id),
                                .share = flow->share,
                                .cap_Bps = flow->cap_Bps,
                                .first_link = folded->route->len,
                                .n_links = flow->n_links };
      for (guint32 e = fold->graph.first[v]; e < fold->graph.first[v + 1]; e++) {
        const guint link_id = partition_class_of(partition, fold->graph.adjacent[e]);
        g_array_append_val(folded->route, number_of[link_id]);
      }
      g_array_append_val(folded->classes, class);
    }
}

Folded *fold_sets(const FlowSet *const *sets, guint n_sets, const Link *links,
                  guint n_links, bool fold)
{
  Fold work = { .sets = sets, .n_sets = n_sets, .links = links };
  Folded *folded = g_new(Folded, 1);

  folded->classes = g_array_new(FALSE, FALSE, sizeof(FlowClass));
  folded->route = g_array_new(FALSE, FALSE, sizeof(guint32));
  folded->capacity_Bps = g_array_new(FALSE, FALSE, sizeof(double));

  find_used_links(&work, n_links);
  build_graph(&work);
  g_autoptr(Partition) partition = partition_of(&work, fold);
  g_autofree guint32 *number_of = collect_links(&work, partition, folded);
  collect_flows(&work, partition, number_of, folded);

  partition_graph_clear(&work.graph);
  g_array_unref(work.used);
  g_free(work.vertex_of);
  return folded;
}

void folded_free(Folded *folded)
{
  g_array_unref(folded->classes);
  g_array_unref(folded->route);
  g_array_unref(folded->capacity_Bps);
  g_free(folded);
}
