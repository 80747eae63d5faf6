#include "sim/training/training.h"

#include "models/assembly.h"
#include "sim/base/stats.h"
#include "sim/training/fleet.h"

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

/* What is trained, and how gradients travel. */
typedef struct {
  GPtrArray *workloads;     /* of Workload: of every kind of node */
  Workload *workload;       /* the first of them; borrowed */
  Compression *compression; /* NULL: none */
  Workload *messages;       /* the workload as schedules see it; NULL: as it is */
  Composition composition;
  double alone_s;     /* an iteration on one GPU that shares nothing */
  GPtrArray *choices; /* of Compression: what the strategy itself chooses from */
  Composition full;   /* for a codec's warm-up, which sends full gradients; may be empty */
} Training;

static void training_clear(Training *training)
{
  g_clear_pointer(&training->choices, g_ptr_array_unref);
  composition_clear(&training->composition);
  composition_clear(&training->full);
  compression_workload_free(training->messages);
  compression_free(training->compression);
  if (training->workloads != NULL)
    g_ptr_array_unref(training->workloads);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Training, training_clear)

/* What one GPU of each kind computes; false after an error. */
static bool list_workloads(Training *self, const Setup *setup, GError **error)
{
  self->workloads = g_ptr_array_new_with_free_func((GDestroyNotify)workload_free);
  for (guint kind = 0; kind < cluster_n_kinds(&setup->cluster); kind++) {
    Workload *workload = assembly_workload(setup, kind, error);
    if (workload == NULL)
      return false;
    g_ptr_array_add(self->workloads, workload);
  }
  self->workload = g_ptr_array_index(self->workloads, 0);
  return true;
}

/* An iteration on one GPU; of several kinds, the inverse of the mean of their rates. */
static double alone_s(const Training *self, const ClusterSpec *cluster)
{
  const double first_s = workload_compute_s(self->workload);
  double rate = 0;

  if (self->workloads->len == 1)
    return first_s;
  for (guint kind = 0; kind < self->workloads->len; kind++)
    rate += (cluster_first_node(cluster, kind + 1) - cluster_first_node(cluster, kind)) /
            workload_compute_s(g_ptr_array_index(self->workloads, kind)) / cluster->n_nodes;
  return 1 / rate;
}

