/**
 * @file nccl_params.c
 * @brief The keys of library nccl: its environment, and what its parts cost.
 *
 * The costs are those that the tuner of the latest release believes in, under the names it
 * has for them: base_lat for baseLatencies, hw_lat for hwLatencies (ncclTunerConstants_t in
 * src/include/plugin/tuner). They say what a decision takes, never what is decided: that is
 * the business of the release's own tables, whatever somebody measured.
 */
#include "models/library/nccl.h"

#include <string.h>

/* One row of the table of latencies. */
#define LATENCY(name, field, value, text)                                                  \
  {                                                                                        \
    .key = name, .type = PARAM_SECONDS, .offset = offsetof(NcclParams, costs.field),       \
    .fallback = value, .max = 1, .help = text, .origin = "nccl 2.30.7 src/graph/tuning.cc" \
  }

/* A hop of Tree and Ring with each protocol. */
#define HOPS(kind, KIND, t_ll, t_ll128, t_simple, r_ll, r_ll128, r_simple, text)           \
  LATENCY("hw_lat_" kind "_tree_ll", hop_s[KIND][NCCL_TREE][NCCL_LL], t_ll,                \
          "a hop of Tree/LL " text),                                                       \
    LATENCY("hw_lat_" kind "_tree_ll128", hop_s[KIND][NCCL_TREE][NCCL_LL128], t_ll128,     \
            "a hop of Tree/LL128 " text),                                                  \
    LATENCY("hw_lat_" kind "_tree_simple", hop_s[KIND][NCCL_TREE][NCCL_SIMPLE], t_simple,  \
            "a hop of Tree/Simple " text),                                                 \
    LATENCY("hw_lat_" kind "_ring_ll", hop_s[KIND][NCCL_RING][NCCL_LL], r_ll,              \
            "a hop of Ring/LL " text),                                                     \
    LATENCY("hw_lat_" kind "_ring_ll128", hop_s[KIND][NCCL_RING][NCCL_LL128], r_ll128,     \
            "a hop of Ring/LL128 " text),                                                  \
    LATENCY("hw_lat_" kind "_ring_simple", hop_s[KIND][NCCL_RING][NCCL_SIMPLE], r_simple,  \
            "a hop of Ring/Simple " text)

#define BASE(name, algo, proto, value, text)                                               \
  LATENCY("base_lat_" name, base_s[algo][proto], value, "launch and end of " text)

#define LATENCIES                                                                          \
  BASE("tree_ll", NCCL_TREE, NCCL_LL, "6.8 us", "Tree/LL"),                                \
    BASE("tree_ll128", NCCL_TREE, NCCL_LL128, "14 us", "Tree/LL128"),                      \
    BASE("tree_simple", NCCL_TREE, NCCL_SIMPLE, "8.4 us", "Tree/Simple"),                  \
    BASE("ring_ll", NCCL_RING, NCCL_LL, "6.6 us", "Ring/LL, and of sends with LL"),        \
    BASE("ring_ll128", NCCL_RING, NCCL_LL128, "14 us", "Ring/LL128"),                      \
    BASE("ring_simple", NCCL_RING, NCCL_SIMPLE, "8.4 us", "Ring/Simple, and of sends"),    \
    BASE("pat", NCCL_PAT, NCCL_SIMPLE, "8 us", "PAT"),                                     \
    HOPS("nvlink", NCCL_NVLINK, "0.6 us", "1.25 us", "4 us", "0.6 us", "1.9 us", "3.4 us", \
         "over NVLink"),                                                                   \
    HOPS("pci", NCCL_PCI, "1 us", "1.9 us", "4 us", "1 us", "2.5 us", "5.7 us",            \
         "over PCIe"),                                                                     \
    HOPS("net", NCCL_NET, "5 us", "8.5 us", "14 us", "2.7 us", "4 us", "14 us",            \
         "between nodes, InfiniBand's 0.82 us of transport.latency in it"),                \
    LATENCY("hw_lat_nvlink_nvls", hop_s[NCCL_NVLINK][NCCL_NVLS][NCCL_SIMPLE], "25 us",     \
            "all of NVLS inside a node"),                                                  \
    LATENCY("hw_lat_nvlink_nvls_tree", hop_s[NCCL_NVLINK][NCCL_NVLS_TREE][NCCL_SIMPLE],    \
            "25 us", "all of NVLSTree inside a node"),                                     \
    LATENCY("hw_lat_net_nvls", hop_s[NCCL_NET][NCCL_NVLS][NCCL_SIMPLE], "18 us",           \
            "what NVLS waits between nodes whose switches add"),                           \
    LATENCY("hw_lat_net_nvls_tree", hop_s[NCCL_NET][NCCL_NVLS_TREE][NCCL_SIMPLE],          \
            "20.9 us", "a hop of NVLSTree between nodes"),                                 \
    LATENCY("hw_lat_nvlink_collnet", hop_s[NCCL_NVLINK][NCCL_COLLNET][NCCL_SIMPLE],        \
            "3.7 us", "a hop of CollNetDirect inside a node"),                             \
    LATENCY("hw_lat_net_collnet", hop_s[NCCL_NET][NCCL_COLLNET][NCCL_SIMPLE], "31 us",     \
            "a hop of CollNetDirect between nodes"),                                       \
    LATENCY("hw_lat_net_pat", hop_s[NCCL_NET][NCCL_PAT][NCCL_SIMPLE], "14 us",             \
            "3.5 rounds of PAT between nodes")

