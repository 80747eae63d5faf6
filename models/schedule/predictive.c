/**
 * @file predictive.c
 * @brief The order of transfers is planned from the known timeline of an iteration.
 *
 * With an all-reduce of S bytes taking a + b S, and gradients ready when backward makes
 * them so, the wire is given away ahead of time: always to the ready gradient whose tensor
 * the next forward needs first, cut where a more urgent one gets ready:
 *
 *     S = (time until then - a) / b
 *
 * but to no piece that takes less than two startups. What would end within a startup of
 * that moment is not cut. Ready gradients that add less than a startup join the one before
 * them. Units leave in the order of the plan, each once its gradients are ready: the plan
 * waits for a gradient that is late.
 *
 * Source: the order of S. H. Hashemi et al., "TicTac", MLSys 2019 (TAC: known times), with
 * the merging of S. Shi et al., MG-WFBP, INFOCOM 2019, and cuts in place of partitions.
 */
#include "models/schedule.h"

/* A gradient, or a part of it, in a planned unit. */
typedef struct {
  guint32 index;
  guint unit;
  double size_B;
} Share;

typedef struct {
  MergeRule rule;
  const Workload *workload;
  GArray *plan;   /* of Share, in order */
  guint *n_parts; /* of each gradient */
  bool *is_ready; /* of each gradient, in this iteration */
  guint n_sent;   /* of the plan */
} Predictive;

/* The plan in the making. */
typedef struct {
  Predictive *self;
  const AllReduceCost *cost;
  double *left_B; /* of each gradient */
  double now_s;
  guint unit;
} Draft;

static const Gradient *gradient_at(const Draft *draft, guint index)
{
  return workload_gradient(draft->self->workload, index);
}

/* The ready gradient that is needed first; G_MAXUINT if none is. */
static guint most_urgent(const Draft *draft)
{
  guint best = G_MAXUINT;

  for (guint i = 0; i < workload_n_gradients(draft->self->workload); i++) {
    const Gradient *gradient = gradient_at(draft, i);
    if (!(draft->left_B[i] > 0) || gradient->ready_s > draft->now_s + SCHEDULE_INSTANT_S)
      continue;
    if (best == G_MAXUINT || gradient->tensor < gradient_at(draft, best)->tensor)
      best = i;
  }
  return best;
}

/* When the next gradient gets ready that is needed before @p tensor; G_MAXUINT: any. */
static double next_ready_s(const Draft *draft, guint tensor)
{
  double next_s = G_MAXDOUBLE;

  for (guint i = 0; i < workload_n_gradients(draft->self->workload); i++) {
    const Gradient *gradient = gradient_at(draft, i);
    if (gradient->ready_s > draft->now_s + SCHEDULE_INSTANT_S && gradient->tensor < tensor)
      next_s = MIN(next_s, gradient->ready_s);
  }
  return next_s;
}

static void share(Draft *draft, guint index, double size_B)
{
  const Share part = { .index = index, .unit = draft->unit, .size_B = size_B };

  g_array_append_val(draft->self->plan, part);
  draft->self->n_parts[index]++;
  draft->left_B[index] -= size_B;
}

static bool is_whole(const Draft *draft, guint index)
{
  return draft->self->n_parts[index] == 0;
}

/* Let small ones that are ready join, as long as the unit ends in time; returns its bytes.
 */
static double join(Draft *draft, double size_B, double end_s)
{
  const AllReduceCost *cost = draft->cost;
  guint other;

  while ((other = most_urgent(draft)) != G_MAXUINT && is_whole(draft, other)) {
    const double more_s = cost->s_per_B * draft->left_B[other];
    if (more_s >= cost->startup_s ||
        draft->now_s + cost->startup_s + size_B * cost->s_per_B + more_s > end_s)
      break;
    size_B += draft->left_B[other];
    share(draft, other, draft->left_B[other]);
  }
  return size_B;
}

/* How much of @p left_B goes before something more urgent is ready at @p next_s. */
static double cut_B(const Draft *draft, double left_B, double next_s)
{
  const AllReduceCost *cost = draft->cost;
  const double whole_s = cost->startup_s + left_B * cost->s_per_B;

  if (draft->now_s + whole_s <= next_s + cost->startup_s || !(cost->s_per_B > 0))
    return left_B;
  const double least_B = cost->startup_s / cost->s_per_B;
  const double size_B =
    MAX((next_s - draft->now_s - cost->startup_s) / cost->s_per_B, least_B);
  return left_B - size_B < least_B || !(size_B > 0) ? left_B : size_B;
}

