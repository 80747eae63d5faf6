#include "models/strategy/servers.h"

const char *const consistency_names[] = {
  [CONSISTENCY_SYNC] = "sync",
  [CONSISTENCY_ASYNC] = "async",
  [CONSISTENCY_SSP] = "ssp",
  NULL,
};

static void add_local(Pipeline *pipeline, Move move, guint resource)
{
  pipeline_add_stage(pipeline, &(Stage){ .name = move_names[move],
                                         .kind = STAGE_MOVE,
                                         .move = move,
                                         .resource = resource,
                                         .fixed_s = STRATEGY_NCCL_LAUNCH_S,
                                         .alpha_s = STRATEGY_NCCL_HOP_S });
}

static void add_copy(Pipeline *pipeline, const char *name, Move move, double launch_s)
{
  pipeline_add_stage(pipeline,
                     &(Stage){ .name = name,
                               .kind = STAGE_MOVE,
                               .move = move,
                               .resource = pipeline_add_resource(pipeline, name, 1),
                               .fixed_s = launch_s });
}

static guint add_server_queue(Pipeline *pipeline, const char *name)
{
  const guint resource = pipeline_add_resource(pipeline, name, 1);
  pipeline_resource(pipeline, resource)->per_server = true;
  return resource;
}

static void add_message(Pipeline *pipeline, const char *name, Move move, bool in_full,
                        double message_s)
{
  pipeline_add_stage(pipeline, &(Stage){ .name = name,
                                         .kind = STAGE_MOVE,
                                         .move = move,
                                         .moves_message = !in_full,
                                         .resource = add_server_queue(pipeline, name),
                                         .alpha_s = message_s });
}

/* One summing step of nodes, or of servers: what arrives is added while it does, so that
 * only the last message is left to add; what must be decoded first is added when all is
 * there. */
static void add_rack_push(Pipeline *pipeline, const ServersPlan *plan)
{
  pipeline_add_stage(pipeline,
                     &(Stage){ .name = "rack_push",
                               .kind = STAGE_MOVE,
                               .move = MOVE_RACK_PUSH,
                               .resource = pipeline_add_resource(pipeline, "rack push", 1),
                               .alpha_s = plan->message_s });
  pipeline_add_stage(pipeline,
                     &(Stage){ .name = "rack_sum",
                               .kind = STAGE_WAIT,
                               .resource = pipeline_add_resource(pipeline, "aggregator", 1),
                               .per_B_s = 1 / plan->server_sum_Bps });
}

static void add_rack_pull(Pipeline *pipeline, const ServersPlan *plan)
{
  pipeline_add_stage(pipeline,
                     &(Stage){ .name = "rack_pull",
                               .kind = STAGE_MOVE,
                               .move = MOVE_RACK_PULL,
                               .resource = pipeline_add_resource(pipeline, "rack pull", 1),
                               .alpha_s = plan->message_s });
}

static guint n_pushes(const ServersPlan *plan, const StrategyContext *context)
{
  const guint rack = MAX(plan->rack_nodes, 1);
  return (context->n_nodes + rack - 1) / rack;
}

/* Servers that wait for nobody apply each push when it has come. */
static void add_sum(Pipeline *pipeline, const ServersPlan *plan,
                    const StrategyContext *context)
{
  const bool decodes = context->compression != NULL;
  const guint n = plan->consistency == CONSISTENCY_SYNC ? n_pushes(plan, context) : 1;
  const guint queue = add_server_queue(pipeline, "server");

  pipeline_resource(pipeline, queue)->is_servers = true;
  pipeline_add_stage(pipeline,
                     &(Stage){ .name = "sum",
                               .kind = decodes ? STAGE_SERVE : STAGE_WAIT,
                               .gathers = true,
                               .n_pushes = n,
                               .answers_in_full = plan->pulls_in_full,
                               .resource = queue,
                               .per_B_s = ((decodes ? n : 1) + plan->update_passes) /
                                          plan->server_sum_Bps });
}

/* The sums of the switches meet in host memory, where each GPU's process adds its part. */
static void add_switch_sum(Pipeline *pipeline, const ServersPlan *plan,
                           const StrategyContext *context)
{
  const guint part = plan->switch_gpus;
  const guint n_switches = (context->gpus_per_node + part - 1) / part;

  pipeline_add_stage(
    pipeline, &(Stage){ .name = "pcie_reduce",
                        .kind = STAGE_WAIT,
                        .resource = pipeline_add_resource(pipeline, "pcie reduce", 1),
                        .per_B_s = (n_switches - 1.0) / part / plan->host_sum_Bps });
}

