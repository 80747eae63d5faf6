/** @file test_profile.c  @brief Profiles survive being written and read; others are
 * refused. */
#include "calibrate/profile.h"
#include "calibrate/report.h"
#include "calibrate/sweep.h"
#include "calibrate/synthetic.h"
#include "sim/scenario/profile_file.h"

#include "sim/base/param.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

static Profile *synthetic_profile(void)
{
  SyntheticParams params = { 0 };
  SweepOptions sweep = SWEEP_DEFAULTS;
  const FitOptions fit = { .seed = 1, .n_bootstrap = 20, .max_segments = 3 };
  Profile *profile = profile_new("test \"quoted\"");

  param_set_defaults(backend_synthetic.info.params, &params);
  sweep.n_passes = 1;
  sweep.n_min = sweep.n_max = 5;
  Backend *backend = backend_synthetic.open(&params, NULL);
  g_autoptr(GPtrArray) samples = sweep_run(&backend_synthetic, backend, &sweep, NULL);
  backend_synthetic.close(backend);
  profile_add_samples(profile, samples);
  backend_facts_add(profile->facts, "cpu_model", "known");
  profile_fit(profile, &fit);
  const ProfileInput input = { .kind = (char *)"osu", .path = (char *)"log.txt" };
  const ProfileConstant constant = { .owner = (char *)"library:nccl",
                                     .key = (char *)"net_overhead",
                                     .value = (char *)"2 us" };
  profile_add_input(profile, &input);
  profile_add_constant(profile, &constant);
  return profile;
}

static Profile *parse(const char *text, char **message)
{
  g_autoptr(GError) error = NULL;
  Profile *profile = profile_file_parse("p.json", text, strlen(text), &error);

  if (message != NULL)
    *message = g_strdup(error == NULL ? "" : error->message);
  return profile;
}

static char *replace(const char *text, const char *from, const char *to)
{
  g_auto(GStrv) parts = g_strsplit(text, from, 2);

  CU_ASSERT_EQUAL_FATAL(g_strv_length(parts), 2);
  return g_strjoinv(to, parts);
}

static void test_what_is_written_is_read_and_written_the_same(void)
{
  g_autoptr(Profile) profile = synthetic_profile();
  g_autoptr(GString) once = g_string_new(NULL), twice = g_string_new(NULL);

  profile_write(profile, once);
  g_autofree char *message = NULL;
  g_autoptr(Profile) back = parse(once->str, &message);
  CU_ASSERT_STRING_EQUAL(message, "");
  CU_ASSERT_PTR_NOT_NULL_FATAL(back);
  profile_write(back, twice);
  CU_ASSERT_STRING_EQUAL(once->str, twice->str);
  CU_ASSERT_EQUAL(back->laws->len, profile->laws->len);
  const Law *law = g_ptr_array_index(profile->laws, 0);
  const Law *same = g_ptr_array_index(back->laws, 0);
  static const double nine_digits = 1e-8;
  for (double size = 1; size < 1e12; size *= 10)
    CU_ASSERT_DOUBLE_EQUAL(law_time_s(same, size, 0, 0) / law_time_s(law, size, 0, 0), 1,
                           nine_digits);
}

static void test_the_same_samples_give_the_same_bytes(void)
{
  g_autoptr(Profile) one = synthetic_profile(), other = synthetic_profile();
  g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);

  profile_write(one, a);
  profile_write(other, b);
  CU_ASSERT_STRING_EQUAL(a->str, b->str);
}

static void test_fits_of_a_profile_that_was_read_are_its_own(void)
{
  g_autoptr(Profile) profile = synthetic_profile();
  g_autoptr(GString) text = g_string_new(NULL);
  const FitOptions fit = { .seed = 1, .n_bootstrap = 20, .max_segments = 3 };

  profile_write(profile, text);
  g_autoptr(Profile) back = parse(text->str, NULL);
  profile_fit(back, &fit);
  const Law *law = g_ptr_array_index(profile->laws, 0);
  const Law *again = g_ptr_array_index(back->laws, 0);
  static const double nine_digits = 1e-6; /* what rounding of the samples leaves */
  CU_ASSERT_DOUBLE_EQUAL(law_formula_s(again, 1e6, 0, 0) / law_formula_s(law, 1e6, 0, 0), 1,
                         nine_digits);
}

static void refuse(const char *from, const char *to, const char *wanted)
{
  g_autoptr(Profile) profile = synthetic_profile();
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *message = NULL;

  profile_write(profile, text);
  g_autofree char *broken = replace(text->str, from, to);
  g_autoptr(Profile) back = parse(broken, &message);
  CU_ASSERT_PTR_NULL(back);
  if (strstr(message, wanted) == NULL)
    printf("\n    said: %s\n", message);
  CU_ASSERT_PTR_NOT_NULL(strstr(message, wanted));
}

