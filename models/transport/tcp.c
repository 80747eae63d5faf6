/**
 * @file tcp.c
 * @brief TCP/IPv4 over Ethernet: headers, windows, losses, and the cores that run it.
 *
 *     goodput = (MTU - IP 20 - TCP 20 - timestamps 12) / (MTU + Ethernet 38)
 *     rate of a connection = min(window / RTT, core, loss)
 *     window = min(window, tcp_rmem / 2, tcp_wmem)
 *     core   = 1 / (1 / copy_rate + packet_cost / bytes per packet that the CPU sees)
 *     loss   = MSS / RTT sqrt(3/2 / p)                                           (mathis)
 *     loss   = MSS / (RTT sqrt(4/3 p) + RTO p (1 + 32 p^2) min(1, 3 sqrt(3/4 p))) (pftk)
 *
 * Ethernet's 38 B per frame: preamble 8, MAC header 14, frame check 4, gap 12 (IEEE
 * 802.3). IP and TCP: RFC 791, RFC 9293; timestamps with padding: RFC 7323. Half of a
 * receive buffer is window: Linux, ip-sysctl, tcp_adv_win_scale. M. Mathis et al., "The
 * macroscopic behavior of the TCP congestion avoidance algorithm", CCR 27(3), 1997. J.
 * Padhye et al., "Modeling TCP throughput", SIGCOMM 1998, acknowledging every second
 * packet. At the round trips of a data centre CUBIC sends as Reno does, which both
 * formulas describe (RFC 9438, section 4.3).
 *
 * Data of a GPU always passes through host memory. Retransmissions use up the line.
 */
#include "models/transport/path.h"

#include <math.h>
#include <string.h>

typedef enum { OFFLOAD_NONE, OFFLOAD_SEGMENTATION, OFFLOAD_NIC } Offload;
typedef enum { CONTROL_CUBIC, CONTROL_DCTCP } CongestionControl;
typedef enum { LOSS_MATHIS, LOSS_PFTK } LossModel;

static const char *const offload_names[] = { "none", "segmentation", "nic", NULL };
static const char *const control_names[] = { "cubic", "dctcp", NULL };
static const char *const loss_model_names[] = { "mathis", "pftk", NULL };

enum { ETHERNET_B = 38, IP_B = 20, TCP_B = 20, TIMESTAMPS_B = 12 };

/* What the CPU handles at once with segmentation offload: Linux, GSO_MAX_SIZE. */
static const double segment_B = 65536;

/* NCCL_SOCKET_NTHREADS x NCCL_NSOCKS_PERTHREAD. */
static const guint max_sockets = 64;

typedef struct {
  guint64 mtu_B;
  bool timestamps;
  double latency_s;
  guint64 window_B, rmem_B, wmem_B;
  guint n_threads, n_sockets;
  guint offload; /* Offload */
  double packet_cost_s;
  guint control;    /* CongestionControl */
  guint loss_model; /* LossModel */
  double rto_s;
  guint64 switch_buffer_B;
  PathParams path;
} TcpParams;

