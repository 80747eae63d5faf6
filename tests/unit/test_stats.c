/** @file test_stats.c  @brief Summaries of samples against values known by hand. */
#include "sim/base/stats.h"

#include <CUnit/Basic.h>

static const double rounding = 1e-12;

static void test_mean_of_a_few_numbers(void)
{
  const double x[] = { 1, 2, 6 };

  CU_ASSERT_DOUBLE_EQUAL(stats_mean(x, 3), 3, rounding);
  CU_ASSERT_DOUBLE_EQUAL(stats_mean(x, 1), 1, rounding);
}

static void test_sort_is_ascending(void)
{
  double x[] = { 3, -1, 2, 2 };

  stats_sort(x, 4);
  CU_ASSERT_EQUAL(x[0], -1);
  CU_ASSERT_EQUAL(x[1], 2);
  CU_ASSERT_EQUAL(x[2], 2);
  CU_ASSERT_EQUAL(x[3], 3);
}

static void test_quantiles_interpolate_between_samples(void)
{
  const double sorted[] = { 10, 20, 30, 40, 50 };

  CU_ASSERT_DOUBLE_EQUAL(stats_quantile(sorted, 5, 0), 10, rounding);
  CU_ASSERT_DOUBLE_EQUAL(stats_quantile(sorted, 5, 0.5), 30, rounding);
  CU_ASSERT_DOUBLE_EQUAL(stats_quantile(sorted, 5, 0.95), 48, rounding);
  CU_ASSERT_DOUBLE_EQUAL(stats_quantile(sorted, 5, 1), 50, rounding);
  CU_ASSERT_DOUBLE_EQUAL(stats_quantile(sorted, 1, 0.3), 10, rounding);
}

static void test_half_width_of_the_mean_is_students(void)
{
  /* Mean 3, standard deviation sqrt(2.5), five samples; t(0.975, 4) = 2.7764451. */
  const double x[] = { 1, 2, 3, 4, 5 };
  static const double tabulated = 1e-6;

  CU_ASSERT_DOUBLE_EQUAL(stats_mean_half_width(x, 5), 2.7764451 * 0.70710678, tabulated);
  CU_ASSERT_EQUAL(stats_mean_half_width(x, 1), 0);
  CU_ASSERT_EQUAL(stats_mean_half_width(x, 0), 0);
}

/* y = 1 + 2 x off by +1, -2, +1: neither end nor middle moves the line. */
static void test_a_line_is_fitted_by_least_squares(void)
{
  const double x[] = { 0, 1, 2 }, y[] = { 2, 1, 6 };
  double intercept, slope;

  stats_fit_line(x, y, 3, &intercept, &slope);
  CU_ASSERT_DOUBLE_EQUAL(intercept, 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(slope, 2, 1e-12);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("stats", NULL, NULL);
  CU_ADD_TEST(suite, test_mean_of_a_few_numbers);
  CU_ADD_TEST(suite, test_sort_is_ascending);
  CU_ADD_TEST(suite, test_quantiles_interpolate_between_samples);
  CU_ADD_TEST(suite, test_half_width_of_the_mean_is_students);
  CU_ADD_TEST(suite, test_a_line_is_fitted_by_least_squares);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
