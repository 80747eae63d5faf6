/* From what happened in a run to the quantities of its result. */
#include "models/assembly.h"
#include "sim/base/stats.h"
#include "sim/base/units.h"
#include "sim/training/job.h"

#include <string.h>

static bool assumes_shapes(const Job *job)
{
  bool any = job->compression != NULL && compression_assumes_shapes(job->compression);

  for (guint i = 0; i < job->choices->len; i++)
    any |= compression_assumes_shapes(g_ptr_array_index(job->choices, i));
  return any;
}

static void note_assumed_shapes(const Job *job, Result *result)
{
  Constant constant = { .name = (char *)"workload.model tensors without a shape",
                        .value = (char *)"square",
                        .source = (char *)"assumed: the best case of the codec",
                        .assumed = true };

  if (assumes_shapes(job))
    result_add_constant(result, &constant);
}

/* "a100_sxm4_80gb + v100_sxm2_16gb", each once. Transfer: caller frees. */
static char *name_gpus(const ClusterSpec *cluster)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (guint kind = 0; kind < cluster_n_kinds(cluster); kind++) {
    const char *name = cluster_kind(cluster, kind)->gpu.name;
    if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
      g_ptr_array_add(names, (gpointer)name);
  }
  g_ptr_array_add(names, NULL);
  return g_strjoinv(" + ", (char **)names->pdata);
}

