/**
 * @file collective_cases.h
 * @brief Calls to hold laws on: every algorithm and operation, many shapes of groups.
 */
#pragma once

#include "models/collective.h"
#include "tests/unit/cluster_fixture.h"

/* Called for every algorithm, kind it can do, and shape. */
typedef void (*Law)(const CollOps *ops, const CollCall *call);

/* Ranks on each node, up to a 0. */
typedef struct {
  guint n_local[8];
} Uneven;

static const Uneven uneven_shapes[] = {
  { { 1, 2 } },          { { 2, 1 } },       { { 3, 1, 4 } },    { { 5, 5, 1 } },
  { { 2, 7, 2, 2 } },    { { 1, 1, 1, 6 } }, { { 8, 4 } },       { { 4, 8, 8 } },
  { { 3, 2, 1, 1, 2 } }, { { 2, 2, 3 } },    { { 1, 9, 9, 1 } },
};

/* Transfer: caller frees. Node i has n_local[i] of its max_local GPUs in the group. */
static inline Group *group_of_shape(const guint *n_local, guint n_nodes, guint max_local)
{
  g_autoptr(GArray) gpus = g_array_new(FALSE, FALSE, sizeof(guint));

  for (guint node = 0; node < n_nodes; node++)
    for (guint i = 0; i < n_local[node]; i++) {
      const guint gpu = node * max_local + i;
      g_array_append_val(gpus, gpu);
    }
  return group_new((const guint *)(gpointer)gpus->data, gpus->len, max_local);
}

static inline Group *group_of_nodes(guint n_nodes, guint ranks_per_node)
{
  g_autofree guint *n_local = g_new(guint, n_nodes);
  for (guint i = 0; i < n_nodes; i++)
    n_local[i] = ranks_per_node;
  return group_of_shape(n_local, n_nodes, ranks_per_node);
}

static inline Group *group_of_uneven(const Uneven *shape)
{
  guint n_nodes = 0, max = 0;
  for (; shape->n_local[n_nodes] > 0; n_nodes++)
    max = MAX(max, shape->n_local[n_nodes]);
  return group_of_shape(shape->n_local, n_nodes, max);
}

static inline void hold_kinds(Law law, const CollCall *shape)
{
  for (guint m = 0; coll_table[m] != NULL; m++) {
    const CollOps *ops = (const CollOps *)coll_table[m];
    for (guint k = 0; coll_kind_names[k] != NULL; k++) {
      CollCall call = *shape;
      call.kind = (CollKind)(1u << k);
      if (ops->kinds & call.kind)
        law(ops, &call);
    }
  }
}

static inline void hold_even(Law law, guint n_nodes, guint ranks_per_node, guint n_rails,
                             double chunk_B)
{
  g_autoptr(Group) group = group_of_nodes(n_nodes, ranks_per_node);
  const CollCall call = { .group = group, .n_rails = n_rails, .chunk_B = chunk_B };
  hold_kinds(law, &call);
}

/* All even shapes of up to 33 ranks, and two of 200. */
static inline void hold_all_even(Law law, guint max_rails, double chunk_B)
{
  for (guint n_rails = 1; n_rails <= max_rails; n_rails++) {
    for (guint n_nodes = 1; n_nodes <= 33; n_nodes++)
      for (guint ranks_per_node = 1; n_nodes * ranks_per_node <= 33; ranks_per_node++)
        hold_even(law, n_nodes, ranks_per_node, n_rails, chunk_B);
  }
  hold_even(law, 200, 1, 1, chunk_B);
  hold_even(law, 25, 8, max_rails, chunk_B);
}

static inline void hold_all_uneven(Law law, guint max_rails, double chunk_B)
{
  for (guint i = 0; i < G_N_ELEMENTS(uneven_shapes); i++)
    for (guint n_rails = 1; n_rails <= max_rails; n_rails++) {
      g_autoptr(Group) group = group_of_uneven(&uneven_shapes[i]);
      const CollCall call = { .group = group, .n_rails = n_rails, .chunk_B = chunk_B };
      hold_kinds(law, &call);
    }
}

static inline Plan *plan_of(const CollOps *ops, const CollCall *call, double size_B)
{
  return coll_plan_new(ops, call, size_B);
}

/* A node whose rings follow the ranks, as those of plan() do: all links alike, a PCIe
 * switch for every NIC and its part of the GPUs. */
static inline Topology *plain_topology(const CollCall *call)
{
  const guint n_local = group_max_local(call->group);
  g_autofree char *keys =
    g_strdup_printf("port_rate=100 GB/s; pcie_rate=40 GB/s; gpus_per_switch=%u",
                    n_local % call->n_rails == 0 ? n_local / call->n_rails : 1);
  const Fixture fixture = {
    .n_nodes = call->group->n_nodes,
    .n_gpus = n_local,
    .n_nics = call->n_rails,
    .nic_Bps = 10e9,
    .fabric = "nvswitch",
    .fabric_keys = keys,
  };
  return fixture_topology(&fixture, NULL);
}

/* What plain_topology() costs, without what a switch adds to a hop between nodes. */
static inline CollCost plain_cost(void)
{
  return (CollCost){ { 2e-6, 100e9 }, { 11e-6, 10e9 * 4096 / (4096 + 26) } };
}
static const double switch_s = 0.5e-6;

static inline GArray *phases_of(const CollOps *ops, const CollCall *call,
                                const Topology *topology)
{
  GArray *phases = coll_phases_new();
  ops->phases(call, topology, phases);
  return phases;
}

/* Closed forms add latencies and bytes up. */
static inline double phases_s(const GArray *phases, const CollCall *call, double size_B,
                              const CollCost *cost)
{
  const CollTerms terms = { .alpha_local_s = cost->local.alpha_s,
                            .alpha_net_s = cost->net.alpha_s,
                            .wire_factor = 1,
                            .chunk_B = call->chunk_B,
                            .additive = true };
  double sum_s = 0;

  for (guint i = 0; i < phases->len; i++)
    sum_s += coll_phase_idle_s(&g_array_index(phases, CollPhase, i), &terms, size_B);
  return sum_s;
}
