/* Forward and backward of a worker, and what they wait for. */
#include "sim/training/job.h"

static const LayerTime *layer_at(const Worker *worker, guint index)
{
  return &g_array_index(worker->crew->workload->layer_times, LayerTime, index);
}

static guint n_layers(const Worker *worker)
{
  return worker->crew->workload->layer_times->len;
}

static double now_s(const Worker *worker)
{
  return engine_now_s(worker->job->engine);
}

static guint n_fetches(const Job *job)
{
  return job->composition->fetches == NULL ? 0 : job->composition->fetches->len;
}

static const Fetch *fetch_at(const Job *job, guint index)
{
  return &g_array_index(job->composition->fetches, Fetch, index);
}

static void trace_layer(const Worker *worker, const char *pass, const LayerTime *layer,
                        double from_s)
{
  const Timeline *timeline = &worker->job->timeline;

  if (!timeline->traced || !timeline->measuring || worker->track == NO_TRACK ||
      !(worker->at_s > from_s))
    return;
  g_autofree char *name = g_strdup_printf("%s %s", pass, layer->name);
  result_add_span(timeline->result, worker->track, name, from_s, worker->at_s);
}

void job_wake_dispatcher(Job *job)
{
  if (!job->dispatcher_waits)
    return;
  job->dispatcher_waits = false;
  engine_signal_raise(job->wake);
}

void worker_await(Worker *worker, const guint *done, guint n)
{
  while (*done < n) {
    worker->waits = true;
    engine_signal_wait(worker->woken);
  }
}

void job_wake_workers(Job *job)
{
  for (guint i = 0; i < job->n_workers; i++) {
    Worker *worker = &job->workers[i];
    if (!worker->waits)
      continue;
    worker->waits = false;
    engine_signal_raise(worker->woken);
  }
}

/* Be where the worker has computed up to, but for less than an instant, so that what is
 * ready together is reported together. */
static void catch_up(Worker *worker)
{
  const double wait_s = worker->at_s - now_s(worker);

  if (wait_s > SCHEDULE_INSTANT_S)
    engine_sleep(worker->job->engine, wait_s);
}

static void begin_pass(Worker *worker)
{
  worker->at_s = now_s(worker);
}

static void end_pass(Worker *worker)
{
  engine_sleep(worker->job->engine, MAX(worker->at_s - now_s(worker), 0));
}

/* Compute what usually takes @p usual_s. */
static void work(Worker *worker, double usual_s)
{
  if (worker->job->loads == NULL)
    worker->at_s += worker->factor * usual_s;
  else
    worker_compute(worker, worker->factor * usual_s);
}

/* ---- fetches ----------------------------------------------------------------------- */

/* What the first step of an iteration has fetched for all of them. */
static bool is_here(const Worker *worker, guint fetch)
{
  return fetch_at(worker->job, fetch)->once && !worker->first_step;
}

/* The GPUs send for a fetch together: when the last asks for it. */
static void ask(Worker *worker)
{
  Job *job = worker->job;
  const guint fetch = worker->n_asked++;

  if (is_here(worker, fetch))
    return;
  worker->ahead_B += fetch_at(job, fetch)->size_B;
  if (++job->n_askers[fetch] % job->n_workers == 0)
    job_fetch(job, fetch);
}

static guint ahead_units(const Composition *composition, const Fetch *fetch)
{
  return fetch->backward ? composition->ahead_backward_units : composition->ahead_units;
}

static void ask_ahead(Worker *worker)
{
  const Job *job = worker->job;
  const Composition *composition = job->composition;

  while (worker->n_asked < n_fetches(job) &&
         (worker->n_asked - worker->n_used <
            ahead_units(composition, fetch_at(job, worker->n_asked)) ||
          worker->ahead_B < composition->ahead_B))
    ask(worker);
}

static bool needs_fetch(const Worker *worker, guint layer, bool backward)
{
  if (!worker->fetches || worker->n_used == n_fetches(worker->job))
    return false;
  const Fetch *fetch = fetch_at(worker->job, worker->n_used);
  return fetch->layer == layer && fetch->backward == backward;
}

static void await_fetches(Worker *worker, guint layer, bool backward)
{
  for (; needs_fetch(worker, layer, backward); worker->n_used++) {
    const guint fetch = worker->n_used;
    if (worker->n_asked == fetch)
      ask(worker);
    if (is_here(worker, fetch))
      continue;
    worker_await(worker, &worker->job->fetched[fetch],
                 fetch_at(worker->job, fetch)->once ? worker->iteration + 1
                                                    : worker->n_steps);
    worker->ahead_B -= fetch_at(worker->job, fetch)->size_B;
  }
  ask_ahead(worker);
}

