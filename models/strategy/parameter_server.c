/**
 * @file parameter_server.c
 * @brief A classic parameter server: MXNet's KVStore, and P3 on top of it.
 *
 * The GPUs of a node sum first (kvstore "dist_device_sync"); a node pushes every array to
 * its server, which updates the weights once all nodes have pushed; then the nodes pull.
 *
 * A codec works on the way to the server, as MXNet's gradient compression does: the host's
 * threads encode each array, the server decodes every push, adds and updates, and answers
 * with the weights in full. MXNet has two bits and one; P3Store has none, here it is as the
 * others.
 *
 * Servers that are not synchronous apply each push when it has come, and answer. A node
 * goes on with what it has pulled, whatever the others do (Hogwild over servers); stale
 * synchronous parallel holds it if it is too many iterations ahead of the slowest: Q. Ho et
 * al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server",
 * NIPS 2013. What staleness does to accuracy is not simulated.
 *
 * The hierarchical one sums on one GPU of every node, which leads it to the servers, and,
 * with an aggregator, in racks of r of the n nodes before that. A message of M bytes, NICs
 * of B and k servers of their own then take, one after another,
 *
 *     max(M, (r - 1) M) / B + max(M / B, (n / r) M / (k B))       and the same back
 *
 * A codec works between the aggregators and the servers only: what crosses racks.
 *
 * Source: M. Li et al., "Scaling Distributed Machine Learning with the Parameter Server",
 * OSDI 2014; MXNet kvstore_dist.h. P3: A. Jayarajan et al., "Priority-based Parameter
 * Propagation for Distributed DNN Training", MLSys 2019; MXNet p3store.h.
 */
#include "models/strategy/servers.h"

#include <string.h>

typedef struct {
  guint consistency; /* Consistency */
  guint staleness;
  guint rack_nodes;
  guint servers;
  bool colocated;
  guint bigarray_bound;
  guint slice_threshold;
  double server_sum_rate_Bps;
  double update_passes;
  double message_latency_s;
  double kernel_launch_s;
} ServerParams;

// clang-format off
#define SERVER_PARAMS                                                                        \
  { .key = "servers", .type = PARAM_COUNT, .offset = offsetof(ServerParams, servers),        \
    .fallback = "1", .min = 1, .max = 1e5, .help = "how many servers share the arrays",      \
    .origin = "our choice: the classic single server" },                                     \
  { .key = "colocated", .type = PARAM_BOOL, .offset = offsetof(ServerParams, colocated),     \
    .fallback = "false", .help = "servers run on the nodes, in turn, not on machines of their own", \
    .origin = "our choice" },                                                                \
  { .key = "server_sum_rate", .type = PARAM_RATE,                                            \
    .offset = offsetof(ServerParams, server_sum_rate_Bps), .fallback = "18 GB/s",            \
    .min = 1e6, .max = 1e13, .help = "received bytes that one server adds per second",       \
    .origin = "assumed: four threads of 4.5 GB/s each, gcc -O3 AVX-512 on a small shared VM" }, \
  { .key = "update_passes", .type = PARAM_NUMBER,                                            \
    .offset = offsetof(ServerParams, update_passes), .fallback = "5", .min = 0, .max = 100,  \
    .help = "passes over weights and state of the server's update, in sums",                 \
    .origin = "assumed: momentum or Adam, 5 to 8 times the traffic of a sum" },              \
  { .key = "message_latency", .type = PARAM_SECONDS,                                         \
    .offset = offsetof(ServerParams, message_latency_s), .fallback = "10 us", .min = 0,      \
    .max = 1, .help = "handling of one push or pull beside the transport's latency",         \
    .origin = "assumed: a ZMQ message and its queues" },                                     \
  { .key = "kernel_launch", .type = PARAM_SECONDS,                                           \
    .offset = offsetof(ServerParams, kernel_launch_s), .fallback = STRATEGY_KERNEL_LAUNCH,   \
    .min = 0, .max = 1, .help = "start of one copy between GPU and host",                    \
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN }

#define BIGARRAY_PARAM                                                                       \
  { .key = "bigarray_bound", .type = PARAM_COUNT, .offset = offsetof(ServerParams, bigarray_bound), \
    .fallback = "1000000", .min = 1, .max = 1e9,                                             \
    .help = "arrays of fewer values lie whole on one server, others on all",                 \
    .origin = "MXNet env_var.md, MXNET_KVSTORE_BIGARRAY_BOUND" }