// clang-format off
static const ParamSpec tcp_params[] = {
  { .key = "mtu", .type = PARAM_BYTES, .offset = offsetof(TcpParams, mtu_B),
    .fallback = "1500 B", .min = 576, .max = 65535,
    .help = "largest IP packet", .origin = "IEEE 802.3" },
  { .key = "timestamps", .type = PARAM_BOOL, .offset = offsetof(TcpParams, timestamps),
    .fallback = "true", .help = "every segment carries the timestamp option",
    .origin = "Linux, net.ipv4.tcp_timestamps" },
  { .key = "latency", .type = PARAM_SECONDS, .offset = offsetof(TcpParams, latency_s),
    .fallback = "20 us", .min = 0, .max = 1,
    .help = "of a small message through both hosts, one way, without the switches",
    .origin = "assumed: kernel TCP takes 10 to 30 us" },
  { .key = "window", .type = PARAM_BYTES, .offset = offsetof(TcpParams, window_B),
    .fallback = "1 GiB", .min = 2304, .max = 0x1p30,
    .help = "most that a connection may have in flight, beside tcp_rmem and tcp_wmem",
    .origin = "largest that RFC 7323 scales to" },
  { .key = "tcp_rmem", .type = PARAM_BYTES, .offset = offsetof(TcpParams, rmem_B),
    .fallback = "6 MiB", .min = 2304, .max = 0x1p31,
    .help = "net.ipv4.tcp_rmem: largest receive buffer, half of which is window",
    .origin = "Linux, ip-sysctl" },
  { .key = "tcp_wmem", .type = PARAM_BYTES, .offset = offsetof(TcpParams, wmem_B),
    .fallback = "4 MiB", .min = 2304, .max = 0x1p31,
    .help = "net.ipv4.tcp_wmem: largest send buffer", .origin = "Linux, ip-sysctl" },
  { .key = "socket_nthreads", .type = PARAM_COUNT, .offset = offsetof(TcpParams, n_threads),
    .fallback = "1", .min = 1, .max = 16,
    .help = "NCCL_SOCKET_NTHREADS: threads, and so cores, that serve one peer",
    .origin = "nccl 2.30.7; 2 on AWS" },
  { .key = "nsocks_perthread", .type = PARAM_COUNT, .offset = offsetof(TcpParams, n_sockets),
    .fallback = "1", .min = 1, .max = 64,
    .help = "NCCL_NSOCKS_PERTHREAD: connections of each thread to one peer",
    .origin = "nccl 2.30.7; 8 on AWS" },
  { .key = "offload", .type = PARAM_NAME, .offset = offsetof(TcpParams, offload),
    .names = offload_names, .fallback = "segmentation",
    .help = "what the NIC does: nothing, cut and join segments, or all of TCP",
    .origin = "Linux: TSO and GRO are on" },
  { .key = "packet_cost", .type = PARAM_SECONDS,
    .offset = offsetof(TcpParams, packet_cost_s), .fallback = "3.67 us", .min = 0, .max = 1,
    .help = "of a core for each packet that it sees, 64 KiB with segmentation offload",
    .origin = "assumed: rule of 1 Hz per bit/s at MTU 1500 on 3 GHz, less the copy" },
  { .key = "congestion_control", .type = PARAM_NAME, .offset = offsetof(TcpParams, control),
    .names = control_names, .fallback = "cubic",
    .help = "dctcp: senders slow down before a switch's buffer overflows, no incast",
    .origin = "Linux, net.ipv4.tcp_congestion_control" },
  { .key = "loss_model", .type = PARAM_NAME, .offset = offsetof(TcpParams, loss_model),
    .names = loss_model_names, .fallback = "mathis",
    .help = "what loss leaves of a connection; pftk counts timeouts too",
    .origin = "assumed: losses are repaired without timeouts (Linux, RFC 8985)" },
  { .key = "rto", .type = PARAM_SECONDS, .offset = offsetof(TcpParams, rto_s),
    .fallback = "200 ms", .min = 1e-6, .max = 100,
    .help = "least retransmission timeout, with pftk and incast", .origin = "Linux, TCP_RTO_MIN" },
  { .key = "switch_buffer", .type = PARAM_BYTES,
    .offset = offsetof(TcpParams, switch_buffer_B), .fallback = "0 B",
    .help = "of a port towards a receiver, which many senders overflow; 0 B: never",
    .origin = "buffers hold what arrives" },
  PATH_PARAMS(TcpParams, path, "false", "sockets copy"),
  PARAM_END,
};
// clang-format on

static bool tcp_check(const void *data, GError **error)
{
  const TcpParams *params = data;

  if (params->n_threads * params->n_sockets > max_sockets) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "socket_nthreads x nsocks_perthread is %u: NCCL opens at most %u",
                params->n_threads * params->n_sockets, max_sockets);
    return false;
  }
  if (params->path.offload_saves > 0 && params->offload != OFFLOAD_NIC) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "offload_saves: only a NIC that runs TCP saves latency; add \"offload\": "
                "\"nic\"");
    return false;
  }
  return true;
}

