/**
 * @file rules.c
 * @brief The scenario says which collective runs up to which size, and what a hop costs.
 *
 * The first rule whose limit the message does not exceed, and whose collective can do what
 * is asked, decides; where none can, coll_default() does.
 */
#include "models/library.h"

/* One element of "rules". */
typedef struct {
  guint64 up_to_B; /* 0: no limit */
  char *use;
} Rule;

typedef struct {
  GArray *rules; /* of Rule */
  double launch_s;
  double local_latency_s;
  double net_latency_s;
} RulesParams;

// clang-format off
static const ParamSpec rule_params[] = {
  { .key = "up_to", .type = PARAM_BYTES, .offset = offsetof(Rule, up_to_B), .fallback = "0 B",
    .help = "largest message it is for; 0 B: any", .origin = "any size" },
  { .key = "use", .type = PARAM_TEXT, .offset = offsetof(Rule, use),
    .help = "the collective to run" },
  PARAM_END,
};

static const ParamSpec rules_params[] = {
  { .key = "rules", .type = PARAM_LIST, .offset = offsetof(RulesParams, rules),
    .item = rule_params, .item_size = sizeof(Rule),
    .help = "by ascending size; the last one for any size" },
  { .key = "launch", .type = PARAM_SECONDS, .offset = offsetof(RulesParams, launch_s),
    .fallback = "8.4 us", .min = 0, .max = 1, .help = "once per collective",
    .origin = "nccl 2.30.7 src/graph/tuning.cc, ring/simple" },
  { .key = "local_latency", .type = PARAM_SECONDS,
    .offset = offsetof(RulesParams, local_latency_s), .fallback = "3.4 us", .min = 0, .max = 1,
    .help = "per hop inside a node", .origin = "nccl 2.30.7 src/graph/tuning.cc, ring/simple" },
  { .key = "net_latency", .type = PARAM_SECONDS,
    .offset = offsetof(RulesParams, net_latency_s), .fallback = "14 us", .min = 0, .max = 1,
    .help = "per hop between nodes, on top of the transport's latency",
    .origin = "nccl 2.30.7 src/graph/tuning.cc, ring/simple" },
  PARAM_END,
};
// clang-format on

static const Rule *rule(const RulesParams *params, guint index)
{
  return &g_array_index(params->rules, Rule, index);
}

static bool check_rule(const RulesParams *params, guint index, GError **error)
{
  const guint64 up_to_B = rule(params, index)->up_to_B;
  const char *cause = NULL;

  if (coll_find(rule(params, index)->use == NULL ? "" : rule(params, index)->use, error) ==
      NULL) {
    g_prefix_error(error, "rules[%u]: ", index);
    return false;
  }
  if (index + 1 == params->rules->len)
    cause = up_to_B != 0 ? "the last rule must be for any size: leave its up_to out" : NULL;
  else if (up_to_B == 0)
    cause = "no rule behind one for any size is ever used";
  else if (index > 0 && up_to_B <= rule(params, index - 1)->up_to_B)
    cause = "up_to must be larger than that of the rule before it";
  if (cause == NULL)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "rules[%u]: %s", index, cause);
  return false;
}

static bool rules_check(const void *data, GError **error)
{
  const RulesParams *params = data;

  if (params->rules == NULL || params->rules->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "rules: at least one is needed, such as [{\"use\": \"ring\"}]");
    return false;
  }
  for (guint i = 0; i < params->rules->len; i++)
    if (!check_rule(params, i, error))
      return false;
  return true;
}

static void rules_candidates(const void *data, const LibraryCall *call,
                             GPtrArray *collectives)
{
  const RulesParams *params = data;
  g_ptr_array_add(collectives, (gpointer)coll_default(call->kind));

  for (guint i = 0; i < params->rules->len; i++) {
    const CollOps *ops = coll_find(rule(params, i)->use, NULL);
    if ((ops->kinds & call->kind) && !g_ptr_array_find(collectives, ops, NULL))
      g_ptr_array_add(collectives, (gpointer)ops);
  }
}

static LibraryChoice rules_choose(const void *data, const LibraryCall *call, double size_B)
{
  const RulesParams *params = data;
  const CollOps *chosen = NULL;

  for (guint i = 0; i < params->rules->len && chosen == NULL; i++) {
    const CollOps *ops = coll_find(rule(params, i)->use, NULL);
    const guint64 up_to_B = rule(params, i)->up_to_B;
    if ((ops->kinds & call->kind) && (up_to_B == 0 || size_B <= (double)up_to_B))
      chosen = ops;
  }
  return (LibraryChoice){
    .collective = chosen == NULL ? coll_default(call->kind) : chosen,
    .protocol = "",
    .launch_s = params->launch_s,
    .terms = { .alpha_local_s = params->local_latency_s,
               .alpha_net_s = params->net_latency_s + call->message_latency_s,
               .wire_factor = 1 },
  };
}

const LibraryOps library_rules = {
  .info = {
    .name = "rules",
    .summary = "a table of sizes and collectives, with latencies per hop",
    .source = "Open MPI coll/tuned dynamic rules",
    .params = rules_params,
    .params_size = sizeof(RulesParams),
  },
  .check = rules_check,
  .candidates = rules_candidates,
  .choose = rules_choose,
};