static void plan_unit(Draft *draft, guint index)
{
  const double next_s = next_ready_s(draft, gradient_at(draft, index)->tensor);
  const bool whole = is_whole(draft, index);
  const double left_B = draft->left_B[index];
  double size_B = cut_B(draft, left_B, next_s);
  const bool ends = size_B >= left_B;

  share(draft, index, size_B);
  if (whole && ends)
    size_B = join(draft, size_B, next_s + draft->cost->startup_s);
  draft->now_s += draft->cost->startup_s + size_B * draft->cost->s_per_B;
  draft->unit++;
}

static void make_plan(Predictive *self, const AllReduceCost *cost)
{
  const guint n = workload_n_gradients(self->workload);
  g_autofree double *left_B = g_new(double, n + 1);
  Draft draft = { .self = self, .cost = cost, .left_B = left_B };

  g_array_set_size(self->plan, 0);
  for (guint i = 0; i < n; i++) {
    left_B[i] = gradient_at(&draft, i)->size_B;
    self->n_parts[i] = 0;
  }
  for (;;) {
    const guint index = most_urgent(&draft);
    const double next_s = index == G_MAXUINT ? next_ready_s(&draft, G_MAXUINT) : 0;
    if (next_s == G_MAXDOUBLE)
      return;
    if (index == G_MAXUINT)
      draft.now_s = next_s;
    else
      plan_unit(&draft, index);
  }
}

static void *predictive_new(const void *params, const Workload *workload)
{
  const guint n = workload_n_gradients(workload);
  Predictive *self = g_new0(Predictive, 1);

  self->rule = *(const MergeRule *)params;
  self->workload = workload;
  self->plan = g_array_new(FALSE, FALSE, sizeof(Share));
  self->n_parts = g_new0(guint, n + 1);
  self->is_ready = g_new0(bool, n + 1);
  make_plan(self, &self->rule.cost);
  return self;
}

static void predictive_free(void *data)
{
  Predictive *self = data;
  g_array_unref(self->plan);
  g_free(self->n_parts);
  g_free(self->is_ready);
  g_free(self);
}

static void predictive_learn(void *data, const AllReduceCost *cost)
{
  Predictive *self = data;
  if (!self->rule.known)
    make_plan(self, cost);
}

static void predictive_begin(void *data, guint iteration G_GNUC_UNUSED,
                             double now_s G_GNUC_UNUSED)
{
  Predictive *self = data;

  self->n_sent = 0;
  for (guint i = 0; i < workload_n_gradients(self->workload); i++)
    self->is_ready[i] = false;
}

static void predictive_ready(void *data, guint index, double now_s G_GNUC_UNUSED)
{
  Predictive *self = data;
  self->is_ready[index] = true;
}

static ScheduleAnswer predictive_next(void *data, double now_s G_GNUC_UNUSED, Unit *unit,
                                      double *again_s G_GNUC_UNUSED)
{
  Predictive *self = data;
  const Share *plan = (const Share *)(const void *)self->plan->data;
  guint end = self->n_sent;

  for (; end < self->plan->len && plan[end].unit == plan[self->n_sent].unit; end++)
    if (!self->is_ready[plan[end].index])
      return SCHEDULE_IDLE;
  if (end == self->n_sent)
    return SCHEDULE_IDLE;
  for (guint i = self->n_sent; i < end; i++)
    unit_add(unit, plan[i].index, plan[i].size_B);
  unit->n_parts = self->n_parts[plan[self->n_sent].index];
  unit->priority = workload_gradient(self->workload, plan[self->n_sent].index)->tensor;
  self->n_sent = end;
  return SCHEDULE_UNIT;
}

const ScheduleOps schedule_predictive = {
  .info = {
    .name = "predictive",
    .summary = "planned from known times: urgent first, cut where more urgent follows",
    .source = "Hashemi et al., TicTac, MLSys 2019; Shi et al., MG-WFBP, INFOCOM 2019",
  },
  .new = predictive_new,
  .free = predictive_free,
  .learn = predictive_learn,
  .begin = predictive_begin,
  .ready = predictive_ready,
  .next = predictive_next,
};
