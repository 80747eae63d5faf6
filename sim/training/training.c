#include "sim/training/training.h"

#include "models/memory.h"
#include "sim/base/stats.h"
#include "sim/base/units.h"
#include "sim/training/job.h"

/* Messages may meet if more than one server runs stages that transfer. */
static bool may_overlap(const Composition *composition)
{
  const Pipeline *pipeline = &composition->pipeline;
  guint n_servers = 0, last = G_MAXUINT;

  for (guint s = 0; s < pipeline->stages->len; s++) {
    const Stage *stage = &g_array_index(pipeline->stages, Stage, s);
    const bool transfers = stage->kind == STAGE_COLLECTIVE || stage->kind == STAGE_MOVE;
    if (!transfers || stage->resource == last)
      continue;
    const Resource *resource =
      &g_array_index(pipeline->resources, Resource, stage->resource);
    n_servers +=
      resource->concurrency * (resource->per_server ? composition->n_servers : 1);
    last = stage->resource;
  }
  return n_servers > 1;
}

/* Moves that a single server of a single queue runs: one at a time. */
static guint serial_moves(const Pipeline *pipeline)
{
  guint serial = 0, others = 0;

  for (guint s = 0; s < pipeline->stages->len; s++) {
    const Stage *stage = &g_array_index(pipeline->stages, Stage, s);
    const Resource *resource =
      &g_array_index(pipeline->resources, Resource, stage->resource);
    if (stage->kind != STAGE_MOVE)
      continue;
    if (resource->concurrency == 1 && !resource->per_server &&
        !(serial & 1u << stage->move))
      serial |= 1u << stage->move;
    else
      others |= 1u << stage->move;
  }
  return serial & ~others;
}

static void add_tracks(const Pipeline *pipeline, Result *result)
{
  result_add_track(result, "compute");
  for (guint r = 0; r < pipeline->resources->len; r++) {
    const Resource *resource = &g_array_index(pipeline->resources, Resource, r);
    for (guint i = 0; i < resource->concurrency; i++) {
      g_autofree char *name =
        i == 0 ? g_strdup(resource->name) : g_strdup_printf("%s %u", resource->name, i + 1);
      result_add_track(result, name);
    }
  }
}

static void note_assumed_shapes(const Job *job, Result *result)
{
  Constant constant = { .name = (char *)"workload.model tensors without a shape",
                        .value = (char *)"square",
                        .source = (char *)"assumed: the best case of the codec",
                        .assumed = true };

  if (job->compression != NULL && compression_assumes_shapes(job->compression))
    result_add_constant(result, &constant);
}

static void describe(const Job *job, const TrainingConfig *config, Result *result)
{
  const Setup *setup = job->setup;
  const Workload *workload = job->workload;
  const Topology *topology = exchange_topology(job->exchange);

  result->name = g_strdup(setup->name);
  result->engine =
    g_strdup_printf("%s, %s", engine_way(config->fold, config->messages), engine_version());
  result->n_nodes = topology_n_nodes(topology);
  result->n_gpus = topology_n_gpus(topology);
  result->model = g_strdup(workload->model->name);
  result->gpu = g_strdup(setup->cluster.node.gpu.name);
  result->strategy = g_strdup(setup->strategy->info.name);
  result->library = g_strdup(setup->library->info.name);
  result->codec = g_strdup(setup->codec->info.name);
  result->codec_note = g_strdup(setup->codec->info.note);
  result->compute_source = g_strdup(workload->compute_source);
  result->n_parameters = model_n_parameters(workload->model);
  result->batch_per_gpu = workload->batch_per_gpu;
  result->gradient_B = workload->gradient_B;
  for (guint i = 0; i < setup->constants->len; i++) {
    const Constant *constant = &g_array_index(setup->constants, Constant, i);
    if (setup_uses(setup, constant->name, topology_n_machines(topology) > 1))
      result_add_constant(result, constant);
  }
  note_assumed_shapes(job, result);
}

/* What the GPUs compute in an iteration, on average; jitter has no effect on it. */
static double mean_compute_s(const Job *job)
{
  const double n_all = topology_n_gpus(exchange_topology(job->exchange));
  const double first_s = job->crews[0].slowdown * workload_compute_s(job->workload);
  double mean_s = first_s;

  for (guint i = 1; i < job->n_crews; i++) {
    const CrewState *crew = &job->crews[i];
    const double own_s = crew->slowdown * workload_compute_s(crew->workload);
    mean_s += crew->n_gpus / n_all * (own_s - first_s);
  }
  return mean_s;
}

