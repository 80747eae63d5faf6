/* What a run begins with, and what is left to free at its end. */
#include "sim/training/job.h"

#include <math.h>

/* The optimizer's time, by parameters. */
static double *optimizer_of_layers(const Workload *workload)
{
  double *of_layer_s = g_new0(double, workload->layer_times->len + 1);

  for (guint i = 0; i < workload_n_gradients(workload); i++) {
    const Gradient *gradient = workload_gradient(workload, i);
    of_layer_s[gradient->layer] +=
      workload->optimizer_s * gradient->size_B / workload->gradient_B;
  }
  return of_layer_s;
}

/* GPUs of one kind differ for good. Every crew is taken to have the slowest of all, so that
 * nodes may be told as one group or as two. One run takes it as it is on
 * average; replicas draw it, as clusters differ. The slowest of one GPU is that GPU. */
static double lag_of(const Job *job, const Workload *workload, guint n_gpus, guint64 seed)
{
  const double sigma = workload->gpu_spread;

  if (!(sigma > 0) || n_gpus == 1)
    return 1;
  if (job->setup->run.replicas <= 1)
    return 1 + sigma * rng_mean_max_normal(n_gpus);
  g_autoptr(Rng) rng = rng_stream(seed, "gpu_spread");
  return exp(sigma * rng_max_normal(rng, n_gpus));
}

void job_lay_crews(Job *job, const Crews *crews, const JobCrews *what)
{
  const guint gpus_per_node = topology_gpus_per_node(exchange_topology(job->exchange));

  job->n_crews = crews->crews->len;
  job->crews = g_new0(CrewState, job->n_crews);
  for (guint i = 0; i < job->n_crews; i++) {
    g_autofree char *stream = i == 0 ? g_strdup("jitter") : g_strdup_printf("jitter %u", i);
    const Workload *workload = g_ptr_array_index(job->workloads, crews_at(crews, i)->kind);
    job->crews[i] = (CrewState){
      .workload = workload,
      .gpu = &cluster_kind(&job->setup->cluster, crews_at(crews, i)->kind)->gpu,
      .slowdown = crews_at(crews, i)->slowdown,
      .n_gpus = crews_at(crews, i)->n_nodes * gpus_per_node,
      .optimizer_of_layer_s = optimizer_of_layers(workload),
      .jitter = rng_stream(what->seed, stream),
    };
    job->crews[i].lag = lag_of(job, workload, crews->n_nodes * gpus_per_node, what->seed);
  }
  job->n_workers = what->fold ? job->n_crews : crews->n_nodes;
  job->workers = g_new0(Worker, job->n_workers);
  for (guint i = 0; i < job->n_workers; i++) {
    const guint crew = what->fold ? i : crews->crew_of_node[i];
    job->workers[i] = (Worker){
      .job = job,
      .crew = &job->crews[crew],
      .track = i == 0 ? TRACK_COMPUTE : NO_TRACK,
      .leads = i == 0,
    };
  }
}

void job_open(Job *job)
{
  const guint n = workload_n_gradients(job->workload);
  const guint n_layers = job->workload->layer_times->len;
  const guint n_fetches =
    job->composition->fetches == NULL ? 0 : job->composition->fetches->len;

  job->wake = engine_signal_new(job->engine);
  job->backward_ended = engine_signal_new(job->engine);
  job->ready_s = g_new0(double, n + 1);
  job->parts_done = g_new0(guint, n + 1);
  job->n_reporters = g_new0(guint, n + 1);
  job->n_askers = g_new0(guint, n_fetches + 1);
  job->fetched = g_new0(guint, n_fetches + 1);
  job->pending_of_layer = g_new0(guint, n_layers + 1);
  job->layer_rounds = g_new0(guint, n_layers + 1);
  job->has_gradients = g_new0(bool, n_layers + 1);
  for (guint i = 0; i < n; i++)
    job->has_gradients[workload_gradient(job->workload, i)->layer] = true;
  job->n_running = job->n_workers;
  job_open_loads(job);
  for (guint i = 0; i < job->n_workers; i++) {
    job->workers[i].woken = engine_signal_new(job->engine);
    job->workers[i].fetches =
      n_fetches > 0 && topology_n_gpus(exchange_topology(job->exchange)) > 1 && n > 0;
  }
}

void job_clear(Job *job)
{
  job_free_pipeline(job);
  g_clear_pointer(&job->wake, engine_signal_free);
  g_clear_pointer(&job->backward_ended, engine_signal_free);
  g_clear_pointer(&job->traffic_ends, engine_signal_free);
  for (guint i = 0; i < job->n_workers; i++) {
    g_clear_pointer(&job->workers[i].woken, engine_signal_free);
    g_clear_pointer(&job->workers[i].loaded, engine_signal_free);
  }
  for (guint i = 0; i < job->n_crews; i++) {
    g_free(job->crews[i].optimizer_of_layer_s);
    rng_free(job->crews[i].jitter);
  }
  g_clear_pointer(&job->loads, g_array_unref);
  g_clear_pointer(&job->passages, g_array_unref);
  g_clear_pointer(&job->workers, g_free);
  g_clear_pointer(&job->crews, g_free);
  g_clear_pointer(&job->ready_s, g_free);
  g_clear_pointer(&job->parts_done, g_free);
  g_clear_pointer(&job->n_reporters, g_free);
  g_clear_pointer(&job->n_askers, g_free);
  g_clear_pointer(&job->fetched, g_free);
  g_clear_pointer(&job->pending_of_layer, g_free);
  g_clear_pointer(&job->layer_rounds, g_free);
  g_clear_pointer(&job->has_gradients, g_free);
  timeline_clear(&job->timeline);
}

/* What kernels of collectives add to it. All workers of a crew lose as much. */
static double mean_contended_s(const Job *job)
{
  const double n_all = topology_n_gpus(exchange_topology(job->exchange));
  double sum_s = 0;

  for (guint c = 0; c < job->n_crews; c++) {
    guint w = 0;
    while (job->workers[w].crew != &job->crews[c])
      w++;
    sum_s += job->crews[c].n_gpus / n_all * job->workers[w].contended_s;
  }
  return sum_s / job->n_measured;
}

double job_mean_compute_s(const Job *job)
{
  const double n_all = topology_n_gpus(exchange_topology(job->exchange));
  const double first_s = job->crews[0].slowdown * workload_compute_s(job->workload);
  double mean_s = first_s;

  for (guint i = 1; i < job->n_crews; i++) {
    const CrewState *crew = &job->crews[i];
    const double own_s = crew->slowdown * workload_compute_s(crew->workload);
    mean_s += crew->n_gpus / n_all * (own_s - first_s);
  }
  return mean_s + mean_contended_s(job);
}