static double mss_B(const TcpParams *params)
{
  const guint headers_B = IP_B + TCP_B + (params->timestamps ? TIMESTAMPS_B : 0);
  return (double)params->mtu_B - headers_B;
}

/* Of one thread. */
static double core_Bps(const TcpParams *params)
{
  const double packet_B = params->offload == OFFLOAD_NONE ? mss_B(params) : segment_B;
  const double copy_s_per_B = params->path.zero_copy ? 0 : 1 / params->path.copy_rate_Bps;

  if (params->offload == OFFLOAD_NIC)
    return INFINITY;
  return 1 / (copy_s_per_B + params->packet_cost_s / packet_B);
}

/* Of one connection. */
static double loss_cap_Bps(const TcpParams *params, double rtt_s)
{
  const double p = params->path.loss;

  if (!(p > 0))
    return INFINITY;
  if (params->loss_model == LOSS_MATHIS)
    return mss_B(params) / rtt_s * sqrt(1.5 / p);
  return mss_B(params) / (rtt_s * sqrt(4 * p / 3) + params->rto_s * p * (1 + 32 * p * p) *
                                                      MIN(1, 3 * sqrt(0.75 * p)));
}

static bool overflows(const TcpParams *params)
{
  return params->switch_buffer_B > 0 && params->control == CONTROL_CUBIC;
}

static bool tcp_uses(const void *data, const char *key)
{
  const TcpParams *params = data;
  const bool on_cores = params->offload != OFFLOAD_NIC;

  if (strcmp(key, "packet_cost") == 0)
    return on_cores;
  if (strcmp(key, "rto") == 0)
    return overflows(params) || (params->path.loss > 0 && params->loss_model == LOSS_PFTK);
  return path_uses(&params->path, false, key) &&
         (on_cores || strcmp(key, "copy_rate") != 0);
}

static TransportEffect tcp_apply(const void *data, const TransportLink *link)
{
  const TcpParams *params = data;
  const PathParams *path = &params->path;
  const double wire_share = mss_B(params) / ((double)params->mtu_B + ETHERNET_B);
  const double goodput = path_goodput(path, wire_share * (1 - path->loss));
  const double rtt_s = path_rtt_s(path, params->latency_s, link);
  const double window_B =
    (double)MIN(params->window_B, MIN(params->rmem_B / 2, params->wmem_B));
  const double connection_Bps = MIN(window_B / rtt_s, loss_cap_Bps(params, rtt_s));

  return (TransportEffect){
    .goodput = goodput,
    .flow_cap_Bps =
      params->n_threads * MIN(params->n_sockets * connection_Bps, core_Bps(params)),
    .n_paths = params->n_threads * params->n_sockets,
    .message_latency_s = path_latency_s(path, params->latency_s) + 2 * path->copy_latency_s,
    .link_latency_s = path->fec_latency_s,
    .retransmission_rate = path->loss,
    .gpu_direct = false,
    .host_memory_Bps = path_host_memory_Bps(path),
    .incast = { .window_B = params->n_threads * params->n_sockets * window_B,
                .bdp_B = link->nic_rate_Bps * goodput * rtt_s,
                .buffer_B = overflows(params) ? (double)params->switch_buffer_B : INFINITY,
                .timeout_s = params->rto_s },
  };
}

const TransportOps transport_tcp = {
  .info = {
    .name = "tcp",
    .summary = "TCP/IPv4 over Ethernet",
    .source = "IEEE 802.3, RFC 791, RFC 9293, RFC 7323",
    .params = tcp_params,
    .params_size = sizeof(TcpParams),
  },
  .check = tcp_check,
  .uses = tcp_uses,
  .apply = tcp_apply,
};
