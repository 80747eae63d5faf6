/* The worker that stands for all, and the dispatcher between it and the pipeline. */
#include "sim/training/job.h"

#include <math.h>

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

static void trace_optimizer(const Job *job, double from_s)
{
  if (job->timeline.traced && job->timeline.measuring && job->workload->optimizer_s > 0)
    result_add_span(job->timeline.result, TRACK_COMPUTE, "optimizer", from_s,
                    engine_now_s(job->engine));
}

/* The first iterations, which send full gradients: a codec's warm-up, as long as its share
 * of the measured iterations, rounded, and what runs before them. */
static guint n_full_iterations(const Job *job)
{
  const RunSpec *run = &job->setup->run;
  const double share = compression_warmup_share(job->compression);

  return share > 0 ? run->warmup + (guint)round(share * run->iterations) : 0;
}

/* The batches of one iteration. */
static void take_steps(Job *job, double factor, bool exchanges)
{
  const Composition *composition = job->composition;

  for (guint step = 0; step < job->workload->accumulation_steps; step++) {
    const bool is_last = step + 1 == job->workload->accumulation_steps;
    const bool travels = exchanges && (is_last || composition->every_backward);
    job_begin_step(job, step);
    job_forward(job, factor, exchanges && composition->crosses_iterations && step == 0);
    job_backward(job, factor, travels);
    if (travels && !is_last)
      job_await(job, &job->n_pending);
  }
}

/* One iteration; it ends when the next forward may begin. */
static void iterate(Job *job, guint iteration, bool exchanges)
{
  const double factor = slowest_factor(job);

  job->encodes =
    exchanges && job->compression != NULL && iteration >= n_full_iterations(job);
  take_steps(job, factor, exchanges);
  if (exchanges && job->composition->crosses_iterations) {
    job_await(job, &job->pending_of_layer[0]);
    return;
  }
  job_await(job, &job->n_pending);
  const double step_from_s = engine_now_s(job->engine);
  engine_sleep(job->engine, factor * job->workload->optimizer_s);
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
  job_await(job, &job->n_pending);
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
  job->fetches = exchanges && job->composition->fetches != NULL;
  job->fetch_pending = g_new0(guint, job->fetches ? job->composition->fetches->len : 1);
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
