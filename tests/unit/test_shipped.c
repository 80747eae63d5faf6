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
