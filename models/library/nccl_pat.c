/**
 * @file nccl_pat.c
 * @brief Parallel aggregated trees: NCCL's since 2.23, between nodes of one rank each.
 *
 *     time = base + floor(log2 nodes) x hop / 3.5 + 2.8 us x ranks + bytes / (3/4 bus)
 *
 * is the tuner's forecast, and for want of measurements also what it costs here: rounds
 * overlap, each rank's tree takes its turn, and buffers are shared by many trees.
 *
 * Source: src/graph/tuning.cc of NVIDIA/nccl@5067397c2676 (2.30.7).
 */
#include "models/library/nccl.h"

#include <math.h>

static const double bus_share = 0.75;
static const double rounds_per_hop = 3.5;
static const double per_rank_s = 2.8e-6;

double nccl_pat_bus_Bps(const NcclLayout *layout)
{
  return bus_share * MIN(layout->local_Bps, layout->net_Bps);
}

static double turns_s(const LibraryCall *call)
{
  return (double)call->n_nodes * call->ranks_per_node * per_rank_s;
}

static double rounds_s(double hop_s, const LibraryCall *call)
{
  return floor(log2(call->n_nodes)) * hop_s / rounds_per_hop;
}

double nccl_pat_latency_s(const NcclVersion *version, const LibraryCall *call)
{
  return rounds_s(version->hop_s[NCCL_NET][NCCL_PAT][NCCL_SIMPLE], call) + turns_s(call);
}

LibraryChoice nccl_pat_terms(const NcclCosts *costs, const NcclLayout *layout,
                             const LibraryCall *call)
{
  const double hop_s = costs->hop_s[NCCL_NET][NCCL_PAT][NCCL_SIMPLE];
  const CollOps *collective = nccl_collective(NCCL_PAT);
  const guint n_rounds = call->phases_of(collective, call->data)->len;
  const double wait_s =
    rounds_s(hop_s, call) / MAX(1, n_rounds) + nccl_extra_net_s(call, NCCL_SIMPLE);

  return (LibraryChoice){
    .collective = collective,
    .protocol = nccl_proto_name(NCCL_SIMPLE),
    .launch_s = costs->base_s[NCCL_PAT][NCCL_SIMPLE] + turns_s(call),
    .terms = {
      .alpha_net_s = MAX(0, wait_s),
      .wire_factor = nccl_wire_factor(NCCL_SIMPLE),
      .additive = true,
      .rank_Bps = nccl_pat_bus_Bps(layout),
    },
  };
}
