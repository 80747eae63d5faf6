/**
 * @file nccl_terms.c
 * @brief What an algorithm and protocol of NCCL cost: chunks, hops, limits of channels.
 *
 * The latencies and limits are those of the latest release's tuner. What the tuner leaves
 * out, and what makes it 20 to 70 % too fast between 64 KiB and 64 MiB on several nodes, is
 * that data travels in chunks of NCCL's choice:
 *
 * - A tree hands a chunk on when it has arrived. All channels together have chunks of up to
 *   8 MiB (16 channels of 512 KiB), so most messages are one chunk, and every hop costs the
 *   time of the whole message. CollTerms.chunk_B says how large; the phases how far.
 * - The chunk of a ring passes all ranks, a slice at a time. Either its way takes longest,
 *   or the bytes that the busiest link carries; near the crossing both are felt. So the
 *   terms are additive only in form: the hops of a ring hold what of them is felt.
 * - Proxy threads carry messages between nodes one after another: nccl_proxy.c.
 *
 * Source of the chunks: calcCollChunking() and scheduleCollTasksToPlan() in src/enqueue.cc;
 * steps and slices: src/include/device.h, src/include/collectives.h; NVIDIA/nccl 2.30.
 */
#include "models/library/nccl.h"

#include <math.h>

/* NCCL_STEPS: parts of the buffer of a connection. */
static const double n_steps_of_buffer = 8;
/* ALLREDUCE_CHUNKSTEPS: a ring's chunk has half the buffer. */
static const double ring_chunk_steps = 4;
/* A ring's chunk travels in two slices: ALLREDUCE_SLICESTEPS is half the chunk's. */
static const double ring_slice = 0.5;
/* NCCL_LL_LINES_PER_THREAD 8 x NCCL_LL_MAX_NTHREADS 512 x 16 B, half of it data. */
static const double ll_chunk_B = 32 * 1024.0;
/* NCCL_LL128_ELEMS_PER_THREAD 120 x NCCL_LL128_MAX_NTHREADS 640 x 8 B, 15/16 data. */
static const double ll128_chunk_B = 600 * 1024.0 * 120 / 128;
/* nvlsChunkSize, and NVLSTREE_MAX_CHUNKSIZE from four nodes on. */
static const double nvls_chunk_B = 128 * 1024.0, nvls_tree_chunk_B = 64 * 1024.0;
/* NCCL_NVLS_NCHANNELS of Hopper and later. */
static const double n_nvls_channels = 16;

const char *nccl_proto_name(NcclProto proto)
{
  static const char *const names[NCCL_N_PROTOS] = { "ll", "ll128", "simple" };
  return names[proto];
}

double nccl_wire_factor(NcclProto proto)
{
  static const double factors[NCCL_N_PROTOS] = { 2, 128.0 / 120, 1 };
  return factors[proto];
}

/* Halve the chunk of LL128 trees until there are enough of them to fill the tree. */
static double tree_ll128_chunk_B(const LibraryCall *call, double n_channels, double size_B)
{
  const double g = call->ranks_per_node;
  const double n_hops = 1 + floor(log2(call->n_nodes)) + 0.1 * g;
  const double channel_B = size_B / n_channels;
  double chunk_B = ll128_chunk_B;

  while (floor(channel_B / chunk_B) < n_hops * 64 / g && chunk_B > 128 * 1024)
    chunk_B /= 2;
  while (floor(channel_B / chunk_B) < n_hops * 16 / g && chunk_B > 32 * 1024)
    chunk_B /= 2;
  return chunk_B;
}

/* As NCCL: smaller chunks while there would be few of them. */
static double shrink(double chunk_B, double to_B, double size_B, double n_chunks)
{
  return size_B < n_chunks * chunk_B && chunk_B > to_B ? to_B : chunk_B;
}

/* Of all channels and heads together. */
static double nvls_chunks_B(const LibraryCall *call, NcclAlgo algo, double size_B)
{
  const double at_once = n_nvls_channels * call->ranks_per_node;
  double chunk_B = nvls_chunk_B;

  if (algo == NCCL_NVLS) {
    chunk_B = shrink(chunk_B, 64 * 1024, size_B, 64 * at_once);
    chunk_B = shrink(chunk_B, 32 * 1024, size_B, 8 * at_once);
    return at_once * shrink(chunk_B, 16 * 1024, size_B, 2 * at_once);
  }
  if (call->n_nodes >= 4)
    chunk_B = nvls_tree_chunk_B;
  chunk_B = shrink(chunk_B, 64 * 1024, size_B, 4 * at_once);
  return at_once * shrink(chunk_B, 32 * 1024, size_B, at_once);
}