static bool training_init(Training *self, const Setup *setup, GError **error)
{
  const StrategyOps *strategy = setup->strategy;

  if (strategy->begins != NULL &&
      !strategy->begins(setup->strategy_params, setup->cluster.n_nodes, error))
    return false;
  if (!list_workloads(self, setup, error))
    return false;
  self->compression = assembly_compression(setup, self->workload);
  if (self->compression != NULL && setup->strategy->place == COMPRESS_TENSORS) {
    self->messages = compression_workload_new(self->compression);
    if (compression_warmup_share(self->compression) > 0)
      assembly_compose(setup, self->workload, self->compression, &self->full);
  }
  assembly_compose(setup, self->messages != NULL ? self->messages : self->workload,
                   self->compression, &self->composition);
  self->choices = assembly_choices(setup, self->workload, &self->composition);
  self->alone_s = alone_s(self, &setup->cluster);
  for (guint kind = 0; kind < self->workloads->len; kind++) {
    Workload *workload = g_ptr_array_index(self->workloads, kind);
    workload->optimizer_s /= MAX(self->composition.optimizer_ranks, 1);
  }
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
static Exchange *lay_exchange(const Setup *setup, const Training *training, bool by_node,
                              GError **error)
{
  const Composition *composition = &training->composition;
  const Compression *compression = training->compression;
  const GArray *stages = composition->pipeline.stages;
  g_autofree guint *machines = g_new(guint, composition->n_servers + 1);
  ExchangeNeeds needs = { .machines = machines,
                          .n_servers = composition->n_servers,
                          .n_extra_servers = composition->n_extra_servers,
                          .by_node = by_node,
                          .rack_nodes = composition->rack_nodes,
                          .switch_gpus = composition->switch_gpus,
                          .server_sum_Bps = composition->server_sum_Bps,
                          .traffic = true };

  if (!check_servers(setup, composition, error))
    return NULL;
  for (guint i = 0; i < composition->n_servers; i++)
    machines[i] = composition->serves[i]
                    ? composition_machine(composition, setup->cluster.n_nodes, i)
                    : EXCHANGE_IDLE;
  for (guint s = 0; s < stages->len; s++) {
    const Stage *stage = &g_array_index(stages, Stage, s);
    needs.kinds |= stage->kind == STAGE_COLLECTIVE ? stage->collective : 0;
    needs.moves |= stage->kind == STAGE_MOVE ? 1u << stage->move : 0;
  }
  if (compression != NULL)
    needs.kinds |= compression_kinds(compression);
  for (guint i = 0; i < training->choices->len; i++)
    needs.kinds |= compression_kinds(g_ptr_array_index(training->choices, i));
  if (compression != NULL && compression_moves(compression) != 0) {
    needs.moves |= compression_moves(compression);
    needs.rack_nodes = setup->compression.nodes_per_rack;
  }
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

/* Are nodes simulated each on its own? */
static bool is_fleet(const Composition *composition, const TrainingConfig *config)
{
  return composition->n_servers > 0 && MAX(composition->rack_nodes, 1) == 1 &&
         (composition->consistency != CONSISTENCY_SYNC || config->messages);
}

static bool check_fleet(const Setup *setup, const Composition *composition, GError **error)
{
  const guint64 n_pairs = (guint64)composition->n_servers * setup->cluster.n_nodes;

  if (n_pairs <= FLEET_MAX_PAIRS)
    return true;
  g_set_error(
    error, SIM_ERROR, SIM_ERROR_VALUE,
    "strategy.servers: %u servers x %u nodes are too many to simulate each of them "
    "on its own, as asynchronous servers and --engine=messages need: at most %u, "
    "so %u servers here, or fewer nodes",
    composition->n_servers, setup->cluster.n_nodes, FLEET_MAX_PAIRS,
    MAX(FLEET_MAX_PAIRS / setup->cluster.n_nodes, 1));
  return false;
}

/* One job for all nodes. */
static bool run_job(Job *job, const Crews *crews, const TrainingConfig *config,
                    Result *result, GError **error)
{
  const guint64 seed = rng_hash(job->setup->run.seed, config->replica, 0);
  const Pipeline *pipeline = &job->composition->pipeline;
  const bool overlap = may_overlap(job->composition) || job_n_others(job) > 0;

  if (!config->messages)
    exchange_announce(job->exchange, job->engine, overlap, serial_moves(pipeline));
  else if (!exchange_announce_messages(job->exchange, job->engine, overlap, error))
    return false;
  job_lay_crews(job, crews, &(JobCrews){ .seed = seed, .fold = config->fold });
  if (config->journal != NULL && !fill_journal(job, config->journal, error)) {
    job_clear(job);
    return false;
  }
  timeline_init(&job->timeline, config->traced, pipeline->stages->len, result);
  job->may_repeat = job_may_repeat(job, config);
  const bool ran = engine_run(job->engine, job_run, job, error);
  if (ran) {
    job_repeat_latencies(job);
    job_measure(job, config, result);
  }
  job_clear(job);
  return ran;
}

/* A job for each node. */
static bool run_fleet(const Job *job, const Crews *crews, const TrainingConfig *config,
                      Result *result, GError **error)
{
  const guint n = crews->n_nodes;
  g_autofree Composition *compositions = g_new0(Composition, n);
  const FleetSetup setup = { .job = job,
                             .compositions = compositions,
                             .crews = crews,
                             .seed = rng_hash(job->setup->run.seed, config->replica, 0),
                             .traced = config->traced };

  if (config->journal != NULL && !fill_journal(job, config->journal, error))
    return false;
  exchange_announce(job->exchange, job->engine, true, 0);
  for (guint i = 0; i < n; i++)
    assembly_compose(job->setup, job->workload, job->compression, &compositions[i]);
  g_autoptr(Fleet) fleet = fleet_new(&setup, result);
  const bool ran = engine_run(job->engine, fleet_run, fleet, error);
  if (ran) {
    job_measure(fleet_sum_up(fleet), config, result);
    result->staleness_updates = fleet_staleness_updates(fleet);
    result->staleness_iterations = fleet_staleness_iterations(fleet);
  }
  for (guint i = 0; i < n; i++)
    composition_clear(&compositions[i]);
  return ran;
}

/* NULL if there is nothing to choose. */
static Chooser *new_chooser(const Training *training, const Exchange *exchange)
{
  const ChooserConfig config = { .composition = &training->composition,
                                 .compressions = training->choices,
                                 .workload = training->workload,
                                 .exchange = exchange };

  if (training->composition.choices.codecs == NULL ||
      topology_n_gpus(exchange_topology(exchange)) < 2 ||
      workload_n_gradients(training->workload) == 0)
    return NULL;
  return chooser_new(&config);
}

Result *training_forecast(const Setup *setup, const TrainingConfig *config, GError **error)
{
  const EngineConfig engine_config = { .fold = config->fold,
                                       .dump_platform = config->dump_platform };
  g_auto(Training) training = { 0 };
  if (!training_init(&training, setup, error))
    return NULL;
  const bool fleet = is_fleet(&training.composition, config);
  if (fleet && setup->cluster.other_jobs != NULL && setup->cluster.other_jobs->len > 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "cluster.other_jobs: nodes that are simulated each on its own, as "
                "asynchronous servers and --engine=messages need, have the network to "
                "themselves; take other_jobs away");
    return NULL;
  }
  if (fleet && !check_fleet(setup, &training.composition, error))
    return NULL;
  g_autoptr(Exchange) exchange = lay_exchange(setup, &training, fleet, error);
  if (exchange == NULL)
    return NULL;

  profile(&training.composition, exchange);
  profile(&training.full, exchange);
  const Topology *topology = exchange_topology(exchange);
  g_autoptr(Engine) engine =
    engine_new(&engine_config, topology_links(topology), topology_n_links(topology));
  g_autoptr(Crews) crews =
    crews_new(&setup->cluster, rng_hash(setup->run.seed, config->replica, 0));
  g_autoptr(Result) result = result_new();
  g_autoptr(Chooser) chooser = new_chooser(&training, exchange);
  Job job = { .setup = setup,
              .workload = training.workload,
              .workloads = training.workloads,
              .composition = &training.composition,
              .compression = training.compression,
              .chooser = chooser,
              .choices = training.choices,
              .alone_s = training.alone_s,
              .full_schedule_state = training.full.schedule_state,
              .exchange = exchange,
              .journal = config->journal,
              .engine = engine,
              .n_measured = setup->run.iterations };

  if (config->traced)
    add_tracks(&training.composition.pipeline, result);
  const bool ran = fleet ? run_fleet(&job, crews, config, result, error)
                         : run_job(&job, crews, config, result, error);
  return ran ? g_steal_pointer(&result) : NULL;
}
