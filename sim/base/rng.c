#include "sim/base/rng.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>
#include <math.h>

struct Rng {
  gsl_rng *gsl;
};

/* The finaliser of SplitMix64: every input bit flips every output bit with a chance of
 * about one half. G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014. */
static guint64 mix(guint64 x)
{
  x ^= x >> 30;
  x *= G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= G_GUINT64_CONSTANT(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* The golden ratio times 2^64: SplitMix64's step; it keeps (0, 0, 0) from hashing to 0. */
#define STEP G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)

guint64 rng_hash(guint64 a, guint64 b, guint64 c)
{
  guint64 hash = mix(a + STEP);
  hash = mix((hash ^ b) + STEP);
  return mix((hash ^ c) + STEP);
}

Rng *rng_stream(guint64 seed, const char *name)
{
  guint64 hash = mix(seed + STEP);
  for (const char *c = name; *c != '\0'; c++)
    hash = mix((hash ^ (guint8)*c) + STEP);

  Rng *rng = g_new0(Rng, 1);
  rng->gsl = gsl_rng_alloc(gsl_rng_mt19937);
  gsl_rng_set(rng->gsl, (guint32)(hash >> 32)); /* the generator takes 32 bits of seed */
  return rng;
}

void rng_free(Rng *rng)
{
  if (rng == NULL)
    return;
  gsl_rng_free(rng->gsl);
  g_free(rng);
}

double rng_uniform(Rng *rng)
{
  return gsl_rng_uniform(rng->gsl);
}

guint rng_below(Rng *rng, guint n)
{
  g_return_val_if_fail(n > 0, 0);
  return (guint)gsl_rng_uniform_int(rng->gsl, n);
}

double rng_max_normal(Rng *rng, double n)
{
  g_return_val_if_fail(n > 0, 0);
  /* P(max <= x) = P(one <= x)^n. 1 - u^(1/n), taken directly, keeps its digits for
   * large n, where u^(1/n) is next to 1. */
  const double above = -expm1(log(gsl_rng_uniform_pos(rng->gsl)) / n);
  return gsl_cdf_ugaussian_Qinv(above);
}

double rng_mean_max_normal(double n)
{
  g_return_val_if_fail(n >= 1, 0);
  return gsl_cdf_ugaussian_Qinv(0.625 / (n + 0.25));
}
