/**
 * @file host_kernel_body.h
 * @brief The kernels, written once in vectors of eight floats. A template: each instruction
 *        set includes it once.
 *
 * Before the include: KERNEL is the attribute of all functions (their instruction set), and
 * sign_mask(V8) gathers the sign bits of eight lanes. The compiler cuts the vectors into
 * what the set has; eight partial sums are kept whatever its width, so that results do not
 * depend on it.
 */
#include "calibrate/backend/host_kernel_lanes.h"

#include <math.h>

KERNEL static void sum(float *restrict total, const float *restrict other, gsize n)
{
  gsize i = 0;

  for (; i + LANES <= n; i += LANES)
    store8(total + i, load8(total + i) + load8(other + i));
  for (; i < n; i++)
    total[i] += other[i];
}

/* v[i] = gradient + error into error; returns the sum of |v|. */
KERNEL static float add_error(const float *restrict gradient, float *restrict error,
                              gsize n)
{
  V8 magnitude = { 0 };
  float lanes[LANES], tail = 0;
  gsize i = 0;

  for (; i + LANES <= n; i += LANES) {
    const V8 v = load8(gradient + i) + load8(error + i);
    store8(error + i, v);
    magnitude += (V8)((V8u)v & ~SIGN_BIT);
  }
  for (; i < n; i++) {
    error[i] += gradient[i];
    tail += fabsf(error[i]);
  }
  store8(lanes, magnitude);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])) + tail;
}

/* Signs of v into bits; what they and the scale do not say into v. */
KERNEL static void keep_signs(float *v, guint8 *bits, float scale, gsize n)
{
  const V8 scales = { scale, scale, scale, scale, scale, scale, scale, scale };
  gsize i = 0;

  for (; i + LANES <= n; i += LANES) {
    const V8 value = load8(v + i);
    bits[i / LANES] = (guint8)sign_mask(value);
    store8(v + i, value - (V8)(((V8u)value & SIGN_BIT) | (V8u)scales));
  }
  if (i < n)
    bits[i / LANES] = 0;
  for (; i < n; i++) {
    bits[i / LANES] |= (guint8)((signbit(v[i]) != 0) << i % LANES);
    v[i] -= copysignf(scale, v[i]);
  }
}

KERNEL static void onebit_encode(const float *gradient, float *error, guint8 *bits,
                                 float *scale, gsize n)
{
  for (gsize from = 0; from < n; from += KERNEL_ONEBIT_BLOCK) {
    const gsize length = MIN(n - from, KERNEL_ONEBIT_BLOCK);
    const float mean = add_error(gradient + from, error + from, length) / (float)length;

    scale[from / KERNEL_ONEBIT_BLOCK] = mean;
    keep_signs(error + from, bits + from / LANES, mean, length);
  }
}

KERNEL static void add_signs(float *restrict total, const guint8 *restrict bits,
                             float scale, gsize n)
{
  const V8u scales = splat8(bits_of(scale));
  gsize i = 0;

  for (; i + LANES <= n; i += LANES) {
    const V8u negative = (V8u)((splat8(bits[i / LANES]) & LANE_BIT) != 0);
    store8(total + i, load8(total + i) + (V8)((negative & SIGN_BIT) | scales));
  }
  for (; i < n; i++)
    total[i] += bits[i / LANES] >> i % LANES & 1 ? -scale : scale;
}

KERNEL static void onebit_decode(float *total, const guint8 *bits, const float *scale,
                                 gsize n)
{
  for (gsize from = 0; from < n; from += KERNEL_ONEBIT_BLOCK)
    add_signs(total + from, bits + from / LANES, scale[from / KERNEL_ONEBIT_BLOCK],
              MIN(n - from, KERNEL_ONEBIT_BLOCK));
}

KERNEL static gsize select_values(const float *value, gsize n, float threshold,
                                  guint32 *index, float *selected, gsize max)
{
  const V8 least = { threshold, threshold, threshold, threshold,
                     threshold, threshold, threshold, threshold };
  gsize i = 0, found = 0;

  for (; i + LANES <= n && found + LANES <= max; i += LANES) {
    const V8 v = (V8)((V8u)load8(value + i) & ~SIGN_BIT);
    for (guint mask = sign_mask((V8)(v >= least)); mask != 0; mask &= mask - 1) {
      const gsize at = i + (gsize)__builtin_ctz(mask);
      index[found] = (guint32)at;
      selected[found++] = value[at];
    }
  }
  for (; i < n && found < max; i++)
    if (fabsf(value[i]) >= threshold) {
      index[found] = (guint32)i;
      selected[found++] = value[i];
    }
  return found;
}
