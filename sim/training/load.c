/* Computing while kernels of collectives take SMs and memory bandwidth. */
#include "sim/training/job.h"

/* What ran on the GPUs from a moment on, until the next entry. */
typedef struct {
  double from_s;
  ContentionLoad load;
} LoadStep;

static const LoadStep *step_at(const Job *job, guint index)
{
  return &g_array_index(job->loads, LoadStep, index);
}

void job_open_loads(Job *job)
{
  const LoadStep nothing = { 0 };

  if (!contention_matters(&job->setup->compute))
    return;
  job->loads = g_array_new(FALSE, FALSE, sizeof(LoadStep));
  g_array_append_val(job->loads, nothing);
  for (guint i = 0; i < job->n_workers; i++)
    job->workers[i].loaded = engine_signal_new(job->engine);
}

static void change(Job *job, double n_channels, double sent_Bps)
{
  LoadStep step = *step_at(job, job->loads->len - 1);

  step.from_s = engine_now_s(job->engine);
  step.load.n_channels += n_channels;
  step.load.sent_Bps += sent_Bps;
  if (job->n_kernels == 0) /* sums of differences leave crumbs */
    step.load = (ContentionLoad){ 0 };
  g_array_append_val(job->loads, step);
  for (guint i = 0; i < job->n_workers; i++) {
    Worker *worker = &job->workers[i];
    if (!worker->computes)
      continue;
    worker->computes = false;
    engine_signal_raise(worker->loaded);
  }
}

void job_begin_kernels(Job *job, const ContentionLoad *load)
{
  if (job->loads == NULL)
    return;
  job->n_kernels++;
  change(job, load->n_channels, load->sent_Bps);
}

void job_end_kernels(Job *job, const ContentionLoad *load)
{
  if (job->loads == NULL)
    return;
  job->n_kernels--;
  change(job, -load->n_channels, -load->sent_Bps);
}

/* The entry that holds at @p time_s; most are asked for about now. */
static guint find_step(const Job *job, double time_s)
{
  guint index = job->loads->len - 1;

  while (index > 0 && step_at(job, index)->from_s > time_s)
    index--;
  return index;
}

/* Wait until the worker has computed up to @p until_s; false if what runs beside it has
 * changed before. */
static bool stays(Worker *worker, double until_s)
{
  worker->computes = true;
  const bool changed = engine_signal_wait_until(worker->loaded, until_s);
  worker->computes = false;
  return !changed;
}

void worker_compute(Worker *worker, double alone_s)
{
  Job *job = worker->job;
  const double from_s = worker->at_s;

  for (double left_s = alone_s; left_s > 0;) {
    const guint index = find_step(job, worker->at_s);
    const double slowdown = contention_slowdown(&job->setup->compute, worker->crew->gpu,
                                                &step_at(job, index)->load);
    const double end_s = worker->at_s + slowdown * left_s;
    const bool is_past = index + 1 < job->loads->len;
    if (is_past && step_at(job, index + 1)->from_s < end_s) {
      left_s -= (step_at(job, index + 1)->from_s - worker->at_s) / slowdown;
      worker->at_s = step_at(job, index + 1)->from_s;
    } else if (is_past || end_s <= engine_now_s(job->engine) || stays(worker, end_s)) {
      worker->at_s = end_s;
      left_s = 0;
    }
  }
  if (job->timeline.measuring)
    worker->contended_s += worker->at_s - from_s - alone_s;
}
