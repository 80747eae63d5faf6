/**
 * @file cxi.c
 * @brief Slingshot through libfabric's provider cxi: RDMA whose messages cost the CPU time.
 *
 *     goodput = MTU / (MTU + headers) x (1 - losses)
 *
 * Slingshot is Ethernet with headers of its own; RoCEv2's 82 B are taken for them. Its
 * links send a lost packet again by themselves.
 *
 * A small message is sent before anybody knows where it belongs. With matching in software
 * it arrives in a buffer of the host, and a CPU copies it into the memory of the GPU:
 * itself up to FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD, through GDRCopy beyond. Large messages
 * are fetched by the receiver's NIC, once the receiver has matched them, and how soon one
 * follows another depends on how far the sending GPU is from its NIC. Source: fi_cxi(7) and
 * prov/cxi/include/cxip.h of ofiwg/libfabric; HewlettPackard/ shs-ccl-docs, pull request
 * 21, on small messages that spill into host memory.
 */
#include "models/transport/path.h"

#include <math.h>

enum { HEADERS_B = 38 + 20 + 8 + 12 + 4 };

typedef struct {
  guint64 mtu_B;
  double latency_s;
  bool gpu_direct;
  TransportMessages messages;
  PathParams path;
} CxiParams;

#define FITTED "fitted: make fit, tests/validate/fit.json"

// clang-format off
static const ParamSpec cxi_params[] = {
  { .key = "mtu", .type = PARAM_BYTES, .offset = offsetof(CxiParams, mtu_B),
    .fallback = "2048 B", .min = 256, .max = 9000, .help = "payload of one packet",
    .origin = "assumed: FI_CXI_RDZV_GET_MIN avoids gets of a single packet, up to 2049 B" },
  { .key = "latency", .type = PARAM_SECONDS, .offset = offsetof(CxiParams, latency_s),
    .fallback = "0.82 us", .min = 0, .max = 1,
    .help = "of a small message through both adapters, one way",
    .origin = "assumed: InfiniBand's" },
  { .key = "gpu_direct", .type = PARAM_BOOL, .offset = offsetof(CxiParams, gpu_direct),
    .fallback = "true", .help = "NICs read and write GPU memory; else data passes the host's",
    .origin = "FI_HMEM of fi_cxi(7)" },
  { .key = "message_gap", .type = PARAM_SECONDS,
    .offset = offsetof(CxiParams, messages.gap_s), .fallback = "5.5 us", .min = 0, .max = 1,
    .help = "between two large messages that one GPU sends or receives",
    .origin = FITTED },
  { .key = "message_rate", .type = PARAM_RATE,
    .offset = offsetof(CxiParams, messages.large_Bps), .fallback = "6.2 GB/s", .min = 1e6,
    .max = 1e15, .help = "what one large message moves at; several fill the NIC",
    .origin = FITTED },
  { .key = "rdzv_threshold", .type = PARAM_BYTES,
    .offset = offsetof(CxiParams, messages.small_B), .fallback = "16 KiB", .min = 0,
    .max = 1ull << 40,
    .help = "FI_CXI_RDZV_THRESHOLD: larger messages are fetched by the receiver's NIC",
    .origin = "HPE Cassini libfabric; 2 KiB in ofiwg/libfabric's own prov/cxi" },
  { .key = "devmem_copy_threshold", .type = PARAM_BYTES,
    .offset = offsetof(CxiParams, messages.near_limit_B), .fallback = "4 KiB", .min = 0,
    .max = 1ull << 40,
    .help = "FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD: the CPU itself copies messages up to here",
    .origin = "prov/cxi/include/cxip.h, CXIP_SAFE_DEVMEM_COPY_THRESH" },
  { .key = "devmem_copy_rate", .type = PARAM_RATE,
    .offset = offsetof(CxiParams, messages.near_Bps), .fallback = "2.4 GB/s", .min = 1e6,
    .max = 1e15, .help = "of a CPU that writes GPU memory", .origin = FITTED },
  { .key = "gdrcopy_latency", .type = PARAM_SECONDS,
    .offset = offsetof(CxiParams, messages.slow_s), .fallback = "8.2 us", .min = 0, .max = 1,
    .help = "of copies beyond devmem_copy_threshold", .origin = FITTED },
  { .key = "gdrcopy_rate", .type = PARAM_RATE,
    .offset = offsetof(CxiParams, messages.slow_Bps), .fallback = "9.5 GB/s", .min = 1e6,
    .max = 1e15, .help = "of copies beyond devmem_copy_threshold", .origin = FITTED },
  PATH_OTHER_PARAMS(CxiParams, path, "true", "NICs read registered buffers"),
  PARAM_END,
};
// clang-format on

static bool cxi_check(const void *data, GError **error)
{
  const CxiParams *params = data;

  if (params->path.zero_copy || !params->gpu_direct)
    return true;
  g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE,
                      "zero_copy: the CPU copies nothing that stays in GPU memory; set "
                      "gpu_direct to false too");
  return false;
}

static bool cxi_uses(const void *data, const char *key)
{
  const CxiParams *params = data;
  return path_uses(&params->path, params->gpu_direct, key);
}

static TransportEffect cxi_apply(const void *data, const TransportLink *link G_GNUC_UNUSED)
{
  const CxiParams *params = data;
  const PathParams *path = &params->path;
  const double mtu_B = (double)params->mtu_B;
  const double copies_s = params->gpu_direct ? 0 : 2 * path->copy_latency_s;

  return (TransportEffect){
    .goodput = path_goodput(path, mtu_B / (mtu_B + HEADERS_B)) * (1 - path->loss),
    .flow_cap_Bps = path->zero_copy ? INFINITY : path->copy_rate_Bps,
    .n_paths = 1,
    .message_latency_s = path_latency_s(path, params->latency_s) + copies_s,
    .link_latency_s = path->fec_latency_s,
    .retransmission_rate = path->loss,
    .gpu_direct = params->gpu_direct,
    .host_memory_Bps = path_host_memory_Bps(path),
    .messages = params->messages,
    .incast.buffer_B = INFINITY,
  };
}

const TransportOps transport_cxi = {
  .info = {
    .name = "cxi",
    .summary = "HPE Slingshot through libfabric",
    .source = "fi_cxi(7); ofiwg/libfabric prov/cxi",
    .params = cxi_params,
    .params_size = sizeof(CxiParams),
  },
  .check = cxi_check,
  .uses = cxi_uses,
  .apply = cxi_apply,
};
