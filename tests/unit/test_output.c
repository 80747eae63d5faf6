/**
 * @file test_output.c
 * @brief The bytes that writers write, against tests/golden/output-*.
 *
 * STEPCAST_GOLDEN=rewrite in the environment replaces the goldens. Run from the root of the
 * repository, as make does.
 */
#include "sim/output/output.h"

#include "tests/unit/sample_results.h"

#include <CUnit/Basic.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

static GPtrArray *sample_list(guint n)
{
  Result *(*const samples[])(void) = { sample_no_overlap, sample_ddp, sample_horovod,
                                       sample_one_gpu };
  GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)result_free);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add(list, samples[i % G_N_ELEMENTS(samples)]());
  return list;
}

static const Result *const *results_of(const GPtrArray *list)
{
  return (const Result *const *)list->pdata;
}

static char *rendered(const OutputOps *writer, const GPtrArray *list)
{
  GString *out = g_string_new(NULL);

  CU_ASSERT_TRUE(output_render(writer, results_of(list), list->len, out, NULL));
  return g_string_free(out, FALSE);
}

static void check_golden(const char *name, const char *suffix, const char *text)
{
  g_autofree char *path = g_strdup_printf("tests/golden/output-%s%s", name, suffix);
  g_autofree char *golden = NULL;

  if (g_strcmp0(g_getenv("STEPCAST_GOLDEN"), "rewrite") == 0) {
    CU_ASSERT_TRUE(g_file_set_contents(path, text, -1, NULL));
  }
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &golden, NULL, NULL));
  CU_ASSERT_STRING_EQUAL(text, golden);
}

static void test_every_writer_repeats_its_golden(void)
{
  static const struct {
    const char *name;
    guint n;
  } cases[] = { { "three", 3 }, { "one-gpu", 1 }, { "many", 6 } };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++)
    for (guint i = 0; output_table[i] != NULL; i++) {
      const OutputOps *writer = (const OutputOps *)output_table[i];
      g_autoptr(GPtrArray) list = sample_list(cases[c].n);
      if (cases[c].n == 1) {
        g_ptr_array_set_size(list, 0);
        g_ptr_array_add(list, sample_one_gpu());
      }
      if (cases[c].n == 6 && writer != &output_text)
        continue;
      g_autofree char *text = rendered(writer, list);
      check_golden(cases[c].name, writer->suffix, text);
    }
}

static void test_one_result_gets_a_report(void)
{
  g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)result_free);

  g_ptr_array_add(list, sample_horovod());
  g_autofree char *report = rendered(&output_text, list);
  check_golden("report", ".txt", report);
  g_autofree char *picture = rendered(&output_svg, list);
  check_golden("report", ".svg", picture);
}

static void test_writers_repeat_themselves_byte_for_byte(void)
{
  for (guint i = 0; output_table[i] != NULL; i++) {
    g_autoptr(GPtrArray) a = sample_list(8), b = sample_list(8);
    g_autofree char *first = rendered((const OutputOps *)output_table[i], a);
    g_autofree char *second = rendered((const OutputOps *)output_table[i], b);
    CU_ASSERT_STRING_EQUAL(first, second);
  }
}

static void test_writers_refuse_a_result_that_breaks_its_promises(void)
{
  for (guint i = 0; output_table[i] != NULL; i++) {
    g_autoptr(GPtrArray) list = sample_list(2);
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    ((Result *)g_ptr_array_index(list, 1))->comm_busy_share = NAN;
    CU_ASSERT_FALSE(output_render((const OutputOps *)output_table[i], results_of(list),
                                  list->len, out, &error));
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_FAULT));
    CU_ASSERT_EQUAL(out->len, 0);
  }
}

static void test_reports_stay_under_a_hundred_columns(void)
{
  for (guint n = 1; n <= 8; n++) {
    g_autoptr(GPtrArray) list = sample_list(n);
    Result *first = g_ptr_array_index(list, 0);
    g_free(first->name);
    first->name =
      g_strdup("a-name-that-is-longer-than-any-column-of-the-table-can-be-100G");
    g_autofree char *text = rendered(&output_text, list);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++)
      CU_ASSERT_TRUE(g_utf8_strlen(lines[i], -1) < 100);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "100G"));
  }
}

