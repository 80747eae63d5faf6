#include "models/calibration.h"

#include <math.h>

static void curve_clear(void *data)
{
  CalibrationCurve *curve = data;
  g_array_unref(curve->knots);
}

GArray *calibration_new(void)
{
  GArray *curves = g_array_new(FALSE, TRUE, sizeof(CalibrationCurve));

  g_array_set_clear_func(curves, curve_clear);
  return curves;
}

const CalibrationCurve *calibration_find(const GArray *curves, CollKind kind, guint n_nodes,
                                         guint n_ranks)
{
  for (guint i = 0; i < curves->len; i++) {
    const CalibrationCurve *curve = &g_array_index(curves, CalibrationCurve, i);
    if (curve->kind == kind && curve->n_nodes == n_nodes && curve->n_ranks == n_ranks)
      return curve;
  }
  return NULL;
}

double calibration_time_s(const CalibrationCurve *curve, double size_B)
{
  const CalibrationKnot *knots = (const CalibrationKnot *)(void *)curve->knots->data;
  const guint n = curve->knots->len;
  guint right = 1;

  if (n < 2 || size_B < knots[0].size_B || size_B > knots[n - 1].size_B)
    return 0;
  while (knots[right].size_B < size_B)
    right++;
  const CalibrationKnot *a = &knots[right - 1], *b = &knots[right];
  return a->time_s *
         pow(b->time_s / a->time_s, log(size_B / a->size_B) / log(b->size_B / a->size_B));
}

void calibration_scale(LibraryChoice *choice, double factor)
{
  choice->launch_s *= factor;
  choice->terms.alpha_local_s *= factor;
  choice->terms.alpha_net_s *= factor;
  choice->terms.wire_factor *= factor;
  choice->terms.rank_Bps /= factor;
}
