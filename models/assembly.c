#include "models/assembly.h"

Workload *assembly_workload(const Setup *setup, guint kind, GError **error)
{
  const GpuSpec *gpu = &cluster_kind(&setup->cluster, kind)->gpu;
  const ComputeSpec compute = compute_of_gpu(
    &setup->compute, kind == 0 ? NULL : setup->cluster.node.gpu.name, gpu->name);

  return workload_new(setup->model, &setup->workload, &compute, gpu, error);
}

Compression *assembly_compression(const Setup *setup, const Workload *workload)
{
  const CompressionConfig config = {
    .codec = setup->codec,
    .params = setup->codec_params,
    .spec = &setup->compression,
    .place = setup->strategy->place,
    .n_workers = setup->cluster.n_nodes * setup->cluster.node.n_gpus,
    .n_nodes = setup->cluster.n_nodes,
  };

  return compression_new(&config, workload, cluster_slowest_gpu(&setup->cluster));
}

void assembly_compose(const Setup *setup, const Workload *workload,
                      const Compression *compression, Composition *composition)
{
  const StrategyContext context = { .workload = workload,
                                    .gpu = cluster_slowest_gpu(&setup->cluster),
                                    .n_nodes = setup->cluster.n_nodes,
                                    .gpus_per_node = setup->cluster.node.n_gpus,
                                    .compression = compression };
  setup->strategy->compose(setup->strategy_params, &context, composition);
}

static MemoryUse memory_of(const Workload *workload, const GpuSpec *gpu,
                           const Composition *composition, double codec_B)
{
  MemoryUse use = memory_use(workload, gpu, composition->communication_B + codec_B);

  memory_shard(&use, &composition->shards);
  return use;
}

void assembly_compose_messages(const Setup *setup, const Workload *workload,
                               const Compression *compression, Composition *composition)
{
  Workload *messages = compression != NULL && setup->strategy->place == COMPRESS_TENSORS
                         ? compression_workload_new(compression)
                         : NULL;

  assembly_compose(setup, messages != NULL ? messages : workload, compression, composition);
  compression_workload_free(messages);
}

MemoryUse assembly_least_memory(const Setup *setup, const Workload *workload,
                                const Composition *composition, double codec_B)
{
  const GpuSpec *least = &setup->cluster.node.gpu;

  for (guint kind = 1; kind < cluster_n_kinds(&setup->cluster); kind++)
    if (cluster_kind(&setup->cluster, kind)->gpu.memory_B < least->memory_B)
      least = &cluster_kind(&setup->cluster, kind)->gpu;
  return memory_of(workload, least, composition, codec_B);
}

bool assembly_expected_memory(const Setup *setup, MemoryUse *use)
{
  g_autoptr(Workload) workload = assembly_workload(setup, 0, NULL);
  g_auto(Composition) composition = { 0 };

  if (workload == NULL)
    return false;
  g_autoptr(Compression) compression = assembly_compression(setup, workload);
  assembly_compose_messages(setup, workload, compression, &composition);
  *use = assembly_least_memory(setup, workload, &composition,
                               compression == NULL ? 0 : compression_state_B(compression));
  return true;
}