/* What all @p n channels send at once. */
static double chunks_B(const NcclParams *params, const LibraryCall *call, NcclAlgo algo,
                       NcclProto proto, double n, double size_B)
{
  const double step_B = (double)params->buffsize_B / n_steps_of_buffer;

  if (algo == NCCL_NVLS || algo == NCCL_NVLS_TREE)
    return nvls_chunks_B(call, algo, size_B);
  if (proto == NCCL_LL)
    return n * ll_chunk_B;
  if (proto == NCCL_LL128)
    return n * (algo == NCCL_TREE ? tree_ll128_chunk_B(call, n, size_B) : ll128_chunk_B);
  return n * step_B * (algo == NCCL_RING ? ring_chunk_steps : 1);
}

/* Bus bandwidth that @p n_channels reach at most, in the sense of the tuner; INFINITY: only
 * links limit. Its channels are those that its search finds, before they are doubled. */
static double limit_Bps(const NcclParams *params, const NcclLayout *layout,
                        const LibraryCall *call, NcclAlgo algo, NcclProto proto,
                        double n_channels)
{
  const NcclVersion *latest = nccl_latest();
  const double n = MIN(layout->n_found, n_channels);

  if (algo == NCCL_NVLS || algo == NCCL_COLLNET)
    return INFINITY;
  if (algo == NCCL_NVLS_TREE)
    return call->ranks_per_node * latest->nvls_tree_Bps[layout->arch][layout->scale];
  if (proto == NCCL_LL)
    return call->n_nodes == 1 ? layout->ll_max_Bps
                              : nccl_ll_proxies_Bps(params, layout, n_channels);
  if (algo == NCCL_RING)
    return proto == NCCL_LL128
             ? n * latest->ring_ll128_Bps[layout->arch]
             : n_channels * nccl_channel_Bps(&params->costs, layout->arch);
  return n * (proto == NCCL_LL128 ? latest->tree_ll128_Bps
                                  : latest->tree_Bps)[layout->arch][layout->scale];
}

/* Where GPUs copy through host memory, a channel's loads over PCIe bound it, flags or not.
 */
static double limit_shm_Bps(const NcclParams *params, const LibraryCall *call,
                            NcclProto proto, double n_channels, double limit)
{
  if (!call->through_host || call->ranks_per_node == 1)
    return limit;
  return MIN(limit, n_channels * params->costs.shm_Bps / nccl_wire_factor(proto));
}

/* What the busiest rank of @p phase may send per second for the bus bandwidth to be the
 * limit; 0: only links limit. */
static double rank_Bps(const LibraryCall *call, const CollPhase *phase, NcclAlgo algo,
                       double limit)
{
  const double n = (double)call->n_nodes * call->ranks_per_node;
  const double bus_share = algo == NCCL_TREE ? 2 : 2 * (n - 1) / n;

  if (!isfinite(limit))
    return 0;
  return algo == NCCL_RING ? limit : limit * phase->rank_share / bus_share;
}

/* NVLS: a rank's port carries the buffer and its own block of it, at what multimem loads
 * and stores get out of NVLink; and between nodes no more than channels do. */
static void limit_nvls(const NcclLayout *layout, const LibraryCall *call,
                       const CollPhase *phase, CollTerms *terms)
{
  const double port_share = 1 + 1.0 / call->ranks_per_node;
  const double port_Bps =
    nccl_nvls_efficiency(layout->arch) * call->local_Bps * phase->rank_share / port_share;

  terms->rank_Bps = terms->rank_Bps > 0 ? MIN(terms->rank_Bps, port_Bps) : port_Bps;
  terms->alpha_local_s /= MAX(1, phase->n_local_hops); /* the table has all of them */
}

/* Make the chain of a ring hide behind its busiest link, or its busiest proxy, as far as it
 * does: the terms then hold what of the hops is felt. */