static void measure_speed(const Job *job, Result *result)
{
  const double measured_s = job->measured_to_s - job->measured_from_s;
  const double compute_s = mean_compute_s(job);

  result->iteration_time_s = measured_s / job->setup->run.iterations;
  result->compute_time_s = MIN(compute_s, result->iteration_time_s);
  result->throughput_per_gpu_samples_per_s =
    workload_samples(job->workload) / result->iteration_time_s;
  result->throughput_samples_per_s =
    result->throughput_per_gpu_samples_per_s * result->n_gpus;
  result->comm_busy_share = MIN(job->timeline.busy_s / measured_s, 1);
  result->gpu_utilisation = result->compute_time_s / result->iteration_time_s;
  result->comm_exposed_share = 1 - result->gpu_utilisation;
  result->scaling_efficiency = MIN(job->alone_s / result->iteration_time_s, 1);
  result->units_per_iteration = (double)job->timeline.n_units / job->setup->run.iterations;
}

static void measure_memory(const Job *job, Result *result)
{
  const double codec_B = job->compression == NULL
                           ? 0
                           : compression_state_B(job->compression) + job->timeline.buffer_B;
  MemoryUse use = memory_use(job->workload, &job->setup->cluster.node.gpu,
                             job->composition->communication_B + codec_B);

  memory_shard(&use, &job->composition->shards);
  result->max_batch_per_gpu = memory_max_batch(&use);
  result->memory_used_B = memory_total_B(&use, job->workload->batch_per_gpu);
  result->memory_capacity_B = use.capacity_B;
}

static void measure_latency(const Job *job, Result *result)
{
  GArray *latencies_s = job->timeline.latencies_s;
  double *sorted = (double *)(void *)latencies_s->data;

  if (latencies_s->len == 0)
    return;
  stats_sort(sorted, latencies_s->len);
  result->latency_p50_s = stats_quantile(sorted, latencies_s->len, 0.50);
  result->latency_p95_s = stats_quantile(sorted, latencies_s->len, 0.95);
  result->latency_p99_s = stats_quantile(sorted, latencies_s->len, 0.99);
}

static void measure_links(const Job *job, Result *result)
{
  const double measured_s = job->measured_to_s - job->measured_from_s;

  for (guint tier = 0; tier < TIER_N; tier++) {
    if (!(job->timeline.moved_B[tier] > 0))
      continue;
    const double could_move_B =
      exchange_tier_capacity_Bps(job->exchange, tier) * measured_s;
    const LinkUse use = { .tier = tier,
                          .n_links = exchange_tier_n_links(job->exchange, tier),
                          .mean = MIN(job->timeline.moved_B[tier] / could_move_B, 1),
                          .peak = job->timeline.peak[tier] };
    g_array_append_val(result->links, use);
  }
}

static const Stage *first_collective(const Job *job)
{
  const GArray *stages = job->composition->pipeline.stages;

  for (guint s = 0; s < stages->len; s++)
    if (g_array_index(stages, Stage, s).kind == STAGE_COLLECTIVE)
      return &g_array_index(stages, Stage, s);
  return NULL;
}

/* Of the gradients, or of what a codec makes of them, per iteration. */
static double floor_of(const Job *job)
{
  double floor_s = 0;

  if (job->compression == NULL)
    return exchange_floor_s(job->exchange, COLL_ALL_REDUCE, job->workload->gradient_B);
  for (guint kind = 0; kind < COLL_N_KINDS; kind++) {
    const double size_B = job->timeline.collective_B[kind] / job->setup->run.iterations;
    if (size_B > 0)
      floor_s += exchange_floor_s(job->exchange, (CollKind)(1 << kind), size_B);
  }
  return floor_s;
}

static void measure_exchange(const Job *job, Result *result)
{
  const GArray *stages = job->composition->pipeline.stages;
  const Stage *stage = first_collective(job);
  const Timeline *timeline = &job->timeline;
  const bool coded = job->compression != NULL;
  const double largest_B = coded ? timeline->largest_round_B : timeline->largest_unit_B;

  for (guint s = 0; s < stages->len; s++)
    result_add_stage(result, g_array_index(stages, Stage, s).name,
                     job->timeline.stage_s[s] / job->setup->run.iterations);
  result->floor_s = floor_of(job);
  result->message_B =
    coded ? timeline->message_B / job->setup->run.iterations : job->workload->gradient_B;
  if (timeline->moved_B[TIER_NIC] > 0)
    result->retransmission_rate =
      topology_transport(exchange_topology(job->exchange))->retransmission_rate;
  if (!(largest_B > 0))
    return;
  if (stage == NULL) {
    result->algorithm =
      job->composition->algorithm != NULL
        ? g_strdup(job->composition->algorithm)
        : g_strdup_printf("push_pull to %u servers", job->composition->n_servers);
    result->bottleneck = g_strdup(exchange_moves_bottleneck(job->exchange, largest_B));
    return;
  }
  const CollKind kind = coded ? timeline->largest_kind : stage->collective;
  const LibraryChoice choice = exchange_choose(job->exchange, kind, largest_B);
  result->algorithm =
    *choice.protocol == '\0'
      ? g_strdup(choice.collective->info.name)
      : g_strdup_printf("%s/%s", choice.collective->info.name, choice.protocol);
  result->bottleneck = g_strdup(exchange_bottleneck(job->exchange, kind, largest_B));
}

