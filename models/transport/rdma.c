/**
 * @file rdma.c
 * @brief RDMA over InfiniBand or over Ethernet (RoCEv2): what headers leave.
 *
 *     goodput = MTU / (MTU + headers), the MTU being payload
 *
 * InfiniBand 26 B: LRH 8, BTH 12, invariant CRC 4, variant CRC 2. RoCEv2 82 B: Ethernet
 * 38 (preamble 8, MAC header 14, frame check 4, gap 12), IPv4 20, UDP 8, BTH 12,
 * invariant CRC 4. The RETH of a message's first packet (16 B) is left out.
 * Source: InfiniBand Architecture Specification 1.2.1 and its annex A17 (RoCEv2).
 */
#include "models/transport.h"

#include <math.h>

typedef enum { LINK_LAYER_IB, LINK_LAYER_ROCE } RdmaLinkLayer;

static const char *const link_layer_names[] = { "ib", "roce", NULL };

enum { IB_HEADERS_B = 8 + 12 + 4 + 2, ROCE_HEADERS_B = 38 + 20 + 8 + 12 + 4 };

typedef struct {
  guint64 mtu_B;
  guint link_layer; /* RdmaLinkLayer */
  double latency_s;
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
  PARAM_END,
};
// clang-format on

static TransportEffect rdma_apply(const void *data, double nic_rate_Bps G_GNUC_UNUSED)
{
  const RdmaParams *params = data;
  const double mtu_B = (double)params->mtu_B;
  const guint headers_B =
    params->link_layer == LINK_LAYER_ROCE ? ROCE_HEADERS_B : IB_HEADERS_B;

  return (TransportEffect){
    .goodput = mtu_B / (mtu_B + headers_B),
    .flow_cap_Bps = INFINITY,
    .message_latency_s = params->latency_s,
    .gpu_direct = true,
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
  .apply = rdma_apply,
};