static const char *const algo_names[] = {
  [NCCL_TREE] = "tree",           [NCCL_RING] = "ring",
  [NCCL_COLLNET] = "collnet",     [NCCL_NVLS] = "nvls",
  [NCCL_NVLS_TREE] = "nvls_tree", [NCCL_PAT] = "pat",
  [NCCL_N_ALGOS] = "auto",        NULL,
};

static const char *const proto_names[] = {
  [NCCL_LL] = "ll",         [NCCL_LL128] = "ll128",      [NCCL_SIMPLE] = "simple",
  [NCCL_N_PROTOS] = "auto", [NCCL_NOT_LL128] = "^ll128", NULL,
};

static const char *const cpu_names[] = { "intel", "amd", NULL };

/* Those of PathType from PATH_LOC on. */
static const char *const path_names[] = { "loc", "pix", "pxb", "phb", "sys", NULL };

// clang-format off
const ParamSpec nccl_params[] = {
  { .key = "version", .type = PARAM_NAME, .offset = offsetof(NcclParams, version),
    .names = nccl_version_names, .fallback = "2.30",
    .help = "release whose tables choose: this one or the nearest before",
    .origin = "nccl 2.30.7" },
  { .key = "algo", .type = PARAM_NAME, .offset = offsetof(NcclParams, algo),
    .names = algo_names, .fallback = "auto",
    .help = "NCCL_ALGO; auto: whichever NCCL predicts fastest; ring where it cannot run",
    .origin = "nccl 2.30.7" },
  { .key = "proto", .type = PARAM_NAME, .offset = offsetof(NcclParams, proto),
    .names = proto_names, .fallback = "auto",
    .help = "NCCL_PROTO; auto: whichever NCCL predicts fastest; simple where it cannot run",
    .origin = "nccl 2.30.7" },
  { .key = "cpu", .type = PARAM_NAME, .offset = offsetof(NcclParams, cpu),
    .names = cpu_names, .fallback = "intel", .help = "vendor; intel stands for all others",
    .origin = "assumed: nccl 2.30.7 takes what is not AMD for Intel" },
  { .key = "net_overhead", .type = PARAM_SECONDS,
    .offset = offsetof(NcclParams, net_overhead_s), .fallback = "0 s", .min = 0, .max = 1,
    .help = "NCCL_NET_OVERHEAD: least time of a hop between several nodes; 0: by CPU, 1 us "
            "or on AMD 2 us",
    .origin = "nccl 2.30.7 src/graph/tuning.cc" },
  { .key = "net_latency", .type = PARAM_SECONDS,
    .offset = offsetof(NcclParams, net_latency_s), .fallback = "0 s", .min = 0, .max = 1,
    .help = "what the network's plugin tells NCCL of its latency (OFI_NCCL_NET_LATENCY), which "
            "chooses by it; what it costs is transport.latency",
    .origin = "nccl 2.30.7: InfiniBand; aws-ofi-nccl: 75 us of EFA on p4d and p5" },
  { .key = "min_ctas", .type = PARAM_COUNT, .offset = offsetof(NcclParams, min_ctas),
    .fallback = "1", .min = 1, .max = 64, .help = "NCCL_MIN_CTAS: at least so many channels",
    .origin = "nccl 2.30.7" },
  { .key = "max_ctas", .type = PARAM_COUNT, .offset = offsetof(NcclParams, max_ctas),
    .fallback = "64", .min = 1, .max = 64, .help = "NCCL_MAX_CTAS: at most so many channels",
    .origin = "nccl 2.30.7 NCCL_MAX_CHANNELS" },
  { .key = "buffsize", .type = PARAM_BYTES, .offset = offsetof(NcclParams, buffsize_B),
    .fallback = "4 MiB", .min = 4096, .max = 1u << 30,
    .help = "NCCL_BUFFSIZE: of a connection with Simple; chunks are an eighth or half of it",
    .origin = "nccl 2.30.7 src/init.cc" },
  { .key = "collnet_enable", .type = PARAM_BOOL, .offset = offsetof(NcclParams, collnet),
    .fallback = "false", .help = "NCCL_COLLNET_ENABLE: switches between nodes sum (SHARP)",
    .origin = "nccl 2.30.7" },
  { .key = "cross_nic", .type = PARAM_COUNT, .offset = offsetof(NcclParams, cross_nic),
    .fallback = "2", .max = 2,
    .help = "NCCL_CROSS_NIC: 0: rings leave a node by the NIC they came in by; 1, 2: or by "
            "the one next to their last GPU",
    .origin = "nccl 2.30.7 src/graph/search.cc" },
  { .key = "p2p_disable", .type = PARAM_BOOL, .offset = offsetof(NcclParams, no_p2p),
    .fallback = "false",
    .help = "NCCL_P2P_DISABLE: GPUs copy through host memory, NVLink or not",
    .origin = "nccl 2.30.7" },
  { .key = "net_gdr_level", .type = PARAM_NAME, .offset = offsetof(NcclParams, gdr_level),
    .names = path_names, .fallback = "pxb",
    .help = "NCCL_NET_GDR_LEVEL: NICs further from a GPU are fed from host memory",
    .origin = "nccl 2.30.7 src/graph/paths.cc" },
  LATENCIES,
  { .key = "channel_bw", .type = PARAM_RATE, .offset = offsetof(NcclParams, costs.channel_Bps),
    .fallback = "0 B/s", .min = 0, .max = 1e12,
    .help = "what one channel of a Ring/Simple sums and sends; 0: by GPU, 13.25 GB/s of Volta, "
            "12 of Ampere, 22.8 of Hopper, 35 of Blackwell",
    .origin = "half of perChMaxTreeBws on one node; Hopper: see nccl_channels.c" },
  { .key = "shm_channel_bw", .type = PARAM_RATE, .offset = offsetof(NcclParams, costs.shm_Bps),
    .fallback = "1.95 GB/s", .min = 1, .max = 1e12,
    .help = "what one channel moves through host memory, between GPUs without peer access",
    .origin = "a40x2-node-nop2p-allreduce: 3.9 GB/s, two channels; held against "
              "rtx4090x2-pcie-allreduce-crosssocket" },
  { .key = "ring_overlap", .type = PARAM_NUMBER, .offset = offsetof(NcclParams, costs.ring_overlap),
    .fallback = "2.6", .min = 1, .max = 64,
    .help = "p of (chain^p + link^p)^(1/p), time of a ring: 1: hops and links add up, 64: the "
            "longer alone counts",
    .origin = "fitted: make fit, tests/validate/fit.json" },
  { .key = "p2p_channel_bw", .type = PARAM_RATE,
    .offset = offsetof(NcclParams, costs.p2p_local_Bps), .fallback = "20.4 GB/s", .min = 1,
    .max = 1e12, .help = "what one channel of sends and receives moves inside a node",
    .origin = "h100-N01xG8-sendrecv at 64 MiB; held against h100-N01xG4-sendrecv" },
  { .key = "p2p_net_channel_bw", .type = PARAM_RATE,
    .offset = offsetof(NcclParams, costs.p2p_net_Bps), .fallback = "12.4 GB/s", .min = 1,
    .max = 1e12, .help = "what one channel of sends and receives moves between nodes",
    .origin = "h100-N10xG1-sendrecv at 16 GiB; held against h100-N10xG2-sendrecv" },
  PARAM_END,
};
// clang-format on

