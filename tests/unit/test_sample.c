/** @file test_sample.c  @brief Summaries of repetitions, order and CSV of samples. */
#include "calibrate/sample.h"

#include <CUnit/Basic.h>
#include <string.h>

static const double rounding = 1e-12;

static void test_summary_of_calm_repetitions_keeps_all(void)
{
  const double time_s[] = { 1.02, 1.00, 0.99, 1.01, 0.98 };
  g_autoptr(Sample) sample = sample_new("memcpy");

  sample_summarise(sample, time_s, 5);
  CU_ASSERT_DOUBLE_EQUAL(sample->median_s, 1.00, rounding);
  CU_ASSERT_DOUBLE_EQUAL(sample->mad_s, 0.01, rounding);
  CU_ASSERT_DOUBLE_EQUAL(sample->min_s, 0.98, rounding);
  CU_ASSERT_DOUBLE_EQUAL(sample->p95_s, 1.018, rounding);
  CU_ASSERT_EQUAL(sample->n, 5);
  CU_ASSERT_EQUAL(sample->n_rejected, 0);
  CU_ASSERT_EQUAL(sample->flags, 0);
  CU_ASSERT_EQUAL(time_s[0], 1.02);
}

static void test_an_outlier_is_rejected_and_counted(void)
{
  const double time_s[] = { 1.02, 1.00, 0.99, 1.01, 0.98, 1.02, 1.00, 0.99, 1.01, 0.98, 7 };
  g_autoptr(Sample) sample = sample_new("memcpy");

  sample_summarise(sample, time_s, 11);
  CU_ASSERT_DOUBLE_EQUAL(sample->median_s, 1.00, rounding);
  CU_ASSERT_EQUAL(sample->n, 10);
  CU_ASSERT_EQUAL(sample->n_rejected, 1);
  CU_ASSERT_EQUAL(sample->flags, 0); /* 1 of 11 is not more than a tenth */
}

static void test_more_than_a_tenth_rejected_is_noisy(void)
{
  const double time_s[] = { 1.02, 1.00, 0.99, 1.01, 0.98, 7 };
  g_autoptr(Sample) sample = sample_new("memcpy");

  sample_summarise(sample, time_s, 6);
  CU_ASSERT_EQUAL(sample->n_rejected, 1);
  CU_ASSERT_EQUAL(sample->flags, SAMPLE_NOISY);
}

/* Most are equal: the MAD is 0, but one tick of the clock later is no outlier. */
static void test_ticks_of_a_clock_are_no_outliers(void)
{
  const double time_s[] = { 1e-5, 1e-5, 1e-5, 1e-5 + 4e-8, 1e-5 - 4e-8 };
  g_autoptr(Sample) sample = sample_new("launch");

  sample_summarise(sample, time_s, 5);
  CU_ASSERT_EQUAL(sample->n, 5);
}

static void test_a_curve_is_what_differs_in_size_alone(void)
{
  g_autoptr(Sample) a = sample_new("all_reduce");
  g_autoptr(Sample) b = NULL;

  sample_set(&a->algo, "ring");
  a->size = 8;
  b = sample_copy(a);
  b->size = 16;
  b->median_s = 1;
  CU_ASSERT_TRUE(sample_same_curve(a, b));
  CU_ASSERT_TRUE(sample_compare(a, b) < 0);
  CU_ASSERT_TRUE(sample_compare(b, a) > 0);
  b->ranks = 4;
  CU_ASSERT_FALSE(sample_same_curve(a, b));
  b->ranks = a->ranks;
  sample_set(&b->variant, "ctas=8");
  CU_ASSERT_FALSE(sample_same_curve(a, b));
  sample_set(&b->variant, NULL);
  CU_ASSERT_TRUE(sample_same_curve(a, b));
}

static void test_csv_quotes_what_needs_it(void)
{
  g_autoptr(GPtrArray) samples = sample_list_new();
  g_autoptr(GString) csv = g_string_new(NULL);
  Sample *sample = sample_new("gemm");

  sample_set(&sample->variant, "m=1, \"k\"=2");
  sample->axis = SAMPLE_FLOPS;
  sample->size = 2e9;
  sample->median_s = 0.001;
  sample->n = 3;
  sample->flags = SAMPLE_NOISY | SAMPLE_BUSY;
  g_ptr_array_add(samples, sample);
  sample_write_csv(samples, csv);
  const char *row = strchr(csv->str, '\n') + 1;
  CU_ASSERT_STRING_EQUAL(row,
                         "gemm,,,,,,,\"m=1, \"\"k\"\"=2\",1,1,flops,2000000000,0.001,0,0,0,"
                         "3,0,0,noisy|busy,measured\n");
}

static void test_flags_are_read_by_their_names(void)
{
  for (guint flag = SAMPLE_NOISY; flag <= SAMPLE_IMPLAUSIBLE; flag <<= 1) {
    g_autofree char *name = sample_flag_names(flag, ",");
    CU_ASSERT_EQUAL(sample_flag_of(name), flag);
  }
  CU_ASSERT_EQUAL(sample_flag_of("loud"), 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("sample", NULL, NULL);
  CU_ADD_TEST(suite, test_summary_of_calm_repetitions_keeps_all);
  CU_ADD_TEST(suite, test_an_outlier_is_rejected_and_counted);
  CU_ADD_TEST(suite, test_more_than_a_tenth_rejected_is_noisy);
  CU_ADD_TEST(suite, test_ticks_of_a_clock_are_no_outliers);
  CU_ADD_TEST(suite, test_a_curve_is_what_differs_in_size_alone);
  CU_ADD_TEST(suite, test_csv_quotes_what_needs_it);
  CU_ADD_TEST(suite, test_flags_are_read_by_their_names);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
