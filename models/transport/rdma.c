/**
 * @file rdma.c
 * @brief RDMA over InfiniBand or over Ethernet (RoCEv2): headers, losses, staging.
 *
 *     goodput = MTU / (MTU + headers), the MTU being payload
 *     of which losses leave (1 - p) / (1 + (W - 1) p)  (go_back_n, W packets in flight)
 *                           1 - p                      (selective_repeat)
 *
 * InfiniBand 26 B: LRH 8, BTH 12, invariant CRC 4, variant CRC 2. RoCEv2 82 B: Ethernet
 * 38 (preamble 8, MAC header 14, frame check 4, gap 12), IPv4 20, UDP 8, BTH 12,
 * invariant CRC 4. The RETH of a message's first packet (16 B) is left out.
 * Source: InfiniBand Architecture Specification 1.2.1 and its annex A17 (RoCEv2);
 * selective repeat: R. Mittal et al., "Revisiting network support for RDMA", SIGCOMM 2018.
 *
 * A message whose last packet is lost waits for the timeout, which adds p x timeout to the
 * mean. Priority flow control (IEEE 802.1Qbb) and InfiniBand's credits lose nothing, but
 * pause ports that others need.
 */
#include "models/transport/path.h"

#include <math.h>
#include <string.h>

typedef enum { LINK_LAYER_IB, LINK_LAYER_ROCE } RdmaLinkLayer;
typedef enum { RECOVERY_GO_BACK_N, RECOVERY_SELECTIVE_REPEAT } Recovery;

static const char *const link_layer_names[] = { "ib", "roce", NULL };
static const char *const recovery_names[] = { "go_back_n", "selective_repeat", NULL };

enum { IB_HEADERS_B = 8 + 12 + 4 + 2, ROCE_HEADERS_B = 38 + 20 + 8 + 12 + 4 };

typedef struct {
  guint64 mtu_B;
  guint link_layer; /* RdmaLinkLayer */
  double latency_s;
  bool gpu_direct;
  guint n_qps;
  bool pfc;
  double pause;
  guint recovery; /* Recovery */
  double timeout_s;
  double registration_s;
  PathParams path;
} RdmaParams;

// clang-format off
static const ParamSpec rdma_params[] = {
  { .key = "mtu", .type = PARAM_BYTES, .offset = offsetof(RdmaParams, mtu_B),
    .fallback = "4096 B", .min = 256, .max = 4096,
    .help = "payload of one packet", .origin = "largest of the InfiniBand specification" },
  { .key = "link_layer", .type = PARAM_NAME, .offset = offsetof(RdmaParams, link_layer),
    .names = link_layer_names, .fallback = "ib", .help = "whose headers the packets carry",
    .origin = "InfiniBand" },
  { .key = "latency", .type = PARAM_SECONDS, .offset = offsetof(RdmaParams, latency_s),
    .fallback = "0.82 us", .min = 0, .max = 1,
    .help = "of a small message through both adapters, one way",
    .origin = "ib_send_lat, 32 B over InfiniBand RC, git.dennispotter.eu" },
  { .key = "gpu_direct", .type = PARAM_BOOL, .offset = offsetof(RdmaParams, gpu_direct),
    .fallback = "true", .help = "NICs read and write GPU memory; else data passes the host's",
    .origin = "GPUDirect RDMA, NCCL_NET_GDR_LEVEL" },
  { .key = "qps_per_connection", .type = PARAM_COUNT, .offset = offsetof(RdmaParams, n_qps),
    .fallback = "1", .min = 1, .max = 128,
    .help = "NCCL_IB_QPS_PER_CONNECTION: paths that hashed ecmp spreads one peer over",
    .origin = "nccl 2.30.7" },
  { .key = "pfc", .type = PARAM_BOOL, .offset = offsetof(RdmaParams, pfc),
    .fallback = "true", .help = "RoCE: switches pause senders instead of losing packets",
    .origin = "RoCE deployments: lossless Ethernet" },
  { .key = "pause", .type = PARAM_FRACTION, .offset = offsetof(RdmaParams, pause),
    .fallback = "0 %", .min = 0, .max = 0.99,
    .help = "share of the time that pfc or credits keep a port waiting for other flows",
    .origin = "none unless given" },
  { .key = "recovery", .type = PARAM_NAME, .offset = offsetof(RdmaParams, recovery),
    .names = recovery_names, .fallback = "go_back_n",
    .help = "what is sent again after a loss: all since then, or what was lost",
    .origin = "InfiniBand Architecture Specification 1.2.1" },
  { .key = "timeout", .type = PARAM_SECONDS, .offset = offsetof(RdmaParams, timeout_s),
    .fallback = "4.3 s", .min = 0, .max = 1e4,
    .help = "before a message whose last packet was lost is sent again",
    .origin = "nccl 2.30.7: NCCL_IB_TIMEOUT 20, 4.096 us x 2^20" },
  { .key = "registration", .type = PARAM_SECONDS,
    .offset = offsetof(RdmaParams, registration_s), .fallback = "0 s", .min = 0, .max = 1,
    .help = "of memory, for each message; 0 s: once, then cached",
    .origin = "NCCL registers its buffers once" },
  PATH_PARAMS(RdmaParams, path, "true", "NICs read registered buffers"),
  PARAM_END,
};
// clang-format on

