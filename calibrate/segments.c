#include "calibrate/segments.h"

#include "sim/base/stats.h"

#include <math.h>

enum { N_ROUNDS = 6 };

static const double bisquare_tuning = 4.685;
static const double mad_to_sigma = 1.4826;
static const double least_scale = 1e-4;

/* Sums of the normal equations of 1 = alpha / t + s_per_unit n / t. */
typedef struct {
  double aa, ab, bb, a, b;
} Normal;

static Normal add_up(const LawKnot *points, const double *weight, guint n)
{
  Normal sums = { 0 };

  for (guint i = 0; i < n; i++) {
    const double x = 1 / points[i].time_s, y = points[i].size / points[i].time_s;
    sums.aa += weight[i] * x * x;
    sums.ab += weight[i] * x * y;
    sums.bb += weight[i] * y * y;
    sums.a += weight[i] * x;
    sums.b += weight[i] * y;
  }
  return sums;
}

/* Neither of them below 0. */
static void solve(const Normal *sums, double *alpha_s, double *s_per_unit)
{
  const double determinant = sums->aa * sums->bb - sums->ab * sums->ab;

  *alpha_s = (sums->a * sums->bb - sums->b * sums->ab) / determinant;
  *s_per_unit = (sums->b * sums->aa - sums->a * sums->ab) / determinant;
  if (!(*s_per_unit >= 0 && isfinite(*alpha_s))) {
    *s_per_unit = 0;
    *alpha_s = sums->a / sums->aa;
  } else if (*alpha_s < 0) {
    *alpha_s = 0;
    *s_per_unit = sums->b / sums->bb;
  }
}

/* Weights of the next round: 1 / |r| first, then the bisquare. */
static void weigh(const LawKnot *points, guint n, guint round, const double *residual,
                  double *weight)
{
  g_autofree double *sorted = g_new(double, n);

  for (guint i = 0; i < n; i++)
    sorted[i] = fabs(residual[i]);
  stats_sort(sorted, n);
  const guint first = MIN(2, n - 1);
  const double scale =
    MAX(least_scale, mad_to_sigma * stats_quantile(sorted + first, n - first, 0.5));
  for (guint i = 0; i < n; i++) {
    const double u = residual[i] / (bisquare_tuning * scale);
    const double bisquare = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
    weight[i] = round < N_ROUNDS / 2 ? 1 / MAX(fabs(residual[i]), least_scale) : bisquare;
  }
  (void)points;
}

static Segment fit_line(const SegmentTask *task, guint first, guint last)
{
  const LawKnot *points = task->points + first;
  const guint n = last - first + 1;
  g_autofree double *weight = g_new(double, n);
  g_autofree double *residual = g_new(double, n);
  Segment segment = { .first = first, .last = last };

  for (guint i = 0; i < n; i++)
    weight[i] = 1;
  for (guint round = 0; round < N_ROUNDS; round++) {
    const Normal sums = add_up(points, weight, n);
    solve(&sums, &segment.alpha_s, &segment.s_per_unit);
    for (guint i = 0; i < n; i++)
      residual[i] =
        1 - (segment.alpha_s + segment.s_per_unit * points[i].size) / points[i].time_s;
    weigh(points, n, round, residual, weight);
  }
  return segment;
}

static double cost_of(const SegmentTask *task, const Segment *segment)
{
  double cost = 0;

  for (guint i = segment->first; i <= segment->last; i++) {
    const double fitted_s = segment->alpha_s + segment->s_per_unit * task->points[i].size;
    const double r = log(task->points[i].time_s / fitted_s);
    cost += isfinite(r) ? MIN(task->cap, r * r) : task->cap;
  }
  return cost;
}

static bool has_room(const SegmentTask *task, guint first, guint last)
{
  guint n_sizes = 1;

  for (guint i = first; i < last; i++)
    n_sizes += task->points[i + 1].size > task->points[i].size;
  return n_sizes >= task->min_sizes;
}

/* Points of one size stay together. */
static bool may_cut_before(const SegmentTask *task, guint i)
{
  return i == 0 || task->points[i].size > task->points[i - 1].size;
}

/* best[k][j]: least cost of points 0..j in k + 1 segments, the last from cut[k][j]. */
typedef struct {
  const SegmentTask *task;
  guint max;
  Segment *line; /* [first * n + last] */
  double *cost;  /* likewise */
  double *best;  /* [k * n + j] */
  guint *cut;
} Table;

static void fill_lines(Table *table)
{
  const guint n = table->task->n_points;

  for (guint first = 0; first < n; first++)
    for (guint last = first; last < n; last++) {
      const guint at = first * n + last;
      const bool ends = last + 1 == n || may_cut_before(table->task, last + 1);
      table->cost[at] = INFINITY;
      if (!ends || !may_cut_before(table->task, first) ||
          !has_room(table->task, first, last))
        continue;
      table->line[at] = fit_line(table->task, first, last);
      table->cost[at] = cost_of(table->task, &table->line[at]);
    }
}

static void fill_best(Table *table)
{
  const guint n = table->task->n_points;

  for (guint j = 0; j < n; j++)
    table->best[j] = table->cost[j];
  for (guint k = 1; k < table->max; k++)
    for (guint j = 0; j < n; j++) {
      table->best[k * n + j] = INFINITY;
      for (guint first = 1; first <= j; first++) {
        const double cost =
          table->best[(k - 1) * n + first - 1] + table->cost[first * n + j];
        if (cost < table->best[k * n + j]) {
          table->best[k * n + j] = cost;
          table->cut[k * n + j] = first;
        }
      }
    }
}

void segments_cut(const SegmentTask *task, guint max, Segment *segments, double *cost)
{
  const guint n = task->n_points;
  g_autofree Segment *line = g_new0(Segment, n * n);
  g_autofree double *line_cost = g_new(double, n *n);
  g_autofree double *best = g_new(double, max *n);
  g_autofree guint *cut = g_new0(guint, max * n);
  Table table = { task, max, line, line_cost, best, cut };

  fill_lines(&table);
  fill_best(&table);
  for (guint k = 0; k < max; k++) {
    guint last = n - 1;
    cost[k] = best[k * n + last];
    for (guint s = k + 1; s-- > 0 && isfinite(cost[k]);) {
      const guint first = s == 0 ? 0 : cut[s * n + last];
      segments[k * max + s] = line[first * n + last];
      last = first - 1;
    }
  }
}

double segments_time_s(const SegmentTask *task, const Segment *segments, guint n,
                       double size)
{
  guint s = 0;

  while (s + 1 < n && size >= task->points[segments[s + 1].first].size)
    s++;
  return segments[s].alpha_s + segments[s].s_per_unit * size;
}
