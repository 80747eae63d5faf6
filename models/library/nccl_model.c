/**
 * @file nccl_model.c
 * @brief The forecast that NCCL decides by.
 *
 *     time = latency + bytes / bandwidth
 *
 * per algorithm and protocol, with bandwidths of the channels that its search of the node
 * believes in. It knows neither chunks nor other traffic; nccl_terms.c does.
 *
 * Source: ncclTopoTuneModel() and ncclTopoGetAlgoTime(), src/graph/tuning.cc of
 * NVIDIA/nccl@5067397c2676 (2.30.7) and of the older releases in nccl_constants.c.
 */
#include "models/library/nccl.h"

#include <math.h>

/* CollNetDirect: each further GPU of a node sends one after another. */
static const double collnet_arity_s = 0.4e-6;

static double n_ranks(const LibraryCall *call)
{
  return (double)call->n_nodes * call->ranks_per_node;
}

static double n_steps(const LibraryCall *call)
{
  const double n = n_ranks(call);
  switch (call->kind) {
  case COLL_ALL_REDUCE:
    return 2 * (n - 1);
  case COLL_REDUCE_SCATTER:
  case COLL_ALL_GATHER:
    return n - 1;
  default:
    return n;
  }
}

/* With two nodes a byte crosses each NIC of a tree once in each direction, and the search
 * for trees finds twice the bandwidth. */
static double channels_Bps(const NcclLayout *layout, NcclAlgo algo)
{
  const bool halved = layout->scale == NCCL_2_NODES && algo == NCCL_TREE;
  return MIN(layout->local_Bps, layout->net_Bps * (halved ? 2 : 1));
}

static double ring_bus_Bps(const NcclVersion *version, const NcclLayout *layout,
                           NcclProto proto)
{
  const double bus_Bps = channels_Bps(layout, NCCL_RING);

  if (proto == NCCL_LL)
    return MIN(layout->ll_max_Bps, version->ring_ll_share * bus_Bps);
  if (proto == NCCL_LL128)
    return MIN(0.92 * bus_Bps, layout->n_found * version->ring_ll128_Bps[layout->arch]);
  return bus_Bps;
}

