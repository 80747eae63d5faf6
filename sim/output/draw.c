#include "sim/output/draw.h"

#include "sim/output/emit.h"

/* Blues compute, orange and sand communicate, red waits, green is the use of links: the
 * hues also differ in lightness, for those who do not see all of them. */
static const char style_sheet[] =
  "text{font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;"
  "font-size:12px;fill:#3b4452}\n"
  "rect{shape-rendering:crispEdges}\n"
  ".title{font-size:20px;font-weight:bold;fill:#1d2430}\n"
  ".heading{font-size:14px;font-weight:bold;fill:#1d2430}\n"
  ".figure{font-size:14px;fill:#1d2430}\n"
  ".note{fill:#6b7583}\n"
  ".tick{font-size:11px;fill:#6b7583}\n"
  ".inside{font-size:11px;fill:#ffffff}\n"
  ".inside-dark{font-size:11px;fill:#1d2430}\n"
  ".page{fill:#ffffff}\n"
  ".lane{fill:#f1f3f5}\n"
  ".grid{stroke:#dde1e6;stroke-width:1}\n"
  ".rule{stroke:#c5cbd3;stroke-width:1}\n"
  ".forward{fill:#8fbbe0}\n"
  ".backward{fill:#2d6ca8}\n"
  ".compute{fill:#5e93c4}\n"
  ".alone{fill:#7fa3c7}\n"
  ".hiding{fill:#3f5f82}\n"
  ".transfer{fill:#e2862f}\n"
  ".stage{fill:#f0c795}\n"
  ".wait{fill:#eda79d}\n"
  ".use{fill:#5aa897}\n"
  ".curve{fill:none;stroke:#2d6ca8;stroke-width:2}\n"
  ".floor{fill:none;stroke:#6b7583;stroke-width:1.5;stroke-dasharray:5 4}\n"
  ".dot{fill:#2d6ca8}\n";

void draw_begin(GString *out, double width, double height)
{
  g_string_append(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"");
  emit_fixed(out, width, 0);
  g_string_append(out, "\" height=\"");
  emit_fixed(out, height, 0);
  g_string_append(out, "\" viewBox=\"0 0 ");
  emit_fixed(out, width, 0);
  g_string_append_c(out, ' ');
  emit_fixed(out, height, 0);
  g_string_append_printf(out, "\">\n<style>\n%s</style>\n", style_sheet);
  draw_rect(out, "page", 0, 0, width, height);
}

void draw_end(GString *out)
{
  g_string_append(out, "</svg>\n");
}

static void attribute(GString *out, const char *name, double value)
{
  g_string_append_printf(out, " %s=\"", name);
  emit_fixed(out, value, 2);
  g_string_append_c(out, '"');
}

static void append_escaped(GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid(text, -1);

  /* XML 1.0 has no control characters, not even as references. */
  for (char *c = valid; *c != '\0'; c++)
    if (g_ascii_iscntrl(*c))
      *c = ' ';
  g_autofree char *escaped = g_markup_escape_text(valid, -1);
  g_string_append(out, escaped);
}

static void open_rect(GString *out, const char *class, double x, double y, double width,
                      double height)
{
  g_string_append_printf(out, "<rect class=\"%s\"", class);
  attribute(out, "x", x);
  attribute(out, "y", y);
  attribute(out, "width", width);
  attribute(out, "height", height);
}

void draw_rect(GString *out, const char *class, double x, double y, double width,
               double height)
{
  open_rect(out, class, x, y, width, height);
  g_string_append(out, "/>\n");
}

void draw_titled_rect(GString *out, const char *class, double x, double y, double width,
                      double height, const char *title)
{
  open_rect(out, class, x, y, width, height);
  g_string_append(out, "><title>");
  append_escaped(out, title);
  g_string_append(out, "</title></rect>\n");
}

void draw_line(GString *out, const char *class, double x1, double y1, double x2, double y2)
{
  g_string_append_printf(out, "<line class=\"%s\"", class);
  attribute(out, "x1", x1);
  attribute(out, "y1", y1);
  attribute(out, "x2", x2);
  attribute(out, "y2", y2);
  g_string_append(out, "/>\n");
}

void draw_text(GString *out, const char *class, Anchor anchor, double x, double y,
               const char *text)
{
  static const char *const anchors[] = {
    [ANCHOR_START] = "start",
    [ANCHOR_MIDDLE] = "middle",
    [ANCHOR_END] = "end",
  };

  g_string_append_printf(out, "<text class=\"%s\" text-anchor=\"%s\"", class,
                         anchors[anchor]);
  attribute(out, "x", x);
  attribute(out, "y", y);
  g_string_append_c(out, '>');
  append_escaped(out, text);
  g_string_append(out, "</text>\n");
}

void draw_path_to(GString *path, char command, double x, double y)
{
  g_string_append_c(path, command);
  emit_fixed(path, x, 2);
  g_string_append_c(path, ' ');
  emit_fixed(path, y, 2);
}

void draw_path(GString *out, const char *class, const GString *path)
{
  g_string_append_printf(out, "<path class=\"%s\" d=\"%s\"/>\n", class, path->str);
}

double draw_text_width(const char *text, double size)
{
  /* Helvetica's letters and digits are 0.55 em wide on average. */
  return 0.55 * size * (double)g_utf8_strlen(text, -1);
}
