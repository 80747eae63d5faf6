/**
 * @file horovod.c
 * @brief Horovod: negotiation in cycles, fused all-reduces on a stream.
 *
 * The knobs are HOROVOD_CYCLE_TIME, HOROVOD_FUSION_THRESHOLD and so on in lower case and
 * without their prefix. Fused gradients are copied into the fusion buffer and out of it on
 * the communication stream; one that travels alone is reduced in place.
 *
 * A codec encodes each gradient on the compute stream before it is queued, so that fusion
 * counts messages and not gradients, and decodes it in synchronize(), after backward. What
 * is encoded and what is not are of different types, which Horovod does not fuse; here they
 * share a buffer's copies, but not its collective.
 *
 * Negotiation runs over MPI on the hosts. With every name cached it is one all-reduce of a
 * bit per name, by recursive doubling: floor(log2 N) messages in a row and two more unless
 * N is a power of two (Thakur, Rabenseifner, Gropp, "Optimization of Collective
 * Communication Operations in MPICH", IJHPCA 19, 2005). Otherwise a gather of the sizes, a
 * gather of the requests, a broadcast of the size and of the responses follow, each a tree
 * of ceil(log2 N) messages. The messages are short: their bytes cost nothing here.
 *
 * With autotune training begins with iterations that try knobs; they are run and not
 * counted. What was found is told. hierarchical_allreduce and torus_allreduce, which
 * Horovod tries too, stay as they are given.
 *
 * Source: horovod 0.28.1, torch/optimizer.py, operations.cc, global_state.h, controller.cc,
 * mpi/mpi_controller.cc, ops/gpu_operations.cc, ops/cuda/cuda_kernels.h.
 */
#include "models/strategy.h"

#include <math.h>

/* Fusion buffers hold a multiple of this for each GPU of a node: 8 B (fp64) times
 * FUSION_BUFFER_ATOMIC_UNIT = 64, controller.cc TensorFusionThresholdBytes. */
#define FUSION_UNIT_B 512
/* BATCHED_D2D_CAPACITY and BATCHED_D2D_PADDING, ops/cuda/cuda_kernels.h. */
#define BATCHED_COPIES 160
#define BATCHED_PADDING_B 16
/* Gather, Gatherv, Bcast, Bcast: SendReadyTensors and SendFinalTensors. */
#define N_COORDINATOR_TREES 4

typedef struct {
  double cycle_time_s;
  guint64 fusion_threshold_B;
  guint cache_capacity;
  guint num_nccl_streams;
  bool batch_d2d_memcopies;
  bool hierarchical_allreduce;
  bool torus_allreduce;
  bool autotune;
  guint autotune_warmup_samples;
  guint autotune_steps_per_sample;
  guint autotune_bayes_opt_max_samples;
  double autotune_gaussian_process_noise;
  double stall_check_time_s;
  double control_latency_s;
  double kernel_launch_s;
} HorovodParams;

