/* Iterations that are copies of one another are simulated once.
 *
 * When the last gradient of an iteration has been synchronised and all workers have ended
 * their backward pass, nothing is under way: what follows depends on that moment only, if
 * the schedule remembers nothing and nothing is drawn. So the iteration between two such
 * moments is every further one: the rest of the warm-up is skipped, and the first measured
 * iteration stands for all. */
#include "sim/training/job.h"

static bool draws_anything(const Job *job)
{
  for (guint i = 0; i < job->workloads->len; i++)
    if (((const Workload *)g_ptr_array_index(job->workloads, i))->jitter > 0)
      return true;
  return false;
}

/* Does every round end an iteration? */
static bool ends_with_its_round(const Job *job)
{
  return !job->composition->crosses_iterations &&
         (!job->composition->every_backward || job->workload->accumulation_steps == 1);
}

bool job_may_repeat(const Job *job, const TrainingConfig *config)
{
  const Composition *composition = job->composition;
  const bool watched = config->traced || config->messages || config->journal != NULL;

  return config->fold && !watched && job->setup->run.warmup > 0 && job->fleet == NULL &&
         job->compression == NULL && composition->fetches == NULL &&
         composition->schedule != NULL && composition->schedule->forgets &&
         composition->tuning_iterations == 0 && job->setup->library != &library_adaptive &&
         !job->setup->strategy->chooses && ends_with_its_round(job) &&
         !draws_anything(job) && job_n_others(job) == 0;
}

void job_end_round(Job *job)
{
  const RunSpec *run = &job->setup->run;
  const guint iteration = job->workers[0].iteration;
  const bool is_idle = job->n_ended == job->n_workers;

  if (!job->may_repeat)
    return;
  if (is_idle && iteration < run->warmup)
    job->resume_at = run->warmup;
  if (is_idle && job->was_idle && iteration == run->warmup) {
    job->resume_at = run->warmup + run->iterations;
    job->n_measured = 1;
  }
  job->was_idle = is_idle;
}

void job_repeat_latencies(Job *job)
{
  GArray *latencies_s = job->timeline.latencies_s;
  const guint n = latencies_s->len, n_copies = job->setup->run.iterations - 1;
  g_autofree double *one = g_memdup2(latencies_s->data, n * sizeof(double));

  for (guint i = 0; job->n_measured < job->setup->run.iterations && i < n_copies; i++)
    g_array_append_vals(latencies_s, one, n);
}