static void test_colour_comes_only_when_asked_for(void)
{
  for (guint n = 1; n <= 6; n += 2) {
    g_autoptr(GPtrArray) list = sample_list(n);
    g_autoptr(GString) plain = g_string_new(NULL);
    g_autoptr(GString) coloured = g_string_new(NULL);
    text_render(results_of(list), n, false, plain);
    text_render(results_of(list), n, true, coloured);
    CU_ASSERT_PTR_NULL(strchr(plain->str, '\033'));
    CU_ASSERT_PTR_NOT_NULL(strchr(coloured->str, '\033'));
  }
}

static void test_names_cannot_command_the_terminal_or_break_the_xml(void)
{
  g_autoptr(GPtrArray) list = sample_list(2);
  Result *result = g_ptr_array_index(list, 0);

  g_free(result->name);
  result->name = g_strdup("\033[2J<b>&\"\x01");
  g_autofree char *text = rendered(&output_text, list);
  CU_ASSERT_PTR_NULL(strchr(text, '\033'));
  g_autofree char *picture = rendered(&output_svg, list);
  CU_ASSERT_PTR_NULL(strchr(picture, '\033'));
  CU_ASSERT_PTR_NULL(strstr(picture, "<b>"));
}

static void test_csv_quotes_what_would_split_a_cell(void)
{
  g_autoptr(GPtrArray) list = sample_list(1);
  Result *result = g_ptr_array_index(list, 0);

  g_free(result->name);
  result->name = g_strdup("a \"b\", c");
  g_autofree char *text = rendered(&output_csv, list);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\r\n\"a \"\"b\"\", c\",resnet50,"));
}

static guint count_commas(const char *line)
{
  guint n = 0;

  for (; *line != '\0'; line++)
    n += *line == ',';
  return n;
}

static void test_csv_rows_have_the_columns_of_the_header(void)
{
  g_autoptr(GPtrArray) list = sample_list(4);
  g_autofree char *text = rendered(&output_csv, list);
  g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);

  CU_ASSERT_EQUAL(g_strv_length(lines), 6);
  for (guint i = 1; i < 5; i++)
    CU_ASSERT_EQUAL(count_commas(lines[i]), count_commas(lines[0]));
}

static double number_of(const cJSON *object, const char *key)
{
  return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void test_trace_is_json_whose_events_are_sorted(void)
{
  g_autoptr(GPtrArray) list = sample_list(3);
  g_autofree char *text = rendered(&output_trace, list);
  g_autoptr(cJSON) root = cJSON_ParseWithOpts(text, NULL, true);
  const cJSON *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents"), *event;
  double last_us = -1;
  guint n_spans = 0, n_steps = 0;

  CU_ASSERT_TRUE_FATAL(cJSON_IsArray(events));
  cJSON_ArrayForEach(event, events)
  {
    const char *phase = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "ph"));
    if (*phase == 'M')
      continue;
    CU_ASSERT_TRUE(number_of(event, "ts") >= last_us);
    last_us = number_of(event, "ts");
    n_spans += *phase == 'X' && number_of(event, "dur") >= 0;
    n_steps += *phase == 'C';
  }
  CU_ASSERT_EQUAL(n_spans, 3 * ((Result *)g_ptr_array_index(list, 0))->spans->len);
  /* Two tiers, three transfers apart, each with a begin and an end. */
  CU_ASSERT_EQUAL(n_steps, 3 * 2 * 3 * 2);
}

static bool explains(const Result *result, const Result *best, const char *words)
{
  g_autofree char *text = result_explain(result, best);

  return strstr(text, words) != NULL;
}

