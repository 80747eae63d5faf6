#include "calibrate/interval.h"

#include <math.h>
#include <string.h>

/* Median absolute deviation to standard deviation, of a normal distribution. */
#define MAD_TO_SIGMA 1.4826

double interval_scatter(const Law *law)
{
  const bool has_knots = law->form == LAW_PIECEWISE && law->knots->len > 1;
  const double median = has_knots && isfinite(law->fit.cv_median) && law->fit.cv_median > 0
                          ? law->fit.cv_median
                          : law->fit.median;

  return isfinite(median) && median > 0 ? MAD_TO_SIGMA * median : 0;
}

bool interval_is_outside(const Law *law, double size, guint nodes)
{
  return size < law->valid_from || size > law->valid_to ||
         (law->form == LAW_HOPS && nodes > 0 &&
          (nodes < law->nodes_from || nodes > law->nodes_to));
}

/* More of it is less time. */
static bool is_speed(const char *name)
{
  return strcmp(name, "peak_per_s") == 0;
}

/* The law with every estimate at one end. */
static Law *at_end(const Law *law, bool high)
{
  Law *end = law_new(law->key, law->form);

  for (guint i = 0; i < law->segments->len; i++) {
    LawSegment segment = g_array_index(law->segments, LawSegment, i);
    segment.alpha_s.value = high ? segment.alpha_s.high : segment.alpha_s.low;
    segment.s_per_unit.value = high ? segment.s_per_unit.high : segment.s_per_unit.low;
    g_array_append_val(end->segments, segment);
  }
  for (guint i = 0; i < law->parameters->len; i++) {
    const LawParameter *parameter = &g_array_index(law->parameters, LawParameter, i);
    Estimate estimate = parameter->estimate;
    estimate.value = high != is_speed(parameter->name) ? estimate.high : estimate.low;
    law_add_parameter(end, parameter->name, estimate);
  }
  return end;
}

/* How many times longer than the law its time at one end is, as a logarithm; 0 between
 * knots, which have no parameters. */
static double end_log(const Law *law, bool high, double size, guint ranks, guint nodes)
{
  if (law->form == LAW_PIECEWISE && law->knots->len > 1 &&
      !interval_is_outside(law, size, 0))
    return 0;
  g_autoptr(Law) end = at_end(law, high);
  const double ratio =
    law_formula_s(end, size, ranks, nodes) / law_formula_s(law, size, ranks, nodes);
  return ratio > 0 ? log(ratio) : high ? INFINITY : -INFINITY;
}

Estimate interval_of(const Law *law, double size, guint ranks, guint nodes)
{
  const double time_s = law_time_s(law, size, ranks, nodes);
  const double scatter = INTERVAL_SIGMAS * interval_scatter(law);
  const double low = end_log(law, false, size, ranks, nodes);
  const double high = end_log(law, true, size, ranks, nodes);

  return (Estimate){ time_s, time_s * exp(-hypot(low, scatter)),
                     time_s * exp(hypot(high, scatter)) };
}
