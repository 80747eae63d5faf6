/**
 * @file test_document.c
 * @brief Every value is found where it stands, and every mistake is shown where it is.
 */
#include "sim/scenario/document.h"

#include <CUnit/Basic.h>
#include <string.h>

static void test_the_raw_text_of_every_value_parses_to_that_value(void)
{
  static const char text[] =
    "// a comment with \"quotes\"\r\n"
    "{ \"a\": [1, -2.5e3, \"x // y\", {\"b\": null, \"c\\u00e9\": [[], {}]}], // more\n"
    "\t\"d\": \"\\\"\\\\ \\ud83d\\ude00 \xc3\xa9\", \"e\": true,\"f\":{\"g\":{\"h\":0}} "
    "}\n";
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  cJSON *root = documents_parse(documents, "x.json", text, strlen(text), problems);
  g_autoptr(GPtrArray) todo = g_ptr_array_new();
  guint n_seen = 0;

  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  g_ptr_array_add(todo, root);
  while (todo->len > 0) {
    cJSON *item = g_ptr_array_steal_index(todo, todo->len - 1);
    g_autofree char *raw = documents_raw(documents, item);
    CU_ASSERT_PTR_NOT_NULL_FATAL(raw);
    if (strstr(raw, "//") == NULL || cJSON_IsString(item)) {
      g_autoptr(cJSON) again = cJSON_Parse(raw);
      CU_ASSERT_TRUE(cJSON_Compare(again, item, true));
    }
    n_seen++;
    for (cJSON *child = item->child; child != NULL; child = child->next)
      g_ptr_array_add(todo, child);
  }
  CU_ASSERT_EQUAL(n_seen, 15);
}

