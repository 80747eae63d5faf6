/**
 * @file nccl_channels.c
 * @brief How many channels a message gets, and what one of them moves.
 *
 * A channel is one thread block, and so one multiprocessor of the GPU. Small messages use
 * few: as many as give every thread something to do, and every channel 16 KiB to move. We
 * count fractions of a channel, so that no larger message takes less time.
 *
 * Source: topoGetAlgoInfo() and scheduleCollTasksToPlan() in src/enqueue.cc, thread counts
 * and thresholds of src/graph/tuning.cc and src/include/device.h; NVIDIA/nccl 2.30.
 */
#include "models/library/nccl.h"

#include <math.h>

/* NCCL_MAX_NTHREADS, NCCL_LL_MAX_NTHREADS, NCCL_LL128_MAX_NTHREADS; half of the first where
 * rings are no faster than PCI Gen3. */
static const double simple_threads = 512, ll_threads = 512, ll128_threads = 640;
static const double slow_ring_Bps = 12e9, slow_ring_threads = 256;

/* NCCL_LL_THREAD_THRESHOLD, NCCL_LL128_THREAD_THRESHOLD, NCCL_SIMPLE_THREAD_THRESHOLD:
 * bytes for a thread; of LL rings for each rank. */
static const double ll_thread_B = 8, ll128_thread_B = 8, simple_thread_B = 64;

/* MinTrafficPerChannel; an all-reduce makes a byte two, LL makes it four. */
static const double least_traffic_B = 16 * 1024;

static double least_channel_B(const NcclLayout *layout, const LibraryCall *call,
                              NcclAlgo algo, NcclProto proto)
{
  const double n_ranks = (double)call->n_nodes * call->ranks_per_node;
  const bool slow =
    algo == NCCL_RING && MIN(layout->local_Bps, layout->net_Bps) <= slow_ring_Bps;

  if (proto == NCCL_LL)
    return ll_threads * ll_thread_B * (algo == NCCL_RING ? n_ranks : 1);
  if (proto == NCCL_LL128)
    return ll128_threads * ll128_thread_B;
  return (slow ? slow_ring_threads : simple_threads) * simple_thread_B;
}

double nccl_channels(const NcclLayout *layout, const LibraryCall *call, NcclAlgo algo,
                     NcclProto proto, double size_B)
{
  const double traffic_B =
    size_B * (call->kind == COLL_ALL_REDUCE ? 2 : 1) * (proto == NCCL_LL ? 4 : 1);
  const double by_threads = size_B / least_channel_B(layout, call, algo, proto);
  const double by_traffic = traffic_B / least_traffic_B;

  return CLAMP(MIN(by_threads, by_traffic), 1, layout->n_channels);
}

double nccl_channel_Bps(const NcclCosts *costs, NcclArch arch)
{
  /* Half of the tuner's perChMaxTreeBws on one node, whose channels are two each; Hopper:
   * 365 GB/s over 16 channels, h100-N04x8-ib400-allreduce-vm at 16 GiB. */
  static const double one_Bps[NCCL_N_ARCHS] = { 13.25e9, 12e9, 22.8e9, 35e9 };
  return costs->channel_Bps > 0 ? costs->channel_Bps : one_Bps[arch];
}
