#include "calibrate/import/kineto_events.h"

#include "sim/base/stats.h"

#include <math.h>
#include <string.h>

#define LOWER_QUARTILE 0.25
#define RANKS_MAX 1e6
#define ELEMENTS_MAX 1e15
#define TIME_MAX_us 1e15

typedef struct {
  double begin_us, end_us;
} Span;

/** All runs of one collective at one size. */
typedef struct {
  const char *collective, *dtype;
  guint n_ranks;
  double size_B;
  GArray *time_s; /* double */
} Runs;

struct KinetoEvents {
  GArray *compute, *nccl, *steps; /* Span */
  GPtrArray *runs;                /* Runs */
  guint n_untold;                 /* NCCL kernels without their metadata */
};

static const struct {
  const char *name, *ours;
} collectives[] = {
  { "allreduce", "all_reduce" },
  { "all_reduce", "all_reduce" },
  { "allreduce_coalesced", "all_reduce" },
  { "_allgather_base", "all_gather" },
  { "all_gather", "all_gather" },
  { "allgather", "all_gather" },
  { "all_gather_into_tensor_coalesced", "all_gather" },
  { "_reduce_scatter_base", "reduce_scatter" },
  { "reduce_scatter", "reduce_scatter" },
  { "reduce_scatter_tensor_coalesced", "reduce_scatter" },
  { "all_to_all", "all_to_all" },
  { "all_to_allv", "all_to_all" },
  { "broadcast", "broadcast" },
  { "reduce", "reduce" },
};

static const struct {
  const char *name, *ours;
  double size_B;
} dtypes[] = {
  { "Float", "fp32", 4 },
  { "Half", "fp16", 2 },
  { "BFloat16", "bf16", 2 },
  { "Double", "fp64", 8 },
  { "Byte", "uint8", 1 },
  { "Char", "int8", 1 },
  { "Int", "int32", 4 },
  { "Long", "int64", 8 },
  { "Bool", "uint8", 1 },
  { "Short", "int16", 2 },
  { "Float8_e4m3fn", "fp8e4m3", 1 },
  { "Float8_e5m2", "fp8e5m2", 1 },
};

const char *kineto_collective(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(collectives); i++)
    if (strcmp(collectives[i].name, name) == 0)
      return collectives[i].ours;
  return NULL;
}

const char *kineto_dtype(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(dtypes); i++)
    if (g_ascii_strcasecmp(dtypes[i].name, name) == 0)
      return dtypes[i].ours;
  return NULL;
}

static double dtype_size_B(const char *ours)
{
  for (guint i = 0; i < G_N_ELEMENTS(dtypes); i++)
    if (strcmp(dtypes[i].ours, ours) == 0)
      return dtypes[i].size_B;
  return 0;
}

static void runs_free(Runs *runs)
{
  g_array_unref(runs->time_s);
  g_free(runs);
}

KinetoEvents *kineto_events_new(void)
{
  KinetoEvents *events = g_new0(KinetoEvents, 1);

  events->compute = g_array_new(FALSE, FALSE, sizeof(Span));
  events->nccl = g_array_new(FALSE, FALSE, sizeof(Span));
  events->steps = g_array_new(FALSE, FALSE, sizeof(Span));
  events->runs = g_ptr_array_new_with_free_func((GDestroyNotify)runs_free);
  return events;
}

void kineto_events_free(KinetoEvents *events)
{
  if (events == NULL)
    return;
  g_array_unref(events->compute);
  g_array_unref(events->nccl);
  g_array_unref(events->steps);
  g_ptr_array_unref(events->runs);
  g_free(events);
}

/* Bytes as nccl-tests counts them: the larger buffer of a rank. */
static double message_B(const KinetoEvent *event)
{
  const double n = strcmp(event->collective, "all_gather") == 0
                     ? MAX(event->n_in, event->n_out)
                     : event->n_in;

  return n * dtype_size_B(event->dtype);
}

