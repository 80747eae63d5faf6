/**
 * @file mpi.c
 * @brief Open MPI on CPUs: the fixed decisions of its component "tuned".
 *
 * Recursive doubling for small all-reduces, a ring for large ones (in segments of 1 MiB,
 * which changes nothing here), reduction and broadcast along trees where there are fewer
 * elements than ranks. Bruck's all-gather and all-to-all count as recursive doubling and
 * pairwise, split trees and pipelines of large broadcasts as chains.
 *
 * Source: Open MPI 4.0, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c; releases from 4.1
 * on have finer tables by number of ranks.
 */
#include "models/library/host.h"

#include <math.h>

/* An fp32 element for every rank. */
#define ONE_EACH_B 4

// clang-format off
static const ParamSpec mpi_params[] = {
  HOST_PARAMS,
  PARAM_END,
};

static const HostRule rules[] = {
  { COLL_ALL_REDUCE, 10000, false, 0, &coll_recursive_doubling },
  { COLL_ALL_REDUCE, INFINITY, false, ONE_EACH_B, &coll_ring },
  { COLL_ALL_REDUCE, INFINITY, false, 0, &coll_tree },
  { COLL_ALL_GATHER, 50000, false, 0, &coll_recursive_doubling },
  { COLL_REDUCE_SCATTER, 12 * 1024, false, 0, &coll_halving_doubling },
  { COLL_ALL_GATHER | COLL_REDUCE_SCATTER, INFINITY, false, 0, &coll_ring },
  { COLL_BROADCAST | COLL_REDUCE, 2048, false, 0, &coll_tree },
  { COLL_BROADCAST | COLL_REDUCE, INFINITY, false, 0, &coll_ring },
  { COLL_ALL_TO_ALL, 3000, true, 0, &coll_direct },
  { COLL_ALL_TO_ALL, INFINITY, false, 0, &coll_pairwise },
  { COLL_SEND_RECV, INFINITY, false, 0, &coll_neighbour },
  { 0, 0, false, 0, NULL },
};
// clang-format on

static void mpi_candidates(const void *data G_GNUC_UNUSED, const LibraryCall *call,
                           GPtrArray *collectives)
{
  host_candidates(rules, call, collectives);
}

static LibraryChoice mpi_choose(const void *data, const LibraryCall *call, double size_B)
{
  return host_choose(rules, data, call, size_B);
}

const LibraryOps library_mpi = {
  .info = {
    .name = "mpi",
    .summary = "Open MPI on CPUs: its fixed decisions by size",
    .source = "Open MPI 4.0, coll_tuned_decision_fixed.c",
    .params = mpi_params,
    .params_size = sizeof(HostParams),
  },
  .candidates = mpi_candidates,
  .choose = mpi_choose,
};