static const ParamSpec parameter_server_params[] = {
  { .key = "consistency", .type = PARAM_NAME, .offset = offsetof(ServerParams, consistency),
    .fallback = "sync", .names = consistency_names,
    .help = "sync: wait for all nodes; async: for none; ssp: for those far behind",
    .origin = "MXNet kvstore dist_sync, dist_async; ssp: Ho et al., NIPS 2013" },
  { .key = "staleness", .type = PARAM_COUNT, .offset = offsetof(ServerParams, staleness),
    .fallback = "3", .max = 1e6,
    .help = "iterations that a node may be ahead of the slowest, with ssp",
    .origin = "our choice: Ho et al. try 0 to 8 and more" },
  SERVER_PARAMS,
  BIGARRAY_PARAM,
  PARAM_END,
};

static const ParamSpec hierarchical_ps_params[] = {
  SERVER_PARAMS,
  BIGARRAY_PARAM,
  { .key = "nodes_per_aggregator", .type = PARAM_COUNT,
    .offset = offsetof(ServerParams, rack_nodes), .fallback = "1", .min = 1, .max = 1e6,
    .help = "nodes in a row, such as a rack's, whose first one sums before servers do",
    .origin = "our choice: node leaders go to the servers themselves" },
  PARAM_END,
};
static const ParamSpec p3_params[] = {
  SERVER_PARAMS,
  { .key = "slice_threshold", .type = PARAM_COUNT,
    .offset = offsetof(ServerParams, slice_threshold), .fallback = "40000", .min = 1,
    .max = 1e9, .help = "values in a slice; slices are dealt to the servers in turn",
    .origin = "MXNet env_var.md, MXNET_KVSTORE_SLICE_THRESHOLD" },
  PARAM_END,
};
// clang-format on

static ServersPlan plan_of(const ServerParams *self, GArray *pieces)
{
  return (ServersPlan){
    .n_servers = self->servers,
    .n_extra = self->colocated ? 0 : self->servers,
    .pieces = pieces,
    .server_sum_Bps = self->server_sum_rate_Bps,
    .update_passes = self->update_passes,
    .pulls_in_full = true,
    .message_s = self->message_latency_s,
    .kernel_launch_s = self->kernel_launch_s,
  };
}

static void parameter_server_compose(const void *params, const StrategyContext *context,
                                     Composition *out)
{
  const ServerParams *self = params;
  ServersPlan plan = plan_of(
    self, placement_big_arrays(context->workload, self->bigarray_bound, self->servers));

  plan.consistency = (Consistency)self->consistency;
  plan.staleness = self->staleness;
  servers_compose(&plan, context, out);
}

static const char *parameter_server_ignores(const void *params, const char *key)
{
  const ServerParams *self = params;

  return strcmp(key, "staleness") == 0 && self->consistency != CONSISTENCY_SSP
           ? "only consistency \"ssp\" minds it: write that, or leave it out"
           : NULL;
}

/* One GPU of a node sums, and one node of a rack. */
static void hierarchical_compose(const void *params, const StrategyContext *context,
                                 Composition *out)
{
  const ServerParams *self = params;
  ServersPlan plan = plan_of(
    self, placement_big_arrays(context->workload, self->bigarray_bound, self->servers));

  plan.by_leaders = true;
  plan.rack_nodes = self->rack_nodes;
  servers_compose(&plan, context, out);
}

/* Slices of the first layers overtake, and the next forward starts with them. */
static void p3_compose(const void *params, const StrategyContext *context, Composition *out)
{
  const ServerParams *self = params;
  ServersPlan plan = plan_of(
    self, placement_slices(context->workload, self->slice_threshold, self->servers));

  plan.first_layers_first = true;
  servers_compose(&plan, context, out);
  out->crosses_iterations = true;
}

const StrategyOps strategy_parameter_server = {
  .info = {
    .name = "parameter_server",
    .summary = "nodes push every array to its server and pull the sum",
    .source = "Li et al., OSDI 2014; MXNet kvstore_dist.h",
    .params = parameter_server_params,
    .params_size = sizeof(ServerParams),
  },
  .place = COMPRESS_PIECES,
  .ignores = parameter_server_ignores,
  .compose = parameter_server_compose,
};

const StrategyOps strategy_hierarchical_ps = {
  .info = {
    .name = "hierarchical_ps",
    .summary = "a parameter server of node leaders, and of racks if asked for",
    .source = "Li et al., OSDI 2014; MXNet kvstore dist_sync on comm.h CommCPU, CommDevice",
    .params = hierarchical_ps_params,
    .params_size = sizeof(ServerParams),
  },
  .place = COMPRESS_PIECES,
  .compose = hierarchical_compose,
};

const StrategyOps strategy_p3 = {
  .info = {
    .name = "p3",
    .summary = "a parameter server with small slices, the first layers' first",
    .source = "Jayarajan et al., MLSys 2019; MXNet p3store.h",
    .params = p3_params,
    .params_size = sizeof(ServerParams),
  },
  .place = COMPRESS_PIECES,
  .compose = p3_compose,
};
