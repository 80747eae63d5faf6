/**
 * @file hop.h
 * @brief The latency of one switch hop, which every network has.
 *
 * The cables of the two NICs at the ends of a path carry half a hop each and every link
 * between switches a whole one, so that a path through k switches costs k hops.
 */
#pragma once

#include "models/network.h"

/* Cables add 5 ns per metre (light in glass, index 1.5), which 0.5 us leaves room for. */
// clang-format off
#define HOP_LATENCY_PARAM(params_type, field)                                                \
  { .key = "latency", .type = PARAM_SECONDS, .offset = offsetof(params_type, field),         \
    .fallback = "0.5 us", .min = 0, .max = 1, .help = "of one switch and its cable, one way", \
    .origin = "assumed: a switch hop takes 0.1 to 0.5 us" }

/* Nodes on one leaf, and what the spines leave of their NICs. */
#define LEAF_PARAMS(params_type, nodes_field, oversubscription_field)                        \
  { .key = "nodes_per_leaf", .type = PARAM_COUNT, .offset = offsetof(params_type, nodes_field), \
    .min = 1, .max = 65536, .help = "nodes on one leaf switch" },                            \
  { .key = "oversubscription", .type = PARAM_NUMBER,                                         \
    .offset = offsetof(params_type, oversubscription_field), .fallback = "1", .min = 0.01,   \
    .max = 1000, .help = "what the NICs of a full leaf carry, over what its uplinks do",     \
    .origin = "non-blocking" }
// clang-format on

static inline double hop_port_latency_s(double hop_s)
{
  return hop_s / 2;
}