static void overlap_ring(double power, const CollPhase *phase, double size_B,
                         double proxies_s, CollTerms *terms)
{
  const double hops_s =
    phase->n_local_hops * terms->alpha_local_s + phase->n_net_hops * terms->alpha_net_s;
  const double link_s =
    coll_phase_idle_s(phase, terms, size_B) - coll_phase_wait_s(phase, terms, size_B);
  const double chain_s = hops_s + phase->path_latency_s;
  const double busiest_s = MAX(link_s, proxies_s);
  const double longer_s = MAX(chain_s, busiest_s), shorter_s = MIN(chain_s, busiest_s);
  const double all_s =
    longer_s > 0 ? longer_s * pow(1 + pow(shorter_s / longer_s, power), 1 / power) : 0;
  const double felt_s = MAX(0, all_s - link_s - phase->path_latency_s);

  if (hops_s > 0) {
    terms->alpha_local_s *= felt_s / hops_s;
    terms->alpha_net_s *= felt_s / hops_s;
  } else if (phase->n_net_hops > 0) {
    terms->alpha_net_s = felt_s / phase->n_net_hops; /* free hops, busy proxies */
  }
}

/* Every hop of a ring waits for a slice; lines of LL and LL128 go on at once inside a
 * node, and wait for the network thread between nodes. */
static void add_slices(const NcclLayout *layout, const LibraryCall *call, NcclProto proto,
                       double chunk_B, CollTerms *terms)
{
  const double wire_B = chunk_B * terms->wire_factor;

  if (proto == NCCL_SIMPLE)
    terms->alpha_local_s += ring_slice * wire_B / call->local_Bps;
  if (call->n_nodes > 1)
    terms->alpha_net_s += (proto == NCCL_SIMPLE ? ring_slice : 1) *
                          MAX(wire_B / MIN(call->node_Bps, layout->net_Bps),
                              terms->rank_Bps > 0 ? chunk_B / terms->rank_Bps : 0);
}

static void finish_ring(const NcclCosts *costs, const NcclLayout *layout,
                        const LibraryCall *call, NcclProto proto, const CollPhase *phase,
                        double n_channels, double size_B, CollTerms *terms)
{
  const double n_ranks = (double)call->n_nodes * call->ranks_per_node;
  const double chunk_B = MIN(size_B / n_ranks, terms->chunk_B);
  const double overhead_s = layout->net_overhead_s * (proto == NCCL_SIMPLE ? 3 : 1);

  terms->alpha_local_s = MAX(terms->alpha_local_s, overhead_s);
  if (proto == NCCL_LL && call->n_nodes > 1)
    terms->alpha_net_s +=
      transport_copy_s(&call->messages, chunk_B / n_channels * terms->wire_factor);
  add_slices(layout, call, proto, chunk_B, terms);
  overlap_ring(costs->ring_overlap, phase, size_B,
               nccl_ring_proxies_s(layout, call, proto, n_channels, chunk_B, size_B),
               terms);
}

LibraryChoice nccl_terms(const NcclParams *params, const NcclLayout *layout,
                         const LibraryCall *call, NcclAlgo algo, NcclProto proto,
                         double size_B)
{
  const NcclCosts *costs = &params->costs;
  const double n_channels = nccl_channels(layout, call, algo, proto, size_B);
  const double chunk_B = chunks_B(params, call, algo, proto, n_channels, size_B);
  const double hop_B = algo == NCCL_RING ? 0 : MIN(size_B, chunk_B);
  LibraryChoice choice = {
    .collective = nccl_collective(algo),
    .protocol = nccl_proto_name(proto),
    .launch_s = costs->base_s[algo][proto],
    .terms = {
      .alpha_local_s = costs->hop_s[layout->local_hop][algo][proto],
      .alpha_net_s = nccl_net_hop_s(params, layout, call, algo, proto, n_channels, hop_B),
      .wire_factor = nccl_wire_factor(proto),
      .chunk_B = chunk_B,
      .additive = true,
    },
    .n_channels = n_channels,
  };
  if (algo == NCCL_PAT)
    return nccl_pat_terms(costs, layout, call);
  const GArray *phases = call->phases_of(choice.collective, call->data);
  if (phases->len == 0)
    return choice; /* one rank */

  const CollPhase *phase = &g_array_index(phases, CollPhase, 0);
  const double bus_Bps = limit_Bps(params, layout, call, algo, proto, n_channels);
  choice.terms.rank_Bps =
    rank_Bps(call, phase, algo, limit_shm_Bps(params, call, proto, n_channels, bus_Bps));
  if (algo == NCCL_RING)
    finish_ring(costs, layout, call, proto, phase, n_channels, size_B, &choice.terms);
  else if (algo == NCCL_NVLS || algo == NCCL_NVLS_TREE)
    limit_nvls(layout, call, phase, &choice.terms);
  else if (proto == NCCL_LL && call->n_nodes > 1)
    nccl_add_ll_proxies(params, layout, call, phase, n_channels, size_B, &choice.terms);
  return choice;
}