static void test_explanations_fit_the_case(void)
{
  g_autoptr(Result) one = sample_one_gpu();
  g_autoptr(Result) bound = sample_no_overlap();
  g_autoptr(Result) best = sample_ddp();
  g_autoptr(Result) hidden = sample_result("hidden", "ddp", 0.16, 0.16, 0.08);
  g_autoptr(Result) small = sample_result("small", "ddp", 0.162, 0.16, 0.003);
  g_autoptr(Result) idle = sample_result("idle", "horovod", 0.32, 0.16, 0.01);
  g_autoptr(Result) empty = sample_result("empty", "none", 0.1, 0, 0.1);

  CU_ASSERT_TRUE(explains(one, NULL, "nobody to exchange gradients with"));
  CU_ASSERT_TRUE(explains(one, NULL, "are the whole iteration"));
  CU_ASSERT_TRUE(explains(bound, NULL, "the GPUs wait for about as long (42.9 %)"));
  CU_ASSERT_TRUE(explains(bound, NULL, "120 ms, 1.84 times the 65.1 ms"));
  CU_ASSERT_TRUE(explains(bound, NULL, "NICs at 25 Gbit/s"));
  CU_ASSERT_TRUE(explains(bound, best, "0.714 of the throughput of demo-ddp"));
  CU_ASSERT_FALSE(explains(best, best, "of the throughput of"));
  CU_ASSERT_TRUE(explains(hidden, NULL, "hides behind compute"));
  CU_ASSERT_TRUE(explains(small, NULL, "Compute bounds it: communication is busy 1.9 %"));
  CU_ASSERT_TRUE(explains(idle, NULL, "waiting for a turn"));
  CU_ASSERT_TRUE(explains(empty, NULL, "Nothing is computed"));
}

static void test_links_with_room_are_not_blamed(void)
{
  g_autoptr(Result) result = sample_no_overlap();

  CU_ASSERT_FALSE(explains(result, NULL, "holds it back"));
  g_array_index(result->links, LinkUse, 1).peak = 0.4;
  CU_ASSERT_TRUE(explains(result, NULL, "holds it back"));
}

static void test_full_links_are_not_blamed_for_the_cost_of_many_messages(void)
{
  g_autoptr(Result) result = sample_no_overlap();

  CU_ASSERT_TRUE(
    explains(result, NULL, "NICs at 25 Gbit/s bound it, the busiest 98.4 % full"));
  g_array_index(result->links, LinkUse, 1).mean = 0.1 * result->comm_busy_share;
  CU_ASSERT_TRUE(explains(result, NULL, "only 10.0 % of their capacity is in use"));
}

static void test_a_bound_by_latency_names_no_link(void)
{
  g_autoptr(Result) result = sample_no_overlap();

  g_free(result->bottleneck);
  result->bottleneck = g_strdup("latency");
  CU_ASSERT_TRUE(
    explains(result, NULL, "; latency, not the links, holds even its largest"));
  CU_ASSERT_FALSE(explains(result, NULL, "NICs"));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("output", NULL, NULL);
  CU_ADD_TEST(suite, test_every_writer_repeats_its_golden);
  CU_ADD_TEST(suite, test_one_result_gets_a_report);
  CU_ADD_TEST(suite, test_writers_repeat_themselves_byte_for_byte);
  CU_ADD_TEST(suite, test_writers_refuse_a_result_that_breaks_its_promises);
  CU_ADD_TEST(suite, test_reports_stay_under_a_hundred_columns);
  CU_ADD_TEST(suite, test_colour_comes_only_when_asked_for);
  CU_ADD_TEST(suite, test_names_cannot_command_the_terminal_or_break_the_xml);
  CU_ADD_TEST(suite, test_csv_quotes_what_would_split_a_cell);
  CU_ADD_TEST(suite, test_csv_rows_have_the_columns_of_the_header);
  CU_ADD_TEST(suite, test_trace_is_json_whose_events_are_sorted);
  CU_ADD_TEST(suite, test_explanations_fit_the_case);
  CU_ADD_TEST(suite, test_links_with_room_are_not_blamed);
  CU_ADD_TEST(suite, test_full_links_are_not_blamed_for_the_cost_of_many_messages);
  CU_ADD_TEST(suite, test_a_bound_by_latency_names_no_link);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
