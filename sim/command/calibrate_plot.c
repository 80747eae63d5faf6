#include "sim/command/calibrate_plot.h"

#include "calibrate/report.h"

#include "sim/base/units.h"
#include "sim/output/draw.h"

#include <math.h>
#include <string.h>

#define LEFT 90.0
#define RIGHT 720.0
#define WIDTH 1060.0
#define PANEL_HEIGHT 300.0
#define PANEL_GAP 80.0
#define TOP 90.0
#define DOT 5.0

enum { N_COLOURS = 8, N_POINTS = 120, N_NAMES = 14 };

/* Okabe and Ito's colours, which colour-blind people tell apart. */
static const char series_style[] =
  "<style>\n"
  ".d0{fill:#0072b2}.d1{fill:#d55e00}.d2{fill:#009e73}.d3{fill:#cc79a7}\n"
  ".d4{fill:#56b4e9}.d5{fill:#e69f00}.d6{fill:#7a5c00}.d7{fill:#3b4452}\n"
  ".c0,.c1,.c2,.c3,.c4,.c5,.c6,.c7{fill:none;stroke-width:1.5}\n"
  ".c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}.c3{stroke:#cc79a7}\n"
  ".c4{stroke:#56b4e9}.c5{stroke:#e69f00}.c6{stroke:#7a5c00}.c7{stroke:#3b4452}\n"
  "</style>\n";

typedef struct {
  double low, high; /* of log10 */
  double from, to;  /* on the page */
} Axis;

