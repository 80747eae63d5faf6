#include "models/plan.h"

struct Plan {
  guint n_ranks, n_chunks;
  GArray *steps; /* of PlanStep, in id order */
};

Plan *plan_new(guint n_ranks, guint n_chunks)
{
  Plan *plan = g_new0(Plan, 1);
  plan->n_ranks = n_ranks;
  plan->n_chunks = n_chunks;
  plan->steps = g_array_new(FALSE, FALSE, sizeof(PlanStep));
  return plan;
}

void plan_free(Plan *plan)
{
  if (plan == NULL)
    return;
  g_array_unref(plan->steps);
  g_free(plan);
}

guint plan_add(Plan *plan, PlanStep step)
{
  g_return_val_if_fail(step.src < plan->n_ranks && step.dst < plan->n_ranks, PLAN_START);
  g_return_val_if_fail(step.first_chunk + step.n_chunks <= plan->n_chunks, PLAN_START);
  g_return_val_if_fail(step.after == PLAN_START || step.after < plan->steps->len,
                       PLAN_START);
  g_array_append_val(plan->steps, step);
  return plan->steps->len - 1;
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

double plan_critical_path_s(const Plan *plan,
                            const LinkCost *(*cost_of)(guint src, guint dst, void *data),
                            void *data)
{
  g_autofree double *arrival_s = g_new0(double, plan->steps->len);
  g_autofree double *link_free_s = g_new0(double, plan->n_ranks);
  double finish_s = 0;

  for (guint id = 0; id < plan->steps->len; id++) {
    const PlanStep *step = plan_step(plan, id);
    const LinkCost *cost = cost_of(step->src, step->dst, data);
    const double ready_s = step->after == PLAN_START ? 0 : arrival_s[step->after];
    const double start_s = MAX(ready_s, link_free_s[step->src]);

    link_free_s[step->src] = start_s + step->size_B / cost->bandwidth_Bps;
    arrival_s[id] = link_free_s[step->src] + cost->alpha_s;
    finish_s = MAX(finish_s, arrival_s[id]);
  }
  return finish_s;
}
