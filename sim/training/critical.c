/* The chain of events that decided how long the last iteration took. */
#include "sim/training/job.h"

/* A stage that a unit has passed. In the order of their ends. */
typedef struct {
  guint64 item;
  guint stage;
  const Lane *lane;
  double arrived_s; /* in the queue */
  double start_s, end_s;
  double ready_s; /* the last of its gradients */
} Passage;

void job_begin_passages(Job *job)
{
  if (job->passages == NULL)
    job->passages = g_array_new(FALSE, FALSE, sizeof(Passage));
  g_array_set_size(job->passages, 0);
}

void job_note_passage(Job *job, const Item *item, const Lane *lane, double start_s)
{
  if (job->passages == NULL)
    return;
  const Passage passage = { .item = item->number,
                            .stage = item->stage,
                            .lane = lane,
                            .arrived_s = item->arrived_s,
                            .start_s = start_s,
                            .end_s = engine_now_s(job->engine),
                            .ready_s = item->ready_s };
  g_array_append_val(job->passages, passage);
}

static const Passage *passage_at(const Job *job, guint index)
{
  return &g_array_index(job->passages, Passage, index);
}

/* The chain, from its end; times after the begin of the iteration. */
typedef struct {
  const Job *job;
  Result *result;
  double from_s;
  double begins_s; /* what has been told begins here */
} Chain;

/* What comes before all that has been told. */
static void tell(Chain *chain, const char *name, double start_s)
{
  start_s = MAX(start_s, chain->from_s);
  if (!(start_s < chain->begins_s - SCHEDULE_INSTANT_S))
    return;
  result_prepend_path(chain->result, name, start_s - chain->from_s,
                      chain->begins_s - chain->from_s);
  chain->begins_s = start_s;
}

/* The last unit that left the queue in which that of passage @p index waited, before it was
 * served; G_MAXUINT: none. */
static guint find_blocker(const Job *job, guint index)
{
  const Passage *waited = passage_at(job, index);

  if (!(waited->start_s > waited->arrived_s + SCHEDULE_INSTANT_S))
    return G_MAXUINT;
  for (guint i = index; i-- > 0 && passage_at(job, i)->end_s > waited->arrived_s;) {
    const Passage *other = passage_at(job, i);
    if (other->lane == waited->lane && other->end_s <= waited->start_s)
      return i;
  }
  return G_MAXUINT;
}

/* The stage before, of the same unit. */
static guint find_before(const Job *job, guint index)
{
  const Passage *after = passage_at(job, index);

  for (guint i = index; i-- > 0;)
    if (passage_at(job, i)->item == after->item && passage_at(job, i)->stage < after->stage)
      return i;
  return G_MAXUINT;
}

/* From the end of @p item's way to the gradient that began it all. */
static void follow(Chain *chain, guint64 item)
{
  const Job *job = chain->job;
  const GArray *stages = job->composition->pipeline.stages;
  guint index = job->passages->len;

  while (index > 0 && passage_at(job, index - 1)->item != item)
    index--;
  for (index = index > 0 ? index - 1 : G_MAXUINT; index != G_MAXUINT;) {
    const Passage *passage = passage_at(job, index);
    tell(chain, g_array_index(stages, Stage, passage->stage).name, passage->start_s);
    const guint blocker = find_blocker(job, index);
    const guint before = blocker != G_MAXUINT ? blocker : find_before(job, index);
    if (blocker == G_MAXUINT)
      tell(chain, "queue", passage->arrived_s);
    if (before == G_MAXUINT)
      tell(chain, "schedule", passage->ready_s);
    index = before;
  }
}

void job_tell_critical_path(const Job *job, Result *result)
{
  const Worker *worker = &job->workers[0];
  const bool waited = job->decided_s > worker->passed_s;
  Chain chain = {
    .job = job, .result = result, .from_s = job->last_from_s, .begins_s = job->measured_to_s
  };

  if (!job->composition->crosses_iterations)
    tell(&chain, "optimizer", MAX(job->decided_s, worker->passed_s));
  if (waited && job->passages != NULL)
    follow(&chain, job->decider);
  tell(&chain, "compute", job->last_from_s);
}
