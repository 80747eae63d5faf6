/**
 * @file host_kernel_portable.c
 * @brief The kernels for any CPU, and half precision by integers.
 */
#include "calibrate/backend/host_kernel_lanes.h"

#define KERNEL

static guint gather_signs(const guint32 *word)
{
  guint mask = 0;

  for (guint lane = 0; lane < LANES; lane++)
    mask |= word[lane] >> 31 << lane;
  return mask;
}

#define sign_mask(vector)                                                                  \
  __extension__({                                                                          \
    const V8 signed_ = (V8)(vector);                                                       \
    guint32 words_[LANES];                                                                 \
    memcpy(words_, &signed_, sizeof words_);                                               \
    gather_signs(words_);                                                                  \
  })

#include "calibrate/backend/host_kernel_body.h"

/* binary32 has 8 exponent bits (bias 127) and 23 of mantissa, binary16 5 (bias 15) and 10.
 */
#define EXPONENT(biased) ((guint32)(biased) << 23)
#define HALF_OVERFLOW EXPONENT(127 + 16) /* 65536, the first power beyond binary16 */
#define HALF_NORMAL EXPONENT(127 - 14)   /* 2^-14, its least normal number */
#define FLOAT_INFINITY EXPONENT(255)
#define HALF_INFINITY 0x7c00u
#define HALF_QUIET 0x0200u
#define MANTISSA_LESS 13 /* bits that the mantissa loses */

/* Adding 1/2 lets the FPU round a number below 2^-14 to whole multiples of 2^-24. */
static guint32 round_subnormal(guint32 magnitude)
{
  float number;

  memcpy(&number, &magnitude, sizeof number);
  return bits_of(number + 0.5f) - bits_of(0.5f);
}

static guint16 half_of(float value)
{
  const guint32 bits = bits_of(value);
  const guint32 sign = bits >> 31 << 15, magnitude = bits << 1 >> 1;

  if (magnitude > FLOAT_INFINITY)
    return (guint16)(sign | HALF_INFINITY | HALF_QUIET | magnitude << 9 >> 22);
  if (magnitude >= HALF_OVERFLOW)
    return (guint16)(sign | HALF_INFINITY);
  if (magnitude < HALF_NORMAL)
    return (guint16)(sign | round_subnormal(magnitude));
  const guint32 odd = magnitude >> MANTISSA_LESS & 1;
  const guint32 rounded = magnitude + (EXPONENT(1) >> 11) - 1 + odd;
  return (guint16)(sign | (rounded - EXPONENT(127 - 15)) >> MANTISSA_LESS);
}

static float value_of(guint16 half)
{
  const guint32 sign = (guint32)half >> 15 << 31, magnitude = half & 0x7fffu;
  guint32 bits = (magnitude << MANTISSA_LESS) + EXPONENT(127 - 15);
  float value;

  if (magnitude >= HALF_INFINITY)
    bits += EXPONENT(255 - 31 - (127 - 15));
  if (magnitude > HALF_INFINITY)
    bits |= HALF_QUIET << MANTISSA_LESS;
  if (magnitude < 1u << 10) /* subnormal: multiples of 2^-24 */
    bits = bits_of((float)magnitude * 0x1p-24f);
  bits |= sign;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void to_half(guint16 *half, const float *value, gsize n)
{
  for (gsize i = 0; i < n; i++)
    half[i] = half_of(value[i]);
}

static void from_half(float *value, const guint16 *half, gsize n)
{
  for (gsize i = 0; i < n; i++)
    value[i] = value_of(half[i]);
}

static bool supported(void)
{
  return true;
}

const KernelSet kernel_set_portable = {
  .name = "portable",
  .supported = supported,
  .sum = sum,
  .to_half = to_half,
  .from_half = from_half,
  .onebit_encode = onebit_encode,
  .onebit_decode = onebit_decode,
  .select = select_values,
};
