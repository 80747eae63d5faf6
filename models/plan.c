#include "models/plan.h"

/* Which entries of Plan.more a step waits for besides PlanStep.after. */
typedef struct {
  guint first, n;
} More;

struct Plan {
  guint n_ranks, n_chunks;
  GArray *steps;  /* of PlanStep, in id order */
  GArray *ranges; /* of More, of each step */
  GArray *more;   /* of guint: ids */
};

Plan *plan_new(guint n_ranks, guint n_chunks)
{
  Plan *plan = g_new0(Plan, 1);
  plan->n_ranks = n_ranks;
  plan->n_chunks = n_chunks;
  plan->steps = g_array_new(FALSE, FALSE, sizeof(PlanStep));
  plan->ranges = g_array_new(FALSE, TRUE, sizeof(More));
  plan->more = g_array_new(FALSE, FALSE, sizeof(guint));
  return plan;
}

void plan_free(Plan *plan)
{
  if (plan == NULL)
    return;
  g_array_unref(plan->steps);
  g_array_unref(plan->ranges);
  g_array_unref(plan->more);
  g_free(plan);
}

guint plan_add(Plan *plan, PlanStep step)
{
  g_return_val_if_fail(step.src < plan->n_ranks && step.dst < plan->n_ranks, PLAN_START);
  g_return_val_if_fail(step.first_chunk + step.n_chunks <= plan->n_chunks, PLAN_START);
  g_return_val_if_fail(step.after == PLAN_START || step.after < plan->steps->len,
                       PLAN_START);
  g_array_append_val(plan->steps, step);
  g_array_set_size(plan->ranges, plan->steps->len);
  return plan->steps->len - 1;
}

static More *more_of(const Plan *plan, guint id)
{
  return &g_array_index(plan->ranges, More, id);
}

void plan_also_after(Plan *plan, guint dep)
{
  if (dep == PLAN_START)
    return;
  g_return_if_fail(plan->steps->len > 0 && dep < plan->steps->len - 1);

  More *more = more_of(plan, plan->steps->len - 1);
  if (more->n == 0)
    more->first = plan->more->len;
  g_return_if_fail(more->first + more->n == plan->more->len);
  g_array_append_val(plan->more, dep);
  more->n++;
}

void plan_also_after_same(Plan *plan, guint id)
{
  g_return_if_fail(plan->steps->len > 0 && id < plan->steps->len - 1);

  More *more = more_of(plan, plan->steps->len - 1);
  g_return_if_fail(more->n == 0);
  *more = *more_of(plan, id);
}

guint plan_append(Plan *plan, const Plan *part, const guint *ranks)
{
  const guint first = plan->steps->len, first_more = plan->more->len;
  const guint first_chunk = plan->n_chunks;

  plan->n_chunks += part->n_chunks;
  for (guint id = 0; id < part->steps->len; id++) {
    PlanStep step = *plan_step(part, id);
    step.src = ranks[step.src];
    step.dst = ranks[step.dst];
    step.first_chunk += first_chunk;
    step.after += step.after == PLAN_START ? 0 : first;
    plan_add(plan, step);
    const More *more = more_of(part, id);
    *more_of(plan, first + id) = (More){ more->first + first_more, more->n };
  }
  for (guint i = 0; i < part->more->len; i++) {
    const guint id = first + g_array_index(part->more, guint, i);
    g_array_append_val(plan->more, id);
  }
  return first;
}

guint plan_n_ranks(const Plan *plan)
{
  return plan->n_ranks;
}

guint plan_n_chunks(const Plan *plan)
{
  return plan->n_chunks;
}

guint plan_n_steps(const Plan *plan)
{
  return plan->steps->len;
}

const PlanStep *plan_step(const Plan *plan, guint id)
{
  return &g_array_index(plan->steps, PlanStep, id);
}

guint plan_n_after(const Plan *plan, guint id)
{
  return (plan_step(plan, id)->after != PLAN_START) + more_of(plan, id)->n;
}

guint plan_after(const Plan *plan, guint id, guint index)
{
  const guint first = plan_step(plan, id)->after;

  g_return_val_if_fail(index < plan_n_after(plan, id), PLAN_START);
  if (first != PLAN_START && index == 0)
    return first;
  return g_array_index(plan->more, guint,
                       more_of(plan, id)->first + index - (first != PLAN_START));
}
