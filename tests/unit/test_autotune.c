/**
 * @file test_autotune.c
 * @brief Bayesian optimisation, and Horovod's tuning of itself with it.
 */
#include "models/schedule/horovod_autotune.h"
#include "sim/base/bayes.h"
#include "tests/unit/forecast.h"

#include <math.h>

#define MIB_B (1024.0 * 1024.0)

/* A hill of height 100 at (40, 20). */
static double hill(const double *x)
{
  const double a = (x[0] - 40) / 64, b = (x[1] - 20) / 100;
  return 100 * exp(-2 * (a * a + b * b));
}

static double climb(guint64 seed, double *x)
{
  static const BayesBound bounds[] = { { 0, 64 }, { 1, 100 } };
  g_autoptr(Rng) rng = rng_stream(seed, "climb");
  g_autoptr(Bayes) bayes = bayes_new(bounds, 2, 0.8, rng);
  double best = 0, at[] = { 4, 5 };

  for (guint i = 0; i < 20; i++) {
    const double y = hill(at);
    if (y > best) {
      best = y;
      x[0] = at[0];
      x[1] = at[1];
    }
    bayes_add(bayes, at, y);
    bayes_next(bayes, at);
    CU_ASSERT(at[0] >= 0 && at[0] <= 64 && at[1] >= 1 && at[1] <= 100);
  }
  return best;
}

static void test_twenty_looks_find_the_top_of_a_hill(void)
{
  double x[2], again[2];

  for (guint64 seed = 1; seed <= 5; seed++)
    CU_ASSERT(climb(seed, x) > 99);
  climb(1, x);
  climb(1, again);
  CU_ASSERT(x[0] == again[0] && x[1] == again[1]);
}

static const AutotuneRule rule = {
  .warmup_samples = 1, .steps_per_sample = 2, .max_samples = 6, .noise = 0.8
};
static const AutotunePoint held = { 8 * MIB_B, 3e-3, true };

/* A step takes longer the further from (30 MiB, 10 ms), and without a cache. Returns what
 * is kept after autotune_n_steps(). */
static AutotunePoint tune(const AutotuneRule *how)
{
  g_autoptr(Autotune) autotune = autotune_new(how, &held);
  AutotunePoint point = { 0 };
  double now_s = 0;

  for (guint step = 0; step < autotune_n_steps(how); step++) {
    CU_ASSERT_FALSE(autotune_is_done(autotune));
    point = autotune_step(autotune, now_s, step * 100e6);
    now_s += 0.1 + fabs(point.threshold_B / MIB_B - 30) / 1000 +
             fabs(point.cycle_time_s - 0.01) + (point.cache ? 0 : 0.05);
  }
  CU_ASSERT(autotune_is_done(autotune));
  return point;
}

static void test_tuning_ends_when_it_says_and_keeps_the_best(void)
{
  const AutotunePoint best = tune(&rule);

  /* of the points that are always tried, (16, 25) and (8, 10) cost 29 and 22 ms more */
  CU_ASSERT(fabs(best.threshold_B / MIB_B - 30) / 1000 + fabs(best.cycle_time_s - 0.01) <
            0.0221);
  CU_ASSERT(best.cache);
}

static void test_what_is_held_is_not_tuned(void)
{
  AutotuneRule some = rule;

  some.holds_threshold = true;
  CU_ASSERT_DOUBLE_EQUAL(tune(&some).threshold_B, 8 * MIB_B, 1);
  some.holds_cycle_time = some.holds_cache = true;
  const AutotunePoint point = tune(&some);
  CU_ASSERT_DOUBLE_EQUAL(point.cycle_time_s, 3e-3, 1e-12);
  CU_ASSERT(point.cache);
  some = rule;
  some.holds_cycle_time = true;
  CU_ASSERT_DOUBLE_EQUAL(tune(&some).cycle_time_s, 3e-3, 1e-12);
}

static Result *run(const char *keys)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 4, \"node\": \"dgx1_v100\"}, "
    "\"workload\": {\"model\": \"resnet50\", \"batch_per_gpu\": 32}, \"strategy\": "
    "{\"name\": \"horovod\", %s}, \"run\": {\"iterations\": 4, \"warmup\": 1}}",
    keys);
  return forecast_with(text, true);
}

static void test_no_point_of_the_start_is_faster(void)
{
  static const char *const starts[] = {
    "\"fusion_threshold\": \"4 MiB\", \"cycle_time\": \"5 ms\"",
    "\"fusion_threshold\": \"32 MiB\", \"cycle_time\": \"50 ms\"",
    "\"fusion_threshold\": \"16 MiB\", \"cycle_time\": \"25 ms\"",
    "\"fusion_threshold\": \"8 MiB\", \"cycle_time\": \"10 ms\"",
  };
  g_autoptr(Result) tuned =
    run("\"autotune\": true, \"autotune_warmup_samples\": 1, "
        "\"autotune_steps_per_sample\": 1, \"autotune_bayes_opt_max_samples\": 8");

  CU_ASSERT_PTR_NOT_NULL_FATAL(tuned->tuned);
  CU_ASSERT_PTR_NULL(strstr(tuned->tuned, "still"));
  for (guint i = 0; i < G_N_ELEMENTS(starts); i++) {
    g_autoptr(Result) fixed = run(starts[i]);
    CU_ASSERT_PTR_NULL(fixed->tuned);
    CU_ASSERT(tuned->iteration_time_s < 1.02 * fixed->iteration_time_s);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("autotune", NULL, NULL);

  CU_ADD_TEST(suite, test_twenty_looks_find_the_top_of_a_hill);
  CU_ADD_TEST(suite, test_tuning_ends_when_it_says_and_keeps_the_best);
  CU_ADD_TEST(suite, test_what_is_held_is_not_tuned);
  CU_ADD_TEST(suite, test_no_point_of_the_start_is_faster);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