/* A hash leaves some servers without anything. */
static bool *find_serving(const ServersPlan *plan)
{
  bool *serves = g_new0(bool, plan->n_servers);

  for (guint i = 0; i < plan->pieces->len; i++)
    serves[g_array_index(plan->pieces, Piece, i).server] = true;
  return serves;
}

static bool has_switches(const ServersPlan *plan, const StrategyContext *context)
{
  return plan->switch_gpus > 0 && plan->switch_gpus < context->gpus_per_node;
}

/* Host memory and servers between the local stages. */
static void add_network(Pipeline *pipeline, const ServersPlan *plan,
                        const StrategyContext *context)
{
  const bool racks = plan->rack_nodes > 1;
  const guint threads =
    context->compression == NULL ? 0 : pipeline_add_resource(pipeline, "codec threads", 1);

  add_copy(pipeline, "copy_d2h", plan->by_leaders ? MOVE_LEADER_TO_HOST : MOVE_TO_HOST,
           plan->kernel_launch_s);
  if (has_switches(plan, context))
    add_switch_sum(pipeline, plan, context);
  if (racks)
    add_rack_push(pipeline, plan);
  strategy_add_encode(pipeline, context, threads);
  add_message(pipeline, "push", MOVE_PUSH, false, plan->message_s);
  add_sum(pipeline, plan, context);
  add_message(pipeline, "pull", MOVE_PULL, plan->pulls_in_full, plan->message_s);
  if (!plan->pulls_in_full)
    strategy_add_decode(pipeline, context, threads, false);
  if (racks)
    add_rack_pull(pipeline, plan);
  add_copy(pipeline, "copy_h2d", plan->by_leaders ? MOVE_LEADER_FROM_HOST : MOVE_FROM_HOST,
           plan->kernel_launch_s);
}

static void set_schedule(const ServersPlan *plan, const Workload *workload,
                         Composition *out)
{
  KeyedRule *rule = g_new(KeyedRule, 1);

  *rule =
    (KeyedRule){ .pieces = plan->pieces, .first_layers_first = plan->first_layers_first };
  out->schedule = &schedule_keyed;
  out->schedule_state = out->schedule->new (rule, workload);
}

void servers_compose(const ServersPlan *plan, const StrategyContext *context,
                     Composition *out)
{
  Pipeline *pipeline = &out->pipeline;
  const bool has_neighbours = context->gpus_per_node > 1;
  const guint reduce = pipeline_add_resource(pipeline, "reduce", 1);

  *pipeline_resource(pipeline, reduce) = (Resource){
    .name = "reduce",
    .concurrency = 1,
    .by_priority = plan->first_layers_first,
    .credit_B = plan->credit_B,
    .credit_stage = 0,
  };
  if (has_neighbours)
    add_local(pipeline, plan->by_leaders ? MOVE_LOCAL_REDUCE : MOVE_LOCAL_REDUCE_SCATTER,
              reduce);
  else
    pipeline_add_stage(pipeline,
                       &(Stage){ .name = "queue", .kind = STAGE_WAIT, .resource = reduce });
  if (context->n_nodes > 1) {
    add_network(pipeline, plan, context);
    out->n_servers = plan->n_servers;
    out->serves = find_serving(plan);
    out->n_extra_servers = plan->n_extra;
    out->rack_nodes = plan->rack_nodes;
    out->switch_gpus = has_switches(plan, context) ? plan->switch_gpus : 0;
    out->consistency = plan->consistency;
    out->staleness = plan->staleness;
    out->n_pieces = plan->pieces->len;
    if (plan->consistency == CONSISTENCY_SYNC && context->compression == NULL)
      out->server_sum_Bps = plan->server_sum_Bps;
  }
  if (has_neighbours)
    add_local(pipeline, plan->by_leaders ? MOVE_LOCAL_BROADCAST : MOVE_LOCAL_ALL_GATHER,
              pipeline_add_resource(pipeline, "broadcast", 1));
  set_schedule(plan, context->workload, out);
}
