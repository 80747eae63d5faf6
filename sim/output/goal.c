#include "sim/output/goal.h"

#include <math.h>

/* GOAL knows whole bytes only, and at least one. */
static guint64 whole_B(double size_B)
{
  return (guint64)MAX(round(size_B), 1);
}

/* A message waits where both it and the other are known: at its sender if the other came
 * in or left there, else at its receiver. */
static guint waiting_place(const PlanStep *step, const PlanStep *earlier)
{
  return earlier->dst == step->src || earlier->src == step->src ? step->src : step->dst;
}

/* @return whether @p rank is where it waits */
static bool write_requirement(const Plan *plan, guint id, guint before, guint rank,
                              GString *out)
{
  const PlanStep *step = plan_step(plan, id), *earlier = plan_step(plan, before);
  const guint place = waiting_place(step, earlier);

  if (place == rank)
    g_string_append_printf(out, "%c%u requires %c%u\n", place == step->src ? 's' : 'r', id,
                           earlier->dst == place ? 'r' : 's', before);
  return place == rank;
}

/* @return how many messages it waits for at @p rank */
static guint write_step(const Plan *plan, guint id, guint rank, GString *out)
{
  const PlanStep *step = plan_step(plan, id);
  const guint64 size_B = whole_B(step->size_B);
  guint n = 0;

  if (step->src == rank)
    g_string_append_printf(out, "s%u: send %" G_GUINT64_FORMAT "b to %u tag %u\n", id,
                           size_B, step->dst, id);
  else
    g_string_append_printf(out, "r%u: recv %" G_GUINT64_FORMAT "b from %u tag %u\n", id,
                           size_B, step->src, id);
  for (guint i = 0; i < plan_n_after(plan, id); i++)
    n += write_requirement(plan, id, plan_after(plan, id, i), rank, out);
  return n;
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

/* ---- iterations -------------------------------------------------------------------- */

static guint64 whole_ns(double time_s)
{
  return (guint64)MAX(round(time_s * 1e9), 1);
}

/* Of each end of each message, does another wait for it there? */
typedef struct {
  bool *sent, *received; /* by id */
} Awaited;

static Awaited awaited_new(const Plan *plan)
{
  const guint n = plan_n_steps(plan);
  Awaited awaited = { g_new0(bool, n), g_new0(bool, n) };

  for (guint id = 0; id < n; id++)
    for (guint i = 0; i < plan_n_after(plan, id); i++) {
      const guint before = plan_after(plan, id, i);
      const PlanStep *earlier = plan_step(plan, before);
      const guint place = waiting_place(plan_step(plan, id), earlier);
      (earlier->dst == place ? awaited.received : awaited.sent)[before] = true;
    }
  return awaited;
}

static void awaited_clear(Awaited *awaited)
{
  g_free(awaited->sent);
  g_free(awaited->received);
}

static void require(GString *out, const char *label, guint number, char other, guint which)
{
  if (which != GOAL_NONE)
    g_string_append_printf(out, "%s%u requires %c%u\n", label, number, other, which);
}

static void write_compute(const GoalIteration *iteration, GString *out)
{
  for (guint k = 0; k < iteration->n_pieces; k++) {
    g_string_append_printf(out, "k%u: calc %" G_GUINT64_FORMAT " cpu 0\n", k,
                           whole_ns(iteration->compute_s[k]));
    for (guint e = 0; k == 0 && e < iteration->n_exchanges; e++)
      if (iteration->exchanges[e].before_compute)
        require(out, "k", k, 'f', e);
    require(out, "k", k, 'k', k > 0 ? k - 1 : GOAL_NONE);
  }
}

static void begin_exchange(const GoalExchange *exchange, guint number, GString *out)
{
  g_string_append_printf(out, "d%u: calc %" G_GUINT64_FORMAT " cpu 1\n", number,
                         whole_ns(exchange->wait_s));
  require(out, "d", number, 'k', exchange->after_compute);
  require(out, "d", number, 'x', exchange->after[0]);
  require(out, "d", number, 'x', exchange->after[1]);
}

/* It is over when those are that no other waits for. */
static void end_exchange(const GoalIteration *iteration, const Awaited *awaited,
                         guint number, const guint *steps, guint n_steps, guint rank,
                         GString *out)
{
  g_string_append_printf(out, "x%u: calc 1 cpu 1\n", number);
  require(out, "x", number, 'd', number);
  for (guint i = 0; i < n_steps; i++) {
    const bool sends = plan_step(iteration->plan, steps[i])->src == rank;
    if (!(sends ? awaited->sent : awaited->received)[steps[i]])
      require(out, "x", number, sends ? 's' : 'r', steps[i]);
  }
  g_string_append_printf(out, "f%u: calc %" G_GUINT64_FORMAT " cpu 2\n", number,
                         whole_ns(iteration->exchanges[number].finish_s));
  require(out, "f", number, 'x', number);
}

/* @p steps of this rank, of all exchanges. */
static void write_exchanges(const GoalIteration *iteration, const Awaited *awaited,
                            const guint *steps, guint n_steps, guint rank, GString *out)
{
  const bool computes = rank < iteration->n_gpus;
  bool has_computed = false;
  guint i = 0;

  for (guint e = 0; e < iteration->n_exchanges; e++) {
    const guint first = i;
    if (computes && !has_computed && !iteration->exchanges[e].before_compute) {
      write_compute(iteration, out);
      has_computed = true;
    }
    if (computes)
      begin_exchange(&iteration->exchanges[e], e, out);
    for (; i < n_steps && steps[i] < iteration->exchanges[e].end; i++)
      if (write_step(iteration->plan, steps[i], rank, out) == 0 && computes)
        g_string_append_printf(
          out, "%c%u requires d%u\n",
          plan_step(iteration->plan, steps[i])->src == rank ? 's' : 'r', steps[i], e);
    if (computes)
      end_exchange(iteration, awaited, e, &steps[first], i - first, rank, out);
  }
  if (computes && !has_computed)
    write_compute(iteration, out);
}

static void write_optimizer(const GoalIteration *iteration, GString *out)
{
  g_string_append_printf(out, "o0: calc %" G_GUINT64_FORMAT " cpu 0\n",
                         whole_ns(iteration->optimizer_s));
  require(out, "o", 0, 'k', iteration->n_pieces - 1);
  for (guint e = 0; e < iteration->n_exchanges; e++)
    require(out, "o", 0, 'f', e);
}

/* Labels come before what requires them: fetches, the computing, the other exchanges. */
void goal_render_iteration(const GoalIteration *iteration, const char *comment,
                           GString *out)
{
  const Plan *plan = iteration->plan;
  g_autofree guint *first = g_new0(guint, plan_n_ranks(plan) + 1);
  g_autofree guint *steps = group_by_rank(plan, first);
  Awaited awaited = awaited_new(plan);

  g_string_append_printf(out, "// %s\nnum_ranks %u\n", comment, plan_n_ranks(plan));
  for (guint rank = 0; rank < plan_n_ranks(plan); rank++) {
    g_string_append_printf(out, "\nrank %u {\n", rank);
    write_exchanges(iteration, &awaited, &steps[first[rank]], first[rank + 1] - first[rank],
                    rank, out);
    if (rank < iteration->n_gpus)
      write_optimizer(iteration, out);
    g_string_append(out, "}\n");
  }
  awaited_clear(&awaited);
}
