/* Which samples make which law. */
#include "calibrate/fit.h"

#include "calibrate/hops.h"

#include <math.h>
#include <string.h>

/* Two rows of one size that differ by more: something else ran, keep the quicker. */
static const double wild_ratio = 1.5;

/* Probes whose times are no messages. */
static const struct {
  const char *probe;
  LawForm form;
} forms[] = {
  { "gemm", LAW_SATURATION },
  { "contention", LAW_CONTENTION },
  { "launch", LAW_FLOOR },
  { "memcpy", LAW_FLOOR },
  { "reduce_local", LAW_FLOOR },
  { "cast", LAW_FLOOR },
  { "onebit_encode", LAW_FLOOR },
  { "onebit_decode", LAW_FLOOR },
  { "topk_encode", LAW_FLOOR },
  { "topk_decode", LAW_FLOOR },
  { "randomk_encode", LAW_FLOOR },
  { "randomk_decode", LAW_FLOOR },
  { "powersgd_encode", LAW_FLOOR },
  { "d2d", LAW_FLOOR },
  { "h2d", LAW_FLOOR },
  { "d2h", LAW_FLOOR },
};

static LawForm form_of(const Sample *sample)
{
  for (guint i = 0; i < G_N_ELEMENTS(forms); i++)
    if (strcmp(forms[i].probe, sample->probe) == 0)
      return forms[i].form;
  /* "reduce" is also a collective: on one rank it is the device's own sum. */
  return sample->ranks == 1 ? LAW_FLOOR : LAW_PIECEWISE;
}

static gint compare_points(gconstpointer a, gconstpointer b)
{
  const LawKnot *one = a, *other = b;

  if (one->size != other->size)
    return one->size < other->size ? -1 : 1;
  return one->time_s < other->time_s ? -1 : one->time_s > other->time_s;
}

/* Cuts are sought among all pairs of points: many runs of a size become one median, and of
 * very many sizes some are enough. */
static void thin_out(GArray *points)
{
  enum { ENOUGH = 256 };
  guint n = 0;

  for (guint first = 0, last = 0; points->len > ENOUGH && first < points->len;
       first = last + 1) {
    const LawKnot knot = g_array_index(points, LawKnot, first);
    for (last = first; last + 1 < points->len &&
                       g_array_index(points, LawKnot, last + 1).size == knot.size;)
      last++;
    g_array_index(points, LawKnot, n++) =
      g_array_index(points, LawKnot, (first + last) / 2);
  }
  if (n > 0)
    g_array_set_size(points, n);
  const guint step = (points->len + ENOUGH - 1) / ENOUGH;
  for (n = 0; n * step < points->len && step > 1; n++)
    g_array_index(points, LawKnot, n) = g_array_index(points, LawKnot, n * step);
  if (step > 1)
    g_array_set_size(points, n);
}

GArray *fit_points(const GPtrArray *samples)
{
  GArray *points = g_array_new(FALSE, FALSE, sizeof(LawKnot));
  guint n = 0;

  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    const LawKnot point = { sample->size, sample->median_s };
    if (!(sample->flags & SAMPLE_FAILED) && point.time_s > 0)
      g_array_append_val(points, point);
  }
  g_array_sort(points, compare_points);
  double quickest_s = 0;
  for (guint i = 0; i < points->len; i++) {
    const LawKnot point = g_array_index(points, LawKnot, i);
    if (n == 0 || point.size > g_array_index(points, LawKnot, n - 1).size)
      quickest_s = point.time_s;
    if (point.time_s <= wild_ratio * quickest_s)
      g_array_index(points, LawKnot, n++) = point;
  }
  g_array_set_size(points, n);
  thin_out(points);
  return points;
}

static Law *fit_form(LawForm form, const Sample *key, const GArray *points,
                     const FitOptions *options)
{
  switch (form) {
  case LAW_PIECEWISE:
    return fit_piecewise(key, points, options);
  case LAW_FLOOR:
    return fit_floor(key, points, options);
  case LAW_SATURATION:
    return fit_saturation(key, points, options);
  case LAW_CONTENTION:
    return fit_contention(key, points, options);
  case LAW_HOPS:
    break;
  }
  g_return_val_if_reached(NULL);
}

