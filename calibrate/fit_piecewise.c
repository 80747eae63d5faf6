/**
 * @file fit_piecewise.c
 * @brief Straight lines between cuts: how many, where, with which uncertainty.
 *
 * One alpha and beta miss NCCL's curves by 17 to 46 %, three pairs by 4 to 8 %: protocols
 * switch. The number of segments is the least whose BIC is within 6 of the best ("strong
 * evidence": R. E. Kass, A. E. Raftery, "Bayes factors", JASA 90 (1995)) and that predicts
 * held-out sizes no worse than fewer segments do.
 */
#include "calibrate/fit.h"
#include "calibrate/fit_quality.h"
#include "calibrate/robust.h"
#include "calibrate/segments.h"

#include "sim/base/rng.h"
#include "sim/base/stats.h"

#include <math.h>
#include <string.h>

/* One bad cell cannot buy a segment; once the noise is known, four sigmas of it. */
static const double first_cap = 0.5, cap_sigmas = 4;
static const double mad_to_sigma = 1.4826;
/* Printed with three digits at the worst. */
static const double least_sigma = 2e-3;
static const double strong_evidence = 6;
static const double no_worse = 1.05;
static const guint n_last = 4;

typedef struct {
  SegmentTask task;
  guint max;
  Segment segments[FIT_MAX_SEGMENTS * FIT_MAX_SEGMENTS];
  double cost[FIT_MAX_SEGMENTS];
} Cuts;

static const Segment *row_of(const Cuts *cuts, guint n)
{
  return cuts->segments + (n - 1) * cuts->max;
}

static Cuts cut(const LawKnot *points, guint n, guint max, double cap)
{
  Cuts cuts = {
    .task = { .points = points, .n_points = n, .min_sizes = FIT_MIN_SIZES, .cap = cap },
    .max = max,
  };

  segments_cut(&cuts.task, max, cuts.segments, cuts.cost);
  return cuts;
}

/* Noise of the best fit with the most segments that there is room for. */
static double sigma_of(const Cuts *cuts)
{
  const guint n = cuts->task.n_points;
  g_autofree double *size = g_new(double, n);
  guint k = cuts->max;

  while (k > 1 && !isfinite(cuts->cost[k - 1]))
    k--;
  for (guint i = 0; i < n; i++)
    size[i] = fabs(
      log(cuts->task.points[i].time_s /
          segments_time_s(&cuts->task, row_of(cuts, k), k, cuts->task.points[i].size)));
  stats_sort(size, n);
  const double spare = MAX(1.0, (double)n - 3.0 * k + 1);
  return MAX(least_sigma, mad_to_sigma * stats_quantile(size, n, 0.5) * sqrt(n / spare));
}

/* Sigma is known, so the likelihood is the sum of squares; a segment has two coefficients
 * and a place. */
static double bic_of(const Cuts *cuts, guint k, double sigma)
{
  return cuts->cost[k - 1] / (sigma * sigma) + 3.0 * k * log(cuts->task.n_points);
}

/* Root mean square of relative errors where @p held_out says; cuts from the others. The
 * mean of a few wild cells is theirs, so that they are capped as in the fit. */
static double cv_rms(const LawKnot *points, guint n, guint k, const bool *held_out,
                     double cap)
{
  g_autofree LawKnot *kept = g_new(LawKnot, n);
  guint n_kept = 0, n_held = 0;
  double squares = 0;

  for (guint i = 0; i < n; i++)
    if (!held_out[i])
      kept[n_kept++] = points[i];
  if (n_kept < 2)
    return NAN;
  const Cuts cuts = { .max = k };
  Cuts found = cuts;
  found.task = (SegmentTask){ kept, n_kept, 2, cap };
  segments_cut(&found.task, k, found.segments, found.cost);
  if (!isfinite(found.cost[k - 1]))
    return NAN;
  for (guint i = 0; i < n; i++) {
    if (!held_out[i])
      continue;
    const double guess_s =
      segments_time_s(&found.task, row_of(&found, k), k, points[i].size);
    const double error = guess_s / points[i].time_s - 1;
    squares += MIN(first_cap, error * error);
    n_held++;
  }
  return n_held == 0 ? NAN : sqrt(squares / n_held);
}

static double cv_second_sizes(const LawKnot *points, guint n, guint k)
{
  g_autofree bool *held_out = g_new0(bool, n);

  quality_hold_second_sizes(points, n, held_out);
  return cv_rms(points, n, k, held_out, first_cap);
}

static double cv_last_sizes(const LawKnot *points, guint n, guint k)
{
  g_autofree bool *held_out = g_new0(bool, n);

  for (guint i = 0; i < n; i++)
    held_out[i] = i + n_last >= n;
  return cv_rms(points, n, k, held_out, first_cap);
}

static guint choose(const Cuts *cuts, double sigma, Law *law)
{
  double best = INFINITY, best_cv = INFINITY;
  guint chosen = 1;

  for (guint k = 1; k <= cuts->max; k++) {
    if (!isfinite(cuts->cost[k - 1]))
      continue;
    const LawCandidate candidate = {
      .n_segments = k,
      .bic = bic_of(cuts, k, sigma),
      .rms = sqrt(cuts->cost[k - 1] / cuts->task.n_points),
      .cv_rms = cv_second_sizes(cuts->task.points, cuts->task.n_points, k),
    };
    g_array_append_val(law->candidates, candidate);
    best = MIN(best, candidate.bic);
  }
  for (guint i = law->candidates->len; i-- > 0;) {
    const LawCandidate *candidate = &g_array_index(law->candidates, LawCandidate, i);
    if (candidate->bic <= best + strong_evidence)
      chosen = candidate->n_segments;
  }
  /* Fewer, if those that there are predict what was held out worse. */
  for (guint k = chosen; k > 1; k--) {
    const double cv = g_array_index(law->candidates, LawCandidate, k - 1).cv_rms;
    const double fewer = g_array_index(law->candidates, LawCandidate, k - 2).cv_rms;
    if (!(cv > no_worse * fewer))
      break;
    chosen = k - 1;
  }
  (void)best_cv;
  return chosen;
}

