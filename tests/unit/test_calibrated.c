/** @file test_calibrated.c  @brief Profiles as defaults of scenarios. */
#include "calibrate/profile.h"
#include "sim/base/rng.h"
#include "sim/scenario/scenario.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

#define TRUE_RATE_Bps 8e9 /* of the copies that are made up */
#define START_S 2e-6
#define NOISE 0.01 /* one standard deviation of their times */

#define SCENARIO(strategy, more)                                                           \
  "{\"cluster\": {\"nodes\": 2, \"node\": \"dgx1_v100\", \"nic\": {\"count\": 1, "         \
  "\"rate\": \"25 Gbit/s\"}, \"network\": {\"topology\": \"switch\"}, "                    \
  "\"transport\": {\"kind\": \"tcp\"" more "}}, \"workload\": {\"model\": \"resnet50\", "  \
  "\"batch_per_gpu\": 64}, \"strategy\": {\"name\": \"" strategy "\"}, "                   \
  "\"calibration\": \"tests/import/calibration.json\"}"

static Scenario *read_text(const char *text)
{
  g_autoptr(GError) error = NULL;
  Scenario *scenario = scenario_parse("text.json", text, strlen(text), NULL, &error);

  if (scenario == NULL)
    printf("%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

/* The constant of a name, or an empty one. */
static Constant constant_of(const Scenario *scenario, const char *name)
{
  const GArray *constants = scenario_setup(scenario)->constants;

  for (guint i = 0; i < constants->len; i++)
    if (strcmp(g_array_index(constants, Constant, i).name, name) == 0)
      return g_array_index(constants, Constant, i);
  return (Constant){ .value = (char *)"", .source = (char *)"" };
}

static void test_a_profile_replaces_defaults_and_says_so(void)
{
  g_autoptr(Scenario) scenario = read_text(SCENARIO("byteps", ""));
  g_autofree char *shown = scenario_show(scenario);

  CU_ASSERT_STRING_EQUAL(constant_of(scenario, "cluster.transport.copy_rate").value,
                         "9 GB/s");
  CU_ASSERT_PTR_NOT_NULL(strstr(constant_of(scenario, "cluster.transport.copy_rate").source,
                                "measured: profile box, 95 %: 8 GB/s to 10.125 GB/s"));
  CU_ASSERT_STRING_EQUAL(constant_of(scenario, "strategy.server_sum_rate").value, "6 GB/s");
  CU_ASSERT_PTR_NOT_NULL(strstr(shown, "imported: profile box"));
}

static void test_what_the_scenario_says_wins(void)
{
  g_autoptr(Scenario) scenario =
    read_text(SCENARIO("byteps", ", \"copy_rate\": \"5 GB/s\""));

  CU_ASSERT_STRING_EQUAL(constant_of(scenario, "cluster.transport.copy_rate").value,
                         "5 GB/s");
}

static void test_a_constant_of_one_module_leaves_others_alone(void)
{
  g_autoptr(Scenario) scenario = read_text(SCENARIO("parameter_server", ""));

  CU_ASSERT_STRING_NOT_EQUAL(constant_of(scenario, "strategy.server_sum_rate").value,
                             "6 GB/s");
}

static char *copy_rate_of_replica(guint replica)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario =
    scenario_load_replica("tests/import/calibrated.json", NULL, replica, &error);

  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const Setup *setup = scenario_setup(scenario);
  const ParamSpec *spec = param_find(setup->cluster.transport->info.params, "copy_rate");
  return param_format(spec, setup->cluster.transport_params);
}

static void test_replicas_draw_from_the_interval_and_always_alike(void)
{
  g_autofree char *first = copy_rate_of_replica(0);
  g_autofree char *second = copy_rate_of_replica(1);
  g_autofree char *again = copy_rate_of_replica(1);
  g_autofree char *third = copy_rate_of_replica(2);

  CU_ASSERT_STRING_EQUAL(first, "9 GB/s");
  CU_ASSERT_STRING_NOT_EQUAL(second, first);
  CU_ASSERT_STRING_NOT_EQUAL(second, third);
  CU_ASSERT_STRING_EQUAL(second, again);
}

/* Copies at a known rate, with noise. */
static void add_copies(Profile *profile)
{
  g_autoptr(GPtrArray) samples = sample_list_new();
  g_autoptr(Rng) rng = rng_stream(1, "copies");

  for (double size_B = 4096; size_B <= 268435456.0; size_B *= 2) {
    Sample *sample = sample_new("memcpy");
    sample_set(&sample->place, "cpu");
    sample_set(&sample->regime, "cold");
    sample->ranks = sample->nodes = 1;
    sample->size = size_B;
    sample->median_s =
      (START_S + size_B / TRUE_RATE_Bps) * (1 + NOISE * rng_max_normal(rng, 1));
    sample->n = 21;
    g_ptr_array_add(samples, sample);
  }
  profile_add_samples(profile, samples);
}

static void test_measured_copies_become_the_rate_of_the_transport(void)
{
  const FitOptions options = FIT_DEFAULTS;
  g_autoptr(Profile) profile = profile_new("copies");

  add_copies(profile);
  profile_fit(profile, &options);
  CU_ASSERT_EQUAL_FATAL(profile->constants->len, 2); /* both transports */
  const ProfileConstant *constant = profile->constants->pdata[0];
  CU_ASSERT_STRING_EQUAL(constant->owner, "transport:tcp");
  CU_ASSERT_STRING_EQUAL(constant->key, "copy_rate");
  /* "7.98 GB/s" */
  CU_ASSERT_TRUE(fabs(g_ascii_strtod(constant->value, NULL) - 8) < 0.08);
  CU_ASSERT_TRUE(g_ascii_strtod(constant->low, NULL) <= 8.01);
  CU_ASSERT_TRUE(g_ascii_strtod(constant->high, NULL) >= 7.99);
}

static void test_a_profile_of_another_cluster_is_said_to_change_nothing(void)
{
  g_autoptr(Scenario) used = read_text(SCENARIO("byteps", ""));
  g_auto(GStrv) parts = g_strsplit(SCENARIO("ddp", ""), "tests/import/calibration.json", 2);
  g_autofree char *text = g_strjoinv("h100_400g", parts);
  g_autoptr(Scenario) idle = read_text(text);

  CU_ASSERT_PTR_NULL(scenario_setup(used)->idle_profile);
  CU_ASSERT_STRING_EQUAL(scenario_setup(idle)->idle_profile, "h100_400g");
}

/* ---- a GPU that is made up ---------------------------------------------------------- */

#define COPIED_Bps 1.5e12 /* of a kernel, one way */
#define PRODUCTS_FLOPS 240e12
#define HALF_OF_THEM 5e10 /* operations of a product that reaches half */
#define N_SMS 108
#define SMS_OF_A_BLOCK 1.2
#define IDLE_s 600e-6
#define LAUNCH_s 2.5e-6

static Sample *add_gpu_sample(GPtrArray *samples, const char *probe, double size,
                              double time_s)
{
  Sample *sample = sample_new(probe);

  sample_set(&sample->place, "gpu");
  sample->ranks = sample->nodes = 1;
  sample->size = size;
  sample->median_s = time_s;
  sample->mad_s = 0.01 * time_s;
  sample->n = 21;
  g_ptr_array_add(samples, sample);
  return sample;
}

static void add_gpu_samples(Profile *profile)
{
  g_autoptr(GPtrArray) samples = sample_list_new();
  g_autoptr(Rng) rng = rng_stream(1, "GPU");

  sample_set(&add_gpu_sample(samples, "launch", 1, LAUNCH_s)->variant, "stream");
  for (double size_B = 4096; size_B <= 0x1p30; size_B *= 4) {
    const double time_s =
      (START_S + size_B / COPIED_Bps) * (1 + NOISE * rng_max_normal(rng, 1));
    Sample *sample = add_gpu_sample(samples, "d2d", size_B, time_s);
    sample_set(&sample->variant, "kernel");
    sample_set(&sample->regime, "cold");
  }
  for (double edge = 128; edge <= 16384; edge *= 2) {
    const double flops = 2 * edge * edge * edge;
    const double time_s =
      (flops + HALF_OF_THEM) / PRODUCTS_FLOPS * (1 + NOISE * rng_max_normal(rng, 1));
    Sample *sample = add_gpu_sample(samples, "gemm", flops, time_s);
    sample->axis = SAMPLE_FLOPS;
    sample_set(&sample->dtype, "bf16");
    sample_set(&sample->variant, "square");
  }
  for (double ctas = 1; ctas <= 32; ctas *= 2) {
    const double time_s = IDLE_s / (1 - SMS_OF_A_BLOCK * ctas / N_SMS);
    Sample *sample = add_gpu_sample(samples, "contention", ctas, time_s);
    sample->axis = SAMPLE_COUNT;
    sample_set(&sample->algo, "gemm");
    sample_set(&sample->variant, "with=paced pace=2GBps_each");
  }
  profile_add_samples(profile, samples);
}

static double told(const Profile *profile, const char *owner, const char *key)
{
  for (guint i = 0; i < profile->constants->len; i++) {
    const ProfileConstant *constant = profile->constants->pdata[i];
    if (strcmp(constant->owner, owner) == 0 && strcmp(constant->key, key) == 0)
      return g_ascii_strtod(constant->value, NULL);
  }
  return NAN;
}

static void test_a_measured_gpu_tells_what_its_kernels_reach(void)
{
  const FitOptions options = FIT_DEFAULTS;
  g_autoptr(Profile) profile = profile_new("gpu");

  backend_facts_add(profile->facts, "gpu0_sms", G_STRINGIFY(N_SMS));
  add_gpu_samples(profile);
  profile_fit(profile, &options);
  CU_ASSERT_DOUBLE_EQUAL(told(profile, "compression", "kernel_launch"), 2.5, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(told(profile, "cluster.node.gpu", "kernel_bandwidth"), 3, 0.03);
  CU_ASSERT_DOUBLE_EQUAL(told(profile, "cluster.node.gpu", "gemm_bf16"), 240, 3);
  CU_ASSERT_DOUBLE_EQUAL(told(profile, "workload.compute", "sms_per_channel"), 1.2, 1e-3);
  CU_ASSERT_EQUAL(profile->constants->len, 4);
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "a profile replaces defaults and says so",
      test_a_profile_replaces_defaults_and_says_so },
    { "what the scenario says wins", test_what_the_scenario_says_wins },
    { "a constant of one module leaves others alone",
      test_a_constant_of_one_module_leaves_others_alone },
    { "replicas draw from the interval and always alike",
      test_replicas_draw_from_the_interval_and_always_alike },
    { "measured copies become the rate of the transport",
      test_measured_copies_become_the_rate_of_the_transport },
    { "a profile of another cluster is said to change nothing",
      test_a_profile_of_another_cluster_is_said_to_change_nothing },
    { "a measured GPU tells what its kernels reach",
      test_a_measured_gpu_tells_what_its_kernels_reach },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "calibrated scenarios", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
