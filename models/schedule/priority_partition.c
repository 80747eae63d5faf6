/**
 * @file priority_partition.c
 * @brief Every gradient alone, as soon as it is ready, in pieces that the urgent overtake.
 *
 * A gradient larger than a piece is cut into the fewest equal pieces that are not larger.
 * The pieces carry the place of their tensor in the model, which is the order in which the
 * next forward pass needs them: what orders them is a resource that minds priorities.
 *
 * Source: Y. Peng et al., "A Generic Communication Scheduler for Distributed DNN Training
 * Acceleration", SOSP 2019; bytedance/byteps bytescheduler/common/bytecore.py.
 */
#include "models/schedule.h"

typedef struct {
  double partition_B;
  const Workload *workload;
  GArray *queue; /* guint32: gradients in the order they became ready */
  guint n_sent;  /* of them, entirely */
  guint n_parts; /* of the one under way, gone */
} PriorityPartition;

static void *priority_partition_new(const void *params, const Workload *workload)
{
  const PriorityPartitionRule *rule = params;
  PriorityPartition *self = g_new0(PriorityPartition, 1);

  self->partition_B = rule->partition_B;
  self->workload = workload;
  self->queue = g_array_sized_new(FALSE, FALSE, sizeof(guint32), workload->gradients->len);
  return self;
}

static void priority_partition_free(void *data)
{
  PriorityPartition *self = data;
  g_array_unref(self->queue);
  g_free(self);
}

static void priority_partition_begin(void *data, guint iteration G_GNUC_UNUSED,
                                     double now_s G_GNUC_UNUSED)
{
  PriorityPartition *self = data;
  g_array_set_size(self->queue, 0);
  self->n_sent = 0;
  self->n_parts = 0;
}

static void priority_partition_ready(void *data, guint index, double now_s G_GNUC_UNUSED)
{
  PriorityPartition *self = data;
  const guint32 gradient = index;
  g_array_append_val(self->queue, gradient);
}

static ScheduleAnswer priority_partition_next(void *data, double now_s G_GNUC_UNUSED,
                                              Unit *unit, double *again_s G_GNUC_UNUSED)
{
  PriorityPartition *self = data;

  if (self->n_sent == self->queue->len)
    return SCHEDULE_IDLE;
  const guint32 index = g_array_index(self->queue, guint32, self->n_sent);
  const Gradient *gradient = workload_gradient(self->workload, index);
  unit->n_parts = schedule_n_parts(gradient->size_B, self->partition_B);
  unit->priority = gradient->tensor;
  unit_add(unit, index, gradient->size_B / unit->n_parts);
  if (++self->n_parts == unit->n_parts) {
    self->n_parts = 0;
    self->n_sent++;
  }
  return SCHEDULE_UNIT;
}

const ScheduleOps schedule_priority_partition = {
  .info = {
    .name = "priority_partition",
    .summary = "every gradient in pieces, those the next forward needs first ahead",
    .source = "Peng et al., ByteScheduler, SOSP 2019",
  },
  .new = priority_partition_new,
  .free = priority_partition_free,
  .begin = priority_partition_begin,
  .ready = priority_partition_ready,
  .next = priority_partition_next,
};
