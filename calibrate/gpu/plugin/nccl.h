/**
 * @file nccl.h
 * @brief Collectives by NCCL, and what one rank alone can tell of it.
 *
 * One rank is no communication: NCCL copies for a sum, and runs a kernel of its own only
 * for ncclAvg (enqueue.cc, ncclLaunchOneRank, of NCCL 2.28.9 and 2.30.7). That is enough
 * for what a start costs and for what its kernels take from compute; it is not enough for
 * the latency or rate of any link, for the choice of algorithms, or for channels.
 */
#pragma once

#include "calibrate/gpu/plugin/session.h"

/** 0 with a fault if there is no NCCL. */
uint32_t nccl_version(GpuSession *session, GpuFault *fault);

/** A communicator of the first device alone, once. */
bool nccl_open_alone(GpuSession *session, GpuFault *fault);
void nccl_free(Nccl *nccl);

/** One all-reduce of @p n_B bytes of fp32 on the first device alone, from its random values
 *  @p to somewhere, on @p stream. */
bool nccl_one_rank(GpuSession *session, void *to, uint64_t n_B, bool average,
                   cudaStream_t stream, GpuFault *fault);

/** @p n_calls of 8 B in one group. */
bool nccl_group_of_one(GpuSession *session, uint32_t n_calls, GpuFault *fault);

/** GpuPlugin.exchange. */
bool nccl_exchange(GpuSession *session, const GpuExchange *exchange, double *time_s,
                   uint32_t n, uint32_t *flags, GpuFault *fault);
