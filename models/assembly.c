#include "models/assembly.h"

#include "models/fabric.h"

#include <math.h>

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

GPtrArray *assembly_choices(const Setup *setup, const Workload *workload,
                            const Composition *composition)
{
  const GArray *codecs = composition->choices.codecs;
  GPtrArray *choices = g_ptr_array_new_with_free_func((GDestroyNotify)compression_free);

  for (guint i = 0; codecs != NULL && i < codecs->len; i++) {
    const CodecChoice *choice = &g_array_index(codecs, CodecChoice, i);
    const CompressionConfig config = {
      .codec = choice->codec,
      .params = choice->params,
      .spec = &setup->compression,
      .place = COMPRESS_UNITS,
      .n_workers = setup->cluster.n_nodes * setup->cluster.node.n_gpus,
      .n_nodes = setup->cluster.n_nodes,
    };
    g_ptr_array_add(
      choices, compression_new(&config, workload, cluster_slowest_gpu(&setup->cluster)));
  }
  return choices;
}

double assembly_codec_B(const Compression *compression, const GPtrArray *choices)
{
  double most_B = compression == NULL ? 0 : compression_state_B(compression);

  for (guint i = 0; i < choices->len; i++)
    most_B = MAX(most_B, compression_state_B(g_ptr_array_index(choices, i)));
  return most_B;
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

static bool has_collectives(const Composition *composition)
{
  const GArray *stages = composition->pipeline.stages;

  for (guint s = 0; s < stages->len; s++)
    if (g_array_index(stages, Stage, s).kind == STAGE_COLLECTIVE)
      return true;
  return false;
}

/* What a library holds on each GPU for collectives of all. */
static double library_B(const Setup *setup, const Composition *composition)
{
  const ClusterSpec *cluster = &setup->cluster;
  const NodeSpec *node = &cluster->node;
  const LibraryCall call = {
    .kind = COLL_ALL_REDUCE,
    .n_nodes = cluster->n_nodes,
    .ranks_per_node = node->n_gpus,
    .nvlink = node->fabric != &fabric_pcie,
    .architecture = node->gpu.architecture,
    .n_nics = node->n_nics,
    .local_Bps = INFINITY,
    .node_Bps = node->n_nics * node->nic_rate_Bps,
  };

  if (setup->library->buffers_B == NULL || cluster->n_nodes * node->n_gpus == 1 ||
      !has_collectives(composition))
    return 0;
  return setup->library->buffers_B(setup->library_params, &call);
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
  MemoryUse use = memory_of(workload, least, composition, codec_B);
  use.library_B = library_B(setup, composition);
  return use;
}

bool assembly_expected_memory(const Setup *setup, MemoryUse *use)
{
  g_autoptr(Workload) workload = assembly_workload(setup, 0, NULL);
  g_auto(Composition) composition = { 0 };

  if (workload == NULL)
    return false;
  g_autoptr(Compression) compression = assembly_compression(setup, workload);
  assembly_compose_messages(setup, workload, compression, &composition);
  g_autoptr(GPtrArray) choices = assembly_choices(setup, workload, &composition);
  *use = assembly_least_memory(setup, workload, &composition,
                               assembly_codec_B(compression, choices));
  return true;
}
