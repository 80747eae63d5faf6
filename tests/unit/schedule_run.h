/**
 * @file schedule_run.h
 * @brief Let a schedule run without an engine: for the tests of schedules and strategies.
 */
#pragma once

#include "models/schedule.h"

/** One gradient that was sent. */
typedef struct {
  guint32 index;
  guint unit;    /**< number of its message in the iteration */
  guint n_parts; /**< of the unit: so many messages carry it */
  double sent_s;
} Sent;

/** What one iteration sent. */
typedef struct {
  GArray *sent;     /**< of Sent, in order */
  GArray *sizes_B;  /**< of double: every message */
  guint n_too_soon; /**< answers "ask again" that lie in the past or at the same instant */
  guint n_asked;    /**< calls of next() */
} ScheduleRun;

static inline void schedule_run_clear(ScheduleRun *run)
{
  g_clear_pointer(&run->sent, g_array_unref);
  g_clear_pointer(&run->sizes_B, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ScheduleRun, schedule_run_clear)

static inline const Sent *schedule_run_sent(const ScheduleRun *run, guint position)
{
  return &g_array_index(run->sent, Sent, position);
}

static inline double schedule_run_size_B(const ScheduleRun *run, guint unit)
{
  return g_array_index(run->sizes_B, double, unit);
}

/** New workload with gradients of @p sizes_B. Freed with workload_release(). */
static inline Workload *workload_of(const double *sizes_B, guint n_gradients)
{
  Workload *workload = g_new0(Workload, 1);

  workload->gradients = g_array_new(FALSE, TRUE, sizeof(Gradient));
  for (guint i = 0; i < n_gradients; i++) {
    const Gradient gradient = { .tensor = n_gradients - 1 - i, .size_B = sizes_B[i] };
    g_array_append_val(workload->gradients, gradient);
    workload->gradient_B += sizes_B[i];
  }
  return workload;
}

static inline void workload_release(Workload *workload)
{
  g_array_unref(workload->gradients);
  g_free(workload);
}

/* Take every message of this moment; say when to ask again, G_MAXDOUBLE if never. */
static inline double schedule_run_ask(ScheduleRun *run, const ScheduleOps *ops, void *state,
                                      double now_s)
{
  for (;;) {
    double again_s = G_MAXDOUBLE;
    Unit unit;

    unit_init(&unit);
    run->n_asked++;
    const ScheduleAnswer answer = ops->next(state, now_s, &unit, &again_s);
    if (answer == SCHEDULE_UNIT) {
      for (guint i = 0; i < unit.gradients->len; i++) {
        const Sent sent = { .index = g_array_index(unit.gradients, guint32, i),
                            .unit = run->sizes_B->len,
                            .n_parts = unit.n_parts,
                            .sent_s = now_s };
        g_array_append_val(run->sent, sent);
      }
      g_array_append_val(run->sizes_B, unit.size_B);
    }
    unit_clear(&unit);
    if (answer == SCHEDULE_LATER && again_s <= now_s + SCHEDULE_INSTANT_S) {
      run->n_too_soon++;
      return G_MAXDOUBLE;
    }
    if (answer != SCHEDULE_UNIT)
      return answer == SCHEDULE_LATER ? again_s : G_MAXDOUBLE;
  }
}

/**
 * One iteration.
 * @param order    gradients in the order they get ready; NULL: 0, 1, ...
 * @param ready_s  ascending: when order[0], order[1], ... is ready
 */
static inline ScheduleRun schedule_run(const ScheduleOps *ops, void *state, guint iteration,
                                       double begin_s, const guint *order,
                                       const double *ready_s, guint n_gradients)
{
  ScheduleRun run = { .sent = g_array_new(FALSE, FALSE, sizeof(Sent)),
                      .sizes_B = g_array_new(FALSE, FALSE, sizeof(double)) };
  double again_s = G_MAXDOUBLE;
  guint n_ready = 0;

  ops->begin(state, iteration, begin_s);
  while (n_ready < n_gradients || again_s < G_MAXDOUBLE) {
    const double next_ready_s = n_ready < n_gradients ? ready_s[n_ready] : G_MAXDOUBLE;
    const double now_s = MIN(next_ready_s, again_s);

    if (next_ready_s <= now_s) {
      ops->ready(state, order != NULL ? order[n_ready] : n_ready, now_s);
      n_ready++;
    }
    again_s = schedule_run_ask(&run, ops, state, now_s);
  }
  return run;
}