static void test_broken_profiles_are_refused_with_place_and_cause(void)
{
  refuse("\"1.0\"", "\"2.0\"", "format_version: version 2.0 is not one");
  refuse("\"1.0\"", "1.0", "format_version: expected a version such as \"1.0\"");
  refuse("calibration-profile", "result", "format: expected \"calibration-profile\"");
  refuse("\"source\": \"measured\"", "\"source\": \"guessed\"", "unknown name 'guessed'");
  refuse("\"median_s\": ", "\"median_s\": -", "expected a number, 0 or more");
  refuse("\"median_s\"", "\"medain_s\"",
         "unknown key 'medain_s'; did you mean 'median_s'?");
  refuse("_ci95\": [", "_ci95\": [9e9, ", "expected [low, high]");
  refuse("\"knots\": {", "\"knots\": {\"x\": 0}, \"nots\": {", "expected lists");
  refuse("\"ranks\": 2", "\"ranks\": 2.5", "expected a whole number");
  refuse("\"segments\": [", "\"segments\": 5, \"was\": [", "segments: expected a list");
}

static void test_later_minor_versions_may_say_more(void)
{
  g_autoptr(Profile) profile = synthetic_profile();
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *message = NULL;

  profile_write(profile, text);
  g_autofree char *newer = replace(text->str, "\"1.0\"", "\"1.7\", \"weather\": \"fair\"");
  g_autoptr(Profile) back = parse(newer, &message);
  CU_ASSERT_STRING_EQUAL(message, "");
  CU_ASSERT_PTR_NOT_NULL(back);
}

static void test_constants_of_later_versions_that_are_none_here_are_passed_over(void)
{
  g_autoptr(Profile) profile = synthetic_profile();
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *message = NULL, *other = NULL;
  const ProfileConstant unknown = { .owner = (char *)"library:nccl",
                                    .key = (char *)"telepathy",
                                    .value = (char *)"0 s" };

  const guint n_known = profile->constants->len;
  profile_add_constant(profile, &unknown);
  profile_write(profile, text);
  g_autofree char *newer = replace(text->str, "\"1.0\"", "\"1.7\"");
  g_autoptr(Profile) back = parse(newer, &message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(back);
  CU_ASSERT_EQUAL(back->constants->len, n_known);
  g_autoptr(Profile) ours = parse(text->str, &other);
  CU_ASSERT_PTR_NULL(ours);
  CU_ASSERT_PTR_NOT_NULL(strstr(other, "unknown key 'telepathy' of library:nccl"));
}

static void test_residuals_are_a_row_of_numbers_for_each_sample(void)
{
  g_autoptr(Profile) profile = synthetic_profile();
  g_autoptr(GString) out = g_string_new(NULL);

  report_residuals(profile, out);
  g_auto(GStrv) lines = g_strsplit(out->str, "\n", -1);
  CU_ASSERT(g_strv_length(lines) > 10);
  for (guint i = 0; *lines[i] != '\0'; i++) {
    g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
    CU_ASSERT_EQUAL_FATAL(g_strv_length(cells), 7);
    CU_ASSERT(i == 0 || g_ascii_strtod(cells[4], NULL) > 0);
    CU_ASSERT(i == 0 || fabs(g_ascii_strtod(cells[6], NULL)) < 10);
  }
}

static void test_constants_written_by_hand_survive_a_fit(void)
{
  const FitOptions fit = { .seed = 1, .n_bootstrap = 20, .max_segments = 3 };
  g_autoptr(Profile) profile = synthetic_profile();

  profile_fit(profile, &fit);
  const ProfileConstant *constant = g_ptr_array_index(profile->constants, 0);
  CU_ASSERT_STRING_EQUAL(constant->key, "net_overhead");
}

static void test_laws_of_hops_that_nobody_knows_are_refused(void)
{
  static const char text[] =
    "{\"format\": \"calibration-profile\", \"format_version\": \"1.0\", \"profile_id\": "
    "\"p\", \"models\": [{\"id\": \"x\", \"form\": \"hops\", \"source\": \"imported\", "
    "\"valid_from\": 8, \"valid_to\": 16, \"nodes_from\": 1, \"nodes_to\": 2, \"key\": "
    "{\"probe\": \"all_reduce\", \"algo\": \"magic\", \"ranks\": 0, \"nodes\": 0, "
    "\"axis\": \"bytes\", \"source\": \"imported\"}, \"fit\": {}}]}";
  g_autofree char *message = NULL;
  g_autoptr(Profile) profile = parse(text, &message);

  CU_ASSERT_PTR_NULL(profile);
  CU_ASSERT_PTR_NOT_NULL(strstr(message, "nobody knows the hops of all_reduce by 'magic'"));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("profile", NULL, NULL);
  CU_ADD_TEST(suite, test_what_is_written_is_read_and_written_the_same);
  CU_ADD_TEST(suite, test_the_same_samples_give_the_same_bytes);
  CU_ADD_TEST(suite, test_fits_of_a_profile_that_was_read_are_its_own);
  CU_ADD_TEST(suite, test_broken_profiles_are_refused_with_place_and_cause);
  CU_ADD_TEST(suite, test_later_minor_versions_may_say_more);
  CU_ADD_TEST(suite, test_constants_of_later_versions_that_are_none_here_are_passed_over);
  CU_ADD_TEST(suite, test_residuals_are_a_row_of_numbers_for_each_sample);
  CU_ADD_TEST(suite, test_constants_written_by_hand_survive_a_fit);
  CU_ADD_TEST(suite, test_laws_of_hops_that_nobody_knows_are_refused);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
