/**
 * @file merge.c
 * @brief MG-WFBP: neighbours are merged where waiting costs less than one startup.
 *
 * With an all-reduce of S bytes taking a + b S, gradients in the order 0, 1, ... in which
 * backward makes them ready at r, the transfer of number i begins at
 *
 *     c(i) = max(c(i-1) + t(i-1), r(i))        t = a + b S; 0 once merged into the next
 *
 * Number i joins i+1 if r(i+1) < c(i) + t(i), so that i+1 is ready before i would be done,
 * and if r(i+1) < c(i) + a: i could not have begun yet, or waits less than a startup.
 * A group leaves when its last gradient is ready.
 *
 * Source: S. Shi, X. Chu, B. Li, "MG-WFBP: Efficient Data Communication for Distributed
 * Synchronous SGD Algorithms", INFOCOM 2019; HKBU-HPML/MG-WFBP distributed_optimizer.py.
 */
#include "models/schedule.h"

typedef struct {
  MergeRule rule;
  const Workload *workload;
  GArray *ends;     /* guint32: the number after the last gradient of each group */
  guint *group_of;  /* of each gradient */
  guint *n_pending; /* gradients that each group still waits for */
  GArray *complete; /* guint32: groups that wait for nothing, in that order */
  guint n_sent;     /* of them */
} Merge;

GArray *schedule_merge(const Workload *workload, const AllReduceCost *cost)
{
  const guint n = workload_n_gradients(workload);
  GArray *ends = g_array_new(FALSE, FALSE, sizeof(guint32));
  double start_s = 0, group_B = 0;

  for (guint32 i = 0; i < n; i++) {
    const Gradient *gradient = workload_gradient(workload, i);
    const guint32 end = i + 1;
    start_s = MAX(start_s, gradient->ready_s);
    group_B += gradient->size_B;

    const double took_s = cost->startup_s + cost->s_per_B * group_B;
    if (end < n) {
      const double next_ready_s = workload_gradient(workload, end)->ready_s;
      if (next_ready_s < start_s + took_s && next_ready_s < start_s + cost->startup_s)
        continue;
    }
    g_array_append_val(ends, end);
    start_s += took_s;
    group_B = 0;
  }
  return ends;
}

/* Form the groups anew. */
static void group(Merge *self, const AllReduceCost *cost)
{
  const guint n = workload_n_gradients(self->workload);

  g_clear_pointer(&self->ends, g_array_unref);
  self->ends = schedule_merge(self->workload, cost);
  for (guint i = 0, g = 0; i < n; i++) {
    g += i == g_array_index(self->ends, guint32, g);
    self->group_of[i] = g;
  }
}

static void *merge_new(const void *params, const Workload *workload)
{
  const guint n = workload_n_gradients(workload);
  Merge *self = g_new0(Merge, 1);

  self->rule = *(const MergeRule *)params;
  self->workload = workload;
  self->group_of = g_new(guint, n + 1);
  self->n_pending = g_new(guint, n + 1);
  self->complete = g_array_new(FALSE, FALSE, sizeof(guint32));
  group(self, &self->rule.cost);
  return self;
}

static void merge_free(void *data)
{
  Merge *self = data;
  g_array_unref(self->ends);
  g_array_unref(self->complete);
  g_free(self->group_of);
  g_free(self->n_pending);
  g_free(self);
}

static void merge_learn(void *data, const AllReduceCost *cost)
{
  Merge *self = data;
  if (!self->rule.known)
    group(self, cost);
}

static guint32 group_begin(const Merge *self, guint group)
{
  return group == 0 ? 0 : g_array_index(self->ends, guint32, group - 1);
}

static void merge_begin(void *data, guint iteration G_GNUC_UNUSED,
                        double now_s G_GNUC_UNUSED)
{
  Merge *self = data;

  g_array_set_size(self->complete, 0);
  self->n_sent = 0;
  for (guint g = 0; g < self->ends->len; g++)
    self->n_pending[g] = g_array_index(self->ends, guint32, g) - group_begin(self, g);
}

static void merge_ready(void *data, guint index, double now_s G_GNUC_UNUSED)
{
  Merge *self = data;
  const guint32 g = self->group_of[index];

  if (--self->n_pending[g] == 0)
    g_array_append_val(self->complete, g);
}

static ScheduleAnswer merge_next(void *data, double now_s G_GNUC_UNUSED, Unit *unit,
                                 double *again_s G_GNUC_UNUSED)
{
  Merge *self = data;

  if (self->n_sent == self->complete->len)
    return SCHEDULE_IDLE;
  const guint32 g = g_array_index(self->complete, guint32, self->n_sent++);
  unit_add_range(unit, self->workload, group_begin(self, g),
                 g_array_index(self->ends, guint32, g));
  return SCHEDULE_UNIT;
}

const ScheduleOps schedule_merged = {
  .info = {
    .name = "merge",
    .summary = "neighbours merged where waiting costs less than one startup",
    .source = "Shi, Chu & Li, MG-WFBP, INFOCOM 2019",
  },
  .new = merge_new,
  .free = merge_free,
  .learn = merge_learn,
  .begin = merge_begin,
  .ready = merge_ready,
  .next = merge_next,
};
