/**
 * @file svg_lanes.c
 * @brief One iteration as lanes: what computes, what is on the wire, how full the links
 * are.
 */
#include "models/topology.h"
#include "sim/output/draw.h"
#include "sim/output/show.h"
#include "sim/output/svg.h"
#include "sim/output/timeline.h"

#include <math.h>
#include <string.h>

#define LANE_HEIGHT 22.0
#define STRIP_HEIGHT 26.0
#define LANE_GAP 5.0
#define INSIDE_SIZE 11.0
#define HAIR 1.0 /* white between neighbours that are wide enough to spare it */

/* The first track of a worker is what its GPU computes. */
#define COMPUTE_TRACK 0

const char *const svg_look_classes[] = {
  [LOOK_FORWARD] = "forward",   [LOOK_BACKWARD] = "backward", [LOOK_COMPUTE] = "compute",
  [LOOK_TRANSFER] = "transfer", [LOOK_STAGE] = "stage",
};

const char *const svg_look_titles[] = {
  [LOOK_FORWARD] = "forward",           [LOOK_BACKWARD] = "backward",
  [LOOK_COMPUTE] = "other compute",     [LOOK_TRANSFER] = "all-reduce",
  [LOOK_STAGE] = "negotiation, copies",
};

/* The stretch of time that is shown. */
typedef struct {
  double start_s, end_s;
} Window;

Look svg_look(const Span *span)
{
  const char *name = span->name != NULL ? span->name : "";

  if (span->track != COMPUTE_TRACK)
    return strstr(name, "reduce") != NULL || strstr(name, "gather") != NULL ? LOOK_TRANSFER
                                                                            : LOOK_STAGE;
  if (g_str_has_prefix(name, "forward"))
    return LOOK_FORWARD;
  return g_str_has_prefix(name, "backward") ? LOOK_BACKWARD : LOOK_COMPUTE;
}

static bool is_visible(const Window *window, double start_s, double end_s)
{
  return end_s > window->start_s && start_s < window->end_s;
}

static bool track_is_used(const Result *result, const Window *window, guint track)
{
  for (guint i = 0; i < result->spans->len; i++) {
    const Span *span = &g_array_index(result->spans, Span, i);
    if (span->track == track && is_visible(window, span->start_s, span->end_s))
      return true;
  }
  return false;
}

static bool tier_is_used(const Result *result, const Window *window, guint tier)
{
  for (guint i = 0; i < result->link_spans->len; i++) {
    const LinkSpan *span = &g_array_index(result->link_spans, LinkSpan, i);
    if (span->tier == tier && is_visible(window, span->start_s, span->end_s))
      return true;
  }
  return false;
}

/* From x to x on the page. */
typedef struct {
  double left, right;
} Stretch;

static Stretch stretch_of(const TimeAxis *axis, const Window *window, double start_s,
                          double end_s)
{
  return (Stretch){
    .left = svg_x(axis, MAX(start_s, window->start_s) - window->start_s),
    .right = svg_x(axis, MIN(end_s, window->end_s) - window->start_s),
  };
}

/* Spans of one look that touch: one name is written over all of them. */
typedef struct {
  Stretch at;
  Look look;
  const char *name;
  bool mixed; /* the spans have different names: the look's name stands for them */
} Run;

static void draw_run_name(GString *out, const Run *run, double y)
{
  const bool dark = run->look == LOOK_FORWARD || run->look == LOOK_STAGE;
  const double room = run->at.right - run->at.left - 6;
  g_autofree char *name =
    g_strdup(run->mixed || run->name == NULL ? svg_look_titles[run->look] : run->name);

  /* "all_reduce 64 MiB, 12 tensors" is still useful without its second half. */
  if (draw_text_width(name, INSIDE_SIZE) > room && strchr(name, ',') != NULL)
    *strchr(name, ',') = '\0';
  if (draw_text_width(name, INSIDE_SIZE) > room)
    return;
  draw_text(out, dark ? "inside-dark" : "inside", ANCHOR_MIDDLE,
            (run->at.left + run->at.right) / 2, y + LANE_HEIGHT / 2 + INSIDE_SIZE * 0.36,
            name);
}

static void draw_span(GString *out, const Span *span, const Stretch *at, Look look,
                      double y)
{
  const double width = at->right - at->left;
  /* Between layers it would show the colour of waiting. */
  const double hair = span->track != COMPUTE_TRACK && width > 4 * HAIR ? HAIR : 0;
  g_autofree char *duration = show_time(span->end_s - span->start_s);
  g_autofree char *title =
    g_strdup_printf("%s, %s", span->name != NULL ? span->name : "", duration);

  draw_titled_rect(out, svg_look_classes[look], at->left, y, width - hair, LANE_HEIGHT,
                   title);
}

