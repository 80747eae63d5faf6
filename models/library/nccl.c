/**
 * @file nccl.c
 * @brief NCCL: the algorithm and protocol that its own cost model predicts fastest.
 *
 * It decides by its tables (nccl_model.c), of the release that the scenario names; what
 * the decision costs is another matter (nccl_terms.c).
 */
#include "models/library/nccl.h"

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
    return nccl_p2p_terms(&params->costs, &layout, call, size_B);
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

static bool nccl_check(const void *data, LibraryPlace *place, GError **error)
{
  const NcclParams *params = data;

  if (params->max_ctas == 0 || params->min_ctas <= params->max_ctas)
    return true;
  place->key = "min_ctas";
  g_set_error(
    error, SIM_ERROR, SIM_ERROR_VALUE,
    "%u is more than max_ctas, %u, to which NCCL lowers it: write min_ctas %u, or "
    "raise max_ctas",
    params->min_ctas, params->max_ctas, params->max_ctas);
  return false;
}

const LibraryOps library_nccl = {
  .info = {
    .name = "nccl",
    .summary = "NCCL's own cost model picks algorithm and protocol by size",
    .source = "NCCL 2.30.7 src/graph/tuning.cc, NVIDIA/nccl@5067397c2676",
    .params = nccl_params,
    .params_size = sizeof(NcclParams),
  },
  .check = nccl_check,
  .uses = nccl_uses,
  .rule_paths = nccl_rule_paths,
  .candidates = nccl_candidates,
  .choose = nccl_choose,
  .buffers_B = nccl_buffers_B,
};
