/**
 * @file constants.c
 * @brief Where the numbers of a forecast come from, in a line; the doubtful ones by name.
 */
#include "sim/output/show.h"
#include "sim/output/text.h"

#include <string.h>

typedef enum {
  ORIGIN_GIVEN,
  ORIGIN_MEASURED,
  ORIGIN_IMPORTED,
  ORIGIN_EXTRAPOLATED,
  ORIGIN_PUBLISHED,
  ORIGIN_DEFAULT,
  ORIGIN_ASSUMED,
  ORIGIN_N
} Origin;

static const char *const origin_titles[ORIGIN_N] = {
  [ORIGIN_GIVEN] = "given in the scenario",
  [ORIGIN_MEASURED] = "measured",
  [ORIGIN_IMPORTED] = "imported",
  [ORIGIN_EXTRAPOLATED] = "extrapolated",
  [ORIGIN_PUBLISHED] = "published",
  [ORIGIN_DEFAULT] = "default",
  [ORIGIN_ASSUMED] = "assumed",
};

/* "scenarios/x.json:12": a line of a file that the user wrote. */
static bool is_place(const char *source)
{
  const char *colon = strrchr(source, ':');

  return colon != NULL && colon[1] != '\0' &&
         colon[1 + strspn(colon + 1, "0123456789")] == '\0' &&
         (strstr(source, ".json:") != NULL || strchr(source, ' ') == NULL);
}

/* Anything that does not say otherwise is a publication. */
static Origin origin_of(const Constant *constant)
{
  static const struct {
    const char *prefix;
    Origin origin;
  } prefixes[] = {
    { "--set", ORIGIN_GIVEN },       { "scenario", ORIGIN_GIVEN },
    { "measured", ORIGIN_MEASURED }, { "calibration", ORIGIN_MEASURED },
    { "imported", ORIGIN_IMPORTED }, { "extrapolated", ORIGIN_EXTRAPOLATED },
    { "default", ORIGIN_DEFAULT },   { "assumed", ORIGIN_ASSUMED },
  };
  const char *source = constant->source != NULL ? constant->source : "";

  if (constant->assumed)
    return ORIGIN_ASSUMED;
  if (is_place(source))
    return ORIGIN_GIVEN;
  for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++)
    if (g_str_has_prefix(source, prefixes[i].prefix))
      return prefixes[i].origin;
  return ORIGIN_PUBLISHED;
}

static bool holds(const GPtrArray *constants, const Constant *constant)
{
  for (guint i = 0; i < constants->len; i++) {
    const Constant *other = g_ptr_array_index(constants, i);
    if (g_strcmp0(other->name, constant->name) == 0 &&
        origin_of(other) == origin_of(constant))
      return true;
  }
  return false;
}

/* The constants of all results, those of one name and origin once, in the order of the
 * results. */
static GPtrArray *distinct(const Result *const *results, guint n)
{
  GPtrArray *constants = g_ptr_array_new();

  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < results[i]->constants->len; j++) {
      Constant *constant = &g_array_index(results[i]->constants, Constant, j);
      if (!holds(constants, constant))
        g_ptr_array_add(constants, constant);
    }
  return constants;
}

static void append_counts(const GPtrArray *constants, GString *out)
{
  guint counts[ORIGIN_N] = { 0 };
  const char *separator = "\n  Constants: ";

  for (guint i = 0; i < constants->len; i++)
    counts[origin_of(g_ptr_array_index(constants, i))]++;
  for (guint origin = 0; origin < ORIGIN_N; origin++) {
    if (counts[origin] == 0)
      continue;
    g_string_append_printf(out, "%s%u %s", separator, counts[origin],
                           origin_titles[origin]);
    separator = ", ";
  }
  g_string_append_c(out, '\n');
}

/* "Title: a, b": those of one origin, if there are any. */
static void append_names(const GPtrArray *constants, Origin origin, const char *title,
                         GString *out)
{
  g_autoptr(GString) list = g_string_new(NULL);

  for (guint i = 0; i < constants->len; i++) {
    const Constant *constant = g_ptr_array_index(constants, i);
    if (origin_of(constant) != origin)
      continue;
    g_autofree char *name = show_plain(constant->name);
    g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : title, name);
  }
  if (list->len > 0)
    show_paragraph(out, 2, list->str);
}

void text_constants(const Result *const *results, guint n, GString *out)
{
  g_autoptr(GPtrArray) constants = distinct(results, n);

  if (constants->len == 0)
    return;
  append_counts(constants, out);
  append_names(constants, ORIGIN_MEASURED, "Measured: ", out);
  append_names(constants, ORIGIN_IMPORTED, "Imported from logs: ", out);
  append_names(constants, ORIGIN_EXTRAPOLATED, "Extrapolated: ", out);
  append_names(constants, ORIGIN_ASSUMED, "Assumed, check them first: ", out);
}
