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

static void trace_layer(const Job *job, const char *pass, const LayerTime *layer,
                        double from_s, double took_s)
{
  if (!job->timeline.traced || !job->timeline.measuring || !(took_s > 0))
    return;
  g_autofree char *name = g_strdup_printf("%s %s", pass, layer->name);
  result_add_span(job->timeline.result, TRACK_COMPUTE, name, from_s, from_s + took_s);
}

static const LayerTime *layer_at(const Job *job, guint index)
{
  return &g_array_index(job->workload->layer_times, LayerTime, index);
}

/* Layers that follow one another are known without simulating each. */
static void trace_forward(const Job *job, double from_s, double factor)
{
  for (guint l = 0; l < job->workload->layer_times->len; l++) {
    const double took_s = factor * layer_at(job, l)->forward_s;
    trace_layer(job, "forward", layer_at(job, l), from_s, took_s);
    from_s += took_s;
  }
}

static void trace_backward(const Job *job, double from_s, double factor)
{
  for (guint l = job->workload->layer_times->len; l-- > 0;) {
    const double took_s = factor * layer_at(job, l)->backward_s;
    trace_layer(job, "backward", layer_at(job, l), from_s, took_s);
    from_s += took_s;
  }
}

void job_wake_dispatcher(Job *job)
{
  if (!job->dispatcher_waits)
    return;
  job->dispatcher_waits = false;
  engine_signal_raise(job->wake);
}

/* Gradients of the iteration that begins its backward: none has travelled. */
static void expect_gradients(Job *job)
{
  const guint n = workload_n_gradients(job->workload);

  job->n_pending = n;
  for (guint i = 0; i < n; i++) {
    job->parts_done[i] = 0;
    job->pending_of_layer[workload_gradient(job->workload, i)->layer]++;
  }
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
      job_wake_dispatcher(job);
      engine_sleep(job->engine, wait_s);
    }
    job->ready_s[i] = engine_now_s(job->engine);
    job_encode_gradient(job, i);
    schedule->ready(job_schedule_state(job), i, engine_now_s(job->engine));
  }
  job_wake_dispatcher(job);
}

/* Wait until @p pending, a count of gradients, is zero. */
static void await(Job *job, const guint *pending)
{
  while (*pending > 0) {
    job->worker_waits = true;
    engine_signal_wait(job->synchronised);
  }
}

static void sleep_until(Job *job, double time_s)
{
  engine_sleep(job->engine, time_s - engine_now_s(job->engine));
}

static void trace_optimizer(const Job *job, double from_s)
{
  if (job->timeline.traced && job->timeline.measuring && job->workload->optimizer_s > 0)
    result_add_span(job->timeline.result, TRACK_COMPUTE, "optimizer", from_s,
                    engine_now_s(job->engine));
}

/* Layer by layer: each waits for its own gradients of the iteration before, takes its
 * optimizer step in proportion to its parameters, and computes. */
static void forward_by_layer(Job *job, double factor)
{
  for (guint l = 0; l < job->workload->layer_times->len; l++) {
    const double took_s =
      factor * (job->optimizer_of_layer_s[l] + layer_at(job, l)->forward_s);
    await(job, &job->pending_of_layer[l]);
    const double from_s = engine_now_s(job->engine);
    engine_sleep(job->engine, took_s);
    trace_layer(job, "forward", layer_at(job, l), from_s, took_s);
  }
}

/* The first iterations, which send full gradients: a codec's warm-up, as long as its share
 * of the measured iterations, rounded, and what runs before them. */
static guint n_full_iterations(const Job *job)
{
  const RunSpec *run = &job->setup->run;
  const double share = compression_warmup_share(job->compression);

  return share > 0 ? run->warmup + (guint)round(share * run->iterations) : 0;
}

/* One iteration; it ends when the next forward may begin. */
static void iterate(Job *job, guint iteration, bool exchanges)
{
  const Workload *workload = job->workload;
  const bool crosses = exchanges && job->composition->crosses_iterations;
  const double factor = slowest_factor(job), from_s = engine_now_s(job->engine);

  if (crosses) {
    forward_by_layer(job, factor);
  } else {
    sleep_until(job, from_s + factor * workload->forward_s);
    trace_forward(job, from_s, factor);
  }
  const double backward_from_s = engine_now_s(job->engine);
  trace_backward(job, backward_from_s, factor);
  if (exchanges) {
    expect_gradients(job);
    job->backward_end_s = backward_from_s + factor * workload->backward_s;
    job->encodes = job->compression != NULL && iteration >= n_full_iterations(job);
    job->composition->schedule->begin(job_schedule_state(job), iteration, backward_from_s);
    produce_gradients(job, backward_from_s, factor);
  }
  sleep_until(job, backward_from_s + factor * workload->backward_s);
  if (crosses) {
    await(job, &job->pending_of_layer[0]);
    return;
  }
  await(job, &job->n_pending);
  const double step_from_s = engine_now_s(job->engine);
  engine_sleep(job->engine, factor * workload->optimizer_s);
  trace_optimizer(job, step_from_s);
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
    switch (job->composition->schedule->next(job_schedule_state(job),
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

static void run_iterations(Job *job, bool exchanges)
{
  const RunSpec *run = &job->setup->run;

  for (guint i = 0; i < run->warmup + run->iterations; i++) {
    job->last_from_s = engine_now_s(job->engine);
    if (i == run->warmup) {
      job->measured_from_s = job->last_from_s;
      timeline_begin(&job->timeline, job->last_from_s);
    }
    iterate(job, i, exchanges);
  }
  job->measured_to_s = engine_now_s(job->engine);
  timeline_end(&job->timeline, job->measured_to_s);
  await(job, &job->n_pending);
}

void job_run(void *data)
{
  Job *job = data;
  const guint n = workload_n_gradients(job->workload);
  const bool exchanges = topology_n_gpus(exchange_topology(job->exchange)) > 1 && n > 0;

  job->wake = engine_signal_new(job->engine);
  job->synchronised = engine_signal_new(job->engine);
  job->ready_s = g_new0(double, n + 1);
  job->parts_done = g_new0(guint, n + 1);
  job->pending_of_layer = g_new0(guint, job->workload->layer_times->len + 1);
  job->optimizer_of_layer_s = optimizer_of_layers(job->workload);
  if (exchanges) {
    job_open_pipeline(job);
    engine_spawn(job->engine, "dispatcher", dispatch, job);
  }
  run_iterations(job, exchanges);
  job->closing = true;
  job_wake_dispatcher(job);
  if (exchanges)
    job_close_pipeline(job);
}