static const ParamSpec horovod_params[] = {
  {
    .key = "cycle_time",
    .type = PARAM_SECONDS,
    .offset = offsetof(HorovodParams, cycle_time_s),
    .fallback = "1 ms",
    .min = 0,
    .max = 3600,
    .help = "least time from one negotiation to the next",
    .origin = "horovod 0.28.1 operations.cc",
  },
  {
    .key = "fusion_threshold",
    .type = PARAM_BYTES,
    .offset = offsetof(HorovodParams, fusion_threshold_B),
    .fallback = "128 MiB",
    .help = "largest fused buffer, rounded up to 512 B per GPU of a node; 0: no fusion",
    .origin = "horovod 0.28.1 operations.cc",
  },
  {
    .key = "cache_capacity",
    .type = PARAM_COUNT,
    .offset = offsetof(HorovodParams, cache_capacity),
    .fallback = "1024",
    .help = "names whose negotiation takes the short way; 0: none",
    .origin = "horovod 0.28.1 global_state.h",
  },
  {
    .key = "num_nccl_streams",
    .type = PARAM_COUNT,
    .offset = offsetof(HorovodParams, num_nccl_streams),
    .fallback = "1",
    .min = 1,
    .max = 1024,
    .help = "all-reduces in flight at once, each stream with a fusion buffer",
    .origin = "horovod 0.28.1 global_state.h",
  },
  {
    .key = "batch_d2d_memcopies",
    .type = PARAM_BOOL,
    .offset = offsetof(HorovodParams, batch_d2d_memcopies),
    .fallback = "true",
    .help = "copy up to 160 tensors per kernel, padded to 16 B, instead of one",
    .origin = "horovod 0.28.1 global_state.h",
  },
  {
    .key = "hierarchical_allreduce",
    .type = PARAM_BOOL,
    .offset = offsetof(HorovodParams, hierarchical_allreduce),
    .fallback = "false",
    .help = "NCCL inside nodes, MPI between their hosts; goes before torus_allreduce",
    .origin = "horovod 0.28.1 operations.cc",
  },
  {
    .key = "torus_allreduce",
    .type = PARAM_BOOL,
    .offset = offsetof(HorovodParams, torus_allreduce),
    .fallback = "false",
    .help = "NCCL inside nodes, then between GPUs of one place in their nodes",
    .origin = "horovod 0.28.1 operations.cc",
  },
  {
    .key = "autotune",
    .type = PARAM_BOOL,
    .offset = offsetof(HorovodParams, autotune),
    .fallback = "false",
    .help = "tune, before anything is measured, what has its default of fusion_threshold, "
            "cycle_time, cache_capacity",
    .origin = "horovod 0.28.1 operations.cc, HOROVOD_AUTOTUNE",
  },
  {
    .key = "autotune_warmup_samples",
    .type = PARAM_COUNT,
    .offset = offsetof(HorovodParams, autotune_warmup_samples),
    .fallback = "3",
    .max = 1000,
    .help = "samples left out, of five scores each",
    .origin = "horovod 0.28.1 parameter_manager.cc",
  },
  {
    .key = "autotune_steps_per_sample",
    .type = PARAM_COUNT,
    .offset = offsetof(HorovodParams, autotune_steps_per_sample),
    .fallback = "10",
    .min = 1,
    .max = 1000,
    .help = "iterations of a score",
    .origin = "horovod 0.28.1 parameter_manager.cc",
  },
  {
    .key = "autotune_bayes_opt_max_samples",
    .type = PARAM_COUNT,
    .offset = offsetof(HorovodParams, autotune_bayes_opt_max_samples),
    .fallback = "20",
    .min = 1,
    .max = 100,
    .help = "points tried of threshold and cycle time, and one more",
    .origin = "horovod 0.28.1 parameter_manager.cc",
  },
  {
    .key = "autotune_gaussian_process_noise",
    .type = PARAM_NUMBER,
    .offset = offsetof(HorovodParams, autotune_gaussian_process_noise),
    .fallback = "0.8",
    .min = 1e-3,
    .max = 1e6,
    .help = "standard deviation of a score, in bytes per microsecond",
    .origin = "horovod 0.28.1 parameter_manager.cc",
  },
  {
    .key = "stall_check_time",
    .type = PARAM_SECONDS,
    .offset = offsetof(HorovodParams, stall_check_time_s),
    .fallback = "60 s",
    .min = 0,
    .max = 1e6,
    .help = "iterations longer than this deserve a warning; 0: never",
    .origin = "horovod 0.28.1 stall_inspector.h, HOROVOD_STALL_CHECK_TIME_SECONDS",
  },
  {
    .key = "control_latency",
    .type = PARAM_SECONDS,
    .offset = offsetof(HorovodParams, control_latency_s),
    .fallback = "20 us",
    .min = 0,
    .max = 3600,
    .help = "time of one short message between hosts during negotiation",
    .origin = "assumed: kernel TCP, 10 to 30 us one way",
  },
  {
    .key = "kernel_launch",
    .type = PARAM_SECONDS,
    .offset = offsetof(HorovodParams, kernel_launch_s),
    .fallback = STRATEGY_KERNEL_LAUNCH,
    .help = "time of a short kernel in a stream; copies take one or more",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN,
  },
  PARAM_END,
};

