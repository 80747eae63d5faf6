/** @file test_rng.c  @brief Named streams and hashes are reproducible and spread out. */
#include "sim/base/rng.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sample means below are held to five of their standard errors; the seeds are fixed, so
 * that a test that passes once passes always. */
enum { N_DRAWS = 20000 };

static const double n_standard_errors = 5;

static void test_a_stream_depends_on_its_seed_and_name_alone(void)
{
  g_autoptr(Rng) one = rng_stream(1, "ready");
  g_autoptr(Rng) same = rng_stream(1, "ready");
  g_autoptr(Rng) other_name = rng_stream(1, "stall");
  g_autoptr(Rng) other_seed = rng_stream(2, "ready");
  guint n_equal_name = 0, n_equal_seed = 0;

  for (guint i = 0; i < 100; i++) {
    const double x = rng_uniform(one);
    CU_ASSERT_TRUE(x >= 0 && x < 1);
    CU_ASSERT_EQUAL(x, rng_uniform(same));
    n_equal_name += x == rng_uniform(other_name);
    n_equal_seed += x == rng_uniform(other_seed);
  }
  CU_ASSERT_EQUAL(n_equal_name, 0);
  CU_ASSERT_EQUAL(n_equal_seed, 0);
}

static void test_a_stream_is_the_same_on_every_machine(void)
{
  g_autoptr(Rng) rng = rng_stream(1, "golden");

  CU_ASSERT_EQUAL(rng_below(rng, 1000000), 642369);
  CU_ASSERT_EQUAL(rng_below(rng, 1000000), 477427);
  CU_ASSERT_EQUAL(rng_hash(1, 2, 3), G_GUINT64_CONSTANT(0xd0734750fde362b3));
}

static void test_below_reaches_every_number_equally(void)
{
  enum { N = 7 };
  g_autoptr(Rng) rng = rng_stream(3, "below");
  guint count[N] = { 0 };

  for (guint i = 0; i < N_DRAWS; i++) {
    const guint x = rng_below(rng, N);
    CU_ASSERT_TRUE_FATAL(x < N);
    count[x]++;
  }
  const double p = 1.0 / N, standard_error = sqrt(N_DRAWS * p * (1 - p));
  for (guint i = 0; i < N; i++)
    CU_ASSERT_DOUBLE_EQUAL(count[i], N_DRAWS * p, n_standard_errors * standard_error);
}

static void test_the_largest_of_n_normals_has_its_known_mean(void)
{
  /* E[max of n] and its standard deviation by numerical integration of n phi Phi^(n-1),
   * four digits; the deviations only scale the tolerance. */
  static const struct {
    double n, mean, deviation;
  } known[] = {
    { 1, 0, 1 }, { 8, 1.4236, 0.6107 }, { 64, 2.3437, 0.4511 }, { 1024, 3.2482, 0.3508 }
  };
  static const double rounding = 1e-4;

  for (guint k = 0; k < G_N_ELEMENTS(known); k++) {
    g_autoptr(Rng) rng = rng_stream(4, "max");
    double sum = 0;
    for (guint i = 0; i < N_DRAWS; i++)
      sum += rng_max_normal(rng, known[k].n);
    const double standard_error = known[k].deviation / sqrt(N_DRAWS);
    CU_ASSERT_DOUBLE_EQUAL(sum / N_DRAWS, known[k].mean,
                           n_standard_errors * standard_error + rounding);
    CU_ASSERT_DOUBLE_EQUAL(rng_mean_max_normal(known[k].n), known[k].mean,
                           0.01 * known[k].mean + 1e-12);
  }
}

static void test_the_largest_of_very_many_normals_is_finite_and_grows(void)
{
  g_autoptr(Rng) few = rng_stream(5, "many");
  g_autoptr(Rng) many = rng_stream(5, "many");

  for (guint i = 0; i < 100; i++) {
    const double x = rng_max_normal(few, 1e6), y = rng_max_normal(many, 1e15);
    CU_ASSERT_TRUE(isfinite(y) && y > x);
  }
}

static void test_hashes_spread_over_few_buckets(void)
{
  enum { N_BUCKETS = 8, N_HASHES = 8000 };
  guint count[N_BUCKETS] = { 0 };

  for (guint64 i = 0; i < N_HASHES; i++)
    count[rng_hash(i, i + 1, 0) % N_BUCKETS]++;
  const double p = 1.0 / N_BUCKETS, standard_error = sqrt(N_HASHES * p * (1 - p));
  for (guint b = 0; b < N_BUCKETS; b++)
    CU_ASSERT_DOUBLE_EQUAL(count[b], N_HASHES * p, n_standard_errors * standard_error);

  CU_ASSERT_NOT_EQUAL(rng_hash(1, 2, 3), rng_hash(2, 1, 3));
  CU_ASSERT_NOT_EQUAL(rng_hash(1, 2, 3), rng_hash(1, 3, 2));
  CU_ASSERT_NOT_EQUAL(rng_hash(0, 0, 0), 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("rng", NULL, NULL);
  CU_ADD_TEST(suite, test_a_stream_depends_on_its_seed_and_name_alone);
  CU_ADD_TEST(suite, test_a_stream_is_the_same_on_every_machine);
  CU_ADD_TEST(suite, test_below_reaches_every_number_equally);
  CU_ADD_TEST(suite, test_the_largest_of_n_normals_has_its_known_mean);
  CU_ADD_TEST(suite, test_the_largest_of_very_many_normals_is_finite_and_grows);
  CU_ADD_TEST(suite, test_hashes_spread_over_few_buckets);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