static double place(const Axis *axis, double value)
{
  return axis->from +
         (log10(value) - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

typedef struct {
  const Profile *profile;
  GPtrArray *laws; /* of one probe, borrowed */
  Axis x, y;
} Panel;

static bool is_drawn(const Sample *sample)
{
  return !(sample->flags & SAMPLE_FAILED) && sample->size > 0;
}

static void fit_axes(Panel *panel, double top)
{
  double size[] = { INFINITY, 0 }, time_s[] = { INFINITY, 0 };

  for (guint l = 0; l < panel->laws->len; l++)
    for (guint i = 0; i < panel->profile->samples->len; i++) {
      const Sample *sample = g_ptr_array_index(panel->profile->samples, i);
      const Law *law = g_ptr_array_index(panel->laws, l);
      if (!is_drawn(sample) || !sample_same_curve(law->key, sample))
        continue;
      size[0] = MIN(size[0], sample->size);
      size[1] = MAX(size[1], sample->size);
      time_s[0] = MIN(time_s[0], sample->median_s);
      time_s[1] = MAX(time_s[1], sample->median_s);
    }
  static const double margin = 0.05; /* decades */
  panel->x = (Axis){ log10(size[0]) - margin, log10(size[1]) + margin, LEFT, RIGHT };
  panel->y =
    (Axis){ floor(log10(time_s[0])), ceil(log10(time_s[1])), top + PANEL_HEIGHT, top };
  if (panel->y.high <= panel->y.low)
    panel->y.high = panel->y.low + 1;
}

/* Powers of 32 are round in bytes; of ten in operations. */
static void append_ticks(const Panel *panel, SampleAxis axis, double top, GString *out)
{
  const double step = axis == SAMPLE_BYTES ? 32 : 10;

  for (double size = 1; log10(size) <= panel->x.high; size *= step) {
    if (log10(size) < panel->x.low)
      continue;
    g_autofree char *label =
      axis == SAMPLE_BYTES ? units_show_bytes(size, 3) : g_strdup_printf("%.3g", size);
    draw_line(out, "grid", place(&panel->x, size), top, place(&panel->x, size),
              top + PANEL_HEIGHT);
    draw_text(out, "tick", ANCHOR_MIDDLE, place(&panel->x, size), top + PANEL_HEIGHT + 16,
              label);
  }
  for (double power = panel->y.low; power <= panel->y.high; power++) {
    g_autofree char *label = units_show_seconds(exp10(power), 3);
    draw_line(out, "grid", LEFT, place(&panel->y, exp10(power)), RIGHT,
              place(&panel->y, exp10(power)));
    draw_text(out, "tick", ANCHOR_END, LEFT - 8, place(&panel->y, exp10(power)) + 4, label);
  }
}

static void append_law(const Panel *panel, guint index, GString *out)
{
  const Law *law = g_ptr_array_index(panel->laws, index);
  const double from = MAX(law->valid_from, exp10(panel->x.low));
  g_autoptr(GString) path = g_string_new(NULL);
  g_autofree char *class = g_strdup_printf("c%u", index % N_COLOURS);

  for (guint i = 0; i <= N_POINTS; i++) {
    const double size = from * pow(law->valid_to / from, (double)i / N_POINTS);
    const double time_s = law_formula_s(law, size, 0, 0);
    const double y = CLAMP(log10(time_s), panel->y.low, panel->y.high);
    draw_path_to(path, i == 0 ? 'M' : 'L', place(&panel->x, size),
                 place(&panel->y, exp10(y)));
  }
  draw_path(out, class, path);
}

static void append_dots(const Panel *panel, guint index, GString *out)
{
  const Law *law = g_ptr_array_index(panel->laws, index);
  g_autofree char *class = g_strdup_printf("d%u", index % N_COLOURS);

  for (guint i = 0; i < panel->profile->samples->len; i++) {
    const Sample *sample = g_ptr_array_index(panel->profile->samples, i);
    if (!is_drawn(sample) || !sample_same_curve(law->key, sample))
      continue;
    g_autofree char *time = units_show_seconds(sample->median_s, 4);
    g_autofree char *title = g_strdup_printf("%s: %.6g %s, %s", law->id, sample->size,
                                             sample_axis_name(sample->axis), time);
    draw_titled_rect(out, class, place(&panel->x, sample->size) - DOT / 2,
                     place(&panel->y, sample->median_s) - DOT / 2, DOT, DOT, title);
  }
}

/* What follows the probe in its id. */
static void append_name(const Panel *panel, guint index, double top, GString *out)
{
  const Law *law = g_ptr_array_index(panel->laws, index);
  const char *slash = strchr(law->id, '/');
  g_autofree char *class = g_strdup_printf("d%u", index % N_COLOURS);
  const double y = top + 12 + 20 * index;

  if (index >= N_NAMES)
    return;
  draw_rect(out, class, RIGHT + 20, y - 8, 10, 10);
  draw_text(out, "tick", ANCHOR_START, RIGHT + 36, y + 1,
            slash == NULL ? law->id : slash + 1);
}

static void append_panel(Panel *panel, double top, GString *out)
{
  const Law *first = g_ptr_array_index(panel->laws, 0);

  draw_text(out, "heading", ANCHOR_START, LEFT, top - 12, first->key->probe);
  fit_axes(panel, top);
  if (!(isfinite(panel->x.low) && isfinite(panel->y.high)))
    return;
  append_ticks(panel, first->key->axis, top, out);
  for (guint i = 0; i < panel->laws->len; i++) {
    append_law(panel, i, out);
    append_dots(panel, i, out);
    append_name(panel, i, top, out);
  }
}

static bool is_of_panel(const Law *law, const Law *first)
{
  return law->form != LAW_HOPS && law->valid_to > law->valid_from &&
         law->key->axis == first->key->axis &&
         strcmp(law->key->probe, first->key->probe) == 0;
}

/* A law begins a panel unless one before it has it already. */
static GPtrArray *laws_of_panel(const Profile *profile, guint first)
{
  GPtrArray *laws = g_ptr_array_new();
  const Law *law = g_ptr_array_index(profile->laws, first);

  for (guint i = 0; i < profile->laws->len; i++) {
    Law *other = g_ptr_array_index(profile->laws, i);
    if (!is_of_panel(other, law))
      continue;
    if (i < first) {
      g_ptr_array_set_size(laws, 0);
      return laws;
    }
    g_ptr_array_add(laws, other);
  }
  return laws;
}

void calibrate_plot(const Profile *profile, GString *out)
{
  g_autoptr(GString) panels = g_string_new(NULL);
  g_autofree char *title = g_strdup_printf("Profile %s: samples and laws", profile->id);
  double top = TOP;

  for (guint i = 0; i < profile->laws->len; i++) {
    g_autoptr(GPtrArray) laws = laws_of_panel(profile, i);
    Panel panel = { .profile = profile, .laws = laws };
    if (laws->len == 0)
      continue;
    append_panel(&panel, top, panels);
    top += PANEL_HEIGHT + PANEL_GAP;
  }
  draw_begin(out, WIDTH, top);
  g_string_append(out, series_style);
  draw_text(out, "title", ANCHOR_START, LEFT, 40, title);
  g_string_append(out, panels->str);
  draw_end(out);
}
