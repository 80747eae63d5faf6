/**
 * @file trace.c
 * @brief The timeline in the Trace Event Format, for ui.perfetto.dev and chrome://tracing.
 *
 * One process per scenario, one thread per track, one counter per link tier. Times are
 * microseconds; events stand in the order of their begin.
 */
#include "models/topology.h"
#include "sim/base/version.h"
#include "sim/output/emit.h"
#include "sim/output/output.h"
#include "sim/output/timeline.h"

#include <math.h>

/* Events of one instant: those that last longer first, so that they nest. */
typedef struct {
  double start_s, duration_s;
  guint process;
  const Span *span; /* NULL for a step of a counter */
  guint tier;
  double share;
  guint order; /* of its making: decides between equals */
} Event;

static int compare_events(gconstpointer a, gconstpointer b)
{
  const Event *left = a, *right = b;

  if (left->start_s != right->start_s)
    return left->start_s < right->start_s ? -1 : 1;
  if (left->duration_s != right->duration_s)
    return left->duration_s > right->duration_s ? -1 : 1;
  return left->order < right->order ? -1 : 1;
}

static void collect(GArray *events, const Result *result, guint process)
{
  for (guint i = 0; i < result->spans->len; i++) {
    const Span *span = &g_array_index(result->spans, Span, i);
    const Event event = {
      .start_s = span->start_s,
      .duration_s = span->end_s - span->start_s,
      .process = process,
      .span = span,
      .order = events->len,
    };
    g_array_append_val(events, event);
  }
  for (guint tier = 0; tier < TIER_N; tier++) {
    g_autoptr(GArray) steps = timeline_use(result, tier);
    for (guint i = 0; i < steps->len; i++) {
      const UseStep *step = &g_array_index(steps, UseStep, i);
      const Event event = {
        .start_s = step->start_s,
        .process = process,
        .tier = tier,
        .share = step->share,
        .order = events->len,
      };
      g_array_append_val(events, event);
    }
  }
}

static void begin_event(GString *out, const char *name, char phase, guint process)
{
  if (out->str[out->len - 1] != '[')
    g_string_append_c(out, ',');
  g_string_append(out, "\n{\"name\":");
  emit_string(out, name);
  g_string_append_printf(out, ",\"ph\":\"%c\",\"pid\":%u", phase, process);
}

static void append_name(GString *out, const char *kind, guint process, guint thread,
                        const char *name)
{
  begin_event(out, kind, 'M', process);
  g_string_append_printf(out, ",\"tid\":%u,\"args\":{\"name\":", thread);
  emit_string(out, name != NULL ? name : "");
  g_string_append(out, "}}");
}

static void append_order(GString *out, const char *kind, guint process, guint thread)
{
  begin_event(out, kind, 'M', process);
  g_string_append_printf(out, ",\"tid\":%u,\"args\":{\"sort_index\":%u}}", thread,
                         thread > 0 ? thread : process);
}

static void append_names(GString *out, const Result *result, guint process)
{
  append_name(out, "process_name", process, 0, result->name);
  append_order(out, "process_sort_index", process, 0);
  for (guint i = 0; i < result->tracks->len; i++) {
    append_name(out, "thread_name", process, i + 1, g_ptr_array_index(result->tracks, i));
    append_order(out, "thread_sort_index", process, i + 1);
  }
}

/* Begin and end are rounded, not the duration, so that neighbours do not overlap. */
static double nanoseconds(double time_s)
{
  return round(time_s * 1e9);
}

static void append_span(GString *out, const Event *event)
{
  const double start_ns = nanoseconds(event->span->start_s);
  const double end_ns = nanoseconds(event->span->end_s);

  begin_event(out, event->span->name != NULL ? event->span->name : "", 'X', event->process);
  g_string_append_printf(out, ",\"tid\":%u,\"ts\":", event->span->track + 1);
  emit_fixed(out, start_ns / 1e3, 3);
  g_string_append(out, ",\"dur\":");
  emit_fixed(out, (end_ns - start_ns) / 1e3, 3);
  g_string_append_c(out, '}');
}

static void append_step(GString *out, const Event *event)
{
  g_autofree char *name = g_strconcat(topology_tier_names[event->tier], " use", NULL);
  begin_event(out, name, 'C', event->process);
  g_string_append(out, ",\"ts\":");
  emit_fixed(out, nanoseconds(event->start_s) / 1e3, 3);
  g_string_append(out, ",\"args\":{\"percent\":");
  emit_fixed(out, event->share * 100, 2);
  g_string_append(out, "}}");
}

static void append_event(GString *out, const Event *event)
{
  if (event->span != NULL)
    append_span(out, event);
  else
    append_step(out, event);
}

static bool trace_render(const Result *const *results, guint n, GString *out,
                         GError **error G_GNUC_UNUSED)
{
  g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(Event));

  g_string_append(
    out,
    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"version\":\"stepcast " STEPCAST_VERSION
    "\"},\"traceEvents\":[");
  for (guint i = 0; i < n; i++) {
    append_names(out, results[i], i + 1);
    collect(events, results[i], i + 1);
  }
  g_array_sort(events, compare_events);
  for (guint i = 0; i < events->len; i++)
    append_event(out, &g_array_index(events, Event, i));
  g_string_append(out, "\n]}\n");
  return true;
}

const OutputOps output_trace = {
  .info = {
    .name = "trace",
    .summary = "every span and the use of the links, for ui.perfetto.dev",
    .source = "Trace Event Format, github.com/google/perfetto",
  },
  .suffix = ".trace.json",
  .wants_timeline = true,
  .render = trace_render,
};
