#include "models/strategy/servers.h"

/* NCCL's Simple protocol inside a node: 2.30.7 tuning.cc, hwLatencies NVLINK and
 * baseLatencies of Ring [s]. */
#define LOCAL_HOP_S 3.4e-6
#define LOCAL_LAUNCH_S 8.4e-6

static void add_local(Pipeline *pipeline, const char *name, Move move, guint resource)
{
  pipeline_add_stage(pipeline, &(Stage){ .name = name,
                                         .kind = STAGE_MOVE,
                                         .move = move,
                                         .resource = resource,
                                         .fixed_s = LOCAL_LAUNCH_S,
                                         .alpha_s = LOCAL_HOP_S });
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

static void add_message(Pipeline *pipeline, const char *name, Move move, double message_s)
{
  pipeline_add_stage(pipeline, &(Stage){ .name = name,
                                         .kind = STAGE_MOVE,
                                         .move = move,
                                         .resource = add_server_queue(pipeline, name),
                                         .alpha_s = message_s });
}

/* Host memory and servers between the local stages. */
static void add_network(Pipeline *pipeline, const ServersPlan *plan)
{
  add_copy(pipeline, "copy_d2h", MOVE_TO_HOST, plan->kernel_launch_s);
  add_message(pipeline, "push", MOVE_PUSH, plan->message_s);
  pipeline_add_stage(
    pipeline, &(Stage){ .name = "sum",
                        .kind = STAGE_WAIT,
                        .resource = add_server_queue(pipeline, "server"),
                        .per_B_s = (1 + plan->update_passes) / plan->server_sum_Bps });
  add_message(pipeline, "pull", MOVE_PULL, plan->message_s);
  add_copy(pipeline, "copy_h2d", MOVE_FROM_HOST, plan->kernel_launch_s);
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
    add_local(pipeline, "local_reduce_scatter", MOVE_LOCAL_REDUCE_SCATTER, reduce);
  else
    pipeline_add_stage(pipeline,
                       &(Stage){ .name = "queue", .kind = STAGE_WAIT, .resource = reduce });
  if (context->n_nodes > 1) {
    add_network(pipeline, plan);
    out->n_servers = plan->n_servers;
    out->n_extra_servers = plan->n_extra;
    out->server_sum_Bps = plan->server_sum_Bps;
  }
  if (has_neighbours)
    add_local(pipeline, "local_all_gather", MOVE_LOCAL_ALL_GATHER,
              pipeline_add_resource(pipeline, "broadcast", 1));
  set_schedule(plan, context->workload, out);
}
