/**
 * @file test_critical.c
 * @brief The critical path tells all of the last iteration, and why it took so long.
 */
#include "tests/unit/forecast.h"

#include <math.h>

static char *scenario(const char *strategy, const char *rate)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 3, \"node\": \"dgx1_v100\", "
    "\"stragglers\": "
    "[{\"node\": 1, \"slowdown\": 1.2}], \"nic\": {\"rate\": \"%s\"}}, \"workload\": "
    "{\"model\": \"resnet18\", \"batch_per_gpu\": 32}, \"strategy\": {%s}, "
    "\"run\": {\"iterations\": 3, \"warmup\": 1}}",
    rate, strategy);
}

static const PathStep *step_at(const Result *result, guint index)
{
  return &g_array_index(result->path, PathStep, index);
}

static double sum_of(const Result *result, const char *name)
{
  double sum_s = 0;

  for (guint i = 0; i < result->path->len; i++)
    if (strcmp(step_at(result, i)->name, name) == 0)
      sum_s += step_at(result, i)->end_s - step_at(result, i)->start_s;
  return sum_s;
}

static void test_steps_follow_one_another_from_begin_to_end(void)
{
  static const char *const strategies[] = {
    "\"name\": \"none\"",
    "\"name\": \"wait_free\", \"streams\": 3",
    "\"name\": \"horovod\"",
    "\"name\": \"ddp\"",
    "\"name\": \"bytescheduler\"",
    "\"name\": \"mg_wfbp\"",
    "\"name\": \"predictive\"",
    "\"name\": \"zero\", \"stage\": 3",
    "\"name\": \"byteps\", \"servers\": 2",
    "\"name\": \"parameter_server\", \"servers\": 2",
    "\"name\": \"p3\", \"servers\": 2",
  };

  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    g_autofree char *text = scenario(strategies[i], i % 2 ? "5 Gbit/s" : "100 Gbit/s");
    g_autoptr(Result) result = result_of(forecast_bytes(text, true, 0));
    const guint n = result->path->len;
    CU_ASSERT_FATAL(n > 0);
    CU_ASSERT_EQUAL(step_at(result, 0)->start_s, 0);
    CU_ASSERT_DOUBLE_EQUAL(step_at(result, n - 1)->end_s,
                           result->last_end_s - result->last_start_s, 1e-9);
    for (guint s = 1; s < n; s++) {
      CU_ASSERT_EQUAL(step_at(result, s)->start_s, step_at(result, s - 1)->end_s);
      CU_ASSERT(step_at(result, s)->end_s > step_at(result, s)->start_s);
    }
    CU_ASSERT_STRING_EQUAL(step_at(result, 0)->name, "compute");
  }
}

/* Without overlap: the slowest crew's passes, copies, one all-reduce, its optimizer. */
static void test_without_overlap_the_path_is_the_iteration(void)
{
  g_autofree char *text = scenario("\"name\": \"none\"", "5 Gbit/s");
  g_autoptr(Result) result = forecast_with(text, true);

  for (guint s = 0; s < result->stages->len; s++) {
    const StageUse *stage = &g_array_index(result->stages, StageUse, s);
    if (strcmp(stage->name, "buffers") != 0)
      CU_ASSERT_DOUBLE_EQUAL(sum_of(result, stage->name), stage->busy_s, 1e-9);
  }
  CU_ASSERT(sum_of(result, "all_reduce") > 0.1 * result->iteration_time_s);
}

/* A slow network makes the exchange decide, a fast one the computing. */
static void test_the_path_goes_where_the_time_is(void)
{
  g_autofree char *slow = scenario("\"name\": \"ddp\"", "1 Gbit/s");
  g_autofree char *fast = scenario("\"name\": \"ddp\"", "100 Gbit/s");
  g_autoptr(Result) exchange = forecast_with(slow, true);
  g_autoptr(Result) compute = forecast_with(fast, true);

  CU_ASSERT(sum_of(exchange, "all_reduce") > 0.5 * exchange->iteration_time_s);
  CU_ASSERT(sum_of(compute, "compute") > 0.9 * compute->iteration_time_s);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("critical", NULL, NULL);
  CU_ADD_TEST(suite, test_steps_follow_one_another_from_begin_to_end);
  CU_ADD_TEST(suite, test_without_overlap_the_path_is_the_iteration);
  CU_ADD_TEST(suite, test_the_path_goes_where_the_time_is);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
