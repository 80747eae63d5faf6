/**
 * @file text.c
 * @brief The report that people read on a terminal: one job.
 *
 * compare.c has the table of several.
 */
#include "sim/output/text.h"

#include "models/topology.h"
#include "sim/output/output.h"
#include "sim/output/show.h"

#include <math.h>
#include <string.h>

#define LABEL_WIDTH 22
#define BAR_WIDTH 72

void text_paint(GString *out, bool colour, const char *code, const char *text)
{
  if (colour)
    g_string_append_printf(out, "\033[%sm%s\033[0m", code, text);
  else
    g_string_append(out, text);
}

static void append_row(GString *out, const char *label, const char *value)
{
  g_string_append(out, "  ");
  show_left(out, label, LABEL_WIDTH);
  show_hanging(out, 2 + LABEL_WIDTH, value);
}

static void append_title(const Result *result, bool colour, GString *out)
{
  g_autofree char *name = show_plain(result->name);
  g_autofree char *model = show_plain(result->model);
  g_autofree char *gpu = show_plain(result->gpu);
  g_autofree char *strategy = show_plain(result->strategy);
  g_autofree char *library = show_plain(result->library);
  g_autofree char *n_parameters = show_number((double)result->n_parameters / 1e6, 4);
  g_autofree char *size = show_bytes(result->gradient_B);
  g_autofree char *n_gpus = show_number(result->n_gpus, 10);
  g_autofree char *n_nodes = show_number(result->n_nodes, 10);

  text_paint(out, colour, TEXT_BOLD, name);
  g_autofree char *job =
    g_strdup_printf("%s (%s M parameters, %s of gradients), %u samples per GPU", model,
                    n_parameters, size, result->batch_per_gpu);
  g_autofree char *place =
    g_strdup_printf("%s %s GPU%s in %s node%s; strategy %s, library %s", n_gpus, gpu,
                    result->n_gpus == 1 ? "" : "s", n_nodes,
                    result->n_nodes == 1 ? "" : "s", strategy, library);
  g_string_append_c(out, '\n');
  show_paragraph(out, 2, job);
  show_paragraph(out, 2, place);
  if (result->algorithm != NULL && *result->algorithm != '\0') {
    g_autofree char *algorithm = show_plain(result->algorithm);
    g_autofree char *units = show_number(result->units_per_iteration, 4);
    g_string_append_printf(out, "  %s by %s, %s message%s per iteration\n",
                           result_is_coded(result) ? "exchange" : "all-reduce", algorithm,
                           units, result->units_per_iteration == 1 ? "" : "s");
  }
  g_string_append_c(out, '\n');
}

static void append_times(const Result *result, GString *out)
{
  g_autofree char *time = show_time(result->iteration_time_s);
  g_autofree char *rate = show_number(result->throughput_samples_per_s, 4);
  g_autofree char *own_rate = show_number(result->throughput_per_gpu_samples_per_s, 4);
  g_autofree char *half = show_time(result->iteration_time_half_s);
  g_autofree char *half_rate = show_number(result->throughput_half_samples_per_s, 3);
  const bool spread = result->replicas > 1;

  g_autofree char *time_row =
    spread ? g_strdup_printf("%s +/- %s (95 %% interval of %u replicas)", time, half,
                             result->replicas)
           : g_strdup(time);
  g_autofree char *rate_row =
    spread ? g_strdup_printf("%s +/- %s samples/s (%s per GPU)", rate, half_rate, own_rate)
           : g_strdup_printf("%s samples/s (%s per GPU)", rate, own_rate);
  append_row(out, "iteration time", time_row);
  append_row(out, "throughput", rate_row);
}

static void append_shares(const Result *result, GString *out)
{
  g_autofree char *efficiency = show_share(result->scaling_efficiency);
  g_autofree char *compute = show_time(result->compute_time_s);
  g_autofree char *utilisation = show_share(result->gpu_utilisation);
  g_autofree char *busy = show_share(result->comm_busy_share);
  g_autofree char *exposed = show_share(result->comm_exposed_share);
  g_autofree char *source = show_plain(result->compute_source);
  g_autofree char *compute_row = g_strdup_printf("%s per iteration (%s)", compute, source);
  g_autofree char *busy_row = g_strdup_printf("%s of the time, %s exposed", busy, exposed);

  append_row(out, "scaling efficiency", efficiency);
  append_row(out, "compute time", compute_row);
  append_row(out, "GPU utilisation", utilisation);
  append_row(out, "communication busy", busy_row);
}

/* Of servers that do not wait for all. */
static void append_staleness(const Result *result, GString *out)
{
  if (!(result->staleness_updates > 0))
    return;
  g_autofree char *row = g_strdup_printf(
    "%.1f updates by others between a node's pull and push; %.0f iteration%s ahead",
    result->staleness_updates, result->staleness_iterations,
    result->staleness_iterations == 1 ? "" : "s");
  append_row(out, "staleness", row);
}

