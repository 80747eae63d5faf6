/**
 * @file nccl_buffers.c
 * @brief GPU memory that NCCL holds for what other GPUs send.
 *
 *     channels x GPUs that a channel receives from x (Simple + LL + LL128)
 *
 * A ring has one such GPU. A tree between nodes has three on the GPU that sees the most:
 * its parent and two children. A release that connects what it uses only (2.22 and later)
 * holds no tree inside a single node.
 *
 * Source: computeBuffSizes() in src/init.cc, src/include/device.h (NCCL_STEPS 8;
 * NCCL_LL_MAX_NTHREADS 512, 8 lines of 16 B; NCCL_LL128_MAX_NTHREADS 640, 120 elements of
 * 8 B), NVIDIA/nccl 2.30.
 */
#include "models/library/nccl.h"

static const double ll_B = 8.0 * 512 * 8 * 16, ll128_B = 8.0 * 640 * 120 * 8;

enum { RING_PEERS = 1, TREE_PEERS = 3 };

double nccl_buffers_B(const void *data, const LibraryCall *call)
{
  const NcclParams *params = data;
  const bool tree =
    call->n_nodes > 1 && (params->algo == NCCL_N_ALGOS || params->algo == NCCL_TREE);
  const guint n_peers = params->algo == NCCL_TREE ? (tree ? TREE_PEERS : RING_PEERS)
                                                  : RING_PEERS + (tree ? TREE_PEERS : 0);

  return nccl_layout(params, call).n_channels * n_peers *
         ((double)params->buffsize_B + ll_B + ll128_B);
}
