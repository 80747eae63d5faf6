/**
 * @file svg.c
 * @brief A picture of an iteration: lanes per scenario on one time axis, then bars.
 */
#include "sim/output/svg.h"

#include "models/topology.h"
#include "sim/output/draw.h"
#include "sim/output/output.h"
#include "sim/output/show.h"
#include "sim/output/timeline.h"

#include <math.h>

#define MARGIN 24.0
#define HEADING_HEIGHT 26.0
#define BLOCK_GAP 18.0
#define BAR_HEIGHT 18.0
#define BAR_GAP 32.0 /* room for the name above */
#define LEGEND_HEIGHT 30.0

double svg_x(const TimeAxis *axis, double time_s)
{
  return SVG_LEFT + time_s * axis->scale;
}

/* A round number of seconds that cuts the axis into 4 to 10 parts. */
static double tick_s(const TimeAxis *axis)
{
  static const double steps[] = { 1, 2, 5, 10 };
  const double decade = pow(10, floor(log10(axis->longest_s / 4)));
  double tick = decade;

  for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
    if (steps[i] * decade <= axis->longest_s / 4)
      tick = steps[i] * decade;
  return tick;
}

void svg_grid(GString *out, const TimeAxis *axis, double top, double bottom)
{
  const double step_s = tick_s(axis);

  for (guint i = 0; i * step_s <= axis->longest_s; i++)
    draw_line(out, "grid", svg_x(axis, i * step_s), top, svg_x(axis, i * step_s), bottom);
}

void svg_ticks(GString *out, const TimeAxis *axis, double y)
{
  const double step_s = tick_s(axis);

  for (guint i = 0; i * step_s <= axis->longest_s; i++) {
    g_autofree char *label = show_time(i * step_s);
    draw_text(out, "tick", ANCHOR_MIDDLE, svg_x(axis, i * step_s), y, label);
  }
}

static TimeAxis axis_of(const Result *const *results, guint n)
{
  TimeAxis axis = { .longest_s = 1e-12 }; /* shorter than anything that can be drawn */

  for (guint i = 0; i < n; i++) {
    double start_s, end_s;
    axis.longest_s = MAX(axis.longest_s, results[i]->iteration_time_s);
    if (timeline_last(results[i], &start_s, &end_s))
      axis.longest_s = MAX(axis.longest_s, end_s - start_s);
  }
  axis.scale = (SVG_RIGHT - SVG_LEFT) / axis.longest_s;
  return axis;
}

static bool has_timeline(const Result *const *results, guint n)
{
  for (guint i = 0; i < n; i++)
    if (svg_lanes_height(results[i]) > 0)
      return true;
  return false;
}

static double append_swatch(GString *out, double x, double y, const char *class,
                            const char *title)
{
  draw_rect(out, class, x, y - 10, 14, 12);
  draw_text(out, "label", ANCHOR_START, x + 20, y, title);
  return x + 20 + draw_text_width(title, 12) + 22;
}

/* Only what the lanes show. */
static void append_legend(GString *out, const Result *const *results, guint n, double y)
{
  bool seen[LOOK_N] = { false };
  bool links = false;
  double x = MARGIN;

  for (guint i = 0; i < n; i++) {
    links = links || results[i]->link_spans->len > 0;
    for (guint j = 0; j < results[i]->spans->len; j++)
      seen[svg_look(&g_array_index(results[i]->spans, Span, j))] = true;
  }
  for (guint look = 0; look < LOOK_N; look++)
    if (seen[look])
      x = append_swatch(out, x, y, svg_look_classes[look], svg_look_titles[look]);
  x = append_swatch(out, x, y, "wait", "GPU waits");
  if (links)
    append_swatch(out, x, y, "use", "links in use");
}

static void append_heading(GString *out, const Result *result, double y)
{
  g_autofree char *name = show_plain(result->name);
  g_autofree char *time = show_time(result->iteration_time_s);
  g_autofree char *rate = show_number(result->throughput_samples_per_s, 4);
  g_autofree char *figures = g_strdup_printf("%s, %s samples/s", time, rate);

  draw_text(out, "heading", ANCHOR_START, MARGIN, y, name);
  draw_text(out, "figure", ANCHOR_END, SVG_RIGHT, y, figures);
}

