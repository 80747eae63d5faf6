/**
 * @file nccl_proxy.c
 * @brief What proxy threads need to carry messages between nodes.
 *
 * Every GPU has one thread that posts what its channels send and receive; messages of all
 * channels wait for it one after another. Mostly that is hidden in the tuner's latencies
 * and bandwidths, but not all of it:
 *
 * - Lines of LL carry their own flags, and the thread looks at every one of them.
 * - Where the network leaves small messages in buffers of the host, a CPU copies them to
 * the GPU: LL, whose lines must arrive as they were sent, waits for that.
 * - Where a network takes a while between two messages, a ring feels it in all its rounds:
 * a chunk per round and channel, in two slices, each a message.
 * - Where one message does not fill a NIC, trees feel it: one per channel is under way.
 * - Simple makes sure that what has arrived can be seen, by reading it back through the
 * NIC: the network's latency once more.
 *
 * Source: src/transport/net.cc and src/graph/tuning.cc (latencyInter) of NVIDIA/nccl 2.30.
 */
#include "models/library/nccl.h"

#include <math.h>

/* The limits of LL between nodes were tuned on nodes of eight GPUs with a proxy each. */
static const double tuned_proxies = 8;

/** The NET latencies were tuned on InfiniBand and contain one of its messages: 32 B over
 *  RC take this long (ib_send_lat, git.dennispotter.eu) [s]. */
static const double infiniband_message_s = 0.82e-6;

/* Messages of a chunk of a ring: ALLREDUCE_SLICESTEPS is half of ALLREDUCE_CHUNKSTEPS. */
static const double slices_per_chunk = 2;

double nccl_extra_net_s(const LibraryCall *call, NcclProto proto)
{
  const double extra_s = call->message_latency_s - infiniband_message_s;
  const bool flushes = proto == NCCL_SIMPLE && call->gpu_direct;

  return extra_s > 0 && flushes ? 2 * extra_s : extra_s;
}

double nccl_ll_proxies_Bps(const NcclParams *params, const NcclLayout *layout,
                           double n_channels)
{
  const double one_Bps =
    nccl_latest()->ll_max_Bps[params->cpu == NCCL_CPU_AMD][NCCL_2_NODES] / tuned_proxies;
  return one_Bps * MIN(layout->n_net_gpus, n_channels);
}

/* Messages that wait for the same thread; a tree's go up or down, through another GPU each.
 */
static double messages_at_once(const NcclLayout *layout, NcclAlgo algo, double n_channels)
{
  const double n_proxies = layout->n_net_gpus * (algo == NCCL_TREE ? 2.0 : 1.0);
  return MAX(1, n_channels / n_proxies);
}

/* Copies of a message of LL of one channel, of those that wait for one thread. */
static double copies_s(const NcclLayout *layout, const LibraryCall *call, NcclAlgo algo,
                       double n_channels, double chunk_B)
{
  const double message_B = chunk_B / n_channels * nccl_wire_factor(NCCL_LL);

  return messages_at_once(layout, algo, n_channels) *
         transport_copy_s(&call->messages, message_B);
}

/* A tree has one message per channel under way: how much longer it takes than the NICs need
 * for those of all channels. */
static double alone_s(const NcclLayout *layout, const LibraryCall *call, double n_channels,
                      double chunk_B)
{
  const double all_s = chunk_B / MIN(call->node_Bps, layout->net_Bps);

  if (!(call->messages.large_Bps > 0) || call->n_nodes == 1)
    return 0;
  return MAX(0, chunk_B / n_channels / call->messages.large_Bps - all_s);
}

double nccl_net_hop_s(const NcclParams *params, const NcclLayout *layout,
                      const LibraryCall *call, NcclAlgo algo, NcclProto proto,
                      double n_channels, double chunk_B)
{
  const NcclAlgo of = algo == NCCL_RING && call->ranks_per_node == 1 ? NCCL_TREE : algo;
  const double hop_s =
    MAX(0, params->costs.hop_s[NCCL_NET][of][proto] + nccl_extra_net_s(call, proto));

  if (proto == NCCL_SIMPLE && algo == NCCL_TREE)
    return hop_s + alone_s(layout, call, n_channels, chunk_B);
  if (proto != NCCL_LL || call->n_nodes == 1)
    return hop_s;
  return hop_s + chunk_B / nccl_ll_proxies_Bps(params, layout, n_channels) +
         (algo == NCCL_TREE ? copies_s(layout, call, algo, n_channels, chunk_B) : 0);
}

void nccl_add_ll_proxies(const NcclParams *params, const NcclLayout *layout,
                         const LibraryCall *call, const CollPhase *phase, double n_channels,
                         double size_B, CollTerms *terms)
{
  const double rest_B = MAX(0, size_B - terms->chunk_B);
  const double rest_s =
    rest_B / nccl_ll_proxies_Bps(params, layout, n_channels) +
    rest_B / terms->chunk_B * copies_s(layout, call, NCCL_TREE, n_channels, terms->chunk_B);

  terms->rank_Bps = 0;
  if (phase->n_net_hops > 0)
    terms->alpha_net_s += 2 * rest_s / phase->n_net_hops;
}

double nccl_ring_proxies_s(const NcclLayout *layout, const LibraryCall *call,
                           NcclProto proto, double n_channels, double chunk_B,
                           double size_B)
{
  const double n_ranks = (double)call->n_nodes * call->ranks_per_node;
  const double laps = call->kind == COLL_ALL_REDUCE ? 2 : 1;
  const double n_chunks = laps * (n_ranks - 1) * size_B / n_ranks / chunk_B;

  if (call->n_nodes == 1)
    return 0;
  if (proto == NCCL_LL)
    return n_chunks * copies_s(layout, call, NCCL_RING, n_channels, chunk_B);
  return n_chunks * messages_at_once(layout, NCCL_RING, n_channels) * call->messages.gap_s *
         (proto == NCCL_SIMPLE ? slices_per_chunk : 1);
}