static Runs *runs_of(KinetoEvents *events, const KinetoEvent *event)
{
  const double size_B = message_B(event);
  const guint n_ranks = (guint)event->n_ranks;

  for (guint i = 0; i < events->runs->len; i++) {
    Runs *runs = events->runs->pdata[i];
    if (runs->size_B == size_B && runs->n_ranks == n_ranks &&
        runs->collective == event->collective && runs->dtype == event->dtype)
      return runs;
  }
  Runs *runs = g_new0(Runs, 1);
  *runs = (Runs){ .collective = event->collective,
                  .dtype = event->dtype,
                  .n_ranks = n_ranks,
                  .size_B = size_B,
                  .time_s = g_array_new(FALSE, FALSE, sizeof(double)) };
  g_ptr_array_add(events->runs, runs);
  return runs;
}

static void add_collective(KinetoEvents *events, const KinetoEvent *event)
{
  const double time_s = event->duration_us * 1e-6;

  if (event->collective == NULL || event->dtype == NULL || !(event->n_ranks >= 2) ||
      event->n_ranks > RANKS_MAX || !(event->n_in > 0) || event->n_in > ELEMENTS_MAX ||
      event->n_out > ELEMENTS_MAX) {
    events->n_untold++;
    return;
  }
  g_array_append_val(runs_of(events, event)->time_s, time_s);
}

void kineto_events_add(KinetoEvents *events, const KinetoEvent *event)
{
  const Span span = { event->begin_us, event->begin_us + event->duration_us };

  if (!event->is_complete || !(event->duration_us > 0) ||
      event->duration_us > TIME_MAX_us || !(fabs(event->begin_us) <= TIME_MAX_us))
    return;
  if (event->is_annotation && event->is_step)
    g_array_append_val(events->steps, span);
  if (!event->is_kernel)
    return;
  g_array_append_val(event->is_nccl ? events->nccl : events->compute, span);
  if (event->is_nccl)
    add_collective(events, event);
}

static gint compare_spans(gconstpointer a, gconstpointer b)
{
  const Span *one = a, *other = b;

  if (one->begin_us != other->begin_us)
    return one->begin_us < other->begin_us ? -1 : 1;
  return (one->end_us > other->end_us) - (one->end_us < other->end_us);
}

/* Sort, and make one of those that touch. */
static void merge(GArray *spans)
{
  guint n = 0;

  g_array_sort(spans, compare_spans);
  for (guint i = 0; i < spans->len; i++) {
    const Span *next = &g_array_index(spans, Span, i);
    Span *last = n > 0 ? &g_array_index(spans, Span, n - 1) : NULL;
    if (last != NULL && next->begin_us <= last->end_us)
      last->end_us = MAX(last->end_us, next->end_us);
    else
      g_array_index(spans, Span, n++) = *next;
  }
  g_array_set_size(spans, n);
}

