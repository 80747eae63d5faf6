/**
 * @file test_contention.c
 * @brief Kernels of collectives slow down what they overlap, and nothing else.
 */
#include "models/contention.h"
#include "tests/unit/forecast.h"

#include <math.h>

/* Layer b's 100 MB travel while layer a computes for half a second. */
#define TWO_LAYERS                                                                         \
  "{\"name\": \"two\", \"sample\": \"x\", \"source\": \"test\", \"layers\": ["             \
  "{\"name\": \"a\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": 250}]},"    \
  "{\"name\": \"b\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": "           \
  "25000000}]}]}"

static char *scenario(const char *contention, const char *strategy, const char *uneven)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 4, \"node\": \"dgx1_v100\", %s "
    "\"nic\": {\"rate\": \"25 Gbit/s\"}}, \"workload\": {\"model\": " TWO_LAYERS
    ", \"batch_per_gpu\": 8, \"optimizer\": \"sgd\", \"compute\": {\"layers\": ["
    "{\"name\": \"a\", \"forward\": \"1 ms\", \"backward\": \"500 ms\"},"
    "{\"name\": \"b\", \"forward\": \"1 ms\", \"backward\": \"2 ms\"}]%s}},"
    "\"strategy\": %s, \"run\": {\"iterations\": 2, \"warmup\": 1}}",
    uneven, contention, strategy);
}

static Result *forecast(const char *contention, const char *strategy)
{
  g_autofree char *text = scenario(contention, strategy, "");
  return forecast_with(text, true);
}

/* Kernels take the part s C / SMs of a GPU for as long as they run, T: backward takes
 * T s C / SMs longer. */
static void test_backward_loses_the_sms_of_the_channels(void)
{
  const char *wait_free = "{\"name\": \"wait_free\"}";
  g_autoptr(Result) off = forecast("", wait_free);
  g_autoptr(Result) one = forecast(", \"sms_per_channel\": 1", wait_free);
  g_autoptr(Result) two = forecast(", \"sms_per_channel\": 2", wait_free);
  /* The tiny message after backward has nothing to slow down. */
  const double busy_s = off->comm_busy_share * off->iteration_time_s;
  const double lost_s = one->iteration_time_s - off->iteration_time_s;
  const double n_channels = lost_s / busy_s * 80;

  CU_ASSERT_DOUBLE_EQUAL((two->iteration_time_s - off->iteration_time_s) / lost_s, 2, 1e-6);
  CU_ASSERT(n_channels > 0.9);
  CU_ASSERT_DOUBLE_EQUAL(n_channels / round(n_channels), 1, 0.01);
  CU_ASSERT_DOUBLE_EQUAL(one->compute_time_s - off->compute_time_s, lost_s, 1e-9);
}

static void test_what_follows_backward_slows_nothing_down(void)
{
  const char *none = "{\"name\": \"none\"}";
  g_autoptr(Result) off = forecast("", none);
  g_autoptr(Result) on = forecast(", \"sms_per_channel\": 1, \"memory_passes\": 3", none);

  CU_ASSERT_DOUBLE_EQUAL(on->iteration_time_s / off->iteration_time_s, 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(on->compute_time_s / off->compute_time_s, 1, 1e-12);
}

static void test_the_law_is_the_published_one(void)
{
  const GpuSpec gpu = { .n_sms = 80, .memory_Bps = 900e9 };
  const ContentionLoad load = { .n_channels = 8, .sent_Bps = 45e9 };
  const ComputeSpec sms = { .sms_per_channel = 1 }, memory = { .memory_passes = 2 };
  const ComputeSpec both = { .sms_per_channel = 1, .memory_passes = 2 };
  const ComputeSpec most = { .sms_per_channel = 16 }, neither = { 0 };

  CU_ASSERT_DOUBLE_EQUAL(contention_slowdown(&sms, &gpu, &load), 1 / 0.9, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(contention_slowdown(&memory, &gpu, &load), 1 / 0.9, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(contention_slowdown(&both, &gpu, &load), 1 / 0.81, 1e-12);
  CU_ASSERT_EQUAL(contention_slowdown(&most, &gpu, &load), CONTENTION_MAX);
  CU_ASSERT_EQUAL(contention_slowdown(&neither, &gpu, &load), 1);
  CU_ASSERT_FALSE(contention_matters(&neither));
}

/* Kernels come and go while workers of several crews compute. */
static void test_contention_folds(void)
{
  static const char *const strategies[] = {
    "{\"name\": \"wait_free\", \"streams\": 2}",
    "{\"name\": \"ddp\", \"bucket_cap_mb\": 1}",
    "{\"name\": \"horovod\"}",
    "{\"name\": \"bytescheduler\"}",
    "{\"name\": \"zero\", \"stage\": 3}",
  };

  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    g_autofree char *text =
      scenario(", \"sms_per_channel\": 1, \"memory_passes\": 2.5, \"jitter\": 0.02",
               strategies[i], "\"stragglers\": [{\"node\": 2, \"slowdown\": 1.3}],");
    g_autoptr(Result) folded = forecast_with(text, true);
    g_autoptr(Result) explicit = forecast_with(text, false);
    CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                           TOL_ENGINE);
    CU_ASSERT_DOUBLE_EQUAL(folded->compute_time_s / explicit->compute_time_s, 1,
                           TOL_ENGINE);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("contention", NULL, NULL);
  CU_ADD_TEST(suite, test_backward_loses_the_sms_of_the_channels);
  CU_ADD_TEST(suite, test_what_follows_backward_slows_nothing_down);
  CU_ADD_TEST(suite, test_the_law_is_the_published_one);
  CU_ADD_TEST(suite, test_contention_folds);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