static void append_latency(const Result *result, GString *out)
{
  g_autofree char *p50 = show_time(result->latency_p50_s);
  g_autofree char *p95 = show_time(result->latency_p95_s);
  g_autofree char *p99 = show_time(result->latency_p99_s);
  g_autofree char *row =
    g_strdup_printf("%s median, %s 95th, %s 99th percentile", p50, p95, p99);

  if (result->latency_p99_s > 0)
    append_row(out, "gradient latency", row);
  if (result->retransmission_rate > 0) {
    g_autofree char *rate = show_share(result->retransmission_rate);
    append_row(out, "retransmissions", rate);
  }
  append_staleness(result, out);
}

/* Accuracy is quoted, never simulated. */
static void append_codec(const Result *result, GString *out)
{
  if (!result_is_coded(result))
    return;
  g_autofree char *codec = show_plain(result->codec);
  g_autofree char *before = show_bytes(result->gradient_B);
  g_autofree char *after = show_bytes(result->message_B);
  g_autofree char *times = show_number(result->gradient_B / result->message_B, 3);
  g_autofree char *row =
    g_strdup_printf("%s: %s become %s of messages, 1/%s", codec, before, after, times);

  append_row(out, "compression", row);
}

/* Of a strategy that chooses codecs. */
static void append_decisions(const Result *result, GString *out)
{
  if (result->tuned != NULL) {
    g_autofree char *tuned = show_plain(result->tuned);
    append_row(out, "tuned to", tuned);
  }
  for (guint i = 0; i < result->decisions->len; i++) {
    const Decision *decision = &g_array_index(result->decisions, Decision, i);
    g_autofree char *codec = show_plain(decision->codec);
    g_autofree char *algorithm = show_plain(decision->algorithm);
    g_autofree char *messages = show_number(decision->messages, 4);
    g_autofree char *size = show_bytes(decision->size_B);
    g_autofree char *row =
      g_strdup_printf("%s by %s: %s message%s, %s", codec, algorithm, messages,
                      decision->messages == 1 ? "" : "s", size);
    append_row(out, i == 0 ? "chosen" : "", row);
  }
  if (result->n_redecisions > 0) {
    g_autofree char *times =
      g_strdup_printf("%u time%s, as measured times drifted", result->n_redecisions,
                      result->n_redecisions == 1 ? "" : "s");
    append_row(out, "chosen anew", times);
  }
}

static void append_note(const Result *result, GString *out)
{
  if (!result_is_coded(result) || result->codec_note == NULL || *result->codec_note == '\0')
    return;
  g_autofree char *text =
    g_strconcat("Accuracy is not simulated. Published: ", result->codec_note, NULL);
  g_string_append_c(out, '\n');
  show_paragraph(out, 2, text);
}

static void append_memory(const Result *result, bool colour, GString *out)
{
  if (result->memory_capacity_B <= 0)
    return;
  const bool fits = result->memory_used_B <= result->memory_capacity_B;
  const double left_B = fabs(result->memory_capacity_B - result->memory_used_B);
  g_autofree char *used = show_bytes(result->memory_used_B);
  g_autofree char *capacity = show_bytes(result->memory_capacity_B);
  g_autofree char *left = show_bytes(left_B);

  g_string_append(out, "  ");
  show_left(out, "memory per GPU", LABEL_WIDTH);
  g_string_append_printf(out, "%s of %s: ", used, capacity);
  g_autofree char *verdict =
    g_strdup_printf(fits ? "%s left" : "DOES NOT FIT, %s too much", left);
  text_paint(out, colour && !fits, TEXT_RED, verdict);
  if (result->max_batch_per_gpu > 0)
    g_string_append_printf(out, "; up to %u samples fit\n", result->max_batch_per_gpu);
  else
    g_string_append(out, "; not even one sample fits\n");
}

/* @p n times @p c, painted. */
static void append_run(GString *out, bool colour, const char *code, char c, guint n)
{
  g_autofree char *text = g_strnfill(n, c);

  if (n > 0)
    text_paint(out, colour, code, text);
}

void text_bar(const Result *result, bool colour, guint width, GString *out)
{
  const TimeSplit split = show_time_split(result);
  const guint end_alone = (guint)lround(split.alone * width);
  const guint end_hidden = (guint)lround((split.alone + split.hidden) * width);

  g_string_append_c(out, '[');
  append_run(out, colour, TEXT_GREEN, '#', end_alone);
  append_run(out, colour, TEXT_BLUE, '=', end_hidden - end_alone);
  append_run(out, colour, TEXT_RED, '!', width - end_hidden);
  g_string_append_c(out, ']');
}

