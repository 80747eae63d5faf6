/**
 * @file ddp_bucket.c
 * @brief PyTorch DDP's reducer: static buckets that leave in order.
 *
 * A bucket is launched when its last gradient is ready and all buckets before it have been
 * launched. In the first iteration everything is one bucket; after it the buckets are built
 * anew, once, in the order in which the gradients arrived, the first with a smaller limit.
 * A bucket closes when it reaches its limit. With find_unused_parameters buckets are those
 * of the order of registration, turned round, from the first iteration to the last.
 *
 * Source: pytorch torch/csrc/distributed/c10d/reducer.cpp (mark_bucket_ready,
 * rebuild_buckets, compute_bucket_assignment_by_size), torch/nn/parallel/distributed.py.
 */
#include "models/schedule.h"

#include <math.h>

typedef struct {
  const Workload *workload;
  bool from_start;      /* the other buckets are in force from the first iteration */
  GArray *first_ends;   /* guint32: the only bucket of iteration 0 */
  GArray *rebuilt_ends; /* guint32: the number after the last gradient of each bucket */
  const GArray *ends;   /* the one of the two that is in force */
  guint *bucket_of;     /* rebuilt bucket of each gradient */
  guint *n_pending;     /* gradients that each bucket in force still waits for */
  guint next;           /* bucket to launch */
} DdpBucket;

static guint32 bucket_begin(const GArray *ends, guint bucket)
{
  return bucket == 0 ? 0 : g_array_index(ends, guint32, bucket - 1);
}

static guint32 bucket_end(const GArray *ends, guint bucket)
{
  return g_array_index(ends, guint32, bucket);
}

static GArray *cut(const DdpBucketRule *rule, const Workload *workload)
{
  if (rule->ends != NULL)
    return g_array_copy((GArray *)rule->ends);
  return rule->registered
           ? schedule_cut_buckets_registered(workload, rule->first_bucket_B,
                                             rule->bucket_cap_B)
           : schedule_cut_buckets(workload, rule->first_bucket_B, rule->bucket_cap_B);
}

static void *ddp_bucket_new(const void *params, const Workload *workload)
{
  const DdpBucketRule *rule = params;
  DdpBucket *self = g_new0(DdpBucket, 1);

  self->workload = workload;
  self->first_ends = schedule_cut_buckets(workload, INFINITY, INFINITY);
  self->rebuilt_ends = cut(rule, workload);
  self->from_start = rule->registered || rule->from_start;
  self->bucket_of = g_new(guint, workload->gradients->len);
  self->n_pending = g_new(guint, self->rebuilt_ends->len);
  for (guint bucket = 0; bucket < self->rebuilt_ends->len; bucket++)
    for (guint32 index = bucket_begin(self->rebuilt_ends, bucket);
         index < bucket_end(self->rebuilt_ends, bucket); index++)
      self->bucket_of[index] = bucket;
  return self;
}

static void ddp_bucket_free(void *data)
{
  DdpBucket *self = data;
  g_array_unref(self->first_ends);
  g_array_unref(self->rebuilt_ends);
  g_free(self->bucket_of);
  g_free(self->n_pending);
  g_free(self);
}

static void ddp_bucket_begin(void *data, guint iteration, double now_s G_GNUC_UNUSED)
{
  DdpBucket *self = data;

  self->ends = iteration == 0 && !self->from_start ? self->first_ends : self->rebuilt_ends;
  self->next = 0;
  for (guint bucket = 0; bucket < self->ends->len; bucket++)
    self->n_pending[bucket] =
      bucket_end(self->ends, bucket) - bucket_begin(self->ends, bucket);
}

static void ddp_bucket_ready(void *data, guint index, double now_s G_GNUC_UNUSED)
{
  DdpBucket *self = data;
  self->n_pending[self->ends == self->first_ends ? 0 : self->bucket_of[index]]--;
}

static ScheduleAnswer ddp_bucket_next(void *data, double now_s G_GNUC_UNUSED, Unit *unit,
                                      double *again_s G_GNUC_UNUSED)
{
  DdpBucket *self = data;

  if (self->next == self->ends->len || self->n_pending[self->next] > 0)
    return SCHEDULE_IDLE;
  unit_add_range(unit, self->workload, bucket_begin(self->ends, self->next),
                 bucket_end(self->ends, self->next));
  self->next++;
  unit->is_last = self->next == self->ends->len;
  return SCHEDULE_UNIT;
}

const ScheduleOps schedule_ddp_bucket = {
  .info = {
    .name = "ddp_bucket",
    .summary = "static buckets in arrival order, launched in order when full",
    .source = "pytorch torch/csrc/distributed/c10d/reducer.cpp",
  },
  .new = ddp_bucket_new,
  .free = ddp_bucket_free,
  .begin = ddp_bucket_begin,
  .ready = ddp_bucket_ready,
  .next = ddp_bucket_next,
};
