/** @file test_calibration.c  @brief Scenarios take measured times and constants. */
#include "models/library/host.h"
#include "sim/scenario/profile_file.h"
#include "sim/scenario/scenario.h"
#include "sim/training/collective_forecast.h"

#include <CUnit/Basic.h>
#include <glib/gstdio.h>
#include <string.h>

/* 2 nodes of 4: sizes 8 B, 1 MiB, 1 GiB. */
static void write_profile(const char *path)
{
  static const double sizes[] = { 8, 1 << 20, 1 << 30 };
  static const double times_s[] = { 50e-6, 700e-6, 80e-3 };
  g_autoptr(Profile) profile = profile_new("lab");
  g_autoptr(Sample) key = sample_new("all_reduce");
  const ProfileConstant constant = { .owner = (char *)"library:mpi",
                                     .key = (char *)"launch",
                                     .value = (char *)"77 us" };

  sample_set(&key->library, "nccl 2.28.9");
  key->ranks = 8;
  key->nodes = 2;
  Law *law = law_new(key, LAW_PIECEWISE);
  const LawSegment segment = { .from = 8, .to = 1 << 30 };
  g_array_append_val(law->segments, segment);
  for (guint i = 0; i < 3; i++) {
    const LawKnot knot = { sizes[i], times_s[i] };
    g_array_append_val(law->knots, knot);
  }
  g_ptr_array_add(profile->laws, law);
  profile_add_constant(profile, &constant);
  CU_ASSERT_TRUE_FATAL(profile_save(profile, path, NULL));
}

static void add_sample(Profile *profile, const char *variant, double size_B, double time_s)
{
  g_autoptr(GPtrArray) samples = sample_list_new();
  Sample *sample = sample_new("all_reduce");

  sample_set(&sample->library, "nccl 2.28.9");
  sample_set(&sample->variant, variant);
  sample->ranks = 8;
  sample->nodes = 2;
  sample->size = size_B;
  sample->median_s = time_s;
  sample->n = 1;
  g_ptr_array_add(samples, sample);
  profile_add_samples(profile, samples);
}

/* Less time for more from 1 MiB on, and one time in place that met something else. */
static void write_samples(const char *path)
{
  const FitOptions options = { .max_segments = 1, .monotone = true };
  g_autoptr(Profile) profile = profile_new("lab");
  static const double times_s[] = { 50e-6, 900e-6, 700e-6, 90e-3, 160e-3 };

  for (guint i = 0; i < G_N_ELEMENTS(times_s); i++) {
    const double size_B = i == 0 ? 8 : 1 << (18 + 2 * i);
    add_sample(profile, "in_place", size_B, i == 3 ? 10 * times_s[i] : times_s[i]);
    add_sample(profile, "out_of_place", size_B, times_s[i]);
  }
  profile_fit(profile, &options);
  CU_ASSERT_TRUE_FATAL(profile->laws->len > 0);
  CU_ASSERT_TRUE_FATAL(profile_save(profile, path, NULL));
}

static Scenario *load_of(void (*write)(const char *path), const char *more, char **message)
{
  g_autofree char *folder = g_dir_make_tmp("stepcast-XXXXXX", NULL);
  g_autofree char *profile = g_build_filename(folder, "lab.json", NULL);
  g_autofree char *file = g_build_filename(folder, "s.json", NULL);
  g_autofree char *text =
    g_strdup_printf("{%s%s}",
                    strstr(more, "cluster") == NULL
                      ? "\"cluster\": {\"nodes\": 2, \"node\": \"gh200_x4\"}, "
                      : "",
                    more);
  g_autoptr(GError) error = NULL;

  write(profile);
  g_file_set_contents(file, text, -1, NULL);
  Scenario *scenario = scenario_load_cluster(file, NULL, &error);
  *message = g_strdup(error == NULL ? "" : error->message);
  g_remove(file);
  g_remove(profile);
  g_rmdir(folder);
  return scenario;
}

static Scenario *load(const char *more, char **message)
{
  return load_of(write_profile, more, message);
}

static void test_times_are_taken_as_they_were_measured_but_for_wild_ones(void)
{
  static const double wanted_s[] = { 50e-6, 900e-6, 700e-6, 90e-3, 160e-3 };
  g_autofree char *message = NULL;
  g_autoptr(Scenario) scenario =
    load_of(write_samples, "\"calibration\": \"lab.json\"", &message);

  CU_ASSERT_STRING_EQUAL(message, "");
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const CalibrationCurve *curve =
    calibration_find(scenario_setup(scenario)->curves, COLL_ALL_REDUCE, 2, 8);
  CU_ASSERT_PTR_NOT_NULL_FATAL(curve);
  CU_ASSERT_EQUAL_FATAL(curve->knots->len, G_N_ELEMENTS(wanted_s));
  for (guint i = 0; i < G_N_ELEMENTS(wanted_s); i++)
    CU_ASSERT_DOUBLE_EQUAL(
      g_array_index(curve->knots, CalibrationKnot, i).time_s / wanted_s[i], 1, 1e-8);
}