static char *message_of(const char *text, gsize length)
{
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NULL(documents_parse(documents, "x", text, length, problems));
  CU_ASSERT_FALSE_FATAL(problems_report(problems, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
  return g_strndup(error->message, strcspn(error->message, "\n"));
}

static void test_every_mistake_has_its_place_and_cause(void)
{
  static const struct {
    const char *text, *message;
  } rows[] = {
    { "", "x:1:1: there is nothing in it: expected { ... }" },
    { "// only this\n", "x:1:1: there is nothing in it: expected { ... }" },
    { "{\n  \"a\": 1", "x:1:1: this '{' is never closed: the text ends at line 2" },
    { "{\"a\": [1, 2", "x:1:7: this '[' is never closed: the text ends at line 1" },
    { "{\"a\": ", "x:1:1: this '{' is never closed: the text ends at line 1" },
    { "{\"a\"", "x:1:1: this '{' is never closed: the text ends at line 1" },
    { "{\"a\": 1,", "x:1:1: this '{' is never closed: the text ends at line 1" },
    { "{\"a\": \"b", "x:1:7: this string is not closed on its line" },
    { "{\"a\": 1\n \"b\": 2}", "x:1:8: expected ',' or '}' after this value" },
    { "{\"a\": [1 2]}", "x:1:9: expected ',' or ']' after this value" },
    { "{\"a\": 1,}", "x:1:8: a comma too many before '}'" },
    { "{\"a\": [1, ]}", "x:1:9: a comma too many before ']'" },
    { "{\"a\": , \"b\": 1}", "x:1:7: a value is missing before this comma" },
    { "{\"a\" = 1}", "x:1:6: expected ':' after the key" },
    { "{a: 1}", "x:1:2: keys need double quotes: \"a\"" },
    { "{'a': 1}", "x:1:2: keys need double quotes, not single ones" },
    { "{\"a\": 'b'}", "x:1:7: strings need double quotes, not single ones" },
    { "{\"a\": ring}", "x:1:7: text needs double quotes: \"ring\"" },
    { "{\"a\": True}", "x:1:7: write 'true' in small letters" },
    { "{\"a\": NaN}", "x:1:7: 'NaN' is not a number" },
    { "{\"a\": 25 Gbit/s}", "x:1:7: a value with a unit needs quotes: \"25 Gbit/s\"" },
    { "{\"a\": 012}", "x:1:7: '012' is not a number" },
    { "{\"a\": 1e999}", "x:1:7: '1e999' is too large a number" },
    { "{\"a\": +1}", "x:1:7: '+1' is not a number: it must begin with a digit or '-'" },
    { "{\"a\": \"\\q\"}", "x:1:8: unknown escape: a backslash is written \\\\" },
    { "{\"a\": \"\\u0000\"}", "x:1:8: a NUL character cannot stand in text" },
    { "{\"a\": \"\\ud800\"}", "x:1:8: half of a surrogate pair" },
    { "{\"a\": \"\t\"}", "x:1:8: a control character in a string: write \\u0009" },
    { "{\"a\": \"\xff\"}", "x:1:8: not UTF-8: save the file in that encoding" },
    { "{\"a\": 1} x", "x:1:10: unexpected text after the end" },
    { "{\"\xc3\xa9\": 1 1}", "x:1:8: expected ',' or '}' after this value" },
    { "{\"a\": 1,\n \"b\": 2, \"a\": 3}", "x:2:10: a: given twice, before at x:1:7" },
    { "\x01{}", "x:1:1: expected a value here" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *message = message_of(rows[i].text, strlen(rows[i].text));
    CU_ASSERT_STRING_EQUAL(message, rows[i].message);
    if (strcmp(message, rows[i].message) != 0)
      g_printerr("\n%s\n%s\n", message, rows[i].message);
  }

  g_autofree char *nul = message_of("{\"a\":\0 1}", 9);
  CU_ASSERT_STRING_EQUAL(nul, "x:1:6: a NUL byte: this is no text file");
}

static void test_nesting_stops_before_the_stack_does(void)
{
  g_autofree char *deep = g_strnfill(100000, '[');
  g_autofree char *message = message_of(deep, strlen(deep));

  CU_ASSERT_STRING_EQUAL(message, "x:1:65: nested more than 64 deep");
}

/* Each of these would take hours if any step were quadratic in the text. */
static void test_a_megabyte_of_mistakes_is_refused_at_once(void)
{
  g_autoptr(GString) same = g_string_new("{\"a\": 1");
  g_autoptr(GString) other = g_string_new("{\"a\": 1");

  for (guint i = 0; i < 200000; i++) {
    g_string_append(same, ",\n\"a\": 1");
    g_string_append_printf(other, ",\n\"%x\": 1", i + 16);
  }
  g_string_append_c(same, '}');
  g_string_append_c(other, '}');
  g_autofree char *message = message_of(same->str, same->len);
  CU_ASSERT_STRING_EQUAL(message, "x:2:1: a: given twice, before at x:1:7");
  g_autofree char *too_many = message_of(other->str, other->len);
  CU_ASSERT_STRING_EQUAL(too_many,
                         "x:1:1: an object of more than 1000 keys: this is no scenario");
}

static void test_the_caret_stands_under_the_mistake(void)
{
  static const char text[] = "{\n\t\"\xc3\xa9\": \"y\"\r\n}";
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(GError) error = NULL;
  cJSON *root = documents_parse(documents, "x.json", text, strlen(text), problems);

  documents_blame(documents, problems, root->child, "\xc3\xa9", "bad \x1b[1m");
  documents_blame_key(documents, problems, root->child, "\xc3\xa9", "unknown");
  CU_ASSERT_FALSE_FATAL(problems_report(problems, &error));
  CU_ASSERT_STRING_EQUAL(error->message, "x.json:2:2: \xc3\xa9: unknown\n"
                                         "    2 |  \"\xc3\xa9\": \"y\"\n"
                                         "      |  ^\n"
                                         "x.json:2:7: \xc3\xa9: bad ?[1m\n"
                                         "    2 |  \"\xc3\xa9\": \"y\"\n"
                                         "      |       ^");
}

static void test_a_long_line_is_cut_around_the_caret(void)
{
  g_autofree char *blanks = g_strnfill(500, ' ');
  g_autofree char *text = g_strdup_printf("{%s\"a\": 1%s}", blanks, blanks);
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(GError) error = NULL;
  cJSON *root = documents_parse(documents, "x", text, strlen(text), problems);

  documents_blame(documents, problems, root->child, "a", "bad");
  CU_ASSERT_FALSE_FATAL(problems_report(problems, &error));
  g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
  CU_ASSERT_EQUAL_FATAL(g_strv_length(lines), 3);
  CU_ASSERT_TRUE(strlen(lines[1]) < 110);
  CU_ASSERT_EQUAL(strchr(lines[1] + 8, '1') - lines[1], strchr(lines[2], '^') - lines[2]);
}

static void test_ten_problems_are_shown_and_the_rest_counted(void)
{
  static const char text[] = "{\"a\": 1}";
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(GError) error = NULL;
  cJSON *root = documents_parse(documents, "x", text, strlen(text), problems);

  for (guint i = 0; i < 13; i++)
    documents_blame(documents, problems, root, "a", "bad");
  CU_ASSERT_FALSE_FATAL(problems_report(problems, &error));
  CU_ASSERT_TRUE(g_str_has_suffix(error->message, "\nand 3 more"));
}

static void test_a_setting_is_json_or_else_text(void)
{
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(GError) error = NULL;
  cJSON *number = documents_parse_setting(documents, "a=4", "4", problems);
  cJSON *text = documents_parse_setting(documents, "b=25 Gbit/s", "25 Gbit/s", problems);
  cJSON *list = documents_parse_setting(documents, "c=[1]", "[1]", problems);
  g_autofree char *origin = documents_origin(documents, number);

  CU_ASSERT_TRUE(cJSON_IsNumber(number));
  CU_ASSERT_TRUE(cJSON_IsString(text));
  CU_ASSERT_TRUE(cJSON_IsArray(list));
  CU_ASSERT_STRING_EQUAL(origin, "--set a=4");
  documents_blame(documents, problems, text, "b", "bad");
  CU_ASSERT_FALSE_FATAL(problems_report(problems, &error));
  CU_ASSERT_STRING_EQUAL(error->message, "--set b=25 Gbit/s: b: bad");
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("document", NULL, NULL);
  CU_ADD_TEST(suite, test_the_raw_text_of_every_value_parses_to_that_value);
  CU_ADD_TEST(suite, test_every_mistake_has_its_place_and_cause);
  CU_ADD_TEST(suite, test_nesting_stops_before_the_stack_does);
  CU_ADD_TEST(suite, test_a_megabyte_of_mistakes_is_refused_at_once);
  CU_ADD_TEST(suite, test_the_caret_stands_under_the_mistake);
  CU_ADD_TEST(suite, test_a_long_line_is_cut_around_the_caret);
  CU_ADD_TEST(suite, test_ten_problems_are_shown_and_the_rest_counted);
  CU_ADD_TEST(suite, test_a_setting_is_json_or_else_text);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
