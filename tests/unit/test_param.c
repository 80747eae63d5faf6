/**
 * @file test_param.c
 * @brief One row parses, fills, checks, prints and frees its field.
 */
#include "sim/base/param.h"

#include <CUnit/Basic.h>
#include <string.h>

typedef struct {
  guint64 up_to_B;
  char *use;
} Rule;

typedef struct {
  guint count;
  double number, time_s, rate_Bps, any_rate_Bps, flops, fraction;
  bool flag;
  guint64 size_B;
  guint mode;
  char *text;
  GArray *rules;
} Params;

static const char *const modes[] = { "ideal", "naive", "djb2", NULL };

static const ParamSpec rule_specs[] = {
  { .key = "up_to",
    .type = PARAM_BYTES,
    .offset = offsetof(Rule, up_to_B),
    .fallback = "0" },
  { .key = "use", .type = PARAM_TEXT, .offset = offsetof(Rule, use) },
  PARAM_END,
};

static const ParamSpec specs[] = {
  { .key = "count",
    .type = PARAM_COUNT,
    .offset = offsetof(Params, count),
    .fallback = "3",
    .min = 1,
    .max = 64 },
  { .key = "number",
    .type = PARAM_NUMBER,
    .offset = offsetof(Params, number),
    .fallback = "0.5" },
  { .key = "flag",
    .type = PARAM_BOOL,
    .offset = offsetof(Params, flag),
    .fallback = "true" },
  { .key = "size",
    .type = PARAM_BYTES,
    .offset = offsetof(Params, size_B),
    .fallback = "64 MiB" },
  { .key = "time",
    .type = PARAM_SECONDS,
    .offset = offsetof(Params, time_s),
    .fallback = "5 ms",
    .min = 1e-6,
    .max = 1 },
  { .key = "rate",
    .type = PARAM_RATE,
    .offset = offsetof(Params, rate_Bps),
    .fallback = "25 Gbit/s" },
  { .key = "any_rate",
    .type = PARAM_RATE,
    .offset = offsetof(Params, any_rate_Bps),
    .fallback = "0",
    .max = 1e12 },
  { .key = "flops",
    .type = PARAM_FLOPS,
    .offset = offsetof(Params, flops),
    .fallback = "125 TFLOP/s" },
  { .key = "fraction",
    .type = PARAM_FRACTION,
    .offset = offsetof(Params, fraction),
    .fallback = "35 %" },
  { .key = "mode",
    .type = PARAM_NAME,
    .offset = offsetof(Params, mode),
    .fallback = "djb2",
    .names = modes },
  { .key = "text",
    .type = PARAM_TEXT,
    .offset = offsetof(Params, text),
    .fallback = "hello" },
  { .key = "rules",
    .type = PARAM_LIST,
    .offset = offsetof(Params, rules),
    .fallback = "",
    .item = rule_specs,
    .item_size = sizeof(Rule) },
  PARAM_END,
};

static void test_defaults_fill_every_field(void)
{
  Params params = { 0 };

  param_set_defaults(specs, &params);
  CU_ASSERT_EQUAL(params.count, 3);
  CU_ASSERT_EQUAL(params.number, 0.5);
  CU_ASSERT_TRUE(params.flag);
  CU_ASSERT_EQUAL(params.size_B, 1 << 26);
  CU_ASSERT_EQUAL(params.time_s, 0.005);
  CU_ASSERT_EQUAL(params.rate_Bps, 3125000000);
  CU_ASSERT_EQUAL(params.any_rate_Bps, 0);
  CU_ASSERT_EQUAL(params.flops, 125e12);
  CU_ASSERT_EQUAL(params.fraction, 0.35);
  CU_ASSERT_EQUAL(params.mode, 2);
  CU_ASSERT_STRING_EQUAL(params.text, "hello");
  CU_ASSERT_EQUAL(params.rules->len, 0);
  param_clear(specs, &params);
  CU_ASSERT_PTR_NULL(params.text);
  CU_ASSERT_PTR_NULL(params.rules);
}

static void test_format_gives_back_the_default(void)
{
  Params params = { 0 };

  param_set_defaults(specs, &params);
  for (const ParamSpec *spec = specs; spec->key != NULL; spec++) {
    g_autofree char *text = param_format(spec, &params);
    CU_ASSERT_STRING_EQUAL(text, spec->type == PARAM_LIST ? "[]" : spec->fallback);
  }
  param_clear(specs, &params);
}

static void test_a_list_is_printed_as_json(void)
{
  Params params = { 0 };
  Rule rules[] = { { .up_to_B = 1 << 20, .use = g_strdup("a \"tree\"") }, { .use = NULL } };

  param_set_defaults(specs, &params);
  g_array_append_vals(params.rules, rules, G_N_ELEMENTS(rules));
  g_autofree char *text = param_format(param_find(specs, "rules"), &params);
  CU_ASSERT_STRING_EQUAL(text, "[{\"up_to\": \"1 MiB\", \"use\": \"a \\\"tree\\\"\"}, "
                               "{\"up_to\": \"0\", \"use\": \"\"}]");
  param_clear(specs, &params);
}

static void test_refusals_say_the_range_in_the_users_units(void)
{
  static const struct {
    const char *key, *text, *message;
  } rows[] = {
    { "count", "0", "0 is out of range: must be between 1 and 64" },
    { "count", "1e9", "1000000000 is out of range: must be between 1 and 64" },
    { "count", "2.5", "2.5 is not a whole number" },
    { "size", "-1 B", "-1 B is out of range: must be at least 0" },
    { "size", "0.3 B", "0.3 B is not a whole number of bytes" },
    { "time", "2 s", "2 s is out of range: must be between 1 us and 1 s" },
    { "rate", "0", "0 is out of range: must be above 0" },
    { "rate", "-1 GB/s", "-1 GB/s is out of range: must be above 0" },
    { "any_rate", "2 TB/s", "2 TB/s is out of range: must be between 0 and 1 TB/s" },
    { "fraction", "120 %", "120 % is out of range: must be between 0 and 100 %" },
    { "mode", "niave", "unknown mode 'niave'; did you mean 'naive'?" },
    { "flag", "yes", "'yes' is neither true nor false" },
  };
  Params params = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE_FATAL(
      param_set(param_find(specs, rows[i].key), &params, rows[i].text, &error));
    CU_ASSERT_STRING_EQUAL(error->message, rows[i].message);
    if (strcmp(error->message, rows[i].message) != 0)
      g_printerr("\n%s\n", error->message);
  }
}

static void test_an_unknown_key_has_no_row(void)
{
  CU_ASSERT_PTR_NULL(param_find(specs, "counts"));
  CU_ASSERT_PTR_NULL(param_find(NULL, "count"));
  CU_ASSERT_EQUAL(param_count(specs), 12);
  CU_ASSERT_EQUAL(param_count(NULL), 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("param", NULL, NULL);
  CU_ADD_TEST(suite, test_defaults_fill_every_field);
  CU_ADD_TEST(suite, test_format_gives_back_the_default);
  CU_ADD_TEST(suite, test_a_list_is_printed_as_json);
  CU_ADD_TEST(suite, test_refusals_say_the_range_in_the_users_units);
  CU_ADD_TEST(suite, test_an_unknown_key_has_no_row);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
