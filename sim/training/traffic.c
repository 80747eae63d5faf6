/* Other jobs on the same network. */
#include "sim/training/job.h"

/* One of them. */
typedef struct {
  Job *job;
  guint index;
} Traffic;

static void idle_until(Job *job, double time_s)
{
  while (!job->closing && engine_now_s(job->engine) < time_s &&
         engine_signal_wait_until(job->traffic_ends, time_s))
    continue;
}

static void exchange_over_and_over(void *data)
{
  g_autofree Traffic *traffic = data;
  Job *job = traffic->job;
  const OtherJob *other =
    &g_array_index(job->setup->cluster.other_jobs, OtherJob, traffic->index);
  const ExchangePhase phase =
    exchange_traffic(job->exchange, traffic->index, (double)other->size_B);
  const double begun_s = engine_now_s(job->engine) + other->from_s;

  idle_until(job, begun_s);
  for (guint64 turn = 1; !job->closing; turn++) {
    engine_sleep(job->engine, phase.wait_s);
    const double start_s = engine_now_s(job->engine);
    exchange_transfer(job->engine, &phase);
    timeline_add_transfer(&job->timeline, job->exchange, &phase, start_s,
                          engine_now_s(job->engine));
    idle_until(job, begun_s + (double)turn * other->every_s);
  }
}

guint job_n_others(const Job *job)
{
  return job->setup->cluster.other_jobs == NULL ? 0 : job->setup->cluster.other_jobs->len;
}

void job_begin_traffic(Job *job)
{
  job->traffic_ends = engine_signal_new(job->engine);
  for (guint i = 0; i < job_n_others(job); i++) {
    Traffic *traffic = g_new(Traffic, 1);
    *traffic = (Traffic){ .job = job, .index = i };
    engine_spawn(job->engine, "other job", exchange_over_and_over, traffic);
  }
}

void job_end_traffic(Job *job)
{
  for (guint i = 0; i < job_n_others(job); i++)
    engine_signal_raise(job->traffic_ends);
}
