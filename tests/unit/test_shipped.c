/** @file test_shipped.c  @brief Profiles that come with the program. */
#include "calibrate/report.h"

#include "sim/scenario/catalogue.h"
#include "sim/scenario/describe_profile.h"
#include "sim/scenario/profile_file.h"
#include "sim/scenario/scenario.h"

#include <CUnit/Basic.h>
#include <string.h>

static Profile *read_shipped(const char *name)
{
  g_autoptr(GError) error = NULL;
  Profile *profile = profile_file_shipped(name, &error);

  if (profile == NULL)
    printf("%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
  return profile;
}

static void test_every_profile_says_what_it_is_of_and_where_it_comes_from(void)
{
  static const char *const wanted[] = { "system", "software", "source" };
  g_auto(GStrv) names = catalogue_names("profile");

  CU_ASSERT(g_strv_length(names) >= 20);
  for (char **name = names; *name != NULL; name++) {
    g_autoptr(Profile) profile = read_shipped(*name);
    CU_ASSERT_STRING_EQUAL(profile->id, *name);
    CU_ASSERT(profile->inputs->len > 0);
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
      CU_ASSERT_PTR_NOT_NULL(report_fact(profile, wanted[i]));
  }
}

static void test_everything_in_them_was_imported(void)
{
  g_auto(GStrv) names = catalogue_names("profile");

  for (char **name = names; *name != NULL; name++) {
    g_autoptr(Profile) profile = read_shipped(*name);
    for (guint i = 0; i < profile->samples->len; i++)
      CU_ASSERT_EQUAL(((Sample *)profile->samples->pdata[i])->source, SOURCE_IMPORTED);
    for (guint i = 0; i < profile->laws->len; i++)
      CU_ASSERT_EQUAL(((Law *)profile->laws->pdata[i])->source, SOURCE_IMPORTED);
  }
}

static void test_an_unknown_name_is_refused_with_what_was_meant(void)
{
  g_autoptr(GError) error = NULL, other = NULL;
  gsize length = 0;

  CU_ASSERT_PTR_NULL(profile_file_shipped("h100_40g", &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "did you mean 'h100_400g'?"));
  CU_ASSERT_PTR_NULL(profile_file_shipped_text("presset", "preset", &length, &other));
  CU_ASSERT_PTR_NOT_NULL(strstr(other->message, "did you mean 'preset'?"));
}

static void test_names_are_told_from_paths(void)
{
  CU_ASSERT_TRUE(profile_file_is_name("h100_400g"));
  CU_ASSERT_FALSE(profile_file_is_name("h100_400g.json"));
  CU_ASSERT_FALSE(profile_file_is_name("./h100_400g"));
  CU_ASSERT_FALSE(profile_file_is_name(""));
}

static void test_a_description_has_shapes_and_source(void)
{
  g_autofree char *text = describe_profile("gh200_alps");
  g_autofree char *summary = describe_profile_summary("gh200_alps");

  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "all_reduce on 16 nodes of 4: 8 B to 4 GiB\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "date: 2025-02-06"));
  CU_ASSERT_PTR_NOT_NULL(strstr(summary, "16 nodes of 4 GH200"));
  CU_ASSERT_PTR_NULL(describe_profile("gh200_alp"));
}

static void test_a_scenario_takes_one_by_name_in_any_folder(void)
{
  static const char text[] =
    "{\"cluster\": {\"nodes\": 1, \"node\": \"hgx_h100\"}, \"workload\": {\"model\": "
    "\"resnet50\", \"batch_per_gpu\": 64}, \"calibration\": \"h100_400g\"}";
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario =
    scenario_parse("/no/such/folder/text.json", text, strlen(text), NULL, &error);

  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  CU_ASSERT_PTR_NOT_NULL(
    calibration_find(scenario_setup(scenario)->curves, COLL_ALL_REDUCE, 1, 8));
}

/* Of 8 B, in a replica. */
static double first_time_s(guint replica, char **told)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario =
    scenario_load_replica("scenarios/calibrated-p4de-2x8.json", NULL, replica, &error);

  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const Setup *setup = scenario_setup(scenario);
  const CalibrationCurve *curve = calibration_find(setup->curves, COLL_ALL_REDUCE, 2, 16);
  CU_ASSERT_PTR_NOT_NULL_FATAL(curve);
  *told = NULL;
  for (guint i = 0; i < setup->constants->len; i++) {
    const Constant *constant = &g_array_index(setup->constants, Constant, i);
    if (strcmp(constant->name, "calibration.all_reduce") == 0)
      *told = g_strdup(constant->source);
  }
  return g_array_index(curve->knots, CalibrationKnot, 0).time_s;
}

static void test_replicas_draw_measured_times_and_always_alike(void)
{
  char *told[4] = { NULL };
  const double first_s = first_time_s(0, &told[0]), second_s = first_time_s(1, &told[1]);
  const double third_s = first_time_s(2, &told[2]), again_s = first_time_s(1, &told[3]);

  CU_ASSERT_NOT_EQUAL(second_s, first_s);
  CU_ASSERT_NOT_EQUAL(second_s, third_s);
  CU_ASSERT_EQUAL(second_s, again_s);
  CU_ASSERT_TRUE(second_s / first_s > 0.5 && second_s / first_s < 2);
  CU_ASSERT_PTR_NOT_NULL(
    strstr(told[0], "imported: profile a100_p4de_2x8, 16 ranks on 2 nodes, 95 %: -"));
  for (guint i = 0; i < 4; i++)
    g_free(told[i]);
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "every profile says what it is of and where it comes from",
      test_every_profile_says_what_it_is_of_and_where_it_comes_from },
    { "everything in them was imported", test_everything_in_them_was_imported },
    { "an unknown name is refused with what was meant",
      test_an_unknown_name_is_refused_with_what_was_meant },
    { "names are told from paths", test_names_are_told_from_paths },
    { "a description has shapes and source", test_a_description_has_shapes_and_source },
    { "a scenario takes one by name in any folder",
      test_a_scenario_takes_one_by_name_in_any_folder },
    { "replicas draw measured times and always alike",
      test_replicas_draw_measured_times_and_always_alike },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "shipped profiles", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