/* Is @p key one of @p part, or of other algorithms or protocols? "hw_lat_net_ring_ll" is of
 * "net", "ring" and "ll", not of "nvls" or "ll128". */
static bool is_of(const char *key, const char *part)
{
  g_auto(GStrv) parts = g_strsplit(key, "_", -1);
  return g_strv_contains((const char *const *)parts, part);
}

/* Latencies of what NCCL_ALGO and NCCL_PROTO forbid are never felt; those between nodes not
 * where there is one. */
bool nccl_uses(const void *data, const char *key, bool network)
{
  const NcclParams *params = data;
  const bool hop = g_str_has_prefix(key, "hw_lat_");

  if (!network && is_of(key, "net") && strcmp(key, "net_gdr_level") != 0)
    return false;
  if (!hop && !g_str_has_prefix(key, "base_lat_"))
    return true;
  for (NcclProto proto = 0; proto < NCCL_N_PROTOS; proto++)
    if (is_of(key, proto_names[proto]) && params->proto < NCCL_N_PROTOS &&
        params->proto != proto)
      return false;
  const bool of_tree = is_of(key, "tree") && !is_of(key, "nvls");
  if (params->algo == NCCL_RING || params->algo == NCCL_TREE)
    return params->algo == NCCL_RING ? is_of(key, "ring") : of_tree;
  return true;
}
