/**
 * @file wait_free.c
 * @brief Wait-free back-propagation: every gradient leaves alone, as soon as it is ready.
 *
 * Source: H. Zhang et al., "Poseidon: An Efficient Communication Architecture for
 * Distributed Deep Learning on GPU Clusters", USENIX ATC 2017.
 */
#include "models/schedule.h"

typedef struct {
  const Workload *workload;
  GArray *queue; /* guint32: gradients in the order they became ready */
  guint n_sent;
} WaitFree;

static void *wait_free_new(const void *params G_GNUC_UNUSED, const Workload *workload)
{
  WaitFree *self = g_new0(WaitFree, 1);

  self->workload = workload;
  self->queue = g_array_sized_new(FALSE, FALSE, sizeof(guint32), workload->gradients->len);
  return self;
}

static void wait_free_free(void *data)
{
  WaitFree *self = data;
  g_array_unref(self->queue);
  g_free(self);
}

static void wait_free_begin(void *data, guint iteration G_GNUC_UNUSED,
                            double now_s G_GNUC_UNUSED)
{
  WaitFree *self = data;
  g_array_set_size(self->queue, 0);
  self->n_sent = 0;
}

static void wait_free_ready(void *data, guint index, double now_s G_GNUC_UNUSED)
{
  WaitFree *self = data;
  const guint32 gradient = index;
  g_array_append_val(self->queue, gradient);
}

static ScheduleAnswer wait_free_next(void *data, double now_s G_GNUC_UNUSED, Unit *unit,
                                     double *again_s G_GNUC_UNUSED)
{
  WaitFree *self = data;

  if (self->n_sent == self->queue->len)
    return SCHEDULE_IDLE;
  const guint32 index = g_array_index(self->queue, guint32, self->n_sent++);
  unit_add_range(unit, self->workload, index, index + 1);
  return SCHEDULE_UNIT;
}

const ScheduleOps schedule_wait_free = {
  .info = {
    .name = "wait_free",
    .summary = "every gradient alone, as soon as it is ready",
    .source = "Zhang et al., Poseidon, USENIX ATC 2017",
  },
  .forgets = true,
  .new = wait_free_new,
  .free = wait_free_free,
  .begin = wait_free_begin,
  .ready = wait_free_ready,
  .next = wait_free_next,
};
