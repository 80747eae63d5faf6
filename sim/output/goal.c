#include "sim/output/goal.h"

#include <math.h>

/* GOAL knows whole bytes only, and at least one. */
static guint64 whole_B(double size_B)
{
  return (guint64)MAX(round(size_B), 1);
}

/* A message waits where both it and the other are known: at its sender if the other came
 * in or left there, else at its receiver. */
static void write_requirement(const Plan *plan, guint id, guint before, guint rank,
                              GString *out)
{
  const PlanStep *step = plan_step(plan, id), *earlier = plan_step(plan, before);
  const bool at_sender = earlier->dst == step->src || earlier->src == step->src;
  const guint place = at_sender ? step->src : step->dst;

  if (place == rank)
    g_string_append_printf(out, "%c%u requires %c%u\n", at_sender ? 's' : 'r', id,
                           earlier->dst == place ? 'r' : 's', before);
}

static void write_step(const Plan *plan, guint id, guint rank, GString *out)
{
  const PlanStep *step = plan_step(plan, id);
  const guint64 size_B = whole_B(step->size_B);

  if (step->src == rank)
    g_string_append_printf(out, "s%u: send %" G_GUINT64_FORMAT "b to %u tag %u\n", id,
                           size_B, step->dst, id);
  else
    g_string_append_printf(out, "r%u: recv %" G_GUINT64_FORMAT "b from %u tag %u\n", id,
                           size_B, step->src, id);
  for (guint i = 0; i < plan_n_after(plan, id); i++)
    write_requirement(plan, id, plan_after(plan, id, i), rank, out);
}

/* The messages of every rank, in order: those of rank r are
 * steps[first[r]..first[r + 1]). */
static guint *group_by_rank(const Plan *plan, guint *first)
{
  const guint n_ranks = plan_n_ranks(plan);
  guint *steps = g_new(guint, 2 * (gsize)plan_n_steps(plan));
  g_autofree guint *fill = g_new(guint, n_ranks);

  for (guint id = 0; id < plan_n_steps(plan); id++) {
    first[plan_step(plan, id)->src + 1]++;
    first[plan_step(plan, id)->dst + 1]++;
  }
  for (guint rank = 0; rank < n_ranks; rank++) {
    fill[rank] = first[rank];
    first[rank + 1] += first[rank];
  }
  for (guint id = 0; id < plan_n_steps(plan); id++) {
    steps[fill[plan_step(plan, id)->src]++] = id;
    steps[fill[plan_step(plan, id)->dst]++] = id;
  }
  return steps;
}

void goal_render(const Plan *plan, const char *comment, GString *out)
{
  g_autofree guint *first = g_new0(guint, plan_n_ranks(plan) + 1);
  g_autofree guint *steps = group_by_rank(plan, first);

  g_string_append_printf(out, "// %s\nnum_ranks %u\n", comment, plan_n_ranks(plan));
  for (guint rank = 0; rank < plan_n_ranks(plan); rank++) {
    g_string_append_printf(out, "\nrank %u {\n", rank);
    for (guint i = first[rank]; i < first[rank + 1]; i++)
      write_step(plan, steps[i], rank, out);
    g_string_append(out, "}\n");
  }
}