static guint log2_floor(guint n)
{
  return g_bit_storage(n) - 1;
}

static guint log2_ceil(guint n)
{
  return n <= 1 ? 0 : g_bit_storage(n - 1);
}

/* Horovod holds what is set; here that is what differs from its default. */
static bool is_given(const HorovodParams *self, const char *key)
{
  const ParamSpec *spec = param_find(horovod_params, key);
  g_autofree char *value = param_format(spec, self);
  HorovodParams usual = { 0 };

  param_set(spec, &usual, spec->fallback, NULL);
  g_autofree char *fallback = param_format(spec, &usual);
  return !g_str_equal(value, fallback);
}

static const char *horovod_ignores(const void *params, const char *key)
{
  const HorovodParams *self = params;

  return g_str_has_prefix(key, "autotune_") && !self->autotune
           ? "only \"autotune\": true minds it: write that, or leave it out"
           : NULL;
}

static AutotuneRule autotune_rule(const HorovodParams *self)
{
  return (AutotuneRule){
    .warmup_samples = self->autotune_warmup_samples,
    .steps_per_sample = self->autotune_steps_per_sample,
    .max_samples = self->autotune_bayes_opt_max_samples,
    .noise = self->autotune_gaussian_process_noise,
    .holds_threshold = is_given(self, "fusion_threshold"),
    .holds_cycle_time = is_given(self, "cycle_time"),
    .holds_cache = is_given(self, "cache_capacity"),
  };
}

/* All of it is simulated before anything is measured. */
#define MOST_TUNING 20000

static bool horovod_begins(const void *params, guint n_nodes G_GNUC_UNUSED, GError **error)
{
  const HorovodParams *self = params;
  const AutotuneRule rule = autotune_rule(self);

  if (!self->autotune || autotune_n_steps(&rule) <= MOST_TUNING)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "autotune would take %u iterations before the first that counts, more than "
              "%u: lower autotune_warmup_samples, autotune_steps_per_sample or "
              "autotune_bayes_opt_max_samples",
              autotune_n_steps(&rule), MOST_TUNING);
  return false;
}

static HorovodCycleRule cycle_rule(const HorovodParams *self,
                                   const StrategyContext *context)
{
  const guint n_ranks = context->n_nodes * context->gpus_per_node;
  const bool power_of_two = (n_ranks & (n_ranks - 1)) == 0;
  const guint bits_rounds = log2_floor(n_ranks) + (power_of_two ? 0 : 2);
  const guint coordinator_rounds = N_COORDINATOR_TREES * log2_ceil(n_ranks);
  const double unit_B = FUSION_UNIT_B * (double)context->gpus_per_node;
  const double cached_s = bits_rounds * self->control_latency_s;
  const double no_cache_s = coordinator_rounds * self->control_latency_s;

  return (HorovodCycleRule){
    .cycle_time_s = self->cycle_time_s,
    .cached_s = cached_s,
    .uncached_s = no_cache_s + (self->cache_capacity > 0 ? cached_s : 0),
    .no_cache_s = no_cache_s,
    .threshold_unit_B = unit_B,
    .autotunes = self->autotune,
    .autotune = autotune_rule(self),
    .threshold_B = ceil((double)self->fusion_threshold_B / unit_B) * unit_B,
    .padding_B = self->batch_d2d_memcopies ? BATCHED_PADDING_B : 1,
    .cache_capacity = self->cache_capacity,
    .blocks = self->hierarchical_allreduce && context->n_nodes > 1,
  };
}

static void add_move(Pipeline *pipeline, const Stage *proto)
{
  Stage stage = *proto;
  stage.name = move_names[stage.move];
  stage.kind = STAGE_MOVE;
  pipeline_add_stage(pipeline, &stage);
}

/* What MPI does between the hosts, from and to the memory of the GPUs. */
static void add_hosts(Pipeline *pipeline, const HorovodParams *self, guint stream)
{
  add_move(
    pipeline,
    &(Stage){ .move = MOVE_TO_HOST, .resource = stream, .fixed_s = self->kernel_launch_s });
  add_move(pipeline, &(Stage){ .move = MOVE_HOST_ALL_REDUCE,
                               .resource = stream,
                               .alpha_s = self->control_latency_s });
  add_move(pipeline, &(Stage){ .move = MOVE_FROM_HOST,
                               .resource = stream,
                               .fixed_s = self->kernel_launch_s });
}

