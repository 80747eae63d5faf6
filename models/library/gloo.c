/**
 * @file gloo.c
 * @brief Gloo over TCP: rings, unless halving and doubling is asked for.
 *
 * Source: facebookincubator/gloo, gloo/allreduce.cc (UNSPECIFIED is RING),
 * allgather.cc (ring), broadcast.cc and reduce.cc (binomial tree and ring), alltoall.cc
 * (all messages at once); halving and doubling: gloo/allreduce_halving_doubling.h, which
 * its older interface offers.
 */
#include "models/library/host.h"

#include <math.h>

typedef enum { GLOO_RING, GLOO_HALVING_DOUBLING, GLOO_BY_SIZE } GlooAlgo;

static const char *const algo_names[] = { "ring", "halving_doubling", "by_size", NULL };

typedef struct {
  HostParams host; /* first: see HOST_PARAMS */
  guint algo;      /* GlooAlgo */
} GlooParams;

// clang-format off
static const ParamSpec gloo_params[] = {
  HOST_PARAMS,
  { .key = "algo", .type = PARAM_NAME, .offset = offsetof(GlooParams, algo),
    .names = algo_names, .fallback = "ring",
    .help = "of all-reduce; by_size: halving_doubling below 256 KiB, as Caffe2 chose",
    .origin = "gloo allreduce.cc: UNSPECIFIED is RING" },
  PARAM_END,
};

#define OTHERS                                                                             \
  { COLL_REDUCE_SCATTER | COLL_ALL_GATHER | COLL_REDUCE, INFINITY, false, 0, &coll_ring }, \
  { COLL_BROADCAST, INFINITY, false, 0, &coll_tree },                                      \
  { COLL_ALL_TO_ALL, INFINITY, false, 0, &coll_direct },                                   \
  { COLL_SEND_RECV, INFINITY, false, 0, &coll_neighbour },                                 \
  { 0, 0, false, 0, NULL }

/* By GlooAlgo. */
static const HostRule rules[][8] = {
  { { COLL_ALL_REDUCE, INFINITY, false, 0, &coll_ring }, OTHERS },
  { { COLL_ALL_REDUCE, INFINITY, false, 0, &coll_halving_doubling }, OTHERS },
  { { COLL_ALL_REDUCE, 256 * 1024, false, 0, &coll_halving_doubling },
    { COLL_ALL_REDUCE, INFINITY, false, 0, &coll_ring }, OTHERS },
};
// clang-format on

static void gloo_candidates(const void *data, const LibraryCall *call,
                            GPtrArray *collectives)
{
  const GlooParams *params = data;
  host_candidates(rules[params->algo], call, collectives);
}

static LibraryChoice gloo_choose(const void *data, const LibraryCall *call, double size_B)
{
  const GlooParams *params = data;
  return host_choose(rules[params->algo], &params->host, call, size_B);
}

const LibraryOps library_gloo = {
  .info = {
    .name = "gloo",
    .summary = "Gloo on CPUs: rings, or halving and doubling",
    .source = "facebookincubator/gloo, gloo/allreduce.cc",
    .params = gloo_params,
    .params_size = sizeof(GlooParams),
  },
  .candidates = gloo_candidates,
  .choose = gloo_choose,
};
