/**
 * @file adaptive.c
 * @brief The collective that is predicted fastest for each size, until measurements differ.
 *
 * Every collective that needs no special switches and no rank that sends to all competes:
 *
 *     launch + sum over phases (hops * latency + bytes / bandwidth)
 *
 * on the idle cluster, times what it took of late over what was predicted. Where that is
 * within the drift it counts as noise; beyond, another collective may take over, and its
 * own measurements decide whether it stays.
 *
 * Not a real library, but what an auto-tuner that knew the cost model would do; compare
 * S. Hunold, S. Steiner, "OMPICollTune: Autotuning MPI Collectives by Incremental Online
 * Learning", PMBS 2022.
 */
#include "models/library.h"

#include <math.h>

typedef struct {
  double launch_s;
  double local_latency_s;
  double net_latency_s;
  double drift;
} AdaptiveParams;

// clang-format off
static const ParamSpec adaptive_params[] = {
  { .key = "launch", .type = PARAM_SECONDS, .offset = offsetof(AdaptiveParams, launch_s),
    .fallback = "8.4 us", .min = 0, .max = 1, .help = "once per collective",
    .origin = "nccl 2.30.7 src/graph/tuning.cc, ring/simple" },
  { .key = "local_latency", .type = PARAM_SECONDS,
    .offset = offsetof(AdaptiveParams, local_latency_s), .fallback = "3.4 us", .min = 0,
    .max = 1, .help = "per hop inside a node",
    .origin = "nccl 2.30.7 src/graph/tuning.cc, ring/simple" },
  { .key = "net_latency", .type = PARAM_SECONDS,
    .offset = offsetof(AdaptiveParams, net_latency_s), .fallback = "14 us", .min = 0, .max = 1,
    .help = "per hop between nodes, on top of the transport's latency",
    .origin = "nccl 2.30.7 src/graph/tuning.cc, ring/simple" },
  { .key = "drift", .type = PARAM_FRACTION, .offset = offsetof(AdaptiveParams, drift),
    .fallback = "20 %", .min = 0, .max = 1,
    .help = "measured times may differ so much from predictions before they count",
    .origin = "assumed: more than the noise of one all-reduce" },
  PARAM_END,
};
// clang-format on

static bool competes(const CollOps *ops, CollKind kind)
{
  return (ops->kinds & kind) && ops->n_switches == NULL && !ops->fans;
}

static void adaptive_candidates(const void *params G_GNUC_UNUSED, const LibraryCall *call,
                                GPtrArray *collectives)
{
  for (guint i = 0; coll_table[i] != NULL; i++) {
    const CollOps *ops = (const CollOps *)coll_table[i];
    if (competes(ops, call->kind))
      g_ptr_array_add(collectives, (gpointer)ops);
  }
  if (collectives->len == 0)
    g_ptr_array_add(collectives, (gpointer)coll_default(call->kind));
}

static LibraryChoice choice_of(const AdaptiveParams *params, const LibraryCall *call,
                               const CollOps *ops)
{
  return (LibraryChoice){
    .collective = ops,
    .protocol = "",
    .launch_s = params->launch_s,
    .terms = { .alpha_local_s = params->local_latency_s,
               .alpha_net_s = params->net_latency_s + call->message_latency_s,
               .wire_factor = 1 },
  };
}

static double expected_s(const AdaptiveParams *params, const LibraryCall *call,
                         const LibraryChoice *choice, double size_B)
{
  const GArray *phases = call->phases_of(choice->collective, call->data);
  const double measured = call->slowdown_of == NULL
                            ? 1
                            : call->slowdown_of(choice->collective, size_B, call->data);
  double time_s = choice->launch_s;

  for (guint i = 0; i < phases->len; i++)
    time_s +=
      coll_phase_idle_s(&g_array_index(phases, CollPhase, i), &choice->terms, size_B);
  return time_s * (fabs(measured - 1) > params->drift ? measured : 1);
}

static LibraryChoice adaptive_choose(const void *params, const LibraryCall *call,
                                     double size_B)
{
  LibraryChoice best = choice_of(params, call, coll_default(call->kind));
  double best_s = G_MAXDOUBLE;

  for (guint i = 0; coll_table[i] != NULL; i++) {
    const CollOps *ops = (const CollOps *)coll_table[i];
    if (!competes(ops, call->kind))
      continue;
    const LibraryChoice choice = choice_of(params, call, ops);
    const double time_s = expected_s(params, call, &choice, size_B);
    if (time_s < best_s) {
      best = choice;
      best_s = time_s;
    }
  }
  return best;
}

const LibraryOps library_adaptive = {
  .info = {
    .name = "adaptive",
    .summary = "the collective predicted fastest, corrected by what was measured",
    .source = "an auto-tuner, as Hunold & Steiner, OMPICollTune, PMBS 2022",
    .params = adaptive_params,
    .params_size = sizeof(AdaptiveParams),
  },
  .candidates = adaptive_candidates,
  .choose = adaptive_choose,
};