static void add_local(Pipeline *pipeline, Move move, guint stream)
{
  add_move(pipeline, &(Stage){ .move = move,
                               .resource = stream,
                               .fixed_s = STRATEGY_NCCL_LAUNCH_S,
                               .alpha_s = STRATEGY_NCCL_HOP_S });
}

/* One NCCL call, or the three steps. */
static void add_all_reduce(const HorovodParams *self, const StrategyContext *context,
                           guint stream, Composition *out)
{
  Pipeline *pipeline = &out->pipeline;

  if (context->n_nodes == 1 || !(self->hierarchical_allreduce || self->torus_allreduce)) {
    pipeline_add_stage(pipeline, &(Stage){
                                   .name = "all_reduce",
                                   .kind = STAGE_COLLECTIVE,
                                   .collective = COLL_ALL_REDUCE,
                                   .resource = stream,
                                 });
    return;
  }
  add_local(pipeline, MOVE_LOCAL_REDUCE_SCATTER, stream);
  if (self->hierarchical_allreduce)
    add_hosts(pipeline, self, stream);
  else
    add_move(pipeline, &(Stage){ .move = MOVE_CROSS_ALL_REDUCE,
                                 .resource = stream,
                                 .fixed_s = STRATEGY_NCCL_LAUNCH_S,
                                 .alpha_s = STRATEGY_NCCL_NET_HOP_S });
  add_local(pipeline, MOVE_LOCAL_ALL_GATHER, stream);
  out->algorithm = self->hierarchical_allreduce ? "hierarchical/mpi" : "torus";
}

static void horovod_compose(const void *params, const StrategyContext *context,
                            Composition *out)
{
  const HorovodParams *self = params;
  const HorovodCycleRule rule = cycle_rule(self, context);
  Pipeline *pipeline = &out->pipeline;
  const guint stream =
    pipeline_add_resource(pipeline, "nccl stream", self->num_nccl_streams);
  const guint coder =
    context->compression == NULL ? 0 : pipeline_add_resource(pipeline, "codec stream", 1);
  Stage copy = {
    .name = "copy_in",
    .kind = STAGE_WAIT,
    .resource = stream,
    .only_fused = true,
    .per_tensor_s = self->kernel_launch_s,
    .tensors_per_batch = self->batch_d2d_memcopies ? BATCHED_COPIES : 1,
    .per_B_s = strategy_copy_s_per_B(context->gpu),
  };

  strategy_add_encode(pipeline, context, coder);
  pipeline_add_stage(pipeline, &copy);
  add_all_reduce(self, context, stream, out);
  copy.name = "copy_out";
  pipeline_add_stage(pipeline, &copy);
  strategy_add_decode(pipeline, context, coder, true);

  out->stall_warning_s = self->stall_check_time_s;
  out->schedule = &schedule_horovod_cycle;
  out->schedule_state = out->schedule->new (&rule, context->workload);
  if (self->autotune)
    out->tuning_iterations = autotune_n_steps(&rule.autotune);
  if (self->autotune && !rule.autotune.holds_threshold)
    out->communication_B = self->num_nccl_streams * AUTOTUNE_MAX_THRESHOLD_B;
  else if (horovod_cycle_can_fuse(&rule, context->workload))
    out->communication_B = self->num_nccl_streams * rule.threshold_B;
}

const StrategyOps strategy_horovod = {
  .info = {
    .name = "horovod",
    .summary = "Horovod: cycles of negotiation, fused all-reduces during backward",
    .source = "horovod 0.28.1; Sergeev & Del Balso, arXiv 1802.05799",
    .params = horovod_params,
    .params_size = sizeof(HorovodParams),
  },
  .place = COMPRESS_TENSORS,
  .begins = horovod_begins,
  .ignores = horovod_ignores,
  .compose = horovod_compose,
};
