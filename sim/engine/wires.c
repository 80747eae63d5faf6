#include "sim/engine/wires.h"

#include "sim/base/rng.h"

#include <math.h>

typedef struct {
  guint src, dst, rail, channel;
} Ends;

struct Wires {
  const Topology *topology;
  GArray *wires; /* of Wire */
  FlowSet *flows;
  GHashTable *number_of; /* Ends -> number + 1; only looked up */
};

static guint ends_hash(gconstpointer pointer)
{
  const Ends *ends = pointer;
  return (guint)rng_hash(rng_hash(ends->src, ends->dst, ends->rail), ends->channel, 0);
}

static gboolean ends_equal(gconstpointer a, gconstpointer b)
{
  const Ends *one = a, *other = b;
  return one->src == other->src && one->dst == other->dst && one->rail == other->rail &&
         one->channel == other->channel;
}

Wires *wires_new(const Topology *topology)
{
  Wires *wires = g_new0(Wires, 1);
  wires->topology = topology;
  wires->wires = g_array_new(FALSE, FALSE, sizeof(Wire));
  wires->flows = flow_set_new();
  wires->number_of = g_hash_table_new_full(ends_hash, ends_equal, g_free, NULL);
  return wires;
}

void wires_free(Wires *wires)
{
  if (wires == NULL)
    return;
  g_array_unref(wires->wires);
  flow_set_free(wires->flows);
  g_hash_table_unref(wires->number_of);
  g_free(wires);
}

static guint lay_new(Wires *wires, const Ends *ends)
{
  const Topology *topology = wires->topology;
  const guint n_gpus = topology_gpus_per_node(topology);
  const bool is_net = ends->src / n_gpus != ends->dst / n_gpus;
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  topology_route(topology, ends->src, ends->dst, ends->rail,
                 rng_hash(ends->src, ends->dst, ends->rail), links);
  const guint32 *path = &g_array_index(links, guint32, 0);
  const Wire wire = { .is_net = is_net,
                      .latency_s = topology_latency_s(topology, path, links->len) };
  flow_set_add(wires->flows, 1, is_net ? topology_flow_cap_Bps(topology) : INFINITY, path,
               links->len);
  g_array_append_val(wires->wires, wire);
  return wires->wires->len - 1;
}

guint wires_lay(Wires *wires, guint src, guint dst, guint rail, guint channel)
{
  const guint n_gpus = topology_gpus_per_node(wires->topology);
  /* Inside a node there are no rails. */
  const Ends ends = { src, dst, src / n_gpus == dst / n_gpus ? 0 : rail, channel };
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(wires->number_of, &ends));
  if (known > 0)
    return known - 1;

  const guint number = lay_new(wires, &ends);
  g_hash_table_insert(wires->number_of, g_memdup2(&ends, sizeof ends),
                      GUINT_TO_POINTER(number + 1));
  return number;
}

guint wires_n(const Wires *wires)
{
  return wires->wires->len;
}

const Wire *wires_at(const Wires *wires, guint wire)
{
  return &g_array_index(wires->wires, Wire, wire);
}

const FlowSet *wires_flows(const Wires *wires)
{
  return wires->flows;
}
