/**
 * @file compare.c
 * @brief Several results side by side: a column each up to four, then a row each.
 */
#include "sim/output/output.h"
#include "sim/output/show.h"
#include "sim/output/text.h"

#include <string.h>

#define MAX_COLUMNS 4
#define LABEL_WIDTH 20
#define MAX_COLUMN_WIDTH 26

/* What one line of the table says of a result. */
typedef struct {
  const char *label;
  const char *short_label; /* heading of its column in the table of many; NULL: not there */
  guint width;             /* of that column */
  char *(*cell)(const Result *result, const Result *first);
} Line;

static char *cell_gpus(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_number(result->n_gpus, 10);
}

static char *cell_model(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_plain(result->model);
}

static char *cell_strategy(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_plain(result->strategy);
}

static char *cell_algorithm(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_plain(result->algorithm != NULL ? result->algorithm : "-");
}

static char *cell_time(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_time(result->iteration_time_s);
}

static char *cell_rate(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_number(result->throughput_samples_per_s, 4);
}

static char *cell_gain(const Result *result, const Result *first)
{
  if (first->throughput_samples_per_s <= 0)
    return g_strdup("-");
  return show_ratio(result->throughput_samples_per_s / first->throughput_samples_per_s);
}

static char *cell_busy(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_share(result->comm_busy_share);
}

static char *cell_exposed(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_share(result->comm_exposed_share);
}

static char *cell_utilisation(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_share(result->gpu_utilisation);
}

static char *cell_efficiency(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_share(result->scaling_efficiency);
}

static char *cell_memory(const Result *result, const Result *first G_GNUC_UNUSED)
{
  if (result->memory_capacity_B <= 0)
    return g_strdup("-");
  return show_share(result->memory_used_B / result->memory_capacity_B);
}

static char *cell_bottleneck(const Result *result, const Result *first G_GNUC_UNUSED)
{
  return show_plain(result->bottleneck != NULL ? result->bottleneck : "-");
}

static const Line lines[] = {
  { "GPUs", "GPUs", 9, cell_gpus },
  { "model", NULL, 0, cell_model },
  { "strategy", NULL, 0, cell_strategy },
  { "all-reduce", NULL, 0, cell_algorithm },
  { "iteration time", "iteration", 10, cell_time },
  { "samples/s", "samples/s", 12, cell_rate },
  { "against the first", "gain", 9, cell_gain },
  { "communication busy", "busy", 8, cell_busy },
  { "GPUs wait (exposed)", "exposed", 8, cell_exposed },
  { "GPU utilisation", "GPU use", 8, cell_utilisation },
  { "scaling efficiency", "scaling", 8, cell_efficiency },
  { "memory used", NULL, 0, cell_memory },
  { "bound by", NULL, 0, cell_bottleneck },
};

/* Cut @p name into pieces of at most @p width characters, after a '-' where there is one:
 * names often differ at their ends, so none is left out. */
static GPtrArray *name_pieces(const char *name, guint width)
{
  GPtrArray *pieces = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *plain = show_plain(name);
  const char *rest = plain;

  while (g_utf8_strlen(rest, -1) > (glong)width) {
    glong cut = width;
    for (glong i = 1; i <= (glong)width; i++)
      if (strchr("-_./ ", *g_utf8_offset_to_pointer(rest, i - 1)) != NULL)
        cut = i;
    const char *end = g_utf8_offset_to_pointer(rest, cut);
    g_ptr_array_add(pieces, g_strndup(rest, (gsize)(end - rest)));
    rest = end;
  }
  g_ptr_array_add(pieces, g_strdup(rest));
  return pieces;
}

static void append_names(const Result *const *results, guint n, guint width, bool colour,
                         GString *out)
{
  g_autoptr(GPtrArray) names =
    g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
  guint n_lines = 0;

  for (guint i = 0; i < n; i++) {
    GPtrArray *pieces = name_pieces(results[i]->name, width - 2);
    n_lines = MAX(n_lines, pieces->len);
    g_ptr_array_add(names, pieces);
  }
  for (guint line = 0; line < n_lines; line++) {
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
      const GPtrArray *pieces = g_ptr_array_index(names, i);
      show_right(text, line < pieces->len ? g_ptr_array_index(pieces, line) : "", width);
    }
    g_string_append(out, "  ");
    show_left(out, "", LABEL_WIDTH);
    text_paint(out, colour, TEXT_BOLD, text->str);
    g_string_append_c(out, '\n');
  }
}

