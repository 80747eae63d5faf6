/** @file test_remeasure.c  @brief A machine is measured again and compared with its
 * profile. */
#include "calibrate/backend/host.h"
#include "calibrate/sweep.h"

#include "sim/base/param.h"
#include "sim/command/calibrate_remeasure.h"

#include <CUnit/Basic.h>
#include <string.h>

#define LARGEST_B (256 * 1024)

/* Copies of this machine, every time @p factor times as long as it was. */
static Profile *measure(double factor)
{
  static const char *const only[] = { "memcpy", NULL };
  HostParams params = { 0 };
  SweepOptions sweep = SWEEP_DEFAULTS;
  Profile *profile = profile_new("here");

  param_set_defaults(backend_host.info.params, &params);
  params.largest_B = LARGEST_B;
  sweep.n_passes = 1;
  sweep.n_min = sweep.n_max = 5;
  sweep.only = only;
  Backend *backend = backend_host.open(&params, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
  g_autoptr(GPtrArray) samples = sweep_run(&backend_host, backend, &sweep, NULL);
  backend_host.close(backend);
  for (guint i = 0; i < samples->len; i++)
    ((Sample *)g_ptr_array_index(samples, i))->median_s *= factor;
  profile_add_samples(profile, samples);
  g_free(profile->command);
  profile->command = g_strdup("calibrate host");
  return profile;
}

static guint findings_of(const Profile *profile, double tolerance, GString *out)
{
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(GError) error = NULL;
  Findings findings = { .out = text };

  CU_ASSERT_TRUE(calibrate_remeasure(profile, tolerance, &findings, out, &error));
  return findings.n;
}

/* Other work slows a machine of tests down, but not a hundredfold. */
static void test_the_machine_itself_agrees(void)
{
  g_autoptr(Profile) profile = measure(1);
  g_autoptr(GString) out = g_string_new(NULL);

  CU_ASSERT_EQUAL(findings_of(profile, 30, out), 0);
  g_autofree char *last = g_strdup_printf("%u of %u times measured again\n",
                                          profile->samples->len, profile->samples->len);
  CU_ASSERT_TRUE(g_str_has_suffix(out->str, last));
}

static void test_a_machine_a_thousand_times_slower_does_not(void)
{
  g_autoptr(Profile) profile = measure(1000);
  g_autoptr(GString) out = g_string_new(NULL);

  CU_ASSERT_EQUAL(findings_of(profile, 0.1, out), 2); /* cold and warm copies */
}

static void test_another_machine_is_found_and_another_kernel_told(void)
{
  g_autoptr(Profile) profile = measure(1);
  g_autoptr(GString) out = g_string_new(NULL);

  profile_set_fact(profile, "cpu_model", "Difference Engine No. 2");
  profile_set_fact(profile, "kernel", "0.01");
  CU_ASSERT_EQUAL(findings_of(profile, 30, out), 1);
  CU_ASSERT_PTR_NOT_NULL(strstr(out->str, "kernel: was 0.01, is "));
}

static void test_what_was_not_measured_here_is_refused(void)
{
  g_autoptr(Profile) profile = profile_new("logs");
  g_autoptr(GString) out = g_string_new(NULL), text = g_string_new(NULL);
  g_autoptr(GError) error = NULL;
  Findings findings = { .out = text };

  g_free(profile->command);
  profile->command = g_strdup("calibrate import");
  CU_ASSERT_FALSE(calibrate_remeasure(profile, 0.1, &findings, out, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "has nothing to time again"));
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "the machine itself agrees", test_the_machine_itself_agrees },
    { "a machine a thousand times slower does not",
      test_a_machine_a_thousand_times_slower_does_not },
    { "another machine is found and another kernel told",
      test_another_machine_is_found_and_another_kernel_told },
    { "what was not measured here is refused", test_what_was_not_measured_here_is_refused },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "measured again", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