/* The first of merged spans that ends after @p time_us. */
static guint first_after(const GArray *spans, double time_us)
{
  guint low = 0, high = spans->len;

  while (low < high) {
    const guint middle = low + (high - low) / 2;
    if (g_array_index(spans, Span, middle).end_us <= time_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* How much of @p within the merged @p spans cover [us]. */
static double covered_us(const GArray *spans, Span within)
{
  double sum_us = 0;

  for (guint i = first_after(spans, within.begin_us); i < spans->len; i++) {
    const Span *span = &g_array_index(spans, Span, i);
    if (span->begin_us >= within.end_us)
      break;
    sum_us += MIN(span->end_us, within.end_us) - MAX(span->begin_us, within.begin_us);
  }
  return sum_us;
}

/* Of @p within, what @p spans cover while @p others do not [us]. */
static double uncovered_us(const GArray *spans, const GArray *others, Span within)
{
  double sum_us = 0;

  for (guint i = first_after(spans, within.begin_us); i < spans->len; i++) {
    const Span *span = &g_array_index(spans, Span, i);
    if (span->begin_us >= within.end_us)
      break;
    const Span part = { MAX(span->begin_us, within.begin_us),
                        MIN(span->end_us, within.end_us) };
    sum_us += part.end_us - part.begin_us - covered_us(others, part);
  }
  return sum_us;
}

static void add_step_sample(const char *probe, const GArray *time_s, Imported *imported)
{
  g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < time_s->len; i++)
    if (g_array_index(time_s, double, i) > 0)
      g_array_append_vals(seen, &g_array_index(time_s, double, i), 1);
  if (seen->len == 0)
    return;
  Sample *sample = sample_new(probe);
  sample_set(&sample->library, "pytorch");
  sample_set(&sample->place, "gpu");
  sample->ranks = 1;
  sample->nodes = 1;
  sample->axis = SAMPLE_COUNT;
  sample->size = 1;
  sample_summarise(sample, (const double *)(const void *)seen->data, seen->len);
  g_ptr_array_add(imported->samples, sample);
}

/* Without the profiler's own steps the whole trace is one. */
static void settle_steps(KinetoEvents *events, ImportInput *input, Imported *imported)
{
  Span all = { INFINITY, -INFINITY };

  g_array_sort(events->steps, compare_spans);
  if (events->steps->len > 0)
    return;
  for (guint pass = 0; pass < 2; pass++) {
    const GArray *spans = pass == 0 ? events->compute : events->nccl;
    for (guint i = 0; i < spans->len; i++) {
      all.begin_us = MIN(all.begin_us, g_array_index(spans, Span, i).begin_us);
      all.end_us = MAX(all.end_us, g_array_index(spans, Span, i).end_us);
    }
  }
  g_array_append_val(events->steps, all);
  imported_note(imported, input,
                "no ProfilerStep in the trace; all of it taken for one step");
}

static void summarise_steps(const KinetoEvents *events, Imported *imported)
{
  enum { WALL, COMPUTE, COMM, EXPOSED, N };
  static const char *const probes[N] = { "step", "step_compute", "step_comm",
                                         "step_exposed" };
  GArray *time_s[N];

  for (guint k = 0; k < N; k++)
    time_s[k] = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < events->steps->len; i++) {
    const Span step = g_array_index(events->steps, Span, i);
    const double us[N] = { step.end_us - step.begin_us, covered_us(events->compute, step),
                           covered_us(events->nccl, step),
                           uncovered_us(events->nccl, events->compute, step) };
    for (guint k = 0; k < N; k++) {
      const double s = us[k] * 1e-6;
      g_array_append_val(time_s[k], s);
    }
  }
  for (guint k = 0; k < N; k++) {
    add_step_sample(probes[k], time_s[k], imported);
    g_array_unref(time_s[k]);
  }
}

static void summarise_runs(const Runs *runs, guint n_nodes, Imported *imported)
{
  double *time_s = (double *)(void *)runs->time_s->data;
  Sample *sample = sample_new(runs->collective);

  sample_set(&sample->library, "nccl");
  sample_set(&sample->dtype, runs->dtype);
  sample_set(&sample->variant, "profiled");
  sample->ranks = runs->n_ranks;
  sample->nodes = n_nodes;
  sample->size = runs->size_B;
  sample_summarise(sample, time_s, runs->time_s->len);
  stats_sort(time_s, runs->time_s->len);
  sample->median_s = stats_quantile(time_s, runs->time_s->len, LOWER_QUARTILE);
  sample->flags |= SAMPLE_SKEW;
  g_ptr_array_add(imported->samples, sample);
}

bool kineto_events_summarise(KinetoEvents *events, ImportInput *input,
                             const ImportOptions *options, Imported *imported,
                             GError **error)
{
  if (events->compute->len + events->nccl->len == 0)
    return import_fail(input, error,
                       "no kernel of a GPU in the trace; was ProfilerActivity.CUDA on?");
  settle_steps(events, input, imported);
  merge(events->compute);
  merge(events->nccl);
  summarise_steps(events, imported);
  for (guint i = 0; i < events->runs->len; i++) {
    const Runs *runs = events->runs->pdata[i];
    if (options->nodes > runs->n_ranks)
      return import_fail(input, error, "%u nodes for a group of %u ranks", options->nodes,
                         runs->n_ranks);
    summarise_runs(runs, MAX(options->nodes, 1), imported);
  }
  if (events->n_untold > 0)
    imported_note(imported, input,
                  "%u kernels of NCCL do not say what they moved; not among the samples",
                  events->n_untold);
  return true;
}
