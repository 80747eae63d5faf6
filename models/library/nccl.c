/**
 * @file nccl.c
 * @brief NCCL: the algorithm and protocol that its own cost model predicts fastest.
 *
 *     time = base + local hops * local + hops between nodes * net + bytes / bandwidth
 *
 * per algorithm and protocol, with the latencies below. The bandwidth comes from the flow
 * set on this cluster instead of from NCCL's search of its graph.
 *
 * Source: NCCL 2.30.7, src/graph/tuning.cc, ncclTopoTuneModel() and
 * ncclTopoGetAlgoTime(); NVIDIA/nccl@5067397c2676. Left out: the caps of LL and LL128 per
 * channel, the "plateau" factor of Ring/Simple, and channels.
 */
#include "models/library.h"

typedef enum { PROTO_SIMPLE, PROTO_LL, PROTO_LL128, PROTO_N } Proto;

/* What a scenario says: a protocol, or PROTO_N for the fastest. */
static const char *const proto_names[] = {
  [PROTO_SIMPLE] = "simple",
  [PROTO_LL] = "ll",
  [PROTO_LL128] = "ll128",
  [PROTO_N] = "auto",
  NULL,
};

static const char *const algo_names[] = { "ring", NULL };

/** Constants of one protocol of Ring, in the units of tuning.cc turned into SI. */
typedef struct {
  double base_s;         /**< baseLatencies */
  double nvlink_s;       /**< hwLatencies NVLINK, per hop */
  double pcie_s;         /**< hwLatencies PCI, per hop */
  double net_s;          /**< hwLatencies NET, per hop */
  double net_one_gpu_s;  /**< the same where nodes have one GPU each: Tree's */
  double overhead_times; /**< NCCL_NET_OVERHEAD counts so often per hop */
  double wire_factor; /**< bytes on the wire per byte: LL has a flag per 4 B, LL128 one of
                           8 B per 128 B (src/include/device.h) */
} ProtoModel;

static const ProtoModel models[PROTO_N] = {
  [PROTO_SIMPLE] = { 8.4e-6, 3.4e-6, 5.7e-6, 14e-6, 14e-6, 3, 1 },
  [PROTO_LL] = { 6.6e-6, 0.6e-6, 1.0e-6, 2.7e-6, 5.0e-6, 1, 2 },
  [PROTO_LL128] = { 14e-6, 1.9e-6, 2.5e-6, 4.0e-6, 8.5e-6, 1, 128.0 / 120 },
};

/** The NET latencies were tuned on InfiniBand and contain one of its messages: 32 B over
 *  RC take this long (ib_send_lat, git.dennispotter.eu) [s]. */
static const double infiniband_message_s = 0.82e-6;

typedef struct {
  guint algo;  /* index into algo_names */
  guint proto; /* Proto, or PROTO_N */
  double net_overhead_s;
} NcclParams;

// clang-format off
static const ParamSpec nccl_params[] = {
  { .key = "algo", .type = PARAM_NAME, .offset = offsetof(NcclParams, algo),
    .names = algo_names, .fallback = "ring", .help = "NCCL_ALGO: the only one so far",
    .origin = "assumed: trees and NVLS are not modelled yet" },
  { .key = "proto", .type = PARAM_NAME, .offset = offsetof(NcclParams, proto),
    .names = proto_names, .fallback = "auto",
    .help = "NCCL_PROTO; auto: whichever is predicted fastest for the size",
    .origin = "nccl 2.30.7" },
  { .key = "net_overhead", .type = PARAM_SECONDS,
    .offset = offsetof(NcclParams, net_overhead_s), .fallback = "1 us", .min = 0, .max = 1,
    .help = "NCCL_NET_OVERHEAD: least time of a hop between several nodes; 2 us on AMD",
    .origin = "nccl 2.30.7 src/graph/tuning.cc, Intel CPUs" },
  PARAM_END,
};
// clang-format on

/* All-to-all is a group of sends and receives. */
static const CollOps *algorithm(CollKind kind)
{
  return kind == COLL_ALL_TO_ALL ? &coll_direct : coll_default(kind);
}

static void nccl_candidates(const void *data G_GNUC_UNUSED, const LibraryCall *call,
                            GPtrArray *collectives)
{
  g_ptr_array_add(collectives, (gpointer)algorithm(call->kind));
}

/* LL128 needs stores of 128 B that arrive whole: over NVLink, and between nodes with NICs
 * that read GPU memory. */
static bool can_use(const LibraryCall *call, guint proto)
{
  if (proto != PROTO_LL128)
    return true;
  const bool inside = call->ranks_per_node == 1 || call->nvlink;
  const bool between = call->n_nodes == 1 || call->gpu_direct;
  return inside && between;
}

static LibraryChoice choice_of(const NcclParams *params, const LibraryCall *call,
                               guint proto)
{
  const ProtoModel *model = &models[proto];
  const double hop_s = call->nvlink ? model->nvlink_s : model->pcie_s;
  const double net_s = call->ranks_per_node == 1 ? model->net_one_gpu_s : model->net_s;
  const double overhead_s =
    call->n_nodes > 1 ? model->overhead_times * params->net_overhead_s : 0;

  return (LibraryChoice){
    .collective = algorithm(call->kind),
    .protocol = proto_names[proto],
    .launch_s = model->base_s,
    .terms = { .alpha_local_s = MAX(hop_s, overhead_s),
               .alpha_net_s =
                 MAX(0, net_s + call->message_latency_s - infiniband_message_s),
               .wire_factor = model->wire_factor,
               .additive = true },
  };
}

static double predict_s(const LibraryCall *call, const LibraryChoice *choice, double size_B)
{
  const GArray *phases = call->phases_of(choice->collective, call->data);
  double time_s = choice->launch_s;

  for (guint i = 0; i < phases->len; i++)
    time_s +=
      coll_phase_idle_s(&g_array_index(phases, CollPhase, i), &choice->terms, size_B);
  return time_s;
}

static LibraryChoice nccl_choose(const void *data, const LibraryCall *call, double size_B)
{
  const NcclParams *params = data;
  if (params->proto != PROTO_N)
    return choice_of(params, call, params->proto);

  LibraryChoice best = choice_of(params, call, PROTO_SIMPLE);
  double best_s = predict_s(call, &best, size_B);
  for (guint proto = PROTO_SIMPLE + 1; proto < PROTO_N; proto++) {
    const LibraryChoice other = choice_of(params, call, proto);
    const double other_s = predict_s(call, &other, size_B);
    if (can_use(call, proto) && other_s < best_s) {
      best = other;
      best_s = other_s;
    }
  }
  return best;
}

const LibraryOps library_nccl = {
  .info = {
    .name = "nccl",
    .summary = "NCCL's cost model picks the protocol by size",
    .source = "NCCL 2.30.7 src/graph/tuning.cc, NVIDIA/nccl@5067397c2676",
    .params = nccl_params,
    .params_size = sizeof(NcclParams),
  },
  .candidates = nccl_candidates,
  .choose = nccl_choose,
};
