/**
 * @file nccl_constants.c
 * @brief What releases of NCCL were tuned with.
 *
 * Source: src/graph/tuning.cc of NVIDIA/nccl: baseLat, hwLat, llMaxBws,
 * perChMaxRingLL128Bws, perChMaxTreeLL128Bws, perChMaxTreeBws, perChMaxNVLSTreeBws,
 * nvlsEfficiency and treeCorrectionFactor; 2.30: commit 5067397c2676 (2.30.7), 2.26: as of
 * the first release with Blackwell tables, 2.20: commit b6475625fbca.
 */
#include "models/library/nccl.h"

#include <math.h>

#define US 1e-6
#define GBPS 1e9

/* Three protocols in NCCL's order: LL, LL128, Simple. */
#define PER_PROTO(ll, ll128, simple)                                                       \
  {                                                                                        \
    (ll) * US, (ll128)*US, (simple)*US                                                     \
  }
/* One node, two nodes, more nodes. */
#define PER_SCALE(one, two, more)                                                          \
  {                                                                                        \
    (one) * GBPS, (two)*GBPS, (more)*GBPS                                                  \
  }

const char *const nccl_version_names[] = { "2.20", "2.26", "2.30", NULL };

// clang-format off
/* Rows: Tree, Ring, CollNetDirect, NVLS, NVLSTree, PAT. */
#define NEWER_BASE { PER_PROTO(6.8, 14, 8.4), PER_PROTO(6.6, 14, 8.4),                     \
                     [NCCL_PAT] = PER_PROTO(8, 8, 8) }
#define HOPS(tree_simple, tree_net, nvls, nvls_tree_net) {                                 \
    [NCCL_NVLINK] = { PER_PROTO(0.6, 1.25, tree_simple), PER_PROTO(0.6, 1.9, 3.4),         \
                      PER_PROTO(0, 0, 3.7), PER_PROTO(0, 0, nvls), PER_PROTO(0, 0, nvls) },\
    [NCCL_PCI] = { PER_PROTO(1.0, 1.9, tree_simple), PER_PROTO(1.0, 2.5, 5.7),             \
                   PER_PROTO(0, 0, 3.7) },                                                 \
    [NCCL_NET] = { PER_PROTO(5.0, 8.5, tree_net), PER_PROTO(2.7, 4.0, 14),                 \
                   PER_PROTO(0, 0, 31), PER_PROTO(0, 0, 18),                               \
                   PER_PROTO(0, 0, nvls_tree_net), PER_PROTO(0, 0, 14) } }

#define UNLIMITED { { INFINITY, INFINITY, INFINITY }, { INFINITY, INFINITY, INFINITY },    \
                    { INFINITY, INFINITY, INFINITY }, { INFINITY, INFINITY, INFINITY } }

static const NcclVersion versions[] = {
  { /* 2.20; Blackwell came later: Hopper's */
    .base_s = { PER_PROTO(6.8, 14, 0), PER_PROTO(6.6, 14, 8.4) },
    .hop_s = HOPS(28, 28, 23, 14),
    .ll_max_Bps = { PER_SCALE(39, 39, 20.4), PER_SCALE(87.7, 22.5, 19),
                    PER_SCALE(87.7, 22.5, 19), PER_SCALE(87.7, 22.5, 19) },
    .ring_ll128_Bps = { 20 * GBPS, 20 * GBPS, 36.7 * GBPS, 36.7 * GBPS },
    .tree_ll128_Bps = { PER_SCALE(20, 20, 20), PER_SCALE(20, 20, 20),
                        PER_SCALE(36.7, 36.7, 29), PER_SCALE(36.7, 36.7, 29) },
    .tree_Bps = { PER_SCALE(26.5, 18.5, 10), PER_SCALE(24, 23.6, 17.8),
                  PER_SCALE(38.7, 41.4, 36), PER_SCALE(38.7, 41.4, 36) },
    .nvls_tree_Bps = UNLIMITED,
    .ring_ll_share = 1 / 4.0,
  },
  { /* 2.26 */
    .base_s = NEWER_BASE,
    .hop_s = HOPS(4, 14, 25, 14),
    .ll_max_Bps = { PER_SCALE(39, 39, 20.4), PER_SCALE(87.7, 22.5, 19),
                    PER_SCALE(141, 45, 35), PER_SCALE(282, 90, 70) },
    .ring_ll128_Bps = { 20 * GBPS, 20 * GBPS, 36.7 * GBPS, 73.4 * GBPS },
    .tree_ll128_Bps = { PER_SCALE(20, 20, 20), PER_SCALE(20, 20, 20),
                        PER_SCALE(36.7, 36.7, 29), PER_SCALE(73.4, 73.4, 58) },
    .tree_Bps = { PER_SCALE(26.5, 18.5, 10), PER_SCALE(24, 23.6, 17.8),
                  PER_SCALE(38.7, 41.4, 36), PER_SCALE(77.4, 82.8, 72) },
    .nvls_tree_Bps = UNLIMITED,
    .ring_ll_share = 1 / 2.0,
    .has_pat = true,
    .one_gpu_uses_tree_net = true,
    .first_last_net_hops = 2,
  },
  { /* 2.30 */
    .base_s = NEWER_BASE,
    .hop_s = HOPS(4, 14, 25, 20.9),
    .ll_max_Bps = { PER_SCALE(39, 39, 20.4), PER_SCALE(87.7, 22.5, 19),
                    PER_SCALE(141, 45, 35), PER_SCALE(282, 90, 70) },
    .ring_ll128_Bps = { 20 * GBPS, 20 * GBPS, 36.7 * GBPS, 40 * GBPS },
    .tree_ll128_Bps = { PER_SCALE(20, 20, 20), PER_SCALE(20, 20, 20),
                        PER_SCALE(36.7, 36.7, 29), PER_SCALE(55.6, 31.67, 20) },
    .tree_Bps = { PER_SCALE(26.5, 18.5, 10), PER_SCALE(24, 23.6, 17.8),
                  PER_SCALE(38.7, 41.4, 36), PER_SCALE(70, 42.8, 24) },
    .nvls_tree_Bps = { PER_SCALE(26.5, 18.5, 10), PER_SCALE(24, 23.6, 17.8),
                       PER_SCALE(0, 57.7, 45.5), PER_SCALE(0, 96, 80) },
    .ring_ll_share = 1 / 2.0,
    .nvls_by_efficiency = true,
    .has_pat = true,
    .one_gpu_uses_tree_net = true,
    .first_last_net_hops = 2,
  },
};

/* By powers of two from 64 B to 256 MiB. */
#define N_CORRECTIONS 23
static const double tree_correction[NCCL_N_PROTOS][N_CORRECTIONS] = {
  { 1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1 },
  { 1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1 },
  { .9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9,
    .9 },
};
// clang-format on

const NcclVersion *nccl_version(guint index)
{
  return &versions[index];
}

const NcclVersion *nccl_latest(void)
{
  return &versions[G_N_ELEMENTS(versions) - 1];
}

double nccl_nvls_efficiency(NcclArch arch)
{
  static const double efficiency[] = { [NCCL_HOPPER] = 0.85, [NCCL_BLACKWELL] = 0.74 };
  return efficiency[arch];
}

double nccl_tree_correction(NcclProto proto, double size_B)
{
  if (size_B < 64)
    return 1;
  const guint power = (guint)floor(log2(size_B / 64));
  return power < N_CORRECTIONS ? tree_correction[proto][power] : 1;
}
