/**
 * @file nccl_p2p.c
 * @brief What NCCL does without choosing: sends and receives, all of one group at once.
 *
 * Messages of at most NCCL_P2P_LL_THRESHOLD, 16 KiB, use LL inside a node; between nodes
 * its buffers are not there. Latencies: those of a ring's hops, for lack of others.
 *
 * One channel sends what one thread block copies. How many a message to one peer gets
 * depends on its size and on how many peers there may be, not on what the links could
 * carry: few channels among many ranks leave half of a NIC of 400 Gbit/s idle.
 *
 * Source: addP2pToPlan(), scheduleP2pTasksToPlan() in src/enqueue.cc;
 * ncclTopoGetNchannels(), ncclTopoComputeP2pChannels() in src/graph/paths.cc;
 * NVIDIA/nccl 2.30.
 */
#include "models/library/nccl.h"

#include <math.h>

static const double ll_threshold_B = 16384;

/* NCCL_MAX_DEV_WORK_P2P_PER_BATCH: peers that a channel serves at once. */
static const double peers_per_batch = 8;
/* NCCL_P2P_PER_CHANNEL_NET_BW: what NCCL expects of one towards a NIC. */
static const double expected_net_Bps = 14e9;
/* ncclTopoNVLinkBw() of sm70 to sm100; two channels for each such link. */
static const double nvlink_Bps[NCCL_N_ARCHS] = { 20e9, 20e9, 20.6e9, 40.1e9 };
/* A part of a message grows to 32 NCCL_P2P_NVL_CHUNKSIZE, or NCCL_P2P_PCI_CHUNKSIZE, before
 * more channels share it; between nodes all help from the first chunk on. */
static const double nvlink_part_B = 32 * 512 * 1024.0, pci_part_B = 32 * 128 * 1024.0;

const CollOps *nccl_p2p_collective(CollKind kind)
{
  switch (kind) {
  case COLL_ALL_TO_ALL:
    return &coll_direct;
  case COLL_SEND_RECV:
    return &coll_neighbour;
  default:
    return NULL;
  }
}

static double power_of_two(double n)
{
  return exp2(ceil(log2(n)));
}

/* All of a rank, and at most those towards one peer. */
static double all_channels(const NcclLayout *layout)
{
  return power_of_two(layout->n_channels);
}

static double most_channels(const NcclLayout *layout, const LibraryCall *call)
{
  const double n_ranks = (double)call->n_nodes * call->ranks_per_node;
  const double all = all_channels(layout);
  double n = 2;

  if (call->n_nodes == 1) {
    if (call->nvlink)
      n = 2 * MAX(1, floor(call->local_Bps / nvlink_Bps[layout->arch]));
    return MIN(all, power_of_two(n));
  }
  const guint n_net = MAX(1, call->n_nics / call->ranks_per_node);
  const double nic_Bps = call->node_Bps / MAX(1, call->n_nics);
  n = power_of_two(MAX(n_net, ceil(n_net * nic_Bps / expected_net_Bps)));
  while (n > 1 && n * ceil(n_ranks / peers_per_batch) > all)
    n /= 2;
  return n;
}

/* Those of a message to one peer. */
static double n_channels(const NcclLayout *layout, const LibraryCall *call, double size_B)
{
  const double n_ranks = (double)call->n_nodes * call->ranks_per_node;
  const double most = most_channels(layout, call);
  const double part_B = call->nvlink ? nvlink_part_B : pci_part_B;
  double n = most;

  if (call->n_nodes > 1)
    return most;
  while (n > 1 && n * n_ranks > all_channels(layout))
    n /= 2;
  while (size_B / n > part_B && n <= most / 2)
    n *= 2;
  return n;
}

/* Channels that a rank has in use, with all its peers. */
static double rank_channels(const NcclLayout *layout, const LibraryCall *call,
                            double message_B)
{
  const double n_peers =
    call->kind == COLL_ALL_TO_ALL ? (double)call->n_nodes * call->ranks_per_node - 1 : 1;

  return MIN(all_channels(layout), n_peers * n_channels(layout, call, message_B));
}

/* What a rank sends with them. */
static double rank_Bps(const NcclCosts *costs, const NcclLayout *layout,
                       const LibraryCall *call, double message_B)
{
  return rank_channels(layout, call, message_B) *
         (call->n_nodes == 1 ? costs->p2p_local_Bps : costs->p2p_net_Bps);
}

LibraryChoice nccl_p2p_terms(const NcclCosts *costs, const NcclLayout *layout,
                             const LibraryCall *call, double size_B)
{
  const double n_ranks = (double)call->n_nodes * call->ranks_per_node;
  const double message_B = call->kind == COLL_ALL_TO_ALL ? size_B / n_ranks : size_B;
  const bool is_small = call->n_nodes == 1 && message_B <= ll_threshold_B;
  const NcclProto proto = is_small ? NCCL_LL : NCCL_SIMPLE;

  return (LibraryChoice){
    .collective = nccl_p2p_collective(call->kind),
    .protocol = nccl_proto_name(proto),
    .launch_s = costs->base_s[NCCL_RING][proto],
    .n_channels = rank_channels(layout, call, message_B),
    .terms = {
      .alpha_local_s = costs->hop_s[layout->local_hop][NCCL_RING][proto],
      .alpha_net_s =
        MAX(0, costs->hop_s[NCCL_NET][NCCL_RING][proto] + nccl_extra_net_s(call, proto)),
      .wire_factor = nccl_wire_factor(proto),
      .additive = true,
      .rank_Bps = rank_Bps(costs, layout, call, message_B) / nccl_wire_factor(proto),
    },
  };
}
