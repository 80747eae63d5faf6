/**
 * @file test_result.c
 * @brief What a Result promises, and that a broken promise is found.
 */
#include "models/result.h"

#include "tests/unit/sample_results.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

static void test_samples_keep_the_promises(void)
{
  Result *(*const samples[])(void) = { sample_horovod, sample_ddp, sample_no_overlap,
                                       sample_one_gpu };

  for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
    g_autoptr(Result) result = samples[i]();
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(result_check(result, &error));
    CU_ASSERT_PTR_NULL(error);
  }
}

static bool names(const Result *result, const char *field)
{
  g_autoptr(GError) error = NULL;

  return !result_check(result, &error) &&
         g_error_matches(error, SIM_ERROR, SIM_ERROR_FAULT) &&
         strstr(error->message, field) != NULL;
}

static void check_every_number(const ResultField *fields)
{
  static const double bad[] = { NAN, INFINITY, -INFINITY, -1e-300 };

  for (; fields->key != NULL; fields++) {
    if (fields->type != FIELD_QUANTITY && fields->type != FIELD_SHARE)
      continue;
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
      g_autoptr(Result) result = sample_horovod();
      G_STRUCT_MEMBER(double, result, fields->offset) = bad[i];
      CU_ASSERT_TRUE(names(result, fields->key));
    }
    if (fields->type == FIELD_SHARE) {
      g_autoptr(Result) result = sample_horovod();
      G_STRUCT_MEMBER(double, result, fields->offset) = 1.001;
      CU_ASSERT_TRUE(names(result, fields->key));
    }
  }
}

static void test_no_number_may_be_nan_infinite_or_negative(void)
{
  check_every_number(result_fields);
  check_every_number(result_latency_fields);
}

static void test_an_iteration_takes_time(void)
{
  g_autoptr(Result) result = sample_horovod();

  result->iteration_time_s = 0;
  CU_ASSERT_TRUE(names(result, "iteration_time_s"));
}

static void test_quantiles_are_in_order(void)
{
  g_autoptr(Result) result = sample_horovod();

  result->latency_p50_s = 2 * result->latency_p95_s;
  CU_ASSERT_TRUE(names(result, "p95"));
  result->latency_p50_s = 0;
  result->latency_p99_s = 0;
  CU_ASSERT_TRUE(names(result, "p99"));
}

static void test_links_and_spans_must_name_what_exists(void)
{
  g_autoptr(Result) tier = sample_horovod();
  g_autoptr(Result) share = sample_horovod();
  g_autoptr(Result) track = sample_horovod();
  g_autoptr(Result) backwards = sample_horovod();

  g_array_index(tier->links, LinkUse, 1).tier = TIER_N;
  CU_ASSERT_TRUE(names(tier, "links.tier"));
  g_array_index(share->link_spans, LinkSpan, 0).mean = 1.5;
  CU_ASSERT_TRUE(names(share, "link_spans.mean"));
  g_array_index(track->spans, Span, 0).track = track->tracks->len;
  CU_ASSERT_TRUE(names(track, "spans.track"));
  g_array_index(backwards->spans, Span, 3).end_s = 0;
  CU_ASSERT_TRUE(names(backwards, "spans"));
}

static void test_counts_stay_exact_in_json(void)
{
  g_autoptr(Result) result = sample_horovod();

  result->n_parameters = G_GUINT64_CONSTANT(1) << 53;
  CU_ASSERT_TRUE(names(result, "parameters"));
  result->n_parameters--;
  CU_ASSERT_TRUE(result_check(result, NULL));
}

static void test_an_interval_never_goes_below_zero(void)
{
  const Interval narrow = result_interval(2, 0.5), wide = result_interval(2, 3);

  CU_ASSERT_EQUAL(narrow.low, 1.5);
  CU_ASSERT_EQUAL(narrow.high, 2.5);
  CU_ASSERT_EQUAL(wide.low, 0);
  CU_ASSERT_EQUAL(wide.high, 5);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("result", NULL, NULL);
  CU_ADD_TEST(suite, test_samples_keep_the_promises);
  CU_ADD_TEST(suite, test_no_number_may_be_nan_infinite_or_negative);
  CU_ADD_TEST(suite, test_an_iteration_takes_time);
  CU_ADD_TEST(suite, test_quantiles_are_in_order);
  CU_ADD_TEST(suite, test_links_and_spans_must_name_what_exists);
  CU_ADD_TEST(suite, test_counts_stay_exact_in_json);
  CU_ADD_TEST(suite, test_an_interval_never_goes_below_zero);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