static void warn(const Job *job, Result *result)
{
  const double limit_s = job->composition->stall_warning_s;

  if (!(limit_s > 0) || result->iteration_time_s <= limit_s)
    return;
  g_autofree char *time = units_show_seconds(result->iteration_time_s, 3);
  g_autofree char *limit = units_show_seconds(limit_s, 3);
  g_autofree char *sentence =
    g_strdup_printf("an iteration takes %s; %s warns of stalled tensors when some ranks "
                    "have been waiting for others for %s.",
                    time, job->setup->strategy->info.name, limit);
  result_add_warning(result, sentence);
}

static void measure(const Job *job, const TrainingConfig *config, Result *result)
{
  describe(job, config, result);
  measure_speed(job, result);
  measure_memory(job, result);
  measure_latency(job, result);
  measure_links(job, result);
  measure_exchange(job, result);
  warn(job, result);
  result->replicas = 1;
  if (job->timeline.traced) {
    result->last_start_s = job->last_from_s;
    result->last_end_s = job->measured_to_s;
  }
}

static Compression *compression_of(const Setup *setup, const Workload *workload)
{
  const CompressionConfig config = {
    .codec = setup->codec,
    .params = setup->codec_params,
    .spec = &setup->compression,
    .place = setup->strategy->place,
    .n_workers = setup->cluster.n_nodes * setup->cluster.node.n_gpus,
    .n_nodes = setup->cluster.n_nodes,
  };

  return compression_new(&config, workload, &setup->cluster.node.gpu);
}

static void compose(const Setup *setup, const Workload *workload,
                    const Compression *compression, Composition *composition)
{
  const StrategyContext context = { .workload = workload,
                                    .gpu = &setup->cluster.node.gpu,
                                    .n_nodes = setup->cluster.n_nodes,
                                    .gpus_per_node = setup->cluster.node.n_gpus,
                                    .compression = compression };
  setup->strategy->compose(setup->strategy_params, &context, composition);
}

/* What is trained, and how gradients travel. */
typedef struct {
  Workload *workload;
  Compression *compression; /* NULL: none */
  Workload *messages;       /* the workload as schedules see it; NULL: as it is */
  Composition composition;
  double alone_s;   /* an iteration on one GPU that shares nothing */
  Composition full; /* for a codec's warm-up, which sends full gradients; may be empty */
} Training;

static void training_clear(Training *training)
{
  composition_clear(&training->composition);
  composition_clear(&training->full);
  compression_workload_free(training->messages);
  compression_free(training->compression);
  workload_free(training->workload);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Training, training_clear)

static bool training_init(Training *self, const Setup *setup, GError **error)
{
  self->workload = workload_new(setup->model, &setup->workload, &setup->compute,
                                &setup->cluster.node.gpu, error);
  if (self->workload == NULL)
    return false;
  self->compression = compression_of(setup, self->workload);
  if (self->compression != NULL && setup->strategy->place == COMPRESS_TENSORS) {
    self->messages = compression_workload_new(self->compression);
    if (compression_warmup_share(self->compression) > 0)
      compose(setup, self->workload, self->compression, &self->full);
  }
  compose(setup, self->messages != NULL ? self->messages : self->workload,
          self->compression, &self->composition);
  self->alone_s = workload_compute_s(self->workload);
  self->workload->optimizer_s /= MAX(self->composition.optimizer_ranks, 1);
  return true;
}

/* Flows of all pushes, or all pulls, together: more than this take minutes to fold. */
#define MAX_SERVER_FLOWS (1u << 18)

static bool check_servers(const Setup *setup, const Composition *composition,
                          GError **error)
{
  const guint64 n_flows = (guint64)composition->n_servers * setup->cluster.n_nodes;

  if (n_flows <= MAX_SERVER_FLOWS)
    return true;
  g_set_error(
    error, SIM_ERROR, SIM_ERROR_VALUE,
    "strategy.servers: %u servers for %u nodes are more than anybody needs: servers "
    "x nodes may be %u at most, so %u servers here",
    composition->n_servers, setup->cluster.n_nodes, MAX_SERVER_FLOWS,
    MAX(MAX_SERVER_FLOWS / setup->cluster.n_nodes, 1));
  return false;
}