static void append_cell(GString *out, const Line *line, const Result *result,
                        const Result *first, const Result *best, guint width, bool colour)
{
  const bool wins = line->cell == cell_rate && result == best;
  g_autofree char *cell = line->cell(result, first);
  g_autoptr(GString) text = g_string_new(NULL);

  if (wins) {
    g_autofree char *marked = g_strconcat("* ", cell, NULL);
    show_right(text, marked, width);
  } else {
    show_right(text, cell, width);
  }
  if (wins)
    text_paint(out, colour, TEXT_GREEN, text->str);
  else
    g_string_append(out, text->str);
}

static void append_columns(const Result *const *results, guint n, bool colour, GString *out)
{
  const guint width = MIN(MAX_COLUMN_WIDTH, (SHOW_WIDTH - LABEL_WIDTH - 2) / n);
  const Result *best = show_best(results, n);

  append_names(results, n, width, colour, out);
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
    g_string_append(out, "  ");
    show_left(out, lines[i].label, LABEL_WIDTH);
    for (guint j = 0; j < n; j++)
      append_cell(out, &lines[i], results[j], results[0], best, width, colour);
    g_string_append_c(out, '\n');
  }
}

/* @p name in at most @p width characters; what is left out is its middle. */
static char *shortened(const char *name, guint width)
{
  g_autofree char *plain = show_plain(name);
  const glong length = g_utf8_strlen(plain, -1);
  const glong tail = (width - 2) * 2 / 3;

  if (length <= (glong)width)
    return g_steal_pointer(&plain);
  g_autofree char *head = g_utf8_substring(plain, 0, (glong)width - 2 - tail);
  return g_strconcat(head, "..", g_utf8_offset_to_pointer(plain, length - tail), NULL);
}

static void append_rows(const Result *const *results, guint n, bool colour, GString *out)
{
  const guint name_width = 24;
  const Result *best = show_best(results, n);
  g_autoptr(GString) heading = g_string_new("  ");

  show_left(heading, "", name_width);
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
    if (lines[i].short_label != NULL)
      show_right(heading, lines[i].short_label, lines[i].width);
  text_paint(out, colour, TEXT_BOLD, heading->str);
  g_string_append_c(out, '\n');

  for (guint j = 0; j < n; j++) {
    g_autofree char *name = shortened(results[j]->name, name_width);
    g_string_append(out, "  ");
    show_left(out, name, name_width);
    for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
      if (lines[i].short_label != NULL)
        append_cell(out, &lines[i], results[j], results[0], best, lines[i].width, colour);
    g_string_append_c(out, '\n');
  }
}

static void append_bars(const Result *const *results, guint n, bool colour, GString *out)
{
  const guint name_width = 24;

  g_string_append(out, "\n  Where the time goes:  # compute   = compute that "
                       "hides communication   ! GPUs wait\n");
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = shortened(results[i]->name, name_width - 1);
    g_string_append(out, "  ");
    show_left(out, name, name_width);
    text_bar(results[i], colour, SHOW_WIDTH - 2 - name_width - 2, out);
    g_string_append_c(out, '\n');
  }
}

static void append_sentences(const Result *const *results, guint n, bool colour,
                             GString *out)
{
  const Result *best = show_best(results, n);

  for (guint i = 0; i < n; i++) {
    g_autofree char *name = show_plain(results[i]->name);
    g_autofree char *why = result_explain(results[i], best);
    g_string_append(out, "\n  ");
    text_paint(out, colour, TEXT_BOLD, name);
    g_string_append_c(out, '\n');
    show_paragraph(out, 4, why);
  }
}

void text_compare(const Result *const *results, guint n, bool colour, GString *out)
{
  g_autofree char *title =
    g_strdup_printf("%u scenarios (* the highest throughput)\n\n", n);

  g_string_append(out, title);
  if (n <= MAX_COLUMNS)
    append_columns(results, n, colour, out);
  else
    append_rows(results, n, colour, out);
  append_bars(results, n, colour, out);
  append_sentences(results, n, colour, out);
  text_constants(results, n, out);
}
