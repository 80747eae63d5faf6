/* The critical path of a plan: its messages as events, the earliest first. */
#include "models/plan.h"

/* A message that may leave. */
typedef struct {
  double ready_s;
  guint id;
} Ready;

typedef struct {
  const Plan *plan;
  guint *n_missing;  /* per step: messages it still waits for */
  double *ready_s;   /* per step: the latest of those that have arrived */
  guint *first_next; /* per step: range of next */
  guint *next;       /* steps that wait for it */
  GArray *heap;      /* of Ready: a binary heap */
} Walk;

static bool comes_before(const Ready *a, const Ready *b)
{
  return a->ready_s < b->ready_s || (a->ready_s == b->ready_s && a->id < b->id);
}

static void push(Walk *walk, guint id)
{
  const Ready item = { walk->ready_s[id], id };
  guint at = walk->heap->len;

  g_array_append_val(walk->heap, item);
  Ready *heap = &g_array_index(walk->heap, Ready, 0);
  for (; at > 0 && comes_before(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = item;
}

static guint pop(Walk *walk)
{
  Ready *heap = &g_array_index(walk->heap, Ready, 0);
  const guint id = heap[0].id, n = walk->heap->len - 1;
  const Ready item = heap[n];
  guint at = 0;

  for (guint child = 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && comes_before(&heap[child + 1], &heap[child]))
      child++;
    if (!comes_before(&heap[child], &item))
      break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
  g_array_set_size(walk->heap, n);
  return id;
}

/* Turn "waits for" around. */
static void link_steps(Walk *walk)
{
  const guint n = plan_n_steps(walk->plan);

  for (guint id = 0; id < n; id++) {
    walk->n_missing[id] = plan_n_after(walk->plan, id);
    for (guint i = 0; i < walk->n_missing[id]; i++)
      walk->first_next[plan_after(walk->plan, id, i) + 1]++;
  }
  for (guint id = 0; id < n; id++)
    walk->first_next[id + 1] += walk->first_next[id];

  g_autofree guint *fill = g_memdup2(walk->first_next, n * sizeof(guint));
  walk->next = g_new(guint, walk->first_next[n]);
  for (guint id = 0; id < n; id++)
    for (guint i = 0; i < walk->n_missing[id]; i++)
      walk->next[fill[plan_after(walk->plan, id, i)]++] = id;
}

static void arrive(Walk *walk, guint id, double time_s)
{
  for (guint i = walk->first_next[id]; i < walk->first_next[id + 1]; i++) {
    const guint next = walk->next[i];
    walk->ready_s[next] = MAX(walk->ready_s[next], time_s);
    if (--walk->n_missing[next] == 0)
      push(walk, next);
  }
}

double plan_critical_path_s(const Plan *plan,
                            const LinkCost *(*cost_of)(guint src, guint dst, void *data),
                            void *data)
{
  const guint n = plan_n_steps(plan);
  g_autofree double *link_free_s = g_new0(double, plan_n_ranks(plan));
  g_autofree guint *n_missing = g_new0(guint, n + 1);
  g_autofree guint *first_next = g_new0(guint, n + 1);
  g_autofree double *ready_s = g_new0(double, n + 1);
  g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(Ready));
  Walk walk = { plan, n_missing, ready_s, first_next, NULL, heap };
  double finish_s = 0;

  link_steps(&walk);
  for (guint id = 0; id < n; id++)
    if (n_missing[id] == 0)
      push(&walk, id);
  while (heap->len > 0) {
    const guint id = pop(&walk);
    const PlanStep *step = plan_step(plan, id);
    const LinkCost *cost = cost_of(step->src, step->dst, data);

    link_free_s[step->src] =
      MAX(ready_s[id], link_free_s[step->src]) + step->size_B / cost->bandwidth_Bps;
    const double arrival_s = link_free_s[step->src] + cost->alpha_s;
    finish_s = MAX(finish_s, arrival_s);
    arrive(&walk, id, arrival_s);
  }
  g_free(walk.next);
  return finish_s;
}
