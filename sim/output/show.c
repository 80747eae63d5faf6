#include "sim/output/show.h"

#include "models/topology.h"
#include "sim/base/units.h"

#include <math.h>
#include <string.h>

/* Differences of simulated times are off by this much; it is nothing to report. */
#define ROUNDING 1e-9

char *show_time(double time_s)
{
  return time_s == 0 ? g_strdup("0 s") : units_show_seconds(time_s, 4);
}

char *show_bytes(double size_B)
{
  return units_show_bytes(size_B, 3);
}

char *show_share(double share)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (share < ROUNDING || fabs(share - 1) < ROUNDING)
    return g_strdup(share < ROUNDING ? "0 %" : "100 %");
  if (share < 0.0005)
    return g_strdup("< 0.1 %");
  g_ascii_formatd(text, sizeof text, "%.1f", share * 100);
  return g_strconcat(text, " %", NULL);
}

char *show_ratio(double ratio)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd(text, sizeof text,
                  ratio < 0.1   ? "%.2g"
                  : ratio < 100 ? "%.2f"
                                : "%.0f",
                  ratio);
  return g_strconcat(text, " x", NULL);
}

/* "1234567" -> "1,234,567" */
static char *group_thousands(const char *digits)
{
  const gsize n = strlen(digits);
  GString *out = g_string_new(NULL);

  for (gsize i = 0; i < n; i++) {
    if (i > 0 && (n - i) % 3 == 0)
      g_string_append_c(out, ',');
    g_string_append_c(out, digits[i]);
  }
  return g_string_free(out, FALSE);
}

char *show_number(double number, guint digits)
{
  char text[512];
  char format[8];

  g_snprintf(format, sizeof format, "%%.%ug", digits);
  g_ascii_formatd(text, sizeof text, format, number);
  const double rounded = g_ascii_strtod(text, NULL);
  if (rounded < 1000)
    return g_strdup(text);
  g_ascii_formatd(text, sizeof text, "%.0f", rounded);
  return group_thousands(text);
}

static guint tier_of(const char *name)
{
  guint tier = 0;

  while (tier < TIER_N && strcmp(topology_tier_names[tier], name) != 0)
    tier++;
  return tier;
}

bool show_is_tier(const char *name)
{
  return tier_of(name) < TIER_N;
}

const char *show_tier(const char *name)
{
  static const char *const titles[TIER_N] = {
    [TIER_NVLINK] = "NVLink ports",
    [TIER_PCIE] = "PCIe links",
    [TIER_HOST] = "host memory and socket links",
    [TIER_NIC] = "NICs",
    [TIER_LEAF_UPLINK] = "leaf uplinks",
    [TIER_CORE_UPLINK] = "core uplinks",
    [TIER_TORUS] = "torus links",
    [TIER_LOCAL_LINK] = "links inside the groups",
    [TIER_GLOBAL_LINK] = "links between the groups",
    [TIER_SERVER] = "servers' CPUs",
    [TIER_FABRIC] = "links of the fabric",
  };
  const guint tier = tier_of(name);

  return tier < TIER_N ? titles[tier] : name;
}

char *show_plain(const char *text)
{
  g_autofree char *valid = g_utf8_make_valid(text != NULL ? text : "?", -1);
  GString *out = g_string_new(NULL);

  for (const char *c = valid; *c != '\0'; c = g_utf8_next_char(c)) {
    const gunichar code = g_utf8_get_char(c);
    g_string_append_unichar(out, g_unichar_iscntrl(code) ? '?' : code);
  }
  return g_string_free(out, FALSE);
}

/* Columns on a terminal. */
static guint text_width(const char *text)
{
  guint width = 0;

  for (const char *c = text; *c != '\0'; c = g_utf8_next_char(c)) {
    const gunichar code = g_utf8_get_char(c);
    width += g_unichar_iszerowidth(code) ? 0 : g_unichar_iswide(code) ? 2 : 1;
  }
  return width;
}

static void append_blanks(GString *out, guint n)
{
  for (guint i = 0; i < n; i++)
    g_string_append_c(out, ' ');
}

void show_left(GString *out, const char *text, guint width)
{
  const guint used = text_width(text);

  g_string_append(out, text);
  append_blanks(out, width > used ? width - used : 0);
}

void show_right(GString *out, const char *text, guint width)
{
  const guint used = text_width(text);

  append_blanks(out, width > used ? width - used : 0);
  g_string_append(out, text);
}

void show_hanging(GString *out, guint indent, const char *text)
{
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  guint column = indent;

  for (guint i = 0; words[i] != NULL; i++) {
    const guint width = text_width(words[i]);
    /* A number keeps its percent sign. */
    const bool leads = words[i + 1] != NULL && words[i + 1][0] == '%';
    const guint needed = leads ? width + 1 + text_width(words[i + 1]) : width;
    if (i > 0 && (words[i][0] == '%' || column + 1 + needed <= SHOW_WIDTH)) {
      g_string_append_c(out, ' ');
      column++;
    } else if (i > 0) {
      g_string_append_c(out, '\n');
      append_blanks(out, indent);
      column = indent;
    }
    g_string_append(out, words[i]);
    column += width;
  }
  g_string_append_c(out, '\n');
}

void show_paragraph(GString *out, guint indent, const char *text)
{
  append_blanks(out, indent);
  show_hanging(out, indent, text);
}

TimeSplit show_time_split(const Result *result)
{
  const double exposed = CLAMP(result->comm_exposed_share, 0, 1);
  const double hidden = CLAMP(result->comm_busy_share - exposed, 0, 1 - exposed);

  return (TimeSplit){
    .alone = 1 - exposed - hidden,
    .hidden = hidden,
    .exposed = exposed,
  };
}

const Result *show_best(const Result *const *results, guint n)
{
  const Result *best = n > 0 ? results[0] : NULL;

  for (guint i = 1; i < n; i++)
    if (results[i]->throughput_samples_per_s > best->throughput_samples_per_s)
      best = results[i];
  return best;
}