void worker_begin_step(Worker *worker, bool first)
{
  worker->n_steps++;
  worker->first_step = first;
  worker->n_asked = 0;
  worker->n_used = 0;
  worker->ahead_B = 0;
}

static void fetch(Worker *worker, guint layer, bool backward)
{
  catch_up(worker);
  await_fetches(worker, layer, backward);
  worker->at_s = MAX(worker->at_s, now_s(worker));
}

/* ---- passes ------------------------------------------------------------------------ */

/* Until the gradients of the round before are there. */
static void await_layer(Worker *worker, guint layer)
{
  catch_up(worker);
  worker_await(worker, &worker->job->layer_rounds[layer], worker->n_rounds);
  worker->at_s = MAX(worker->at_s, now_s(worker));
}

void worker_forward(Worker *worker, bool crosses)
{
  const Job *job = worker->job;

  begin_pass(worker);
  for (guint l = 0; l < n_layers(worker); l++) {
    const double optimizer_s = crosses ? worker->crew->optimizer_of_layer_s[l] : 0;
    if (crosses && job->has_gradients[l] && job->layer_rounds[l] < worker->n_rounds)
      await_layer(worker, l);
    if (needs_fetch(worker, l, false))
      fetch(worker, l, false);
    const double from_s = worker->at_s;
    work(worker, optimizer_s + layer_at(worker, l)->forward_s);
    trace_layer(worker, "forward", layer_at(worker, l), from_s);
  }
  end_pass(worker);
}

/* The first worker to begin a round begins it for all: of the last, nothing is left. */
static void begin_round(Worker *worker)
{
  Job *job = worker->job;
  const guint n = workload_n_gradients(job->workload);

  if (worker->n_rounds++ < job->n_rounds)
    return;
  job->encodes = job_encodes_in(job, worker->iteration);
  job->n_pending = n;
  job->n_ended = 0;
  for (guint i = 0; i < n; i++) {
    job->parts_done[i] = 0;
    job->n_reporters[i] = 0;
    job->pending_of_layer[workload_gradient(job->workload, i)->layer]++;
  }
  if (job->chooser != NULL)
    chooser_begin(job->chooser, engine_now_s(job->engine), job->ready_s);
  job->composition->schedule->begin(job_schedule_state(job), job->n_rounds++,
                                    engine_now_s(job->engine));
}

/* The schedule hears of a gradient when every worker has it. */
static void report(Worker *worker, guint32 gradient)
{
  Job *job = worker->job;

  job_encode_gradient(worker, gradient);
  if (++job->n_reporters[gradient] == job->n_workers)
    job->composition->schedule->ready(job_schedule_state(job), gradient, now_s(worker));
}

/* Report the gradients of a layer; @p next is the first of them, and then that of another
 * layer. */
static void report_gradients(Worker *worker, guint layer, guint *next)
{
  const Workload *workload = worker->job->workload;
  const guint n = workload_n_gradients(workload), first = *next;

  for (; *next < n && workload_gradient(workload, *next)->layer == layer; ++*next) {
    catch_up(worker);
    worker->job->ready_s[*next] = now_s(worker);
    if (!job_encodes_late(worker->job))
      report(worker, *next);
  }
  if (*next > first)
    job_wake_dispatcher(worker->job);
}

static void end_backward(Worker *worker)
{
  Job *job = worker->job;

  catch_up(worker);
  if (++job->n_ended < job->n_workers)
    return;
  for (; job->n_awaiting_end > 0; job->n_awaiting_end--)
    engine_signal_raise(job->backward_ended);
}

static void report_late(Worker *worker)
{
  const guint n = workload_n_gradients(worker->job->workload);

  end_pass(worker);
  for (guint i = 0; i < n; i++)
    report(worker, i);
  job_wake_dispatcher(worker->job);
}

void worker_backward(Worker *worker, bool travels)
{
  guint next = 0;

  begin_pass(worker);
  if (travels)
    begin_round(worker);
  for (guint l = n_layers(worker); l-- > 0;) {
    if (needs_fetch(worker, l, true))
      fetch(worker, l, true);
    const double from_s = worker->at_s;
    work(worker, layer_at(worker, l)->backward_s);
    trace_layer(worker, "backward", layer_at(worker, l), from_s);
    if (travels && l == 0)
      end_backward(worker);
    if (travels)
      report_gradients(worker, l, &next);
  }
  end_pass(worker);
  if (travels && job_encodes_late(worker->job))
    report_late(worker);
}