static double append_timelines(GString *out, const TimeAxis *axis,
                               const Result *const *results, guint n, double y)
{
  append_legend(out, results, n, y + 12);
  y += LEGEND_HEIGHT;
  for (guint i = 0; i < n; i++) {
    const double height = svg_lanes_height(results[i]);
    if (height == 0)
      continue;
    append_heading(out, results[i], y + 14);
    y += HEADING_HEIGHT;
    svg_grid(out, axis, y - 3, y + height);
    y = svg_lanes(out, axis, results[i], y) + BLOCK_GAP;
  }
  svg_ticks(out, axis, y - BLOCK_GAP + 12);
  return y + 22;
}

static void append_bar(GString *out, const TimeAxis *axis, const Result *result, double y)
{
  const TimeSplit split = show_time_split(result);
  const double width = result->iteration_time_s * axis->scale;
  const double alone = split.alone * width, hidden = split.hidden * width;
  g_autofree char *exposed = show_share(split.exposed);

  draw_rect(out, "alone", SVG_LEFT, y, alone, BAR_HEIGHT);
  draw_rect(out, "hiding", SVG_LEFT + alone, y, hidden, BAR_HEIGHT);
  draw_rect(out, "wait", SVG_LEFT + alone + hidden, y, width - alone - hidden, BAR_HEIGHT);
  if (draw_text_width(exposed, 11) + 8 < width - alone - hidden)
    draw_text(out, "inside-dark", ANCHOR_MIDDLE, SVG_LEFT + (alone + hidden + width) / 2,
              y + 13, exposed);
}

static double append_bars(GString *out, const TimeAxis *axis, const Result *const *results,
                          guint n, double y)
{
  const double top = y;
  double x = SVG_LEFT;

  draw_text(out, "heading", ANCHOR_START, MARGIN, y + 12, "Iteration time");
  x = append_swatch(out, x, y + 12, "alone", "compute alone");
  x = append_swatch(out, x, y + 12, "hiding", "compute that hides communication");
  append_swatch(out, x, y + 12, "wait", "GPUs wait (exposed)");
  y += LEGEND_HEIGHT;
  svg_grid(out, axis, top + LEGEND_HEIGHT - 6, y + n * (BAR_HEIGHT + BAR_GAP));
  for (guint i = 0; i < n; i++) {
    append_heading(out, results[i], y + BAR_GAP - 12);
    append_bar(out, axis, results[i], y + BAR_GAP - 6);
    y += BAR_HEIGHT + BAR_GAP;
  }
  svg_ticks(out, axis, y + 14);
  return y + 22;
}

static bool svg_render(const Result *const *results, guint n, GString *out,
                       GError **error G_GNUC_UNUSED)
{
  g_autoptr(GString) body = g_string_new(NULL);
  double y = MARGIN + 44;

  draw_text(body, "title", ANCHOR_START, MARGIN, MARGIN + 14, "One training iteration");
  draw_text(body, "note", ANCHOR_START, MARGIN, MARGIN + 33,
            has_timeline(results, n) ? "Forecast; the last measured iteration of one worker"
                                     : "Forecast; mean of the measured iterations");
  if (n > 0) {
    const TimeAxis axis = axis_of(results, n);
    if (has_timeline(results, n))
      y = append_timelines(body, &axis, results, n, y);
    y = append_bars(body, &axis, results, n, y);
  }
  draw_begin(out, SVG_WIDTH, y + MARGIN / 2);
  g_string_append_len(out, body->str, (gssize)body->len);
  draw_end(out);
  return true;
}

const OutputOps output_svg = {
  .info = {
    .name = "svg",
    .summary = "a picture: the last iteration as lanes, iteration times as bars",
    .source = "Scalable Vector Graphics 1.1, W3C",
  },
  .suffix = ".svg",
  .wants_timeline = true,
  .render = svg_render,
  .render_timings = svg_render_timings,
};
