/**
 * @file host_shared.c
 * @brief All-reduce among processes of one host, through memory that they share.
 *
 * Everyone sums its slice of all buffers, then copies all slices: what MPI and Gloo do
 * inside a host. Two sums alternate, so that nobody writes where another still reads.
 */
#include "calibrate/backend/crew.h"
#include "calibrate/backend/host.h"
#include "calibrate/backend/host_kernel.h"
#include "sim/base/registry.h"

#include <string.h>

#define LIMIT_S 120.0
#define SPIN 20000     /* looks at the others, about 20 us, before a process sleeps */
#define TICK_B 0x1p20  /* a time covers at least so many bytes ... */
#define MOST_CALLS 100 /* ... or so many calls */
#define ALIGN 64       /* slices begin at cache lines [B] */

typedef struct {
  gsize n_values;
  guint n_calls; /* that make one time */
  guint n_times;
  const KernelSet *kernels;
} SharedTask;

void host_shared_cells(const HostParams *params, guint n_cores, GPtrArray *cells)
{
  g_autoptr(Sample) like = sample_new("all_reduce");

  sample_set(&like->library, "stepcast");
  sample_set(&like->algo, "shared_memory");
  sample_set(&like->dtype, "fp32");
  sample_set(&like->place, "cpu");
  for (guint n = 2; n <= n_cores; n *= 2) {
    like->ranks = n;
    host_add_sizes(cells, like, 8, MIN(0x1p26, (double)params->largest_B), params->quick);
  }
}

static gsize stride_of(const SharedTask *task)
{
  return (task->n_values * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN / sizeof(float);
}

static float *buffer(const CrewMember *me, guint index)
{
  return (float *)(void *)me->shared + index * stride_of(me->task);
}

/* The buffer of a rank; behind them stand the two sums. */
static bool all_reduce(const CrewMember *me, guint call, float *result)
{
  const SharedTask *task = me->task;
  const gsize from = task->n_values * me->rank / me->n;
  const gsize to = task->n_values * (me->rank + 1) / me->n;
  float *total = buffer(me, me->n + call % 2);

  if (!crew_meet(me))
    return false;
  memcpy(total + from, buffer(me, 0) + from, (to - from) * sizeof(float));
  for (guint rank = 1; rank < me->n; rank++)
    task->kernels->sum(total + from, buffer(me, rank) + from, to - from);
  if (!crew_meet(me))
    return false;
  memcpy(result, total, task->n_values * sizeof(float));
  return true;
}

/* Small whole numbers: sums are exact in any order. */
static float value_of(guint rank, gsize i)
{
  return (float)((rank + 1) * (i % 100));
}

static bool is_right(const CrewMember *me, const float *result, GError **error)
{
  const SharedTask *task = me->task;
  const guint weight = me->n * (me->n + 1) / 2;

  for (gsize i = 0; i < task->n_values; i++)
    if (result[i] != (float)(weight * (i % 100))) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT,
                  "shared memory: the sum of value %zu is wrong", i);
      return false;
    }
  return true;
}

static bool work(CrewMember *me, GError **error)
{
  const SharedTask *task = me->task;
  g_autofree float *result = g_new0(float, task->n_values);
  guint n_done = 0;

  for (gsize i = 0; i < task->n_values; i++)
    buffer(me, me->rank)[i] = value_of(me->rank, i);
  if (!all_reduce(me, n_done++, result))
    return false;
  for (guint i = 0; i < task->n_times; i++) {
    if (!crew_begin(me, i))
      return false;
    for (guint call = 0; call < task->n_calls; call++)
      if (!all_reduce(me, n_done++, result))
        return false;
    crew_end(me, i);
  }
  return is_right(me, result, error);
}

bool host_shared_measure(const Sample *cell, double *time_s, guint n, GError **error)
{
  const SharedTask task = {
    .n_values = (gsize)(cell->size / sizeof(float)),
    .n_calls = (guint)CLAMP(TICK_B / cell->size, 1, MOST_CALLS),
    .n_times = n,
    .kernels = kernel_set_best(),
  };
  const CrewJob job = { .n = cell->ranks,
                        .n_times = n,
                        .shared_B = (cell->ranks + 2) * stride_of(&task) * sizeof(float),
                        .spin = SPIN,
                        .limit_s = LIMIT_S,
                        .work = work,
                        .task = &task };

  if (!crew_run(&job, time_s, error))
    return false;
  for (guint i = 0; i < n; i++)
    time_s[i] /= task.n_calls;
  return true;
}
