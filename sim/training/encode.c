/* What a codec does on the way of a unit. */
#include "sim/base/units.h"
#include "sim/training/job.h"

#include <math.h>

void *job_schedule_state(const Job *job)
{
  return job->encodes || job->full_schedule_state == NULL ? job->composition->schedule_state
                                                          : job->full_schedule_state;
}

/* The first iterations, which send full gradients: a codec's warm-up, as long as its share
 * of the measured iterations, rounded, and what runs before them. */
static guint n_full_iterations(const Job *job)
{
  const RunSpec *run = &job->setup->run;
  const double share = compression_warmup_share(job->compression);

  return share > 0 ? job_n_unmeasured(job) + (guint)round(share * run->iterations) : 0;
}

bool job_is_coded(const Job *job)
{
  return job->compression != NULL || job->choices->len > 0;
}

bool job_encodes_in(const Job *job, guint iteration)
{
  return job->compression != NULL && iteration >= n_full_iterations(job);
}

static bool encodes_tensors(const Job *job)
{
  return job->compression != NULL && job->setup->strategy->place == COMPRESS_TENSORS;
}

guint job_first_stage(const Job *job)
{
  return encodes_tensors(job) ? 1 : 0;
}

/* What the unit puts on the wire counts for the report. */
static void count_round(Timeline *timeline, CollKind kind, double size_B)
{
  timeline->collective_B[g_bit_nth_lsf(kind, -1)] += size_B;
  if (size_B <= timeline->largest_round_B)
    return;
  timeline->largest_round_B = size_B;
  timeline->largest_kind = kind;
}

/* These are no collectives of all GPUs. */
static bool in_rack(const CompressionRound *round)
{
  return round->move == MOVE_RACK_REDUCE_SCATTER || round->move == MOVE_RACK_ALL_GATHER;
}

static void count(const Item *item, Timeline *timeline)
{
  const Encoding *encoding = &item->encoding;

  if (!item->is_encoded) {
    timeline->message_B += item->unit.size_B;
    count_round(timeline, COLL_ALL_REDUCE, item->unit.size_B);
    return;
  }
  timeline->message_B += encoding->message_B;
  if (encoding->n_rounds == 0)
    count_round(timeline, COLL_ALL_REDUCE, encoding->message_B);
  timeline->buffer_B = MAX(timeline->buffer_B, encoding->buffer_B);
  for (guint r = 0; r < encoding->n_rounds; r++)
    if (!in_rack(&encoding->rounds[r]))
      count_round(timeline, encoding->rounds[r].kind, encoding->rounds[r].size_B);
}

/* A piece of a gradient is encoded as a whole, or not at all. */
static void encode_piece(const Job *job, Item *item)
{
  const guint32 gradient = g_array_index(item->unit.gradients, guint32, 0);

  item->is_encoded = compression_takes(job->compression, gradient);
  if (item->is_encoded)
    item->encoding =
      compression_encode_piece(job->compression, gradient, item->unit.size_B);
}

void job_encode_item(Job *job, Item *item)
{
  item->is_encoded = job->encodes;
  if (job->chooser != NULL)
    item->is_encoded = chooser_encode(job->chooser, &item->unit, &item->encoding);
  else if (job->encodes && compression_place(job->compression) == COMPRESS_PIECES)
    encode_piece(job, item);
  else if (job->encodes && item->unit.n_parts > 1)
    item->encoding = compression_encode_part(
      job->compression, g_array_index(item->unit.gradients, guint32, 0),
      item->unit.n_parts);
  else if (job->encodes)
    item->encoding = compression_encode(job->compression, item->unit.gradients);
  if (job_is_coded(job) && job->timeline.measuring)
    count(item, &job->timeline);
}

static guint track_of(const Job *job, guint resource)
{
  guint track = 1; /* 0 computes */

  for (guint r = 0; r < resource; r++)
    track += g_array_index(job->composition->pipeline.resources, Resource, r).concurrency;
  return track;
}

/* Time since @p from_s went into the first stage. */
static void note_encode(Job *job, const Stage *stage, guint32 gradient, double from_s)
{
  Timeline *timeline = &job->timeline;
  const double now_s = engine_now_s(job->engine);

  if (!timeline->measuring)
    return;
  timeline->stage_s[0] += now_s - from_s;
  if (!timeline->traced)
    return;
  g_autofree char *size =
    units_show_bytes(workload_gradient(job->workload, gradient)->size_B, 3);
  g_autofree char *name = g_strdup_printf("%s %s", stage->name, size);
  result_add_span(timeline->result, track_of(job, stage->resource), name, from_s, now_s);
}

bool job_encodes_late(const Job *job)
{
  return job->encodes && encodes_tensors(job) &&
         g_array_index(job->composition->pipeline.stages, Stage, 0).after_backward;
}

void job_encode_gradient(Worker *worker, guint32 gradient)
{
  Job *job = worker->job;
  if (!job->encodes || !encodes_tensors(job))
    return;

  const Stage *stage = &g_array_index(job->composition->pipeline.stages, Stage, 0);
  const Encoding encoding = compression_encode_one(job->compression, gradient);

  if (!(encoding.encode_s > 0))
    return;
  job_wake_dispatcher(job);
  const double from_s = engine_now_s(job->engine);
  engine_sleep(job->engine, encoding.encode_s);
  if (worker->leads)
    note_encode(job, stage, gradient, from_s);
}

void job_await_backward(Job *job, const Stage *stage, const Item *item)
{
  if (!stage->after_backward || !item->is_encoded)
    return;
  while (job->n_ended < job->n_workers) {
    job->n_awaiting_end++;
    engine_signal_wait(job->backward_ended);
  }
}
