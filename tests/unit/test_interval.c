/** @file test_interval.c  @brief What laws promise about the next measurement. */
#include "calibrate/fit.h"
#include "calibrate/interval.h"

#include "sim/base/rng.h"

#include <CUnit/Basic.h>
#include <math.h>

#define ALPHA_S 20e-6
#define S_PER_B 1e-10
#define NOISE 0.04 /* one standard deviation of the logarithm of a time */
#define LARGEST_B 1073741824.0

static double true_s(double size_B)
{
  return ALPHA_S + S_PER_B * size_B;
}

static double noisy_s(Rng *rng, double size_B)
{
  return true_s(size_B) * exp(NOISE * rng_max_normal(rng, 1));
}

static Law *fit_some(Rng *rng)
{
  const FitOptions options = { .seed = 1, .n_bootstrap = 50, .max_segments = 3 };
  g_autoptr(Sample) key = sample_new("all_reduce");
  g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(LawKnot));

  key->ranks = 8;
  key->nodes = 2;
  for (double size_B = 1024; size_B <= LARGEST_B; size_B *= 2) {
    const LawKnot point = { size_B, noisy_s(rng, size_B) };
    g_array_append_val(points, point);
  }
  Law *law = fit_piecewise(key, points, &options);
  CU_ASSERT_PTR_NOT_NULL_FATAL(law);
  return law;
}

static void test_most_of_the_next_measurements_lie_within(void)
{
  enum { N_LAWS = 40, N_MORE = 50 };
  g_autoptr(Rng) rng = rng_stream(1, "interval");
  guint n_within = 0;

  for (guint i = 0; i < N_LAWS; i++) {
    g_autoptr(Law) law = fit_some(rng);
    for (guint j = 0; j < N_MORE; j++) {
      const double size_B = 1024 * exp2(20.0 * j / N_MORE);
      const Estimate at = interval_of(law, size_B, 0, 0);
      const double time_s = noisy_s(rng, size_B);
      n_within += at.low <= time_s && time_s <= at.high;
    }
  }
  /* The scatter is itself estimated, from some twenty sizes. */
  CU_ASSERT(n_within > 0.9 * N_LAWS * N_MORE);
}

static void test_scatter_is_near_the_noise(void)
{
  enum { N_LAWS = 40 };
  g_autoptr(Rng) rng = rng_stream(2, "interval");
  double sum = 0;

  for (guint i = 0; i < N_LAWS; i++) {
    g_autoptr(Law) law = fit_some(rng);
    sum += interval_scatter(law) / N_LAWS;
  }
  CU_ASSERT(sum > NOISE / 1.5 && sum < 2 * NOISE);
}

static void test_beyond_what_was_measured_it_is_wider_and_says_so(void)
{
  g_autoptr(Rng) rng = rng_stream(3, "interval");
  g_autoptr(Law) law = fit_some(rng);
  const Estimate inside = interval_of(law, LARGEST_B, 0, 0);
  const Estimate outside = interval_of(law, 4 * LARGEST_B, 0, 0);

  CU_ASSERT_FALSE(interval_is_outside(law, LARGEST_B, 0));
  CU_ASSERT_TRUE(interval_is_outside(law, 4 * LARGEST_B, 0));
  CU_ASSERT(outside.high / outside.value > inside.high / inside.value);
  CU_ASSERT(outside.low < outside.value && outside.value < outside.high);
}

static void test_speed_is_less_time(void)
{
  g_autoptr(Sample) key = sample_new("gemm");
  g_autoptr(Law) law = law_new(key, LAW_SATURATION);

  law_add_parameter(law, "peak_per_s", (Estimate){ 100, 50, 400 });
  law_add_parameter(law, "half", (Estimate){ 1, 1, 1 });
  law_add_parameter(law, "sharpness", (Estimate){ 1, 1, 1 });
  law->valid_to = 1e6;
  const Estimate at = interval_of(law, 1e4, 0, 0);
  CU_ASSERT_DOUBLE_EQUAL(at.low / at.value, 0.25, 1e-3);
  CU_ASSERT_DOUBLE_EQUAL(at.high / at.value, 2, 1e-3);
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "most of the next measurements lie within",
      test_most_of_the_next_measurements_lie_within },
    { "scatter is near the noise", test_scatter_is_near_the_noise },
    { "beyond what was measured it is wider and says so",
      test_beyond_what_was_measured_it_is_wider_and_says_so },
    { "speed is less time", test_speed_is_less_time },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "intervals of laws", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
