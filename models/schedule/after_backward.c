/**
 * @file after_backward.c
 * @brief Nothing travels before the backward pass is over: no overlap at all.
 *
 * Then everything goes at once, as one flattened message or in messages of about
 * bucket_cap bytes, in the order backward produced the gradients.
 */
#include "models/schedule.h"

#include <math.h>

typedef struct {
  const Workload *workload;
  GArray *ends; /* guint32: the number after the last gradient of each message */
  guint n_ready;
  guint next; /* message */
} AfterBackward;

static void *after_backward_new(const void *params, const Workload *workload)
{
  const AfterBackwardRule *rule = params;
  const double limit_B = rule->bucket_cap_B == 0 ? INFINITY : (double)rule->bucket_cap_B;
  AfterBackward *self = g_new0(AfterBackward, 1);

  self->workload = workload;
  self->ends = schedule_cut_buckets(workload, limit_B, limit_B);
  return self;
}

static void after_backward_free(void *data)
{
  AfterBackward *self = data;
  g_array_unref(self->ends);
  g_free(self);
}

static void after_backward_begin(void *data, guint iteration G_GNUC_UNUSED,
                                 double now_s G_GNUC_UNUSED)
{
  AfterBackward *self = data;
  self->n_ready = 0;
  self->next = 0;
}

static void after_backward_ready(void *data, guint index G_GNUC_UNUSED,
                                 double now_s G_GNUC_UNUSED)
{
  AfterBackward *self = data;
  self->n_ready++;
}

static ScheduleAnswer after_backward_next(void *data, double now_s G_GNUC_UNUSED,
                                          Unit *unit, double *again_s G_GNUC_UNUSED)
{
  AfterBackward *self = data;

  if (self->n_ready < self->workload->gradients->len || self->next == self->ends->len)
    return SCHEDULE_IDLE;

  const guint32 begin =
    self->next == 0 ? 0 : g_array_index(self->ends, guint32, self->next - 1);
  unit_add_range(unit, self->workload, begin,
                 g_array_index(self->ends, guint32, self->next));
  self->next++;
  return SCHEDULE_UNIT;
}

const ScheduleOps schedule_after_backward = {
  .info = {
    .name = "after_backward",
    .summary = "all gradients after the whole backward pass",
    .source = "NVIDIA apex DistributedDataParallel, delay_allreduce",
  },
  .forgets = true,
  .new = after_backward_new,
  .free = after_backward_free,
  .begin = after_backward_begin,
  .ready = after_backward_ready,
  .next = after_backward_next,
};