static double tree_bus_Bps(const NcclVersion *version, const NcclLayout *layout,
                           const LibraryCall *call, NcclProto proto)
{
  const double n = layout->n_found;
  double bus_Bps = MIN(0.92 * channels_Bps(layout, NCCL_TREE),
                       n * version->tree_Bps[layout->arch][layout->scale]);

  if (proto == NCCL_LL)
    bus_Bps = MIN(bus_Bps / 3.8, layout->ll_max_Bps);
  if (proto == NCCL_LL128)
    bus_Bps = MIN(bus_Bps * (call->n_nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                  n * version->tree_ll128_Bps[layout->arch][layout->scale]);
  /* From Hopper on, and with one GPU, all of a tree's traffic passes one GPU of a node. */
  const bool one_gpu = layout->arch >= NCCL_HOPPER || call->ranks_per_node == 1;
  return one_gpu ? 0.85 * bus_Bps : bus_Bps;
}

static double nvls_bus_Bps(const NcclVersion *version, const NcclLayout *layout,
                           const LibraryCall *call, NcclAlgo algo)
{
  const double n = call->ranks_per_node; /* channels: one per GPU that is a head */

  if (!version->nvls_by_efficiency) {
    const double net_share = algo == NCCL_NVLS_TREE && call->n_nodes > 2 ? 0.5 : 1;
    return MIN(layout->local_Bps, layout->net_Bps * net_share);
  }
  const double share = call->kind == COLL_ALL_REDUCE ? 2 : (n - 1) / n;
  const double local_Bps =
    layout->local_Bps * nccl_nvls_efficiency(layout->arch) * (n - 1) / n * share;
  const double net_Bps = layout->net_Bps * (call->n_nodes == 2 ? 2 : 1);
  const double limit_Bps = algo == NCCL_NVLS_TREE
                             ? n * version->nvls_tree_Bps[layout->arch][layout->scale]
                             : INFINITY;
  return MIN(MIN(local_Bps, net_Bps), limit_Bps);
}

/* GPUs without a NIC of their own share one: half of the excess is felt. */
static double collnet_bus_Bps(const NcclLayout *layout, const LibraryCall *call)
{
  const double gpus_per_nic = (double)call->ranks_per_node / layout->n_net_gpus;
  const double bus_Bps =
    MIN(layout->local_Bps, layout->net_Bps) / (gpus_per_nic - (gpus_per_nic - 1) / 2);

  return layout->arch >= NCCL_HOPPER ? 0.85 * bus_Bps : bus_Bps;
}

/* Bytes of message per second. */
static double bandwidth_Bps(const NcclVersion *version, const NcclLayout *layout,
                            const LibraryCall *call, NcclAlgo algo, NcclProto proto)
{
  const double per_step = n_ranks(call) / n_steps(call);

  switch (algo) {
  case NCCL_RING:
    return per_step * ring_bus_Bps(version, layout, proto);
  case NCCL_TREE:
    return 0.5 * tree_bus_Bps(version, layout, call, proto);
  case NCCL_COLLNET:
    return 0.5 * collnet_bus_Bps(layout, call);
  case NCCL_PAT:
    return nccl_pat_bus_Bps(layout);
  default:
    return nvls_bus_Bps(version, layout, call, algo) * (call->kind != COLL_ALL_REDUCE ? 1
                                                        : version->nvls_by_efficiency
                                                          ? per_step
                                                          : 5.0 / 6);
  }
}

/* Simple flushes what NICs have written: the network's latency once more. */
static double net_hop_s(const NcclVersion *version, const NcclLayout *layout, NcclAlgo algo,
                        NcclProto proto)
{
  const double n_latencies = proto == NCCL_SIMPLE ? 2 : 1;
  return version->hop_s[NCCL_NET][algo][proto] + n_latencies * layout->net_latency_s;
}

static double ring_latency_s(const NcclVersion *version, const NcclLayout *layout,
                             const LibraryCall *call, NcclProto proto)
{
  const double laps = call->kind == COLL_ALL_REDUCE ? 2 : 1;
  const double saved = call->kind == COLL_ALL_REDUCE ? version->first_last_net_hops : 1;
  const double n_net = call->n_nodes == 1 ? 0 : laps * call->n_nodes - saved;
  const NcclAlgo net_algo =
    call->ranks_per_node == 1 && version->one_gpu_uses_tree_net ? NCCL_TREE : NCCL_RING;
  const double overhead_s = layout->net_overhead_s * (proto == NCCL_SIMPLE ? 3 : 1);
  const double local_s =
    MAX(version->hop_s[layout->local_hop][NCCL_RING][proto], overhead_s);

  return (n_steps(call) - n_net) * local_s +
         n_net * net_hop_s(version, layout, net_algo, proto);
}

static double latency_s(const NcclVersion *version, const NcclLayout *layout,
                        const LibraryCall *call, NcclAlgo algo, NcclProto proto)
{
  const double local_s = version->hop_s[layout->local_hop][algo][proto];
  const double net_s = net_hop_s(version, layout, algo, proto);
  const double depth = floor(log2(call->n_nodes));
  const double base_s = version->base_s[algo][proto];
  const double g = call->ranks_per_node;

  switch (algo) {
  case NCCL_RING:
    return base_s + ring_latency_s(version, layout, call, proto);
  case NCCL_TREE:
    return base_s + 2 * ((g - 1) * local_s + depth * net_s);
  case NCCL_COLLNET:
    return base_s + 2 * (MIN(1, g - 1) * local_s + (g - 1) * collnet_arity_s) + net_s;
  case NCCL_PAT:
    return base_s + nccl_pat_latency_s(version, call);
  case NCCL_NVLS_TREE:
    return base_s + local_s + 2 * depth * net_s;
  default:
    return local_s + (call->n_nodes > 1 ? net_s : 0);
  }
}

/* "Plateau effect of ring": latencies of Ring/Simple between nodes do not hide. */
static double plateau(const NcclLayout *layout, const LibraryCall *call, NcclAlgo algo,
                      NcclProto proto, double size_B)
{
  const bool has_one = algo == NCCL_RING && proto == NCCL_SIMPLE && call->n_nodes > 1 &&
                       call->kind == COLL_ALL_REDUCE &&
                       size_B >= 64 * n_ranks(call) * layout->n_channels;
  if (!has_one)
    return 1;
  return layout->arch < NCCL_AMPERE ? 1.9 : 1.4;
}

double nccl_model_s(const NcclVersion *version, const NcclLayout *layout,
                    const LibraryCall *call, NcclAlgo algo, NcclProto proto, double size_B)
{
  const double correction = algo == NCCL_TREE ? nccl_tree_correction(proto, size_B) : 1;

  return latency_s(version, layout, call, algo, proto) *
           plateau(layout, call, algo, proto, size_B) +
         size_B / (bandwidth_Bps(version, layout, call, algo, proto) * correction);
}
