/** @file host_kernel.c  @brief Which kernels there are, and those that no vectors help. */
#include "calibrate/backend/host_kernel_lanes.h"

#include "sim/base/rng.h"

const KernelSet *const kernel_sets[] = {
#if defined(__x86_64__)
  &kernel_set_avx2,
#endif
  &kernel_set_portable,
  NULL,
};

const KernelSet *kernel_set_best(void)
{
  guint i = 0;

  while (!kernel_sets[i]->supported()) /* the last always is */
    i++;
  return kernel_sets[i];
}

/* Bits of the magnitude that each look at the values counts, from the top; 31 in all. */
static const guint radix_bits[] = { 11, 11, 9 };
#define RADIX_LARGEST 11
#define MAGNITUDE_BITS 31

/* How many of the values whose upper bits are @p prefix have which next bits. */
static void count_digits(const float *value, gsize n, guint shift, guint bits,
                         guint32 prefix, gsize *count)
{
  const guint32 mask = (1u << bits) - 1;

  memset(count, 0, sizeof *count << bits);
  for (gsize i = 0; i < n; i++) {
    const guint32 magnitude = bits_of(value[i]) << 1 >> 1;
    if ((guint64)magnitude >> (shift + bits) == prefix)
      count[magnitude >> shift & mask]++;
  }
}

float kernel_exact_threshold(const float *value, gsize n, gsize k)
{
  gsize count[1 << RADIX_LARGEST];
  guint shift = MAGNITUDE_BITS;
  guint32 prefix = 0;
  float threshold;

  for (guint look = 0; look < G_N_ELEMENTS(radix_bits); look++) {
    guint32 digit = (1u << radix_bits[look]) - 1;

    shift -= radix_bits[look];
    count_digits(value, n, shift, radix_bits[look], prefix, count);
    for (; digit > 0 && count[digit] < k; digit--)
      k -= count[digit];
    prefix = prefix << radix_bits[look] | digit;
  }
  memcpy(&threshold, &prefix, sizeof threshold);
  return threshold;
}

float kernel_sampled_threshold(const float *value, gsize n, gsize k)
{
  float sample[KERNEL_SAMPLE];
  const gsize m = MIN(n, KERNEL_SAMPLE);

  for (gsize i = 0; i < m; i++)
    sample[i] = value[i * n / m];
  return kernel_exact_threshold(sample, m, CLAMP(k * m / n, 1, m));
}

gsize kernel_random_index(gsize n, gsize k, guint64 seed, gsize i)
{
  const gsize from = (gsize)((guint64)i * n / k), to = (gsize)((guint64)(i + 1) * n / k);
  return from + (gsize)(rng_hash(seed, i, 0) % (to - from));
}

void kernel_random_k(const float *value, gsize n, gsize k, guint64 seed, float *selected)
{
  for (gsize i = 0; i < k; i++)
    selected[i] = value[kernel_random_index(n, k, seed, i)];
}
