#include "calibrate/sample.h"

#include "sim/base/stats.h"

#include <math.h>
#include <string.h>

/* MAD times this estimates the standard deviation of a normal distribution. */
static const double mad_to_sigma = 1.4826;
static const double rejected_sigmas = 5;
/* Clocks tick: most repetitions of a short cell may be equal, and the others no outliers.
 */
static const double least_mad_share = 1e-3;
static const double noisy_share = 0.1;

const char *const source_names[] = {
  [SOURCE_MEASURED] = "measured",
  [SOURCE_IMPORTED] = "imported",
  [SOURCE_PRESET] = "preset",
  [SOURCE_EXTRAPOLATED] = "extrapolated",
  NULL,
};

/* The texts that name a cell, in the order of CSV and of sorting. */
static const size_t text_offsets[] = {
  offsetof(Sample, probe), offsetof(Sample, library), offsetof(Sample, algo),
  offsetof(Sample, proto), offsetof(Sample, dtype),   offsetof(Sample, regime),
  offsetof(Sample, place), offsetof(Sample, variant),
};

static char **text_field(Sample *sample, guint i)
{
  return (char **)(void *)((char *)sample + text_offsets[i]);
}

static const char *text_of(const Sample *sample, guint i)
{
  return *(char *const *)(const void *)((const char *)sample + text_offsets[i]);
}

Sample *sample_new(const char *probe)
{
  Sample *sample = g_new0(Sample, 1);

  for (guint i = 0; i < G_N_ELEMENTS(text_offsets); i++)
    *text_field(sample, i) = g_strdup(i == 0 ? probe : "");
  sample->ranks = 1;
  sample->nodes = 1;
  return sample;
}

Sample *sample_copy(const Sample *sample)
{
  Sample *copy = g_new(Sample, 1);

  *copy = *sample;
  for (guint i = 0; i < G_N_ELEMENTS(text_offsets); i++)
    *text_field(copy, i) = g_strdup(text_of(sample, i));
  return copy;
}

void sample_free(Sample *sample)
{
  if (sample == NULL)
    return;
  for (guint i = 0; i < G_N_ELEMENTS(text_offsets); i++)
    g_free(*text_field(sample, i));
  g_free(sample);
}

void sample_set(char **field, const char *text)
{
  char *copy = g_strdup(text == NULL ? "" : text);

  g_free(*field);
  *field = copy;
}

static void free_element(gpointer sample)
{
  sample_free(sample);
}

GPtrArray *sample_list_new(void)
{
  return g_ptr_array_new_with_free_func(free_element);
}

/* Keep those of @p sorted near the median; returns how many, moved to the front. */
static guint reject(double *sorted, guint n, double median_s, double mad_s)
{
  const double limit_s =
    rejected_sigmas * mad_to_sigma * fmax(mad_s, least_mad_share * median_s);
  guint n_kept = 0;

  for (guint i = 0; i < n; i++)
    if (fabs(sorted[i] - median_s) <= limit_s)
      sorted[n_kept++] = sorted[i];
  return n_kept;
}

static double mad_of(const double *sorted, guint n, double median_s)
{
  g_autofree double *deviation_s = g_new(double, n);

  for (guint i = 0; i < n; i++)
    deviation_s[i] = fabs(sorted[i] - median_s);
  stats_sort(deviation_s, n);
  return stats_quantile(deviation_s, n, 0.5);
}

void sample_summarise(Sample *sample, const double *time_s, guint n)
{
  g_return_if_fail(n > 0);
  g_autofree double *sorted = g_memdup2(time_s, n * sizeof *time_s);

  stats_sort(sorted, n);
  const double median_s = stats_quantile(sorted, n, 0.5);
  const guint n_kept = reject(sorted, n, median_s, mad_of(sorted, n, median_s));
  sample->n = n_kept;
  sample->n_rejected = n - n_kept;
  sample->median_s = stats_quantile(sorted, n_kept, 0.5);
  sample->mad_s = mad_of(sorted, n_kept, sample->median_s);
  sample->min_s = sorted[0];
  sample->p95_s = stats_quantile(sorted, n_kept, 0.95);
  if (sample->n_rejected > noisy_share * n)
    sample->flags |= SAMPLE_NOISY;
}