G_GNUC_PRINTF(2, 3)
static void warn(GPtrArray *warnings, const char *format, ...)
{
  va_list args;

  if (warnings == NULL)
    return;
  va_start(args, format);
  g_ptr_array_add(warnings, g_strdup_vprintf(format, args));
  va_end(args);
}

/* What a reader should doubt. */
static void judge(const Law *law, const GArray *points, guint n_samples,
                  GPtrArray *warnings)
{
  static const double missing_segment = 0.6, much_moved = 0.1;

  if (law->form == LAW_PIECEWISE && law->fit.autocorrelation > missing_segment)
    warn(warnings,
         "%s: neighbours miss the law alike (autocorrelation %.2f): a segment is "
         "missing",
         law->id, law->fit.autocorrelation);
  if (law->knots_change > much_moved)
    warn(warnings, "%s: making it monotone moved a time by %.0f %%", law->id,
         100 * law->knots_change);
  if (points->len < n_samples)
    warn(warnings,
         "%s: %u of %u samples left out: failed, or half as slow again as "
         "another of their size",
         law->id, n_samples - points->len, n_samples);
}

static void fit_curve(const GPtrArray *curve, const FitOptions *options, GPtrArray *laws,
                      GPtrArray *warnings)
{
  const Sample *key = g_ptr_array_index(curve, 0);
  g_autoptr(GArray) points = fit_points(curve);
  Law *law = fit_form(form_of(key), key, points, options);

  if (law == NULL) {
    warn(warnings, "%s at %u ranks: %u times support no law", key->probe, key->ranks,
         points->len);
    return;
  }
  judge(law, points, curve->len, warnings);
  g_ptr_array_add(laws, law);
}

/* The same machine, library and algorithm; any operation and cluster size. */
static bool same_machine(const Sample *a, const Sample *b)
{
  g_autoptr(Sample) other = sample_copy(b);

  other->ranks = a->ranks;
  other->nodes = a->nodes;
  sample_set(&other->probe, a->probe);
  return sample_same_curve(a, other);
}

/* Operations share the steps and bytes of their machine, so all of them are fitted at once,
 * and each gets the law. */
static void fit_sizes_of_cluster(const GPtrArray *samples, const Sample *key,
                                 const FitOptions *options, GPtrArray *laws)
{
  g_autoptr(GPtrArray) alike = g_ptr_array_new();
  bool has_other = false;

  for (guint i = 0; i < samples->len; i++) {
    Sample *sample = g_ptr_array_index(samples, i);
    if (!same_machine(key, sample) || !hops_known(sample) ||
        (sample->flags & SAMPLE_FAILED))
      continue;
    has_other = has_other || sample->ranks != key->ranks || sample->nodes != key->nodes;
    g_ptr_array_add(alike, sample);
  }
  Law *law = has_other ? fit_hops(key, alike, options) : NULL;
  if (law == NULL)
    return;
  g_ptr_array_add(laws, law);
}

GPtrArray *fit_all(const GPtrArray *samples, const FitOptions *options, GPtrArray *warnings)
{
  GPtrArray *laws = g_ptr_array_new_with_free_func((GDestroyNotify)law_free);
  g_autoptr(GPtrArray) curve = g_ptr_array_new();

  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    const Sample *next = i + 1 < samples->len ? g_ptr_array_index(samples, i + 1) : NULL;
    g_ptr_array_add(curve, (gpointer)sample);
    if (next != NULL && sample_same_curve(sample, next))
      continue;
    fit_curve(curve, options, laws, warnings);
    g_ptr_array_set_size(curve, 0);
    const bool is_last = next == NULL || strcmp(next->probe, sample->probe) != 0 ||
                         !same_machine(sample, next);
    if (hops_known(sample) && is_last)
      fit_sizes_of_cluster(samples, sample, options, laws);
  }
  return laws;
}
