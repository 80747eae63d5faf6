#include "models/transfer.h"

#include <math.h>
#include <string.h>

/* How near the model the line is held: the relative error of one measured time over what is
 * thought possible of a constant beside the model's growth, and of a growth other than the
 * model's, all of the time each; squared. The error: three runs of the same GH200 tables
 * spread over 5 % (median of eight tables), which is 3 % of deviation. That the model may
 * be off by all: assumed. */
static const double ridge = 0.03 * 0.03;

/* Below the smallest message that was measured the correction fades to none over so many
 * powers of two; above the largest it shrinks as the message grows, and is about as many
 * seconds. Assumed. */
static const double fades_over = 10;

/* Powers of two between the sizes of a table, with room for sizes cut to whole elements. */
static const double one_step = 1.01;

double transfer_part_B(const CollOps *collective, double size_B, guint n_ranks)
{
  const bool is_cut =
    collective == &coll_ring || collective == &coll_pat || collective == &coll_direct;

  return is_cut ? size_B / n_ranks : size_B;
}

bool transfer_tells(const CalibrationCurve *curve, CollKind kind, guint n_nodes,
                    guint ranks_per_node)
{
  return curve->kind == kind && n_nodes > 1 && curve->n_nodes > 1 &&
         curve->n_nodes != n_nodes && curve->n_ranks == curve->n_nodes * ranks_per_node;
}

ClusterSpec transfer_cluster(const ClusterSpec *cluster, const CalibrationCurve *curve)
{
  ClusterSpec shape = *cluster;

  shape.n_nodes = curve->n_nodes;
  shape.node.n_gpus = curve->n_ranks / curve->n_nodes;
  shape.faults = NULL;
  shape.stragglers = NULL;
  shape.random_stragglers = NULL;
  return shape;
}

static bool is_alike(const TransferPoint *a, const TransferPoint *b)
{
  return a->collective == b->collective && strcmp(a->protocol, b->protocol) == 0;
}

/** Model and measurement of one shape at one size of message. */
typedef struct {
  double model_s, measured_s;
  double beyond; /* message wanted / nearest measured; 1: between measured ones */
} Pair;

static double between(double low, double high, double share)
{
  return low * pow(high / low, share);
}

/* At wanted->part_B, straight in logarithms; the points are those of one shape. */
static bool pair_at(const TransferPoint *points, guint n, const TransferPoint *wanted,
                    Pair *pair)
{
  const TransferPoint *low = NULL, *high = NULL;

  for (guint i = 0; i < n; i++) {
    const TransferPoint *point = &points[i];
    if (!is_alike(point, wanted))
      continue;
    if (point->part_B <= wanted->part_B && (low == NULL || point->part_B > low->part_B))
      low = point;
    if (point->part_B >= wanted->part_B && (high == NULL || point->part_B < high->part_B))
      high = point;
  }
  const TransferPoint *edge = low == NULL ? high : low;
  if (edge == NULL)
    return false;
  *pair = (Pair){ edge->model_s, edge->measured_s, wanted->part_B / edge->part_B };
  if (low == NULL || high == NULL)
    return true;
  const double share = low->part_B < high->part_B ? log(wanted->part_B / low->part_B) /
                                                      log(high->part_B / low->part_B)
                                                  : 0;
  *pair = (Pair){ between(low->model_s, high->model_s, share),
                  between(low->measured_s, high->measured_s, share), 1 };
  return true;
}

/* The pairs of all shapes that ran it. */
static GArray *pairs_of(const GArray *points, const TransferPoint *wanted)
{
  const TransferPoint *all = (const TransferPoint *)(void *)points->data;
  GArray *pairs = g_array_new(FALSE, FALSE, sizeof(Pair));

  for (guint begin = 0, end; begin < points->len; begin = end) {
    Pair pair;
    for (end = begin; end < points->len && all[end].n_nodes == all[begin].n_nodes; end++)
      ;
    if (pair_at(all + begin, end - begin, wanted, &pair))
      g_array_append_val(pairs, pair);
  }
  return pairs;
}

/* measured = a + b x model, least squares of relative errors, held near 0 and 1. */
static void fit_line(const GArray *pairs, double *a_s, double *b)
{
  double mean_s = 0, cc = ridge, cm = 0, mm = ridge, c1 = 0, m1 = ridge;

  for (guint i = 0; i < pairs->len; i++)
    mean_s += g_array_index(pairs, Pair, i).measured_s / pairs->len;
  for (guint i = 0; i < pairs->len; i++) {
    const Pair *pair = &g_array_index(pairs, Pair, i);
    const double c = mean_s / pair->measured_s, m = pair->model_s / pair->measured_s;
    cc += c * c;
    cm += c * m;
    mm += m * m;
    c1 += c;
    m1 += m;
  }
  const double determinant = cc * mm - cm * cm; /* > 0: both ridges are */
  *a_s = mean_s * (c1 * mm - m1 * cm) / determinant;
  *b = (m1 * cc - c1 * cm) / determinant;
}

/* Times the model; the line where it may be read, a share of the model below it. */
static double factor_of(const GArray *pairs, double model_s)
{
  double a_s, b, share = ridge, weight = ridge, least_s = INFINITY;

  for (guint i = 0; i < pairs->len; i++) {
    const Pair *pair = &g_array_index(pairs, Pair, i);
    const double m = pair->model_s / pair->measured_s;
    share += m;
    weight += m * m;
    least_s = MIN(least_s, pair->model_s);
  }
  fit_line(pairs, &a_s, &b);
  return b > 0 && model_s >= least_s ? (a_s + b * model_s) / model_s : share / weight;
}

/* Shapes whose messages come within a step of the nearest know; drop the others. How far
 * the nearest is from what is wanted. */
static double keep_nearest(GArray *pairs)
{
  double nearest = INFINITY;
  guint n = 0;

  for (guint i = 0; i < pairs->len; i++) {
    const double beyond = g_array_index(pairs, Pair, i).beyond;
    if (fabs(log2(beyond)) < fabs(log2(nearest)))
      nearest = beyond;
  }
  for (guint i = 0; i < pairs->len; i++) {
    const Pair pair = g_array_index(pairs, Pair, i);
    if (fabs(log2(pair.beyond)) <= fabs(log2(nearest)) + one_step)
      g_array_index(pairs, Pair, n++) = pair;
  }
  g_array_set_size(pairs, n);
  return nearest;
}

double transfer_time_s(const GArray *points, const TransferPoint *wanted)
{
  g_autoptr(GArray) pairs = pairs_of(points, wanted);

  if (pairs->len == 0)
    return 0;
  const double beyond = keep_nearest(pairs);
  const double factor = factor_of(pairs, wanted->model_s);
  if (beyond < 1)
    return wanted->model_s * pow(factor, MAX(0, 1 + log2(beyond) / fades_over));
  return wanted->model_s * (1 + (factor - 1) / beyond);
}
