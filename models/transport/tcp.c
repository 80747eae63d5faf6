/**
 * @file tcp.c
 * @brief TCP/IPv4 over Ethernet: what headers leave of the line rate.
 *
 *     goodput = (MTU - IP 20 - TCP 20 - timestamps 12) / (MTU + Ethernet 38)
 *
 * Ethernet's 38 B per frame: preamble 8, MAC header 14, frame check 4, gap 12
 * (IEEE 802.3). IP and TCP: RFC 791, RFC 9293; timestamps with padding: RFC 7323.
 */
#include "models/transport.h"

#include <math.h>

enum { ETHERNET_B = 38, IP_B = 20, TCP_B = 20, TIMESTAMPS_B = 12 };

typedef struct {
  guint64 mtu_B;
  bool timestamps;
  double latency_s;
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
  PARAM_END,
};
// clang-format on

static TransportEffect tcp_apply(const void *data, double nic_rate_Bps G_GNUC_UNUSED)
{
  const TcpParams *params = data;
  const guint headers_B = IP_B + TCP_B + (params->timestamps ? TIMESTAMPS_B : 0);
  const double mtu_B = (double)params->mtu_B;

  return (TransportEffect){
    .goodput = (mtu_B - headers_B) / (mtu_B + ETHERNET_B),
    .flow_cap_Bps = INFINITY,
    .message_latency_s = params->latency_s,
    .gpu_direct = false,
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
  .apply = tcp_apply,
};