static int compare_numbers(double a, double b)
{
  return a < b ? -1 : a > b;
}

/* By everything that names the curve. */
static int compare_curves(const Sample *a, const Sample *b)
{
  for (guint i = 0; i < G_N_ELEMENTS(text_offsets); i++) {
    const int order = strcmp(text_of(a, i), text_of(b, i));
    if (order != 0)
      return order;
  }
  if (a->nodes != b->nodes)
    return a->nodes < b->nodes ? -1 : 1;
  if (a->ranks != b->ranks)
    return a->ranks < b->ranks ? -1 : 1;
  if (a->axis != b->axis)
    return (int)a->axis - (int)b->axis;
  return (int)a->source - (int)b->source;
}

bool sample_same_curve(const Sample *a, const Sample *b)
{
  return compare_curves(a, b) == 0;
}

int sample_compare(const Sample *a, const Sample *b)
{
  const int by_curve = compare_curves(a, b);

  if (by_curve != 0)
    return by_curve;
  const int by_size = compare_numbers(a->size, b->size);
  return by_size != 0 ? by_size : compare_numbers(a->median_s, b->median_s);
}

/* Quotes where CSV wants them. */
static void append_text(GString *out, const char *text)
{
  if (strpbrk(text, ",\"\r\n") == NULL) {
    g_string_append(out, text);
  } else {
    g_string_append_c(out, '"');
    for (; *text != '\0'; text++) {
      if (*text == '"')
        g_string_append_c(out, '"');
      g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
  }
  g_string_append_c(out, ',');
}

/* Nine digits; whole numbers, such as sizes, exactly. */
static void append_number(GString *out, double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append(
    out, g_ascii_formatd(text, sizeof text,
                         number == floor(number) && fabs(number) < 1e15 ? "%.0f" : "%.9g",
                         number));
  g_string_append_c(out, ',');
}

static const char *const axis_names[] = {
  [SAMPLE_BYTES] = "bytes",
  [SAMPLE_FLOPS] = "flops",
  [SAMPLE_COUNT] = "count",
};

const char *sample_axis_name(SampleAxis axis)
{
  return axis_names[axis];
}

static const char *const flag_names[] = {
  "noisy", "clocks_unknown", "throttled", "busy",
  "skew",  "rounded",        "failed",    "implausible",
};

char *sample_flag_names(guint flags, const char *separator)
{
  g_autoptr(GString) out = g_string_new(NULL);

  for (guint i = 0; i < G_N_ELEMENTS(flag_names); i++)
    if (flags & 1u << i)
      g_string_append_printf(out, "%s%s", out->len > 0 ? separator : "", flag_names[i]);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

guint sample_flag_of(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(flag_names); i++)
    if (strcmp(flag_names[i], name) == 0)
      return 1u << i;
  return 0;
}

static void append_row(const Sample *sample, GString *out)
{
  g_autofree char *flags = sample_flag_names(sample->flags, "|");
  const double times_s[] = { sample->median_s, sample->mad_s, sample->min_s,
                             sample->p95_s };

  for (guint i = 0; i < G_N_ELEMENTS(text_offsets); i++)
    append_text(out, text_of(sample, i));
  g_string_append_printf(out, "%u,%u,%s,", sample->ranks, sample->nodes,
                         axis_names[sample->axis]);
  append_number(out, sample->size);
  for (guint i = 0; i < G_N_ELEMENTS(times_s); i++)
    append_number(out, times_s[i]);
  g_string_append_printf(out, "%u,%u,", sample->n, sample->n_rejected);
  append_number(out, sample->run_spread);
  g_string_append_printf(out, "%s,%s\n", flags, source_names[sample->source]);
}

void sample_write_csv(const GPtrArray *samples, GString *out)
{
  g_string_append(out,
                  "probe,library,algo,proto,dtype,regime,place,variant,ranks,nodes,axis,"
                  "size,median_s,mad_s,min_s,p95_s,n,n_rejected,run_spread,flags,source\n");
  for (guint i = 0; i < samples->len; i++)
    append_row(g_ptr_array_index(samples, i), out);
}