/* What the stages of a strategy ask of the exchange. */
static Exchange *lay_exchange(const Setup *setup, const Composition *composition,
                              const Compression *compression, GError **error)
{
  const GArray *stages = composition->pipeline.stages;
  g_autofree guint *machines = g_new(guint, composition->n_servers + 1);
  ExchangeNeeds needs = { .machines = machines,
                          .n_servers = composition->n_servers,
                          .n_extra_servers = composition->n_extra_servers,
                          .rack_nodes = composition->rack_nodes,
                          .switch_gpus = composition->switch_gpus,
                          .server_sum_Bps = composition->server_sum_Bps };

  if (!check_servers(setup, composition, error))
    return NULL;
  for (guint i = 0; i < composition->n_servers; i++)
    machines[i] = composition_machine(composition, setup->cluster.n_nodes, i);
  for (guint s = 0; s < stages->len; s++) {
    const Stage *stage = &g_array_index(stages, Stage, s);
    needs.kinds |= stage->kind == STAGE_COLLECTIVE ? stage->collective : 0;
    needs.moves |= stage->kind == STAGE_MOVE ? 1u << stage->move : 0;
  }
  if (compression != NULL)
    needs.kinds |= compression_kinds(compression);
  return exchange_new(setup, &needs, error);
}

/* MG-WFBP's profiling.py benchmarks 8192, 16384, ... 63 * 8192 values of 4 B. */
#define PROFILE_STEP_B (4 * 8192.0)
#define PROFILE_SIZES 63

/* Tell a schedule that asks what an all-reduce takes. */
static void profile(const Composition *composition, const Exchange *exchange)
{
  double sizes_B[PROFILE_SIZES], times_s[PROFILE_SIZES];
  AllReduceCost cost;

  if (composition->schedule == NULL || composition->schedule->learn == NULL)
    return;
  for (guint i = 0; i < PROFILE_SIZES; i++) {
    sizes_B[i] = (i + 1) * PROFILE_STEP_B;
    times_s[i] = exchange_idle_s(exchange, COLL_ALL_REDUCE, sizes_B[i]);
  }
  stats_fit_line(sizes_B, times_s, PROFILE_SIZES, &cost.startup_s, &cost.s_per_B);
  cost.startup_s = MAX(cost.startup_s, 0);
  composition->schedule->learn(composition->schedule_state, &cost);
}

static bool fill_journal(const Job *job, Journal *journal, GError **error)
{
  const Workload *workload = job->workload;

  journal->compute_s =
    workload->accumulation_steps * (workload->forward_s + workload->backward_s);
  journal->optimizer_s = workload->optimizer_s;
  return journal_check(job->setup, job->composition, job->n_workers, error);
}

Result *training_forecast(const Setup *setup, const TrainingConfig *config, GError **error)
{
  const EngineConfig engine_config = { .fold = config->fold,
                                       .dump_platform = config->dump_platform };
  g_auto(Training) training = { 0 };
  g_autoptr(Exchange) exchange =
    training_init(&training, setup, error)
      ? lay_exchange(setup, &training.composition, training.compression, error)
      : NULL;
  if (exchange == NULL)
    return NULL;

  profile(&training.composition, exchange);
  profile(&training.full, exchange);
  const Pipeline *pipeline = &training.composition.pipeline;
  const Topology *topology = exchange_topology(exchange);
  g_autoptr(Engine) engine =
    engine_new(&engine_config, topology_links(topology), topology_n_links(topology));
  const guint64 seed = rng_hash(setup->run.seed, config->replica, 0);
  g_autoptr(Crews) crews = crews_new(&setup->cluster, seed);
  g_autoptr(Result) result = result_new();
  Job job = { .setup = setup,
              .workload = training.workload,
              .composition = &training.composition,
              .compression = training.compression,
              .alone_s = training.alone_s,
              .full_schedule_state = training.full.schedule_state,
              .exchange = exchange,
              .journal = config->journal,
              .engine = engine };

  const bool overlap = may_overlap(&training.composition);
  if (!config->messages)
    exchange_announce(exchange, engine, overlap, serial_moves(pipeline));
  else if (!exchange_announce_messages(exchange, engine, overlap, error))
    return NULL;
  job_lay_crews(
    &job, crews,
    &(JobCrews){ .workload = training.workload, .seed = seed, .fold = config->fold });
  if (config->journal != NULL && !fill_journal(&job, config->journal, error)) {
    job_clear(&job);
    return NULL;
  }
  timeline_init(&job.timeline, config->traced, pipeline->stages->len, result);
  if (config->traced)
    add_tracks(pipeline, result);
  const bool ran = engine_run(engine, job_run, &job, error);
  if (ran)
    measure(&job, config, result);
  job_clear(&job);
  return ran ? g_steal_pointer(&result) : NULL;
}
