/**
 * @file byteps.c
 * @brief BytePS: partitions, three levels of summation, servers wherever there are NICs.
 *
 * The knobs are BYTEPS_PARTITION_BYTES, BYTEPS_SCHEDULING_CREDIT and so on in lower case
 * and without their prefix. Without credit, scheduling is off: partitions go in the order
 * their gradients become ready. `servers` CPU machines of their own sum; with mixed_mode
 * the GPU machines sum as well, each part as large as its NIC can take.
 *
 * GPUs under one PCIe switch sum among themselves; with more switches than one the host
 * adds their sums, so that nothing goes from switch to switch.
 *
 * A codec works between machines only: the host's threads encode each partition on its way
 * to the server, which decodes every push, adds, and encodes the sum; the hosts decode
 * that. BytePS leaves tensors below 64 KiB alone: "min_size" says so.
 *
 * Source: byteps 0.2.5, operations.cc, core_loops.cc, scheduled_queue.cc, global.cc,
 * server/server.cc; Y. Jiang et al., OSDI 2020.
 */
#include "models/strategy/servers.h"
#include "sim/base/registry.h"

#include <math.h>

typedef struct {
  guint64 partition_B;
  guint credit;
  guint servers;
  bool mixed_mode;
  guint mixed_mode_bound;
  guint placement; /* Placement */
  bool cross_barrier;
  bool enable_async;
  guint pcie_switch_size;
  guint omp_thread_per_gpu;
  guint server_engine_thread;
  double server_sum_rate_Bps;
  double message_latency_s;
  double kernel_launch_s;
} BytepsParams;

// clang-format off
static const ParamSpec byteps_params[] = {
  { .key = "partition", .type = PARAM_BYTES, .offset = offsetof(BytepsParams, partition_B),
    .fallback = "4096000 B", .min = 1024, .max = 1e12,
    .help = "largest piece of a tensor, rounded up to pages of 4 KiB per GPU of a node",
    .origin = "byteps 0.2.5 global.cc, BYTEPS_PARTITION_BYTES" },
  { .key = "credit", .type = PARAM_COUNT, .offset = offsetof(BytepsParams, credit),
    .fallback = "4", .min = 1, .max = 1e6,
    .help = "partitions in local reduction at once; the first layers' go first",
    .origin = "byteps docs/best-practice.md; BYTEPS_SCHEDULING_CREDIT" },
  { .key = "servers", .type = PARAM_COUNT, .offset = offsetof(BytepsParams, servers),
    .fallback = "0", .min = 0, .max = 1e5,
    .help = "CPU machines that sum; 0: every GPU machine sums its part",
    .origin = "none unless given" },
  { .key = "mixed_mode", .type = PARAM_BOOL, .offset = offsetof(BytepsParams, mixed_mode),
    .fallback = "false", .help = "the GPU machines sum beside the servers",
    .origin = "byteps 0.2.5 global.cc, BYTEPS_ENABLE_MIXED_MODE" },
  { .key = "mixed_mode_bound", .type = PARAM_COUNT,
    .offset = offsetof(BytepsParams, mixed_mode_bound), .fallback = "101", .min = 1, .max = 1e6,
    .help = "classes of keys that its hash deals to both kinds, no fewer than servers",
    .origin = "byteps 0.2.5 global.cc, BYTEPS_MIXED_MODE_BOUND" },
  { .key = "placement", .type = PARAM_NAME, .offset = offsetof(BytepsParams, placement),
    .names = placement_names, .fallback = "djb2", .help = "which server takes a partition",
    .origin = "byteps 0.2.5 global.cc, BYTEPS_KEY_HASH_FN" },
  { .key = "cross_barrier", .type = PARAM_BOOL, .offset = offsetof(BytepsParams, cross_barrier),
    .fallback = "false", .help = "a layer's next forward waits for its own gradients only",
    .origin = "byteps docs/cross-barrier.md, off in PyTorch" },
  { .key = "enable_async", .type = PARAM_BOOL, .offset = offsetof(BytepsParams, enable_async),
    .fallback = "false", .help = "servers add pushes when they come; no node waits for others",
    .origin = "byteps 0.2.5 server.cc, BYTEPS_ENABLE_ASYNC" },
  { .key = "pcie_switch_size", .type = PARAM_COUNT,
    .offset = offsetof(BytepsParams, pcie_switch_size), .fallback = "8", .min = 1, .max = 1024,
    .help = "GPUs that sum among themselves; the host adds the sums of several such switches",
    .origin = "byteps 0.2.5 nccl_manager.cc, BYTEPS_PCIE_SWITCH_SIZE" },
  { .key = "omp_thread_per_gpu", .type = PARAM_COUNT,
    .offset = offsetof(BytepsParams, omp_thread_per_gpu), .fallback = "4", .min = 1, .max = 1024,
    .help = "threads that add for one GPU, each at server_sum_rate, across switches",
    .origin = "byteps 0.2.5 cpu_reducer.cc, BYTEPS_OMP_THREAD_PER_GPU" },
  { .key = "server_engine_thread", .type = PARAM_COUNT,
    .offset = offsetof(BytepsParams, server_engine_thread), .fallback = "4", .min = 1,
    .max = 1024, .help = "threads that sum on a server",
    .origin = "byteps 0.2.5 server.cc, BYTEPS_SERVER_ENGINE_THREAD" },
  { .key = "server_sum_rate", .type = PARAM_RATE,
    .offset = offsetof(BytepsParams, server_sum_rate_Bps), .fallback = "4.5 GB/s", .min = 1e6,
    .max = 1e13, .help = "received bytes that one thread adds per second, fp32",
    .origin = "assumed: gcc -O3 AVX-512 on one core of a small shared VM" },
  { .key = "message_latency", .type = PARAM_SECONDS,
    .offset = offsetof(BytepsParams, message_latency_s), .fallback = "10 us", .min = 0,
    .max = 1, .help = "handling of one push or pull beside the transport's latency",
    .origin = "assumed: a ZMQ or RDMA message and its queues" },
  { .key = "kernel_launch", .type = PARAM_SECONDS,
    .offset = offsetof(BytepsParams, kernel_launch_s), .fallback = STRATEGY_KERNEL_LAUNCH,
    .min = 0, .max = 1, .help = "start of one copy between GPU and host",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN },
  PARAM_END,
};
// clang-format on

