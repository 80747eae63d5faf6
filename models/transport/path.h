/**
 * @file path.h
 * @brief What every transport has to do with the path: its losses, its sharing, its copies.
 */
#pragma once

#include "models/transport.h"

/** The keys that transports share; a member of their params structs. */
typedef struct {
  double rtt_s;
  double loss;
  double background;
  double fec_latency_s;
  double offload_saves;
  double copy_latency_s;
  bool zero_copy;
  double copy_rate_Bps;
  double host_memory_Bps;
} PathParams;

/** The rows of PathParams for a params struct @p params_type with such a member @p path; of
 *  networks that no window limits, without the first. */
// clang-format off
#define PATH_RTT_PARAM(params_type, path)                                                   \
  { .key = "rtt", .type = PARAM_SECONDS, .offset = offsetof(params_type, path.rtt_s),       \
    .fallback = "0 s", .min = 0, .max = 10,                                                 \
    .help = "round trip of a loaded connection; 0 s: what hosts and one switch add up to",  \
    .origin = "no queues" }
#define PATH_PARAMS(params_type, path, zero_copy_fallback, zero_copy_origin)                 \
  PATH_RTT_PARAM(params_type, path),                                                         \
  PATH_OTHER_PARAMS(params_type, path, zero_copy_fallback, zero_copy_origin)
#define PATH_OTHER_PARAMS(params_type, path, zero_copy_fallback, zero_copy_origin)           \
  { .key = "loss", .type = PARAM_FRACTION, .offset = offsetof(params_type, path.loss),       \
    .fallback = "0 %", .min = 0, .max = 0.5, .help = "share of the packets that are lost",   \
    .origin = "none unless given" },                                                         \
  { .key = "background", .type = PARAM_FRACTION,                                             \
    .offset = offsetof(params_type, path.background), .fallback = "0 %", .min = 0, .max = 0.99, \
    .help = "share of every NIC and link between switches that other traffic takes",         \
    .origin = "none unless given" },                                                         \
  { .key = "fec_latency", .type = PARAM_SECONDS,                                             \
    .offset = offsetof(params_type, path.fec_latency_s), .fallback = "0 s", .min = 0, .max = 1, \
    .help = "of forward error correction, per cable and link; its bits are paid in line rate", \
    .origin = "contained in the network's latency per switch" },                             \
  { .key = "offload_saves", .type = PARAM_FRACTION,                                          \
    .offset = offsetof(params_type, path.offload_saves), .fallback = "0 %", .min = 0, .max = 1, \
    .help = "share of latency that a SmartNIC or FPGA takes away", .origin = "no SmartNIC" }, \
  { .key = "copy_latency", .type = PARAM_SECONDS,                                            \
    .offset = offsetof(params_type, path.copy_latency_s), .fallback = "0 s", .min = 0, .max = 1, \
    .help = "of each copy between GPU and host memory, without gpu_direct",                  \
    .origin = "NCCL's kernels write host memory themselves: no copy is launched" },          \
  { .key = "zero_copy", .type = PARAM_BOOL, .offset = offsetof(params_type, path.zero_copy), \
    .fallback = zero_copy_fallback,                                                          \
    .help = "the CPU copies nothing inside host memory", .origin = zero_copy_origin },       \
  { .key = "copy_rate", .type = PARAM_RATE,                                                  \
    .offset = offsetof(params_type, path.copy_rate_Bps), .fallback = "7.4 GB/s", .min = 1e6, \
    .max = 1e15, .help = "what one core copies, without zero_copy",                          \
    .origin = "assumed: leaves tcp 42 Gbit/s a core, recalled from Cai et al., SIGCOMM 2021" }, \
  { .key = "host_memory", .type = PARAM_RATE,                                                \
    .offset = offsetof(params_type, path.host_memory_Bps), .fallback = "128 GB/s", .min = 1e6, \
    .max = 1e15, .help = "bandwidth of the memory of one CPU socket, without gpu_direct",    \
    .origin = "assumed: six channels of DDR4-2666, as Intel Xeon Scalable of 2017" }
// clang-format on

/** See TransportOps.uses: of the keys above. */
bool path_uses(const PathParams *path, bool gpu_direct, const char *key);

/** What of the line is left of which @p goodput is payload. */
double path_goodput(const PathParams *path, double goodput);

/** @param latency_s  of the transport in both hosts, without offload [s] */
double path_latency_s(const PathParams *path, double latency_s);

/** As given, or twice the way through hosts, cables and one switch [s]. */
double path_rtt_s(const PathParams *path, double latency_s, const TransportLink *link);

/** Bytes that pass through the memory of one socket: each is written and read by a GPU and
 *  a NIC, and once more if the CPU copies it [B/s]. */
double path_host_memory_Bps(const PathParams *path);
