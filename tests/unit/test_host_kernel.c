/** @file test_host_kernel.c  @brief Kernels of every instruction set against plain loops.
 */
#include "calibrate/backend/host_kernel.h"
#include "sim/base/rng.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

#define N_MAX 5000

/* One short of, at, and one beyond vectors and blocks; and many. */
static const gsize lengths[] = { 0, 1, 7, 8, 9, 15, 1023, 1024, 1025, 2055, N_MAX };

typedef struct {
  float a[N_MAX + 1], b[N_MAX + 1], want[N_MAX + 1], got[N_MAX + 1];
  guint8 want_bits[N_MAX], got_bits[N_MAX];
  float want_scale[8], got_scale[8];
} Bench;

static Bench *bench_new(const char *name)
{
  g_autoptr(Rng) rng = rng_stream(7, name);
  Bench *bench = g_new0(Bench, 1);

  for (guint i = 0; i <= N_MAX; i++) {
    bench->a[i] = (float)(rng_uniform(rng) - 0.5);
    bench->b[i] = (float)((rng_uniform(rng) - 0.5) / 8);
  }
  return bench;
}

/* Vectors may begin at any float. */
#define AT 1

static void each(void (*check)(const KernelSet *set, Bench *bench, gsize n))
{
  for (guint s = 0; kernel_sets[s] != NULL; s++)
    for (guint l = 0; kernel_sets[s]->supported() && l < G_N_ELEMENTS(lengths); l++) {
      Bench *bench = bench_new("values");
      check(kernel_sets[s], bench, lengths[l] - (lengths[l] == N_MAX));
      g_free(bench);
    }
}

static void check_sum(const KernelSet *set, Bench *bench, gsize n)
{
  for (gsize i = 0; i < n; i++)
    bench->want[i] = bench->a[AT + i] + bench->b[i];
  set->sum(bench->a + AT, bench->b, n);
  CU_ASSERT_EQUAL(memcmp(bench->a + AT, bench->want, n * sizeof(float)), 0);
}

static void test_sums_are_those_of_a_plain_loop(void)
{
  each(check_sum);
}

/* The multiple of what binary16 resolves near @p value that is nearest, ties to even. */
static double nearest_half(double value)
{
  const int exponent = value == 0 ? -14 : MAX(ilogb(value), -14);
  const double quantum = ldexp(1, exponent - 10);
  const double nearest = rint(value / quantum) * quantum;

  return fabs(nearest) > 65504 ? copysign(INFINITY, value) : nearest;
}

static void check_cast(const KernelSet *set, Bench *bench, gsize n)
{
  guint16 half[N_MAX];

  for (gsize i = 0; i < n; i++) /* from far below the smallest half to beyond the largest */
    bench->a[AT + i] = ldexpf(bench->a[AT + i], (int)(i % 50) - 30);
  set->to_half(half, bench->a + AT, n);
  set->from_half(bench->got, half, n);
  for (gsize i = 0; i < n; i++)
    CU_ASSERT_EQUAL(bench->got[i], nearest_half(bench->a[AT + i]));
}

static void test_a_cast_rounds_to_the_nearest_half(void)
{
  each(check_cast);
}