static bool can_lose(const RdmaParams *params)
{
  return params->link_layer == LINK_LAYER_ROCE && !params->pfc;
}

static bool rdma_check(const void *data, GError **error)
{
  const RdmaParams *params = data;
  const char *cause = NULL;

  if (params->path.loss > 0 && !can_lose(params))
    cause = "loss: neither InfiniBand nor pfc loses packets; it needs \"link_layer\": "
            "\"roce\" and \"pfc\": false";
  else if (params->pause > 0 && can_lose(params))
    cause = "pause: without pfc nobody pauses; set pfc to true, or leave pause out";
  else if (!params->path.zero_copy && params->gpu_direct)
    cause = "zero_copy: the CPU copies nothing that stays in GPU memory; set gpu_direct to "
            "false too";
  if (cause == NULL)
    return true;
  g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE, cause);
  return false;
}

/* Share of the packets sent that bring something new. */
static double useful_share(const RdmaParams *params, const TransportLink *link)
{
  const double rtt_s = path_rtt_s(&params->path, params->latency_s, link);
  const double loss = params->path.loss;
  const double in_flight = MAX(1, link->nic_rate_Bps * rtt_s / (double)params->mtu_B);

  if (params->recovery == RECOVERY_SELECTIVE_REPEAT)
    return 1 - loss;
  return (1 - loss) / (1 + (in_flight - 1) * loss);
}

static bool rdma_uses(const void *data, const char *key)
{
  const RdmaParams *params = data;

  return path_uses(&params->path, params->gpu_direct, key) &&
         (params->path.loss > 0 || strcmp(key, "timeout") != 0);
}

static TransportEffect rdma_apply(const void *data, const TransportLink *link)
{
  const RdmaParams *params = data;
  const PathParams *path = &params->path;
  const double mtu_B = (double)params->mtu_B;
  const guint headers_B =
    params->link_layer == LINK_LAYER_ROCE ? ROCE_HEADERS_B : IB_HEADERS_B;
  const double useful = useful_share(params, link);
  const double copies_s = params->gpu_direct ? 0 : 2 * path->copy_latency_s;

  return (TransportEffect){
    .goodput =
      path_goodput(path, mtu_B / (mtu_B + headers_B)) * useful * (1 - params->pause),
    .flow_cap_Bps = path->zero_copy ? INFINITY : path->copy_rate_Bps,
    .n_paths = params->n_qps,
    .message_latency_s = path_latency_s(path, params->latency_s) + params->registration_s +
                         copies_s + path->loss * params->timeout_s,
    .link_latency_s = path->fec_latency_s,
    .retransmission_rate = 1 - useful,
    .gpu_direct = params->gpu_direct,
    .host_memory_Bps = path_host_memory_Bps(path),
    .incast.buffer_B = INFINITY,
  };
}

const TransportOps transport_rdma = {
  .info = {
    .name = "rdma",
    .summary = "RDMA over InfiniBand or RoCEv2",
    .source = "InfiniBand Architecture Specification 1.2.1, annex A17",
    .params = rdma_params,
    .params_size = sizeof(RdmaParams),
  },
  .check = rdma_check,
  .uses = rdma_uses,
  .apply = rdma_apply,
};