/* alpha and beta of one segment with standard errors; false if GSL cannot. */
static bool solve_segment(const LawKnot *points, guint n, double value[2], double error[2])
{
  g_autofree double *x = g_new(double, 2 * n);
  RobustFit fit = { .value = value, .error = error };

  for (guint i = 0; i < n; i++) {
    x[2 * i] = 1 / points[i].time_s;
    x[2 * i + 1] = points[i].size / points[i].time_s;
  }
  return robust_solve(&(RobustRows){ n, 2, x }, &fit);
}

static Estimate estimate(double value, double error, double quantile)
{
  return (Estimate){ value, MAX(0, value - quantile * error), value + quantile * error };
}

static void add_segments(const Cuts *cuts, guint k, Law *law)
{
  const Segment *segments = row_of(cuts, k);

  for (guint s = 0; s < k; s++) {
    const guint n = segments[s].last - segments[s].first + 1;
    double value[2] = { segments[s].alpha_s, segments[s].s_per_unit }, error[2] = { 0 };
    if (!solve_segment(cuts->task.points + segments[s].first, n, value, error))
      continue;
    const double quantile = robust_quantile(n, 2);
    const LawSegment segment = {
      .from = cuts->task.points[segments[s].first].size,
      .to = cuts->task.points[segments[s].last].size,
      .n_points = n,
      .alpha_s = estimate(value[0], error[0], quantile),
      .s_per_unit = estimate(value[1], error[1], quantile),
    };
    g_array_append_val(law->segments, segment);
  }
}

/* ---- bootstrap --------------------------------------------------------------------- */

static void widen(Estimate *estimate_of, double *draws, guint n)
{
  stats_sort(draws, n);
  estimate_of->low = MIN(estimate_of->low, stats_quantile(draws, n, 0.025));
  estimate_of->high = MAX(estimate_of->high, stats_quantile(draws, n, 0.975));
}

/* Times that the law says, with residuals drawn from its own, as wide as they were before
 * the fit bent to them. */
static void resample(const Law *law, const GArray *points, double stretch, Rng *rng,
                     LawKnot *out)
{
  const guint n = points->len;

  for (guint i = 0; i < n; i++) {
    const LawKnot *donor = &g_array_index(points, LawKnot, rng_below(rng, n));
    const double residual = log(donor->time_s / law_formula_s(law, donor->size, 0, 0));
    out[i].size = g_array_index(points, LawKnot, i).size;
    out[i].time_s = law_formula_s(law, out[i].size, 0, 0) * exp(stretch * residual);
  }
}

/* The place of the segments is part of what is uncertain: they are cut anew. */
static void bootstrap(Law *law, const GArray *points, double cap, const FitOptions *options)
{
  const guint k = law->segments->len, n = points->len, draws = options->n_bootstrap;
  const double stretch = sqrt(n / MAX(1.0, (double)n - 3.0 * k + 1));
  g_autofree LawKnot *drawn = g_new(LawKnot, n);
  g_autofree double *alpha_s = g_new(double, MAX(1, k * draws));
  g_autofree double *s_per_unit = g_new(double, MAX(1, k * draws));
  g_autofree char *name = g_strdup_printf("fit.%s", law->id);
  g_autoptr(Rng) rng = rng_stream(options->seed, name);

  for (guint d = 0; d < draws; d++) {
    resample(law, points, stretch, rng, drawn);
    const Cuts cuts = cut(drawn, n, k, cap);
    for (guint s = 0; s < k; s++) {
      alpha_s[s * draws + d] = row_of(&cuts, k)[s].alpha_s;
      s_per_unit[s * draws + d] = row_of(&cuts, k)[s].s_per_unit;
    }
  }
  for (guint s = 0; s < k && draws > 0; s++) {
    LawSegment *segment = &g_array_index(law->segments, LawSegment, s);
    widen(&segment->alpha_s, alpha_s + s * draws, draws);
    widen(&segment->s_per_unit, s_per_unit + s * draws, draws);
  }
}

Law *fit_piecewise(const Sample *key, const GArray *points, const FitOptions *options)
{
  const LawKnot *first = (const LawKnot *)(void *)points->data;
  const guint max = CLAMP(options->max_segments, 1, FIT_MAX_SEGMENTS);
  g_autoptr(Law) law = law_new(key, LAW_PIECEWISE);

  if (points->len == 0)
    return NULL;
  const Cuts rough = cut(first, points->len, max, first_cap);
  if (!isfinite(rough.cost[0]))
    return NULL;
  const double sigma = sigma_of(&rough);
  const double cap = MIN(first_cap, pow(cap_sigmas * sigma, 2));
  const Cuts cuts = cut(first, points->len, max, cap);
  const guint k = choose(&cuts, sigma, law);
  add_segments(&cuts, k, law);
  if (law->segments->len < k)
    return NULL;
  bootstrap(law, points, cap, options);
  quality_fill(law, points, options->monotone);
  for (guint i = 0; i < law->candidates->len; i++) {
    const LawCandidate *candidate = &g_array_index(law->candidates, LawCandidate, i);
    if (candidate->n_segments == k)
      law->fit.cv_rms = candidate->cv_rms;
  }
  law->fit.cv_last_rms = cv_last_sizes(first, points->len, k);
  return g_steal_pointer(&law);
}
