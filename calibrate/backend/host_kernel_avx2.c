/**
 * @file host_kernel_avx2.c
 * @brief The kernels for x86 CPUs with AVX2 and F16C (Intel since 2013, AMD since 2015).
 */
#if defined(__x86_64__)

#include "calibrate/backend/host_kernel_lanes.h"

#include <cpuid.h>
#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,f16c")))
#define sign_mask(vector) ((guint)_mm256_movemask_ps((__m256)(vector)))

#include "calibrate/backend/host_kernel_body.h"

KERNEL static void to_half(guint16 *half, const float *value, gsize n)
{
  gsize i = 0;

  for (; i + LANES <= n; i += LANES) {
    const __m128i halves =
      _mm256_cvtps_ph(_mm256_loadu_ps(value + i), _MM_FROUND_TO_NEAREST_INT);
    memcpy(half + i, &halves, sizeof halves);
  }
  kernel_set_portable.to_half(half + i, value + i, n - i);
}

KERNEL static void from_half(float *value, const guint16 *half, gsize n)
{
  gsize i = 0;

  for (; i + LANES <= n; i += LANES) {
    __m128i halves;
    memcpy(&halves, half + i, sizeof halves);
    _mm256_storeu_ps(value + i, _mm256_cvtph_ps(halves));
  }
  kernel_set_portable.from_half(value + i, half + i, n - i);
}

/* The builtin asks the operating system too, which must save the wider registers; clang's
 * does not know of F16C, whose bit of CPUID says enough once AVX2 is usable. */
static bool supported(void)
{
  unsigned a, b, c, d;

  return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
         (c & bit_F16C) != 0;
}

const KernelSet kernel_set_avx2 = {
  .name = "avx2",
  .supported = supported,
  .sum = sum,
  .to_half = to_half,
  .from_half = from_half,
  .onebit_encode = onebit_encode,
  .onebit_decode = onebit_decode,
  .select = select_values,
};

#endif
