/**
 * @file library_bench.h
 * @brief A cluster with every collective laid on it, as a library sees it.
 */
#pragma once

#include "models/library.h"
#include "tests/unit/cluster_fixture.h"

typedef struct {
  Topology *topology;
  Group *group;
  GArray *phases[32]; /* by place in coll_table */
  LibraryCall call;
} Bench;

static inline const GArray *bench_phases_of(const CollOps *collective, void *data)
{
  const Bench *bench = data;

  for (guint i = 0; coll_table[i] != NULL; i++)
    if (coll_table[i] == &collective->info)
      return bench->phases[i];
  return NULL;
}

static inline void bench_init_kind(Bench *bench, const Fixture *fixture, CollKind kind,
                                   bool nvlink, bool gpu_direct)
{
  bench->topology = fixture_topology(fixture, NULL);
  bench->group = group_new_all(bench->topology);
  const CollCall call = { .kind = kind,
                          .group = bench->group,
                          .n_rails = MAX(1, fixture->n_nics) };
  for (guint i = 0; coll_table[i] != NULL; i++) {
    bench->phases[i] = coll_phases_new();
    const CollOps *ops = (const CollOps *)coll_table[i];
    if (kind == COLL_ALL_REDUCE || (ops->kinds & kind))
      ops->phases(&call, bench->topology, bench->phases[i]);
  }
  bench->call = (LibraryCall){
    .kind = kind,
    .n_nodes = fixture->n_nodes,
    .ranks_per_node = fixture->n_gpus,
    .nvlink = nvlink,
    .nvswitch = nvlink,
    .gpu_direct = gpu_direct,
    .architecture = GPU_AMPERE,
    .n_nics = fixture->n_nics,
    .local_Bps = topology_gpu_Bps(bench->topology),
    .node_Bps = fixture->n_nics * topology_nic_Bps(bench->topology),
    .message_latency_s = topology_message_latency_s(bench->topology),
    .messages = topology_transport(bench->topology)->messages,
    .phases_of = bench_phases_of,
    .links = topology_links(bench->topology),
    .n_links = topology_n_links(bench->topology),
    .data = bench,
  };
}

static inline void bench_init(Bench *bench, const Fixture *fixture, bool nvlink,
                              bool gpu_direct)
{
  bench_init_kind(bench, fixture, COLL_ALL_REDUCE, nvlink, gpu_direct);
}

static inline void bench_clear(Bench *bench)
{
  for (guint i = 0; coll_table[i] != NULL; i++)
    g_array_unref(bench->phases[i]);
  group_free(bench->group);
  topology_free(bench->topology);
}

static inline void params_free(const ModuleInfo *info, void *params)
{
  param_clear(info->params, params);
  g_free(params);
}

static inline double bench_time_s(const Bench *bench, const LibraryChoice *choice,
                                  double size_B)
{
  const GArray *phases = bench_phases_of(choice->collective, (void *)bench);
  double sum_s = choice->launch_s;

  for (guint i = 0; i < phases->len; i++)
    sum_s +=
      coll_phase_idle_s(&g_array_index(phases, CollPhase, i), &choice->terms, size_B);
  return sum_s;
}
