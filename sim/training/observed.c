#include "sim/training/observed.h"

#include <math.h>

/* Sizes within a factor of two are alike; the largest class holds 2^47 B and more. */
#define N_CLASSES 48

/** Weight of the last measurement against all before it. Assumed. */
#define LAST_WEIGHT 0.5

struct Observed {
  double slowdown[N_CLASSES]; /* 0: not measured */
};

Observed *observed_new(void)
{
  return g_new0(Observed, 1);
}

static guint class_of(double size_B)
{
  return size_B < 1 ? 0 : MIN((guint)ilogb(size_B), N_CLASSES - 1);
}

double observed_slowdown(const Observed *observed, double size_B)
{
  const double measured = observed->slowdown[class_of(size_B)];
  return measured > 0 ? measured : 1;
}

void observed_add(Observed *observed, double size_B, double ratio)
{
  double *known = &observed->slowdown[class_of(size_B)];
  *known += *known > 0 ? LAST_WEIGHT * (ratio - *known) : ratio;
}
