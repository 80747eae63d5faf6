/**
 * @file rules.c
 * @brief The scenario says which collective runs up to which size, and what a hop costs.
 *
 * The first rule that is for the operation, and whose limit the message does not exceed,
 * decides. Rules that name no operation are for all that their collective can do.
 */
#include "models/library.h"

#define ANY_OPERATION 0

/* The others are 1 + the number of the kind. */
static const char *const operation_names[] = {
  "any",    "all_reduce", "reduce_scatter", "all_gather", "broadcast",
  "reduce", "all_to_all", "send_recv",      NULL,
};
G_STATIC_ASSERT(G_N_ELEMENTS(operation_names) == COLL_N_KINDS + 2);

/* One element of "rules". */
typedef struct {
  guint operation;
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
  { .key = "operation", .type = PARAM_NAME, .offset = offsetof(Rule, operation),
    .names = operation_names, .fallback = "any",
    .help = "what it is for; any: all that its collective can do", .origin = "any operation" },
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

static const CollOps *collective_of(const Rule *rule)
{
  return coll_find(rule->use, NULL);
}

/* OR of the operations that a rule is for. */
static guint kinds_of(const Rule *rule)
{
  return rule->operation == ANY_OPERATION ? collective_of(rule)->kinds
                                          : 1u << (rule->operation - 1);
}

/* Does the rule name an algorithm that can do what it is for? */
static bool check_use(const Rule *rule, GError **error)
{
  const CollOps *ops = coll_find(rule->use == NULL ? "" : rule->use, error);

  if (ops == NULL)
    return false;
  const CollKind kind = (CollKind)kinds_of(rule);
  if ((ops->kinds & kind) != 0)
    return true;
  g_autofree char *able = coll_names_of(kind);
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s cannot do %s; those that can: %s",
              rule->use, coll_kind_name(kind), able);
  return false;
}

/* Against those before it that are for one of its operations. */
static const char *check_order(const RulesParams *params, guint index)
{
  const guint64 up_to_B = rule(params, index)->up_to_B;
  guint left = kinds_of(rule(params, index));

  if (index + 1 == params->rules->len && up_to_B != 0)
    return "the last rule must be for any size: leave its up_to out";
  for (guint i = 0; i < index; i++) {
    const Rule *before = rule(params, i);
    if (before->up_to_B == 0)
      left &= ~kinds_of(before);
    else if ((left & kinds_of(before)) != 0 && up_to_B != 0 && up_to_B <= before->up_to_B)
      return "up_to must be larger than that of the rule before it";
  }
  return left == 0 ? "is never used: a rule before it is for any size" : NULL;
}

static bool check_rule(const RulesParams *params, guint index, GError **error)
{
  if (!check_use(rule(params, index), error))
    return false;
  const char *cause = check_order(params, index);
  if (cause == NULL)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s", cause);
  return false;
}

static bool rules_check(const void *data, LibraryPlace *place, GError **error)
{
  const RulesParams *params = data;

  *place = (LibraryPlace){ "rules", LIBRARY_NO_ELEMENT };
  if (params->rules == NULL || params->rules->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "at least one is needed, such as [{\"use\": \"ring\"}]");
    return false;
  }
  for (place->index = 0; place->index < params->rules->len; place->index++)
    if (!check_rule(params, place->index, error))
      return false;
  return true;
}

static void rules_candidates(const void *data, const LibraryCall *call,
                             GPtrArray *collectives)
{
  const RulesParams *params = data;
  bool any_size = false;

  for (guint i = 0; i < params->rules->len && !any_size; i++) {
    const CollOps *ops = collective_of(rule(params, i));
    if ((kinds_of(rule(params, i)) & call->kind) == 0)
      continue;
    any_size = rule(params, i)->up_to_B == 0;
    if (!g_ptr_array_find(collectives, ops, NULL))
      g_ptr_array_add(collectives, (gpointer)ops);
  }
  if (!any_size)
    g_ptr_array_set_size(collectives, 0);
}

static LibraryChoice rules_choose(const void *data, const LibraryCall *call, double size_B)
{
  const RulesParams *params = data;
  const CollOps *chosen = NULL;

  for (guint i = 0; i < params->rules->len && chosen == NULL; i++) {
    const guint64 up_to_B = rule(params, i)->up_to_B;
    if ((kinds_of(rule(params, i)) & call->kind) != 0 &&
        (up_to_B == 0 || size_B <= (double)up_to_B))
      chosen = collective_of(rule(params, i));
  }
  g_assert(chosen != NULL); /* or there were no candidates */
  return (LibraryChoice){
    .collective = chosen,
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
