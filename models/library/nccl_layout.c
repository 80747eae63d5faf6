#include "models/library/nccl.h"

#include <math.h>

/* Channels that the search finds on one node with NVLink. Six of 20 GB/s fill a V100's
 * NVLinks; from A100 on NCCL's logs show twelve. Blackwell: assumed the same. */
static const guint found_on_one_node[NCCL_N_ARCHS] = { 6, 12, 12, 12 };

/* NCCL_MAX_CHANNELS, src/include/nccl_common.h. */
enum { MAX_CHANNELS = 64 };

/* Rates of one channel between nodes that the search tries, from the fastest: sm90 and
 * sm100SpeedArrayInter of src/graph/search.cc. */
static const double tried_GBps[] = { 96, 86,   80, 48, 45, 42, 40,  30,  24,   22,
                                     20, 17.5, 15, 12, 6,  3,  2.4, 1.2, 0.24, 0.12 };

static double tried_Bps(double rate_Bps)
{
  for (guint i = 0; i < G_N_ELEMENTS(tried_GBps); i++)
    if (tried_GBps[i] * 1e9 <= rate_Bps)
      return tried_GBps[i] * 1e9;
  return rate_Bps;
}

static NcclArch arch_of(GpuArchitecture architecture)
{
  switch (architecture) {
  case GPU_VOLTA:
  case GPU_TURING:
    return NCCL_VOLTA;
  case GPU_AMPERE:
  case GPU_ADA:
    return NCCL_AMPERE;
  case GPU_HOPPER:
    return NCCL_HOPPER;
  case GPU_BLACKWELL:
    return NCCL_BLACKWELL;
  }
  g_return_val_if_reached(NCCL_AMPERE);
}

/* One channel per NIC; NICs beyond one per GPU are bundled by the network plugin. A channel
 * that is slow inside the node is not doubled: ncclTopoDupChannels() of search.cc. */
static void find_between_nodes(NcclLayout *layout, const LibraryCall *call)
{
  static const double worth_doubling_Bps = 25e9, hopper_alone_Bps = 50e9;
  const guint n_nics = MAX(1, call->n_nics);
  const guint n = call->ranks_per_node == 1 ? n_nics : MIN(n_nics, call->ranks_per_node);
  const double net_Bps = tried_Bps(call->node_Bps / n);
  const double ring_Bps = MIN(call->local_Bps / n, net_Bps);
  const bool enough = layout->arch >= NCCL_HOPPER && ring_Bps < hopper_alone_Bps && n > 4;

  layout->net_Bps = n * net_Bps;
  layout->n_net_gpus = MIN(n, call->ranks_per_node);
  layout->n_found =
    (ring_Bps >= worth_doubling_Bps && !enough) || layout->leaves_far ? 2 * n : n;
}

/* Without PXN, a ring that leaves by the NIC it came in by leaves by one of another GPU. */
static bool leaves_far(const NcclParams *params, const LibraryCall *call)
{
  return params->cross_nic == 0 && call->n_nics > 1 && call->ranks_per_node > 1 &&
         call->nic_path > PATH_PXB;
}

static guint clamp_channels(const NcclParams *params, guint n)
{
  n = MIN(n, MAX_CHANNELS);
  if (params->max_ctas > 0)
    n = MIN(n, params->max_ctas);
  return MAX(n, params->min_ctas);
}

NcclLayout nccl_layout(const NcclParams *params, const LibraryCall *call)
{
  NcclLayout layout = {
    .arch = arch_of(call->architecture),
    .scale = MIN(call->n_nodes, 3u) - 1,
    .local_hop = call->nvlink ? NCCL_NVLINK : NCCL_PCI,
    .local_Bps = call->local_Bps,
    .net_Bps = INFINITY,
    .n_found = 1,
    .collnet = params->collnet && call->n_nodes > 1,
    .net_latency_s = params->net_latency_s,
    .pat = nccl_version(params->version)->has_pat,
  };
  const double auto_overhead_s = params->cpu == NCCL_CPU_AMD ? 2e-6 : 1e-6;

  if (call->n_nodes > 1) {
    layout.leaves_far = leaves_far(params, call);
    find_between_nodes(&layout, call);
    layout.net_overhead_s =
      params->net_overhead_s > 0 ? params->net_overhead_s : auto_overhead_s;
  } else if (call->nvlink) {
    layout.n_found = found_on_one_node[layout.arch];
  }
  layout.n_channels = clamp_channels(params, 2 * layout.n_found);
  const guint row = call->n_nodes == 1 ? layout.arch : params->cpu == NCCL_CPU_AMD;
  layout.ll_max_Bps = nccl_latest()->ll_max_Bps[row][layout.scale];
  return layout;
}

/* LL128 needs stores of 128 B that arrive whole: over NVLink, and between nodes with NICs
 * that read GPU memory and hang on a switch next to it; NVLS needs switches that add,
 * between nodes too, or a tree. */
bool nccl_can_use(const NcclLayout *layout, const LibraryCall *call, NcclAlgo algo,
                  NcclProto proto)
{
  const bool several_nodes = call->n_nodes > 1;
  const bool nvls =
    layout->arch >= NCCL_HOPPER && call->nvswitch && call->ranks_per_node > 1;
  const CollOps *collective = nccl_collective(algo);

  if (collective == NULL || !(collective->kinds & call->kind))
    return false;
  if (algo == NCCL_COLLNET)
    return layout->collnet && call->nvswitch && proto == NCCL_SIMPLE;
  if (algo == NCCL_NVLS)
    return nvls && proto == NCCL_SIMPLE && (!several_nodes || layout->collnet);
  if (algo == NCCL_NVLS_TREE)
    return nvls && proto == NCCL_SIMPLE && several_nodes;
  if (algo == NCCL_PAT)
    return layout->pat && proto == NCCL_SIMPLE && several_nodes &&
           call->ranks_per_node == 1;
  if (algo == NCCL_TREE && call->kind != COLL_ALL_REDUCE)
    return false;
  if (proto == NCCL_LL128)
    return (call->ranks_per_node == 1 || call->nvlink) &&
           (!several_nodes || (call->gpu_direct && call->nic_path <= PATH_PXB));
  return true;
}
