/**
 * @file nccl.c
 * @brief NCCL: the algorithm and protocol that its own cost model predicts fastest.
 *
 * It decides by its tables (nccl_model.c), of the release that the scenario names; what
 * the decision costs is another matter (nccl_terms.c).
 */
#include "models/library/nccl.h"

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
static const ParamSpec nccl_params[] = {
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
  PARAM_END,
};
// clang-format on

const CollOps *nccl_collective(NcclAlgo algo)
{
  static const CollOps *const collectives[NCCL_N_ALGOS] = {
    [NCCL_TREE] = &coll_double_tree,    [NCCL_RING] = &coll_ring,
    [NCCL_COLLNET] = &coll_in_network,  [NCCL_NVLS] = &coll_in_network,
    [NCCL_NVLS_TREE] = &coll_nvls_tree, [NCCL_PAT] = &coll_pat,
  };
  return collectives[algo];
}

static void nccl_rule_paths(const void *data, PathRules *rules)
{
  const NcclParams *params = data;

  rules->no_p2p = params->no_p2p;
  rules->cross_nic = params->cross_nic > 0;
  rules->gdr_level = PATH_LOC + params->gdr_level;
}

static bool wants_proto(const NcclParams *params, NcclProto proto)
{
  if (params->proto == NCCL_NOT_LL128)
    return proto != NCCL_LL128;
  return params->proto == NCCL_N_PROTOS || params->proto == proto;
}

static bool wants_algo(const NcclParams *params, NcclAlgo algo)
{
  return params->algo == NCCL_N_ALGOS || params->algo == algo;
}

static bool can_use_some(const NcclParams *params, const NcclLayout *layout,
                         const LibraryCall *call, NcclAlgo algo)
{
  for (NcclProto proto = 0; proto < NCCL_N_PROTOS; proto++)
    if (wants_proto(params, proto) && nccl_can_use(layout, call, algo, proto))
      return true;
  return false;
}

static void nccl_candidates(const void *data, const LibraryCall *call,
                            GPtrArray *collectives)
{
  const NcclParams *params = data;
  const NcclLayout layout = nccl_layout(params, call);

  for (NcclAlgo algo = 0; algo < NCCL_N_ALGOS; algo++)
    if (wants_algo(params, algo) && can_use_some(params, &layout, call, algo) &&
        !g_ptr_array_find(collectives, nccl_collective(algo), NULL))
      g_ptr_array_add(collectives, (gpointer)nccl_collective(algo));
  if (nccl_p2p_collective(call->kind) != NULL)
    g_ptr_array_add(collectives, (gpointer)nccl_p2p_collective(call->kind));
  if (collectives->len == 0)
    g_ptr_array_add(collectives, (gpointer)&coll_ring);
}

static LibraryChoice nccl_choose(const void *data, const LibraryCall *call, double size_B)
{
  const NcclParams *params = data;
  const NcclLayout layout = nccl_layout(params, call);
  NcclAlgo best_algo = NCCL_RING;
  NcclProto best_proto = NCCL_SIMPLE;
  double best_s = G_MAXDOUBLE;

  if (nccl_p2p_collective(call->kind) != NULL)
    return nccl_p2p_terms(&layout, call, size_B);
  for (NcclAlgo algo = 0; algo < NCCL_N_ALGOS; algo++) {
    if (!wants_algo(params, algo))
      continue;
    for (NcclProto proto = 0; proto < NCCL_N_PROTOS; proto++) {
      if (!wants_proto(params, proto) || !nccl_can_use(&layout, call, algo, proto))
        continue;
      const double time_s =
        nccl_model_s(nccl_version(params->version), &layout, call, algo, proto, size_B);
      if (time_s < best_s) {
        best_s = time_s;
        best_algo = algo;
        best_proto = proto;
      }
    }
  }
  return nccl_terms(params, &layout, call, best_algo, best_proto, size_B);
}

const LibraryOps library_nccl = {
  .info = {
    .name = "nccl",
    .summary = "NCCL's own cost model picks algorithm and protocol by size",
    .source = "NCCL 2.30.7 src/graph/tuning.cc, NVIDIA/nccl@5067397c2676",
    .params = nccl_params,
    .params_size = sizeof(NcclParams),
  },
  .rule_paths = nccl_rule_paths,
  .candidates = nccl_candidates,
  .choose = nccl_choose,
};