/* Where the compute times come from. Transfer: caller frees. */
static char *name_sources(const Job *job)
{
  g_autoptr(GString) out = g_string_new(job->workload->compute_source);

  for (guint i = 1; i < job->n_crews; i++) {
    const Workload *workload = job->crews[i].workload;
    if (workload != job->workload && strstr(out->str, workload->compute_source) == NULL)
      g_string_append_printf(out, "; %s", workload->compute_source);
  }
  return g_string_free(g_steal_pointer(&out), FALSE);
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
  result->gpu = name_gpus(&setup->cluster);
  result->strategy = g_strdup(setup->strategy->info.name);
  result->library = g_strdup(setup->library->info.name);
  result->codec = g_strdup(setup->codec->info.name);
  result->codec_note = g_strdup(setup->codec->info.note);
  result->compute_source = name_sources(job);
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

static void measure_speed(const Job *job, Result *result)
{
  const double measured_s = job->measured_to_s - job->measured_from_s;
  const double compute_s = job_mean_compute_s(job);

  result->iteration_time_s = measured_s / job->n_measured;
  result->compute_time_s = MIN(compute_s, result->iteration_time_s);
  result->throughput_per_gpu_samples_per_s =
    workload_samples(job->workload) / result->iteration_time_s;
  result->throughput_samples_per_s =
    result->throughput_per_gpu_samples_per_s * result->n_gpus;
  result->comm_busy_share = MIN(job->timeline.busy_s / measured_s, 1);
  result->gpu_utilisation = result->compute_time_s / result->iteration_time_s;
  result->comm_exposed_share = 1 - result->gpu_utilisation;
  result->scaling_efficiency = MIN(job->alone_s / result->iteration_time_s, 1);
  result->units_per_iteration = (double)job->timeline.n_units / job->n_measured;
}

static void measure_memory(const Job *job, Result *result)
{
  const double codec_B =
    assembly_codec_B(job->compression, job->choices) + job->timeline.buffer_B;
  const MemoryUse use =
    assembly_least_memory(job->setup, job->workload, job->composition, codec_B);

  result->max_batch_per_gpu = memory_max_batch(&use);
  result->memory_used_B = memory_total_B(&use, job->workload->batch_per_gpu);
  result->memory_capacity_B = use.capacity_B;
  if (result->memory_used_B <= result->memory_capacity_B)
    return;
  g_autofree char *sum = memory_explain(&use, job->workload->batch_per_gpu);
  g_autofree char *sentence = g_strconcat("it does not fit: ", sum, ".", NULL);
  result_add_warning(result, sentence);
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

  if (!job_is_coded(job))
    return exchange_floor_s(job->exchange, COLL_ALL_REDUCE, job->workload->gradient_B);
  for (guint kind = 0; kind < COLL_N_KINDS; kind++) {
    const double size_B = job->timeline.collective_B[kind] / job->n_measured;
    if (size_B > 0)
      floor_s += exchange_floor_s(job->exchange, (CollKind)(1 << kind), size_B);
  }
  return floor_s;
}

static void add_move(const Job *job, const MoveSpec *spec, double size_B, Demand *demand)
{
  const Topology *topology = exchange_topology(job->exchange);
  const CollPhase phase = move_phase(topology, spec);
  g_autoptr(FlowSet) set = phase.set;
  const PhaseLoad load = phase_load(topology, set);

  demand->limit_s = MAX(demand->limit_s, load.tightest * size_B);
  for (guint tier = 0; tier < TIER_N; tier++)
    demand->tier_s[tier] = MAX(demand->tier_s[tier], load.busiest[tier] * size_B);
}

/* All moves of a message may overlap those of others: each link adds up its own. */
static const char *moves_bottleneck(const Job *job, double size_B)
{
  const Composition *composition = job->composition;
  const guint n_nodes = job->setup->cluster.n_nodes;
  Demand demand = { 0 };

  for (guint s = 0; s < composition->pipeline.stages->len; s++) {
    const Stage *stage = &g_array_index(composition->pipeline.stages, Stage, s);
    MoveSpec spec = { .move = stage->move,
                      .rack_nodes = composition->rack_nodes,
                      .switch_gpus = composition->switch_gpus };
    const guint n = move_needs_server(stage->move) ? composition->n_servers : 1;
    for (guint server = 0; server < n && stage->kind == STAGE_MOVE; server++) {
      spec.machine = composition_machine(composition, n_nodes, server);
      add_move(job, &spec, size_B, &demand);
    }
  }
  return demand_largest(&demand);
}

static void measure_exchange(const Job *job, Result *result)
{
  const GArray *stages = job->composition->pipeline.stages;
  const Stage *stage = first_collective(job);
  const Timeline *timeline = &job->timeline;
  const bool coded = job_is_coded(job);
  const double largest_B = coded ? timeline->largest_round_B : timeline->largest_unit_B;

  for (guint s = 0; s < stages->len; s++)
    result_add_stage(result, g_array_index(stages, Stage, s).name,
                     job->timeline.stage_s[s] / job->n_measured);
  result->floor_s = floor_of(job);
  result->message_B =
    coded ? timeline->message_B / job->n_measured : job->workload->gradient_B;
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
    result->bottleneck = g_strdup(moves_bottleneck(job, largest_B));
    return;
  }
  if (job->compression != NULL && compression_moves(job->compression) != 0) {
    result->algorithm = g_strdup("racks/ring");
    result->bottleneck =
      g_strdup(exchange_bottleneck(job->exchange, COLL_ALL_REDUCE, largest_B));
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

/* Groups say who communicates in `collective` and `export`: here all GPUs do. */
static void warn_of_groups(const Job *job, Result *result)
{
  if (!grouping_splits(&job->setup->grouping))
    return;
  result_add_warning(result,
                     "the scenario has groups, of which a run knows nothing: all GPUs hold "
                     "the whole model and exchange gradients; `collective --group` "
                     "predicts what the groups exchange.");
}

static void warn_of_profile(const Job *job, Result *result)
{
  const char *profile = job->setup->idle_profile;

  if (profile == NULL)
    return;
  g_autofree char *sentence = g_strdup_printf(
    "profile %s changes nothing here: it has no times of library %s on nodes of %u GPUs, "
    "and no constant that the scenario leaves open.",
    profile, job->setup->library->info.name, job->setup->cluster.node.n_gpus);
  result_add_warning(result, sentence);
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

void job_measure(const Job *job, const TrainingConfig *config, Result *result)
{
  describe(job, config, result);
  measure_speed(job, result);
  measure_memory(job, result);
  measure_latency(job, result);
  measure_links(job, result);
  measure_exchange(job, result);
  job_tell_critical_path(job, result);
  warn(job, result);
  if (job->composition->schedule->tell != NULL)
    result->tuned = job->composition->schedule->tell(job->composition->schedule_state);
  if (job->chooser != NULL)
    chooser_tell(job->chooser, job->n_measured, result);
  warn_of_groups(job, result);
  warn_of_profile(job, result);
  result->replicas = 1;
  if (job->timeline.traced) {
    result->last_start_s = job->last_from_s;
    result->last_end_s = job->measured_to_s;
  }
}
