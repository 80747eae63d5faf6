/* The worker that stands for all, and the dispatcher between it and the pipeline. */
#include "sim/training/job.h"

#include <math.h>

/* Tracks of a trace. */
#define TRACK_COMPUTE 0

/* The slowest of all workers this iteration, relative to the mean of one: lognormal, so
 * that it stays positive; synchronous training waits for it. */
static double slowest_factor(Job *job)
{
  const double sigma = job->workload->jitter;
  if (!(sigma > 0))
    return 1;
  const double z =
    rng_max_normal(job->jitter, topology_n_gpus(exchange_topology(job->exchange)));
  return exp(sigma * z - sigma * sigma / 2);
}

/* Times that only the picture shows: they are known without simulating. */
static void trace_layers(const Job *job, double forward_from_s, double factor)
{
  if (!job->timeline.traced || !job->timeline.measuring)
    return;

  const GArray *layers = job->workload->layer_times;
  double at_s = forward_from_s;
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < layers->len; i++) {
      const LayerTime *layer =
        &g_array_index(layers, LayerTime, pass == 0 ? i : layers->len - 1 - i);
      const double took_s = factor * (pass == 0 ? layer->forward_s : layer->backward_s);
      g_autofree char *name =
        g_strdup_printf("%s %s", pass == 0 ? "forward" : "backward", layer->name);
      if (took_s > 0)
        result_add_span(job->timeline.result, TRACK_COMPUTE, name, at_s, at_s + took_s);
      at_s += took_s;
    }
}

static void wake_dispatcher(Job *job)
{
  if (!job->dispatcher_waits)
    return;
  job->dispatcher_waits = false;
  engine_signal_raise(job->wake);
}

/* Report gradients to the schedule as backward, @p factor slower than usual, reaches
 * them; those of one instant together. */
static void produce_gradients(Job *job, double backward_from_s, double factor)
{
  const ScheduleOps *schedule = job->composition->schedule;
  const guint n = workload_n_gradients(job->workload);

  for (guint i = 0; i < n; i++) {
    const double ready_s =
      backward_from_s + factor * workload_gradient(job->workload, i)->ready_s;
    const double wait_s = ready_s - engine_now_s(job->engine);
    if (wait_s > SCHEDULE_INSTANT_S) {
      wake_dispatcher(job);
      engine_sleep(job->engine, wait_s);
    }
    job->ready_s[i] = engine_now_s(job->engine);
    schedule->ready(job->composition->schedule_state, i, job->ready_s[i]);
  }
  wake_dispatcher(job);
}

static void sleep_until(Job *job, double time_s)
{
  engine_sleep(job->engine, time_s - engine_now_s(job->engine));
}

static void iterate(Job *job, guint iteration, bool exchanges)
{
  const Workload *workload = job->workload;
  const double factor = slowest_factor(job), from_s = engine_now_s(job->engine);
  const double backward_from_s = from_s + factor * workload->forward_s;

  trace_layers(job, from_s, factor);
  sleep_until(job, backward_from_s);
  if (exchanges) {
    job->n_pending = workload_n_gradients(workload);
    job->composition->schedule->begin(job->composition->schedule_state, iteration,
                                      engine_now_s(job->engine));
    produce_gradients(job, backward_from_s, factor);
  }
  sleep_until(job, backward_from_s + factor * workload->backward_s);
  if (exchanges)
    engine_signal_wait(job->synchronised);

  const double step_from_s = engine_now_s(job->engine);
  engine_sleep(job->engine, factor * workload->optimizer_s);
  if (job->timeline.traced && job->timeline.measuring && workload->optimizer_s > 0)
    result_add_span(job->timeline.result, TRACK_COMPUTE, "optimizer", step_from_s,
                    engine_now_s(job->engine));
}

static void dispatch(void *data)
{
  Job *job = data;
  Unit unit;
  double again_s = 0;

  unit_init(&unit);
  job->dispatcher_waits = true; /* for the first gradient */
  engine_signal_wait(job->wake);
  while (!job->closing) {
    switch (job->composition->schedule->next(job->composition->schedule_state,
                                             engine_now_s(job->engine), &unit, &again_s)) {
    case SCHEDULE_UNIT:
      job_dispatch(job, &unit);
      continue;
    case SCHEDULE_LATER:
      job->dispatcher_waits = true;
      engine_signal_wait_until(job->wake, again_s);
      break;
    case SCHEDULE_IDLE:
      job->dispatcher_waits = true;
      engine_signal_wait(job->wake);
      break;
    }
    job->dispatcher_waits = false;
  }
  unit_clear(&unit);
}

void job_run(void *data)
{
  Job *job = data;
  const RunSpec *run = &job->setup->run;
  const bool exchanges = topology_n_gpus(exchange_topology(job->exchange)) > 1 &&
                         workload_n_gradients(job->workload) > 0;

  job->wake = engine_signal_new(job->engine);
  job->synchronised = engine_signal_new(job->engine);
  job->ready_s = g_new0(double, workload_n_gradients(job->workload) + 1);
  if (exchanges) {
    job_open_pipeline(job);
    engine_spawn(job->engine, "dispatcher", dispatch, job);
  }
  for (guint i = 0; i < run->warmup + run->iterations; i++) {
    if (i == run->warmup) {
      job->timeline.measuring = true;
      job->measured_from_s = engine_now_s(job->engine);
    }
    job->last_from_s = engine_now_s(job->engine);
    iterate(job, i, exchanges);
  }
  job->measured_to_s = engine_now_s(job->engine);
  job->closing = true;
  wake_dispatcher(job);
  if (exchanges)
    job_close_pipeline(job);
}