static ServerParts parts_of(const BytepsParams *self, const StrategyContext *context)
{
  const guint n = context->n_nodes;

  if (self->servers == 0)
    return (ServerParts){ .n_servers = n, .extra_share = -1 };
  if (!self->mixed_mode)
    return (ServerParts){ .n_servers = self->servers,
                          .n_extra = self->servers,
                          .extra_share = -1 };
  return (ServerParts){ .n_servers = self->servers + n,
                        .n_extra = self->servers,
                        .extra_share = placement_mixed_share(n, self->servers),
                        .bound = self->mixed_mode_bound };
}

/* Page of Linux on x86-64 [B]. */
#define PAGE_B 4096

/* BytePS rounds up, so that every GPU's part of a partition begins with a page. */
static double partition_B(const BytepsParams *self, const StrategyContext *context)
{
  const guint64 step_B = (guint64)context->gpus_per_node * PAGE_B;
  return (double)((self->partition_B + step_B - 1) / step_B * step_B);
}

/* What BytePS refuses when it begins. */
static bool byteps_begins(const void *params, guint n_nodes, GError **error)
{
  const BytepsParams *self = params;
  const guint n = self->servers + n_nodes;

  if (!self->mixed_mode || self->servers == 0 || n_nodes == 1)
    return true;
  if (self->servers > n_nodes)
    g_set_error(
      error, SIM_ERROR, SIM_ERROR_VALUE,
      "strategy.servers: %u servers for %u nodes: with mixed_mode BytePS takes no "
      "more servers than nodes; fewer, or mixed_mode off",
      self->servers, n_nodes);
  else if (self->placement != PLACEMENT_IDEAL && self->mixed_mode_bound < n)
    g_set_error(
      error, SIM_ERROR, SIM_ERROR_VALUE,
      "strategy.mixed_mode_bound: %u is less than the %u servers, of which %u are "
      "the nodes; BytePS wants as many at least",
      self->mixed_mode_bound, n, n_nodes);
  else
    return true;
  return false;
}

static void byteps_compose(const void *params, const StrategyContext *context,
                           Composition *out)
{
  const BytepsParams *self = params;
  const ServerParts parts = parts_of(self, context);
  const ServersPlan plan = {
    .n_servers = parts.n_servers,
    .n_extra = parts.n_extra,
    .pieces = placement_partitions(context->workload, partition_B(self, context),
                                   (Placement)self->placement, &parts),
    .first_layers_first = true,
    .consistency = self->enable_async ? CONSISTENCY_ASYNC : CONSISTENCY_SYNC,
    .credit_B = (double)self->credit * partition_B(self, context),
    .server_sum_Bps = self->server_engine_thread * self->server_sum_rate_Bps,
    .switch_gpus = self->pcie_switch_size,
    .host_sum_Bps = self->omp_thread_per_gpu * self->server_sum_rate_Bps,
    .message_s = self->message_latency_s,
    .kernel_launch_s = self->kernel_launch_s,
  };

  servers_compose(&plan, context, out);
  out->crosses_iterations = self->cross_barrier;
}

const StrategyOps strategy_byteps = {
  .info = {
    .name = "byteps",
    .summary = "partitions summed on servers and GPU machines, by priority",
    .source = "byteps 0.2.5; Jiang et al., OSDI 2020",
    .params = byteps_params,
    .params_size = sizeof(BytepsParams),
  },
  .place = COMPRESS_PIECES,
  .begins = byteps_begins,
  .compose = byteps_compose,
};
