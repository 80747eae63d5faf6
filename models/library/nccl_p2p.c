/**
 * @file nccl_p2p.c
 * @brief What NCCL does without choosing: sends and receives, all of one group at once.
 *
 * Messages of at most NCCL_P2P_LL_THRESHOLD, 16 KiB, use LL inside a node; between nodes
 * its buffers are not there. Source: src/enqueue.cc, addP2pToPlan(), NVIDIA/nccl 2.30.
 * Latencies: those of a ring's hops, for lack of others.
 */
#include "models/library/nccl.h"

static const double ll_threshold_B = 16384;

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

LibraryChoice nccl_p2p_terms(const NcclLayout *layout, const LibraryCall *call,
                             double size_B)
{
  const NcclVersion *latest = nccl_latest();
  const double n_ranks = (double)call->n_nodes * call->ranks_per_node;
  const double message_B = call->kind == COLL_ALL_TO_ALL ? size_B / n_ranks : size_B;
  const bool is_small = call->n_nodes == 1 && message_B <= ll_threshold_B;
  const NcclProto proto = is_small ? NCCL_LL : NCCL_SIMPLE;

  return (LibraryChoice){
    .collective = nccl_p2p_collective(call->kind),
    .protocol = nccl_proto_name(proto),
    .launch_s = latest->base_s[NCCL_RING][proto],
    .terms = {
      .alpha_local_s = latest->hop_s[layout->local_hop][NCCL_RING][proto],
      .alpha_net_s =
        MAX(0, latest->hop_s[NCCL_NET][NCCL_RING][proto] + nccl_extra_net_s(call)),
      .wire_factor = nccl_wire_factor(proto),
      .additive = true,
    },
  };
}
