/* Forward and backward of the worker that stands for all, and what they wait for. */
#include "sim/training/job.h"

static const LayerTime *layer_at(const Job *job, guint index)
{
  return &g_array_index(job->workload->layer_times, LayerTime, index);
}

static guint n_fetches(const Job *job)
{
  return job->composition->fetches == NULL ? 0 : job->composition->fetches->len;
}

static const Fetch *fetch_at(const Job *job, guint index)
{
  return &g_array_index(job->composition->fetches, Fetch, index);
}

static void trace_layer(const Job *job, const char *pass, const LayerTime *layer,
                        double from_s, double took_s)
{
  if (!job->timeline.traced || !job->timeline.measuring || !(took_s > 0))
    return;
  g_autofree char *name = g_strdup_printf("%s %s", pass, layer->name);
  result_add_span(job->timeline.result, TRACK_COMPUTE, name, from_s, from_s + took_s);
}

void job_wake_dispatcher(Job *job)
{
  if (!job->dispatcher_waits)
    return;
  job->dispatcher_waits = false;
  engine_signal_raise(job->wake);
}

void job_await(Job *job, const guint *pending)
{
  while (*pending > 0) {
    job->worker_waits = true;
    engine_signal_wait(job->synchronised);
  }
}

/* Sleep until about @p time_s: not for less than an instant, so that what is ready together
 * is reported together. The cursor of the pass keeps the rest. */
static void sleep_until(Job *job, double time_s)
{
  const double wait_s = time_s - engine_now_s(job->engine);

  if (wait_s > SCHEDULE_INSTANT_S)
    engine_sleep(job->engine, wait_s);
}

static void end_pass(Job *job, double time_s)
{
  engine_sleep(job->engine, MAX(time_s - engine_now_s(job->engine), 0));
}

/* ---- fetches ----------------------------------------------------------------------- */

/* What the first step of an iteration has fetched for all of them. */
static bool is_here(const Job *job, guint fetch)
{
  return fetch_at(job, fetch)->once && job->step > 0;
}

static void ask(Job *job)
{
  const guint fetch = job->n_asked++;

  if (is_here(job, fetch))
    return;
  job->ahead_B += fetch_at(job, fetch)->size_B;
  job_fetch(job, fetch);
}

static void ask_ahead(Job *job)
{
  const Composition *composition = job->composition;

  while (job->n_asked < n_fetches(job) &&
         (job->n_asked - job->n_used < composition->ahead_units ||
          job->ahead_B < composition->ahead_B))
    ask(job);
}

static bool needs_fetch(const Job *job, guint layer, bool backward)
{
  if (!job->fetches || job->n_used == n_fetches(job))
    return false;
  const Fetch *fetch = fetch_at(job, job->n_used);
  return fetch->layer == layer && fetch->backward == backward;
}

static void await_fetches(Job *job, guint layer, bool backward)
{
  for (; needs_fetch(job, layer, backward); job->n_used++) {
    if (job->n_asked == job->n_used)
      ask(job);
    if (is_here(job, job->n_used))
      continue;
    job_await(job, &job->fetch_pending[job->n_used]);
    job->ahead_B -= fetch_at(job, job->n_used)->size_B;
  }
  ask_ahead(job);
}

void job_begin_step(Job *job, guint step)
{
  job->step = step;
  job->n_asked = 0;
  job->n_used = 0;
  job->ahead_B = 0;
  for (guint i = 0; i < n_fetches(job); i++)
    job->fetch_pending[i] = 1;
}

/* ---- passes ------------------------------------------------------------------------ */

void job_forward(Job *job, double factor, bool crosses)
{
  double at_s = engine_now_s(job->engine);

  for (guint l = 0; l < job->workload->layer_times->len; l++) {
    const bool waits = crosses && job->pending_of_layer[l] > 0;
    const double optimizer_s = crosses ? job->optimizer_of_layer_s[l] : 0;
    const double took_s = factor * (optimizer_s + layer_at(job, l)->forward_s);
    if (waits || needs_fetch(job, l, false)) {
      sleep_until(job, at_s);
      if (waits)
        job_await(job, &job->pending_of_layer[l]);
      await_fetches(job, l, false);
      at_s = MAX(at_s, engine_now_s(job->engine));
    }
    trace_layer(job, "forward", layer_at(job, l), at_s, took_s);
    at_s += took_s;
  }
  end_pass(job, at_s);
}

/* Gradients of the backward pass that begins: none has travelled. */
static void expect_gradients(Job *job)
{
  const guint n = workload_n_gradients(job->workload);

  job->n_pending = n;
  for (guint i = 0; i < n; i++) {
    job->parts_done[i] = 0;
    job->pending_of_layer[workload_gradient(job->workload, i)->layer]++;
  }
  job->composition->schedule->begin(job_schedule_state(job), job->n_exchanges++,
                                    engine_now_s(job->engine));
}

/* Report the gradients of a layer to the schedule; @p next is the first of them, and then
 * that of another layer. */
static void report_gradients(Job *job, guint layer, double at_s, guint *next)
{
  const guint n = workload_n_gradients(job->workload), first = *next;

  for (; *next < n && workload_gradient(job->workload, *next)->layer == layer; ++*next) {
    sleep_until(job, at_s);
    job->ready_s[*next] = engine_now_s(job->engine);
    job_encode_gradient(job, *next);
    job->composition->schedule->ready(job_schedule_state(job), *next,
                                      engine_now_s(job->engine));
  }
  if (*next > first)
    job_wake_dispatcher(job);
}

void job_backward(Job *job, double factor, bool travels)
{
  double at_s = engine_now_s(job->engine);
  guint next = 0;

  job->backward_end_s = at_s + factor * job->workload->backward_s;
  if (travels)
    expect_gradients(job);
  for (guint l = job->workload->layer_times->len; l-- > 0;) {
    const double took_s = factor * layer_at(job, l)->backward_s;
    if (needs_fetch(job, l, true)) {
      sleep_until(job, at_s);
      await_fetches(job, l, true);
      at_s = MAX(at_s, engine_now_s(job->engine));
    }
    trace_layer(job, "backward", layer_at(job, l), at_s, took_s);
    at_s += took_s;
    if (travels)
      report_gradients(job, l, at_s, &next);
  }
  end_pass(job, at_s);
}