static void draw_track(GString *out, const TimeAxis *axis, const Result *result,
                       const Window *window, guint track, double y)
{
  const double end = svg_x(axis, window->end_s - window->start_s);
  const char *name = g_ptr_array_index(result->tracks, track);
  g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(Run));

  draw_text(out, "label", ANCHOR_END, SVG_LEFT - 10, y + LANE_HEIGHT * 0.68, name);
  draw_rect(out, track == COMPUTE_TRACK ? "wait" : "lane", SVG_LEFT, y, end - SVG_LEFT,
            LANE_HEIGHT);
  for (guint i = 0; i < result->spans->len; i++) {
    const Span *span = &g_array_index(result->spans, Span, i);
    if (span->track != track || !is_visible(window, span->start_s, span->end_s))
      continue;
    const Run run = {
      .at = stretch_of(axis, window, span->start_s, span->end_s),
      .look = svg_look(span),
      .name = span->name,
    };
    draw_span(out, span, &run.at, run.look, y);
    Run *last = runs->len > 0 ? &g_array_index(runs, Run, runs->len - 1) : NULL;
    if (track == COMPUTE_TRACK && last != NULL && last->look == run.look &&
        fabs(run.at.left - last->at.right) < HAIR) {
      last->mixed = last->mixed || g_strcmp0(last->name, run.name) != 0;
      last->at.right = run.at.right;
    } else {
      g_array_append_val(runs, run);
    }
  }
  for (guint i = 0; i < runs->len; i++)
    draw_run_name(out, &g_array_index(runs, Run, i), y);
}

/* Time average of the tier's use over the window, for its label. */
static double mean_use(const GArray *steps, const Window *window)
{
  double sum_s = 0;

  for (guint i = 0; i < steps->len; i++) {
    const UseStep *step = &g_array_index(steps, UseStep, i);
    const double until_s =
      i + 1 < steps->len ? g_array_index(steps, UseStep, i + 1).start_s : window->end_s;
    const double overlap_s =
      MIN(until_s, window->end_s) - MAX(step->start_s, window->start_s);
    sum_s += step->share * MAX(overlap_s, 0);
  }
  return sum_s / (window->end_s - window->start_s);
}

/* The area under the steps. */
static void draw_steps(GString *out, const TimeAxis *axis, const GArray *steps,
                       const Window *window, double y)
{
  g_autoptr(GString) path = g_string_new(NULL);
  const double base = y + STRIP_HEIGHT;

  draw_path_to(path, 'M', SVG_LEFT, base);
  for (guint i = 0; i < steps->len; i++) {
    const UseStep *step = &g_array_index(steps, UseStep, i);
    const double until_s =
      i + 1 < steps->len ? g_array_index(steps, UseStep, i + 1).start_s : window->end_s;
    if (step->share == 0 || !is_visible(window, step->start_s, until_s))
      continue;
    const Stretch at = stretch_of(axis, window, step->start_s, until_s);
    draw_path_to(path, 'L', at.left, base);
    draw_path_to(path, 'L', at.left, base - step->share * STRIP_HEIGHT);
    draw_path_to(path, 'L', at.right, base - step->share * STRIP_HEIGHT);
    draw_path_to(path, 'L', at.right, base);
  }
  g_string_append_c(path, 'Z');
  draw_path(out, "use", path);
}

static void draw_strip(GString *out, const TimeAxis *axis, const Result *result,
                       const Window *window, guint tier, double y)
{
  const double end = svg_x(axis, window->end_s - window->start_s);
  g_autoptr(GArray) steps = timeline_use(result, tier);
  g_autofree char *mean = show_share(mean_use(steps, window));
  g_autofree char *label = g_strdup_printf("%s, mean %s", topology_tier_names[tier], mean);

  draw_text(out, "label", ANCHOR_END, SVG_LEFT - 10, y + STRIP_HEIGHT * 0.66, label);
  draw_rect(out, "lane", SVG_LEFT, y, end - SVG_LEFT, STRIP_HEIGHT);
  draw_steps(out, axis, steps, window, y);
}

double svg_lanes(GString *out, const TimeAxis *axis, const Result *result, double y)
{
  Window window;

  if (!timeline_last(result, &window.start_s, &window.end_s))
    return y;
  for (guint track = 0; track < result->tracks->len; track++)
    if (track_is_used(result, &window, track)) {
      draw_track(out, axis, result, &window, track, y);
      y += LANE_HEIGHT + LANE_GAP;
    }
  for (guint tier = 0; tier < TIER_N; tier++)
    if (tier_is_used(result, &window, tier)) {
      draw_strip(out, axis, result, &window, tier, y);
      y += STRIP_HEIGHT + LANE_GAP;
    }
  return y;
}

double svg_lanes_height(const Result *result)
{
  double height = 0;
  Window window;

  if (!timeline_last(result, &window.start_s, &window.end_s))
    return 0;
  for (guint track = 0; track < result->tracks->len; track++)
    height += track_is_used(result, &window, track) ? LANE_HEIGHT + LANE_GAP : 0;
  for (guint tier = 0; tier < TIER_N; tier++)
    height += tier_is_used(result, &window, tier) ? STRIP_HEIGHT + LANE_GAP : 0;
  return height;
}
