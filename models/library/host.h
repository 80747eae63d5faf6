/**
 * @file host.h
 * @brief Libraries that run on CPUs: each rank a thread that sends, receives and sums.
 *
 * Which algorithm runs is a table of sizes, as in the libraries' sources. Data is taken to
 * lie in host memory; copies from and to the GPU are the strategy's. The links are those of
 * the GPUs: a node's own are faster than any thread, whose rate then limits.
 */
#pragma once

#include "models/library.h"

/** The first row that fits decides. */
typedef struct {
  guint kinds;         /**< OR of the CollKind it is for */
  double below_B;      /**< for messages smaller than this; INFINITY: any [B] */
  bool per_rank;       /**< below_B is of the part of one rank */
  double min_per_rank; /**< for messages of at least so many bytes per rank [B] */
  const CollOps *collective;
} HostRule;

/** Shared by the parameters of all host libraries, at their begin. */
typedef struct {
  double launch_s, local_latency_s, net_latency_s;
  double thread_Bps;
} HostParams;

/** Rows of a ParamSpec table for a HostParams at offset 0. */
// clang-format off
#define HOST_PARAMS                                                                        \
  { .key = "launch", .type = PARAM_SECONDS, .offset = offsetof(HostParams, launch_s),      \
    .fallback = "10 us", .min = 0, .max = 1, .help = "once per collective",                \
    .origin = "assumed: a thread wakes up" },                                              \
  { .key = "local_latency", .type = PARAM_SECONDS,                                         \
    .offset = offsetof(HostParams, local_latency_s), .fallback = "5 us", .min = 0,         \
    .max = 1, .help = "per message inside a node",                                         \
    .origin = "assumed: loopback or shared memory" },                                      \
  { .key = "net_latency", .type = PARAM_SECONDS,                                           \
    .offset = offsetof(HostParams, net_latency_s), .fallback = "5 us", .min = 0, .max = 1, \
    .help = "per message between nodes, on top of the transport's latency",                \
    .origin = "assumed: matching and an event loop" },                                     \
  { .key = "thread_rate", .type = PARAM_RATE, .offset = offsetof(HostParams, thread_Bps),  \
    .fallback = "3 GB/s", .min = 1e6, .max = 1e15,                                         \
    .help = "what one rank's thread sends while it receives and sums as much",             \
    .origin = "assumed: a core copies 5 GB/s through a socket and sums faster" }
// clang-format on

/** @param rules  ended by a row without a collective */
void host_candidates(const HostRule *rules, const LibraryCall *call,
                     GPtrArray *collectives);
LibraryChoice host_choose(const HostRule *rules, const HostParams *params,
                          const LibraryCall *call, double size_B);
