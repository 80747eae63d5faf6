/**
 * @file timings_svg.c
 * @brief A picture of a collective's timings: time and bus bandwidth against size.
 */
#include "sim/output/draw.h"
#include "sim/output/output.h"
#include "sim/output/show.h"

#include "sim/base/units.h"

#include <math.h>

#define WIDTH 1000.0
#define LEFT 90.0
#define RIGHT 970.0
#define PANEL_HEIGHT 260.0
#define PANEL_GAP 70.0
#define TOP 110.0
#define DOT 5.0

/* One logarithmic axis: value to place. */
typedef struct {
  double low, high; /* of log10 */
  double from, to;  /* on the page */
} LogAxis;

static double place(const LogAxis *axis, double value)
{
  const double part = (log10(value) - axis->low) / (axis->high - axis->low);
  return axis->from + part * (axis->to - axis->from);
}

/* Whole decades around what is drawn. */
static LogAxis decades(double lowest, double highest, double from, double to)
{
  LogAxis axis = { floor(log10(lowest)), ceil(log10(highest)), from, to };
  if (axis.high <= axis.low)
    axis.high = axis.low + 1;
  return axis;
}

typedef double (*Value)(const Timing *row);

static double time_of(const Timing *row)
{
  return row->time_s;
}

static double floor_of(const Timing *row)
{
  return row->floor_s;
}

static double busbw_of(const Timing *row)
{
  return row->busbw_Bps;
}

static const Timing *row_at(const Timings *timings, guint index)
{
  return &g_array_index(timings->rows, Timing, index);
}

static void widen(const Timings *timings, Value value, double *lowest, double *highest)
{
  for (guint i = 0; i < timings->rows->len; i++) {
    const double v = value(row_at(timings, i));
    if (v > 0) {
      *lowest = MIN(*lowest, v);
      *highest = MAX(*highest, v);
    }
  }
}

static void append_curve(GString *out, const Timings *timings, Value value,
                         const char *class, const LogAxis *x, const LogAxis *y)
{
  g_autoptr(GString) path = g_string_new(NULL);

  for (guint i = 0; i < timings->rows->len; i++) {
    const Timing *row = row_at(timings, i);
    if (value(row) > 0 && row->size_B > 0)
      draw_path_to(path, path->len == 0 ? 'M' : 'L', place(x, row->size_B),
                   place(y, value(row)));
  }
  if (path->len > 0)
    draw_path(out, class, path);
}

static void append_dots(GString *out, const Timings *timings, Value value, const LogAxis *x,
                        const LogAxis *y)
{
  for (guint i = 0; i < timings->rows->len; i++) {
    const Timing *row = row_at(timings, i);
    if (!(value(row) > 0 && row->size_B > 0))
      continue;
    g_autofree char *size = show_bytes(row->size_B);
    g_autofree char *time = show_time(row->time_s);
    g_autofree char *title =
      g_strdup_printf("%s: %s, %s%s%s", size, time, row->algorithm,
                      *row->protocol == '\0' ? "" : "/", row->protocol);
    draw_titled_rect(out, "dot", place(x, row->size_B) - DOT / 2,
                     place(y, value(row)) - DOT / 2, DOT, DOT, title);
  }
}

static void append_x_ticks(GString *out, const LogAxis *x, double top, double bottom)
{
  for (double size_B = 1; log10(size_B) <= x->high; size_B *= 32) {
    if (log10(size_B) < x->low)
      continue;
    g_autofree char *label = show_bytes(size_B);
    draw_line(out, "grid", place(x, size_B), top, place(x, size_B), bottom);
    draw_text(out, "tick", ANCHOR_MIDDLE, place(x, size_B), bottom + 16, label);
  }
}

static void append_y_ticks(GString *out, const LogAxis *y, bool is_rate)
{
  for (double power = y->low; power <= y->high; power++) {
    const double value = exp10(power);
    g_autofree char *label = is_rate ? units_show_rate(value, 3) : show_time(value);
    draw_line(out, "grid", LEFT, place(y, value), RIGHT, place(y, value));
    draw_text(out, "tick", ANCHOR_END, LEFT - 8, place(y, value) + 4, label);
  }
}

static void append_panel(GString *out, const Timings *timings, const LogAxis *x, double top,
                         Value value, Value bound, const char *title)
{
  const double bottom = top + PANEL_HEIGHT;
  double lowest = HUGE_VAL, highest = 0;

  draw_text(out, "heading", ANCHOR_START, LEFT, top - 10, title);
  widen(timings, value, &lowest, &highest);
  if (bound != NULL)
    widen(timings, bound, &lowest, &highest);
  if (!(highest > 0))
    return;
  const LogAxis y = decades(lowest, highest, bottom, top);
  append_y_ticks(out, &y, value == busbw_of);
  append_x_ticks(out, x, top, bottom);
  if (bound != NULL)
    append_curve(out, timings, bound, "floor", x, &y);
  append_curve(out, timings, value, "curve", x, &y);
  append_dots(out, timings, value, x, &y);
}

void svg_render_timings(const Timings *timings, GString *out)
{
  double lowest_B = HUGE_VAL, highest_B = 0;
  g_autofree char *cluster = show_plain(timings->cluster);
  g_autofree char *title = g_strdup_printf("%s: %s", timings->collective, cluster);
  g_autofree char *ranks = timings_show_ranks(timings);
  g_autofree char *note =
    g_strdup_printf("Predicted; %s on %u nodes. Dashed: no algorithm can be faster.", ranks,
                    timings->n_nodes);

  for (guint i = 0; i < timings->rows->len; i++)
    if (row_at(timings, i)->size_B > 0) {
      lowest_B = MIN(lowest_B, row_at(timings, i)->size_B);
      highest_B = MAX(highest_B, row_at(timings, i)->size_B);
    }
  draw_begin(out, WIDTH, TOP + 2 * PANEL_HEIGHT + PANEL_GAP + 50);
  draw_text(out, "title", ANCHOR_START, LEFT, 40, title);
  draw_text(out, "note", ANCHOR_START, LEFT, 62, note);
  if (highest_B > 0) {
    const double pad = highest_B > lowest_B ? 0.1 : 0.5;
    const LogAxis x = { log10(lowest_B) - pad, log10(highest_B) + pad, LEFT, RIGHT };
    append_panel(out, timings, &x, TOP, time_of, floor_of, "Time");
    append_panel(out, timings, &x, TOP + PANEL_HEIGHT + PANEL_GAP, busbw_of, NULL,
                 "Bus bandwidth");
  }
  draw_end(out);
}