static void test_every_half_survives_the_way_to_float_and_back(void)
{
  guint16 half[8], back[8];
  float value[8];

  for (guint s = 0; kernel_sets[s] != NULL; s++)
    for (guint first = 0; kernel_sets[s]->supported() && first < 0x10000; first += 8) {
      for (guint i = 0; i < 8; i++)
        half[i] = (guint16)(first + i);
      kernel_sets[s]->from_half(value, half, 8);
      kernel_sets[s]->to_half(back, value, 8);
      for (guint i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(back[i], isnan(value[i]) ? half[i] | 0x200 : half[i]);
    }
}

static void test_ties_go_to_the_even_half(void)
{
  static const struct {
    float value;
    guint16 half;
  } cases[] = {
    { 0x1.002p0f, 0x3c00 },   { 0x1.006p0f, 0x3c02 }, { 65519.996f, 0x7bff },
    { 65520, 0x7c00 },        { 0x1p-25f, 0x0000 },   { 0x1.8p-24f, 0x0002 },
    { -0x1.002p0f, 0xbc00 },  { -0.0f, 0x8000 },      { 0x1.ff4p-15f, 0x03fe },
    { 0x1.ffcp-15f, 0x0400 }, { INFINITY, 0x7c00 },   { 1e30f, 0x7c00 },
  };
  for (guint s = 0; kernel_sets[s] != NULL; s++)
    for (guint c = 0; kernel_sets[s]->supported() && c < G_N_ELEMENTS(cases); c++) {
      const float eight[] = { cases[c].value, 0, 0, 0, 0, 0, 0, 0 };
      guint16 half[8];
      kernel_sets[s]->to_half(half, eight, 8);
      CU_ASSERT_EQUAL(half[0], cases[c].half);
    }
}

/* Eight partial sums and a tail, as the kernels promise: scales are equal bit for bit. */
static float mean_magnitude(const float *v, gsize n)
{
  float lane[8] = { 0 }, tail = 0;

  for (gsize i = 0; i < n / 8 * 8; i++)
    lane[i % 8] += fabsf(v[i]);
  for (gsize i = n / 8 * 8; i < n; i++)
    tail += fabsf(v[i]);
  return (((lane[0] + lane[1]) + (lane[2] + lane[3])) +
          ((lane[4] + lane[5]) + (lane[6] + lane[7])) + tail) /
         (float)n;
}

static void check_encode(const KernelSet *set, Bench *bench, gsize n)
{
  const gsize block = KERNEL_ONEBIT_BLOCK;

  for (gsize i = 0; i < n; i++)
    bench->want[i] = bench->a[AT + i] + bench->b[i];
  for (gsize from = 0; from < n; from += block)
    bench->want_scale[from / block] =
      mean_magnitude(bench->want + from, MIN(n - from, block));
  for (gsize i = 0; i < n; i++) {
    bench->want_bits[i / 8] |= (guint8)((bench->want[i] < 0) << i % 8);
    bench->want[i] -= copysignf(bench->want_scale[i / block], bench->want[i]);
  }
  memset(bench->got_bits, 0xff, sizeof bench->got_bits);
  set->onebit_encode(bench->a + AT, bench->b, bench->got_bits, bench->got_scale, n);
  CU_ASSERT_EQUAL(memcmp(bench->b, bench->want, n * sizeof(float)), 0);
  CU_ASSERT_EQUAL(memcmp(bench->got_bits, bench->want_bits, (n + 7) / 8), 0);
  CU_ASSERT_EQUAL(memcmp(bench->got_scale, bench->want_scale, sizeof bench->want_scale), 0);
}

static void test_one_bit_keeps_signs_and_carries_the_rest_over(void)
{
  each(check_encode);
}

static void check_decode(const KernelSet *set, Bench *bench, gsize n)
{
  for (gsize i = 0; i < n; i++)
    bench->want[i] = bench->a[AT + i];
  set->onebit_encode(bench->a + AT, bench->b, bench->got_bits, bench->got_scale, n);
  memset(bench->got, 0, sizeof bench->got);
  set->onebit_decode(bench->got, bench->got_bits, bench->got_scale, n);
  set->onebit_decode(bench->got, bench->got_bits, bench->got_scale, n);
  for (gsize i = 0; i < n; i++) {
    const float scale = bench->got_scale[i / KERNEL_ONEBIT_BLOCK];
    CU_ASSERT_EQUAL(bench->got[i],
                    bench->got_bits[i / 8] >> i % 8 & 1 ? -2 * scale : 2 * scale);
  }
}

static void test_decoding_adds_the_scale_with_the_sign_of_the_bit(void)
{
  each(check_decode);
}

static void check_select(const KernelSet *set, Bench *bench, gsize n)
{
  static const float thresholds[] = { 0, 0.25f, 0.49f, 2 };
  guint32 index[N_MAX];

  for (guint t = 0; t < G_N_ELEMENTS(thresholds); t++)
    for (gsize max = 0; max <= n; max += n / 3 + 1) {
      gsize found = 0;
      for (gsize i = 0; i < n && found < max; i++)
        if (fabsf(bench->a[AT + i]) >= thresholds[t])
          bench->want[found++] = (float)i;
      CU_ASSERT_EQUAL_FATAL(
        set->select(bench->a + AT, n, thresholds[t], index, bench->got, max), found);
      for (gsize i = 0; i < found; i++) {
        CU_ASSERT_EQUAL(index[i], bench->want[i]);
        CU_ASSERT_EQUAL(bench->got[i], bench->a[AT + index[i]]);
      }
    }
}

static void test_selection_finds_the_first_values_above_the_threshold(void)
{
  each(check_select);
}

static int compare_descending(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return (x < y) - (x > y);
}

static void test_the_exact_threshold_is_the_kth_of_the_sorted_values(void)
{
  static const gsize counts[] = { 1, 2, 17, 500, 999, 1000 };
  Bench *bench = bench_new("values");

  for (gsize i = 0; i < 1000; i++) {
    bench->a[i] = i % 3 == 0 ? -0.125f : bench->a[i]; /* a third of them are ties */
    bench->want[i] = fabsf(bench->a[i]);
  }
  qsort(bench->want, 1000, sizeof(float), compare_descending);
  for (guint c = 0; c < G_N_ELEMENTS(counts); c++)
    CU_ASSERT_EQUAL(kernel_exact_threshold(bench->a, 1000, counts[c]),
                    bench->want[counts[c] - 1]);
  g_free(bench);
}

/* Of a sample of 4096, a percent is 41 values give or take 6: four standard deviations. */
static void test_the_sampled_threshold_comes_near(void)
{
  const gsize n = 100000, k = 1000;
  g_autofree float *value = g_new(float, n);
  g_autoptr(Rng) rng = rng_stream(7, "sample");
  gsize reached = 0;

  for (gsize i = 0; i < n; i++)
    value[i] = (float)(rng_uniform(rng) - 0.5);
  const float threshold = kernel_sampled_threshold(value, n, k);
  for (gsize i = 0; i < n; i++)
    reached += fabsf(value[i]) >= threshold;
  CU_ASSERT_TRUE(reached > 400 && reached < 1600);
}

static void test_random_k_takes_one_of_every_few_values(void)
{
  Bench *bench = bench_new("values");
  gsize last = 0, differing = 0;

  kernel_random_k(bench->a, N_MAX, 33, 5, bench->got);
  for (gsize i = 0; i < 33; i++) {
    const gsize at = kernel_random_index(N_MAX, 33, 5, i);
    CU_ASSERT_TRUE(at >= i * N_MAX / 33 && at < (i + 1) * N_MAX / 33);
    CU_ASSERT_TRUE(i == 0 || at > last);
    CU_ASSERT_EQUAL(bench->got[i], bench->a[at]);
    differing += at != kernel_random_index(N_MAX, 33, 6, i);
    last = at;
  }
  CU_ASSERT_TRUE(differing > 20);
  g_free(bench);
}

static void test_the_best_set_runs_here_and_the_portable_one_everywhere(void)
{
  guint n = 0;

  while (kernel_sets[n] != NULL)
    n++;
  CU_ASSERT_TRUE(kernel_set_best()->supported());
  CU_ASSERT_PTR_EQUAL(kernel_sets[n - 1], &kernel_set_portable);
  CU_ASSERT_TRUE(kernel_set_portable.supported());
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("host_kernel", NULL, NULL);
  CU_ADD_TEST(suite, test_sums_are_those_of_a_plain_loop);
  CU_ADD_TEST(suite, test_a_cast_rounds_to_the_nearest_half);
  CU_ADD_TEST(suite, test_every_half_survives_the_way_to_float_and_back);
  CU_ADD_TEST(suite, test_ties_go_to_the_even_half);
  CU_ADD_TEST(suite, test_one_bit_keeps_signs_and_carries_the_rest_over);
  CU_ADD_TEST(suite, test_decoding_adds_the_scale_with_the_sign_of_the_bit);
  CU_ADD_TEST(suite, test_selection_finds_the_first_values_above_the_threshold);
  CU_ADD_TEST(suite, test_the_exact_threshold_is_the_kth_of_the_sorted_values);
  CU_ADD_TEST(suite, test_the_sampled_threshold_comes_near);
  CU_ADD_TEST(suite, test_random_k_takes_one_of_every_few_values);
  CU_ADD_TEST(suite, test_the_best_set_runs_here_and_the_portable_one_everywhere);
  CU_basic_run_tests();
  const guint failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