static void append_split(const Result *result, bool colour, GString *out)
{
  const TimeSplit split = show_time_split(result);
  g_autofree char *alone = show_share(split.alone);
  g_autofree char *hidden = show_share(split.hidden);
  g_autofree char *exposed = show_share(split.exposed);

  g_string_append(out, "\n  Where the time of an iteration goes\n  ");
  text_bar(result, colour, BAR_WIDTH, out);
  g_string_append_printf(out,
                         "\n  # compute %s   = compute that hides communication %s   "
                         "! GPUs wait %s\n",
                         alone, hidden, exposed);
}

static void append_stages(const Result *result, GString *out)
{
  double busy_s = 0;

  for (guint i = 0; i < result->stages->len; i++)
    busy_s += g_array_index(result->stages, StageUse, i).busy_s;
  if (busy_s == 0)
    return;
  g_string_append(out, "\n  Stage                 busy per iteration\n");
  for (guint i = 0; i < result->stages->len; i++) {
    const StageUse *stage = &g_array_index(result->stages, StageUse, i);
    g_autofree char *name = show_plain(stage->name);
    g_autofree char *busy = show_time(stage->busy_s);
    append_row(out, name, busy);
  }
}

/* Steps of one name of the path: how many, and their time. */
static guint sum_steps(const Result *result, const char *name, double *sum_s)
{
  guint n = 0;

  *sum_s = 0;
  for (guint i = 0; i < result->path->len; i++) {
    const PathStep *step = &g_array_index(result->path, PathStep, i);
    if (strcmp(step->name, name) != 0)
      continue;
    *sum_s += step->end_s - step->start_s;
    n++;
  }
  return n;
}

/* "compute 121 ms, then all_reduce 52 ms in 3 steps, ...": in the order of their begins. */
static void append_path(const Result *result, GString *out)
{
  g_autoptr(GString) sentence = g_string_new("Critical path: ");
  g_autoptr(GPtrArray) told = g_ptr_array_new();

  for (guint i = 0; i < result->path->len; i++) {
    char *name = g_array_index(result->path, PathStep, i).name;
    double sum_s;
    if (g_ptr_array_find_with_equal_func(told, name, g_str_equal, NULL))
      continue;
    const guint n = sum_steps(result, name, &sum_s);
    g_autofree char *plain = show_plain(name);
    g_autofree char *time = show_time(sum_s);
    g_string_append_printf(sentence, "%s%s %s", told->len > 0 ? ", " : "", plain, time);
    if (n > 1)
      g_string_append_printf(sentence, " in %u steps", n);
    g_ptr_array_add(told, name);
  }
  if (result->path->len < 2)
    return;
  g_string_append_c(sentence, '.');
  g_string_append_c(out, '\n');
  show_paragraph(out, 2, sentence->str);
}

static void append_links(const Result *result, GString *out)
{
  if (result->links->len == 0)
    return;
  g_string_append(out, "\n  Links                    count      mean      peak\n");
  for (guint i = 0; i < result->links->len; i++) {
    const LinkUse *use = &g_array_index(result->links, LinkUse, i);
    g_autofree char *count = show_number(use->n_links, 10);
    g_autofree char *mean = show_share(use->mean);
    g_autofree char *peak = show_share(use->peak);
    g_string_append(out, "  ");
    show_left(out, topology_tier_names[use->tier], LABEL_WIDTH - 2);
    show_right(out, count, 10);
    show_right(out, mean, 10);
    show_right(out, peak, 10);
    g_string_append_c(out, '\n');
  }
}

static void append_warnings(const Result *result, GString *out)
{
  for (guint i = 0; i < result->warnings->len; i++) {
    g_autofree char *sentence =
      g_strdup_printf("Warning: %s", (char *)g_ptr_array_index(result->warnings, i));
    g_string_append_c(out, '\n');
    show_paragraph(out, 2, sentence);
  }
}

static void append_report(const Result *result, bool colour, GString *out)
{
  g_autofree char *why = result_explain(result, NULL);

  append_title(result, colour, out);
  append_times(result, out);
  append_shares(result, out);
  append_latency(result, out);
  append_codec(result, out);
  append_decisions(result, out);
  append_memory(result, colour, out);
  append_split(result, colour, out);
  append_stages(result, out);
  append_path(result, out);
  append_links(result, out);
  append_warnings(result, out);
  g_string_append_c(out, '\n');
  show_paragraph(out, 2, why);
  append_note(result, out);
  text_constants(&result, 1, out);
}

void text_render(const Result *const *results, guint n, bool colour, GString *out)
{
  if (n == 1)
    append_report(results[0], colour, out);
  else if (n > 1)
    text_compare(results, n, colour, out);
}

static bool text_render_plain(const Result *const *results, guint n, GString *out,
                              GError **error G_GNUC_UNUSED)
{
  text_render(results, n, false, out);
  return true;
}

const OutputOps output_text = {
  .info = {
    .name = "text",
    .summary = "a report of one scenario, a comparison of several, for people",
    .source = "README.md, section \"What the numbers mean\"",
  },
  .suffix = ".txt",
  .render = text_render_plain,
  .render_timings = text_render_timings,
};
