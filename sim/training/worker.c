/* Workers, their iterations, and the dispatcher between them and the pipeline. */
#include "sim/training/job.h"

#include <math.h>

/* The slowest worker of a crew in the next iteration, relative to the mean of one:
 * lognormal, so that it stays positive; synchronous training waits for it. */
static double draw_factor(CrewState *crew)
{
  const double sigma = crew->workload->jitter;

  if (!(sigma > 0))
    return crew->slowdown * crew->lag;
  const double z = rng_max_normal(crew->jitter, crew->n_gpus);
  return crew->slowdown * crew->lag * exp(sigma * z - sigma * sigma / 2);
}

/* The workers of a crew are as slow as its slowest, whichever of them asks first. */
static double factor_of(Worker *worker)
{
  CrewState *crew = worker->crew;

  if (crew->n_drawn == worker->iteration) {
    crew->factor = draw_factor(crew);
    crew->n_drawn++;
  }
  return crew->factor;
}

static void trace_optimizer(const Worker *worker, double from_s)
{
  const Timeline *timeline = &worker->job->timeline;

  if (timeline->traced && timeline->measuring && worker->track != NO_TRACK &&
      worker->crew->workload->optimizer_s > 0)
    result_add_span(timeline->result, worker->track, "optimizer", from_s,
                    engine_now_s(worker->job->engine));
}

static bool exchanges(const Job *job)
{
  return topology_n_gpus(exchange_topology(job->exchange)) > 1 &&
         workload_n_gradients(job->workload) > 0;
}

/* The batches of one iteration. */
static void take_steps(Worker *worker)
{
  const Composition *composition = worker->job->composition;
  const guint n_steps = worker->job->workload->accumulation_steps;
  const bool exchange = exchanges(worker->job);

  for (guint step = 0; step < n_steps; step++) {
    const bool is_last = step + 1 == n_steps;
    const bool travels = exchange && (is_last || composition->every_backward);
    worker_begin_step(worker, step == 0);
    worker_forward(worker, exchange && composition->crosses_iterations && step == 0);
    worker_backward(worker, travels);
    if (travels && !is_last)
      worker_await(worker, &worker->job->rounds_done, worker->n_rounds);
  }
}

/* One iteration; it ends when the next forward may begin. */
void worker_iterate(Worker *worker)
{
  Job *job = worker->job;

  worker->factor = factor_of(worker);
  take_steps(worker);
  worker->passed_s = engine_now_s(job->engine);
  if (exchanges(job) && job->composition->crosses_iterations) {
    if (job->has_gradients[0])
      worker_await(worker, &job->layer_rounds[0], worker->n_rounds);
    return;
  }
  worker_await(worker, &job->rounds_done, worker->n_rounds);
  const double step_from_s = engine_now_s(job->engine);
  engine_sleep(job->engine, worker->factor * worker->crew->workload->optimizer_s);
  trace_optimizer(worker, step_from_s);
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

guint job_n_unmeasured(const Job *job)
{
  return job->composition->tuning_iterations + job->setup->run.warmup;
}

/* An iteration of the worker that tells time begins, or the last has ended. */
static void tell_time(Job *job, guint iteration)
{
  const guint n_before = job_n_unmeasured(job);
  const guint n = n_before + job->setup->run.iterations;
  const double now_s = engine_now_s(job->engine);

  if (iteration == n) {
    job->measured_to_s = now_s;
    timeline_end(&job->timeline, now_s);
    return;
  }
  job->last_from_s = now_s;
  if (iteration + 1 == n || (job->may_repeat && iteration == n_before))
    job_begin_passages(job);
  if (iteration == n_before) {
    job->measured_from_s = now_s;
    timeline_begin(&job->timeline, now_s);
  }
}

void job_stop(Job *job)
{
  job->closing = true;
  job_wake_dispatcher(job);
  if (exchanges(job))
    job_close_pipeline(job);
}

/* The last worker to end closes the pipeline. */
static void run_iterations(void *data)
{
  Worker *worker = data;
  Job *job = worker->job;
  const guint n = job_n_unmeasured(job) + job->setup->run.iterations;

  for (; worker->iteration < n;
       worker->iteration = MAX(worker->iteration + 1, job->resume_at)) {
    if (worker->leads)
      tell_time(job, worker->iteration);
    worker_iterate(worker);
  }
  if (worker->leads)
    tell_time(job, n);
  worker_await(worker, &job->rounds_done, worker->n_rounds);
  if (--job->n_running > 0)
    return;
  job_stop(job);
  job_end_traffic(job);
}

void job_start(Job *job)
{
  job_open(job);
  if (!exchanges(job))
    return;
  job_open_pipeline(job);
  engine_spawn(job->engine, "dispatcher", dispatch, job);
}

void job_run(void *data)
{
  Job *job = data;

  job_start(job);
  job_begin_traffic(job);
  for (guint i = 1; i < job->n_workers; i++)
    engine_spawn(job->engine, "worker", run_iterations, &job->workers[i]);
  run_iterations(&job->workers[0]);
}