static void test_a_cluster_that_was_measured_takes_the_measured_time(void)
{
  static const double sizes_B[] = { 8, 1 << 20, 1 << 30, 4.0 * (1 << 30) };
  static const double measured_s[] = { 50e-6, 700e-6, 80e-3 };
  static const double rounds_left = 1e-3;
  g_autofree char *message = NULL;
  g_autoptr(Scenario) scenario = load("\"calibration\": \"lab.json\"", &message);
  CU_ASSERT_STRING_EQUAL(message, "");
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const CollForecast forecast = {
    .kind = COLL_ALL_REDUCE, .sizes_B = sizes_B, .n_sizes = 4, .fold = true
  };
  g_autoptr(Timings) timings =
    collective_forecast(scenario_setup(scenario), &forecast, NULL);

  for (guint i = 0; i < 3; i++)
    CU_ASSERT_DOUBLE_EQUAL(g_array_index(timings->rows, Timing, i).time_s / measured_s[i],
                           1, rounds_left);
  /* What nobody measured is the model's. */
  CU_ASSERT_TRUE(g_array_index(timings->rows, Timing, 3).time_s < 4 * 80e-3);
  bool is_told = false;
  for (guint i = 0; i < timings->constants->len; i++) {
    const Constant *constant = &g_array_index(timings->constants, Constant, i);
    is_told = is_told || strcmp(constant->name, "calibration.all_reduce") == 0;
  }
  CU_ASSERT_TRUE(is_told);
}

static void test_a_number_of_nodes_that_was_not_measured_is_told(void)
{
  g_autofree char *message = NULL;
  g_autoptr(Scenario) scenario = load(
    "\"calibration\": \"lab.json\", \"cluster\": {\"nodes\": 8, \"node\": \"gh200_x4\"}",
    &message);
  bool is_told = false;

  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const GArray *constants = scenario_setup(scenario)->constants;
  for (guint i = 0; i < constants->len; i++) {
    const Constant *constant = &g_array_index(constants, Constant, i);
    is_told |= strcmp(constant->name, "calibration.all_reduce") == 0 &&
               g_str_has_prefix(constant->source, "extrapolated: profile lab") &&
               strcmp(constant->value, "times of 2 nodes") == 0;
  }
  CU_ASSERT_TRUE(is_told);
}

static void test_constants_of_a_profile_are_defaults(void)
{
  g_autofree char *message = NULL, *other = NULL;
  g_autoptr(Scenario) scenario =
    load("\"calibration\": \"lab.json\", \"library\": {\"name\": \"mpi\"}", &message);
  CU_ASSERT_STRING_EQUAL(message, "");
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const HostParams *params = scenario_setup(scenario)->library_params;
  CU_ASSERT_DOUBLE_EQUAL(params->launch_s, 77e-6, 1e-12);
  g_autofree char *shown = scenario_show(scenario);
  CU_ASSERT_PTR_NOT_NULL(strstr(shown, "// measured: profile lab"));

  g_autoptr(Scenario) given = load("\"calibration\": \"lab.json\", "
                                   "\"library\": {\"name\": \"mpi\", \"launch\": \"3 us\"}",
                                   &other);
  params = scenario_setup(given)->library_params;
  CU_ASSERT_DOUBLE_EQUAL(params->launch_s, 3e-6, 1e-12);
}

static void test_a_profile_that_is_not_there_is_blamed(void)
{
  g_autofree char *message = NULL;
  g_autoptr(Scenario) scenario = load("\"calibration\": \"lap.json\"", &message);

  CU_ASSERT_PTR_NULL(scenario);
  CU_ASSERT_PTR_NOT_NULL(strstr(message, "calibration: "));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("calibration", NULL, NULL);
  CU_ADD_TEST(suite, test_a_cluster_that_was_measured_takes_the_measured_time);
  CU_ADD_TEST(suite, test_a_number_of_nodes_that_was_not_measured_is_told);
  CU_ADD_TEST(suite, test_times_are_taken_as_they_were_measured_but_for_wild_ones);
  CU_ADD_TEST(suite, test_constants_of_a_profile_are_defaults);
  CU_ADD_TEST(suite, test_a_profile_that_is_not_there_is_blamed);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
