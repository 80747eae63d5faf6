/**
 * @file test_result_json.c
 * @brief Results survive the way through JSON, and what is no result is refused.
 */
#include "sim/base/rng.h"
#include "sim/output/output.h"
#include "tests/unit/sample_results.h"

#include <CUnit/Basic.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

static char *written(const Result *result, bool private)
{
  GString *out = g_string_new(NULL);

  if (private)
    result_write_json_private(&result, 1, out);
  else
    CU_ASSERT_TRUE(output_json.render(&result, 1, out, NULL));
  return g_string_free(out, FALSE);
}

static bool same_fields(const Result *a, const Result *b, const ResultField *fields)
{
  for (; fields->key != NULL; fields++) {
    const size_t at = fields->offset;
    bool same = false;
    switch (fields->type) {
    case FIELD_TEXT:
      same = g_strcmp0(G_STRUCT_MEMBER(char *, a, at), G_STRUCT_MEMBER(char *, b, at)) == 0;
      break;
    case FIELD_COUNT:
      same = G_STRUCT_MEMBER(guint, a, at) == G_STRUCT_MEMBER(guint, b, at);
      break;
    case FIELD_COUNT64:
      same = G_STRUCT_MEMBER(guint64, a, at) == G_STRUCT_MEMBER(guint64, b, at);
      break;
    case FIELD_QUANTITY:
    case FIELD_SHARE:
      same = G_STRUCT_MEMBER(double, a, at) == G_STRUCT_MEMBER(double, b, at);
      break;
    }
    if (!same)
      return false;
  }
  return true;
}

static bool same_constants(const Result *a, const Result *b)
{
  if (a->constants->len != b->constants->len)
    return false;
  for (guint i = 0; i < a->constants->len; i++) {
    const Constant *left = &g_array_index(a->constants, Constant, i);
    const Constant *right = &g_array_index(b->constants, Constant, i);
    if (g_strcmp0(left->name, right->name) != 0 ||
        g_strcmp0(left->value, right->value) != 0 ||
        g_strcmp0(left->source, right->source) != 0 || left->assumed != right->assumed)
      return false;
  }
  return true;
}

static bool same_uses(const Result *a, const Result *b)
{
  if (a->links->len != b->links->len || a->stages->len != b->stages->len)
    return false;
  for (guint i = 0; i < a->links->len; i++) {
    const LinkUse *left = &g_array_index(a->links, LinkUse, i);
    const LinkUse *right = &g_array_index(b->links, LinkUse, i);
    if (left->tier != right->tier || left->n_links != right->n_links ||
        left->mean != right->mean || left->peak != right->peak)
      return false;
  }
  for (guint i = 0; i < a->stages->len; i++) {
    const StageUse *left = &g_array_index(a->stages, StageUse, i);
    const StageUse *right = &g_array_index(b->stages, StageUse, i);
    if (g_strcmp0(left->name, right->name) != 0 || left->busy_s != right->busy_s)
      return false;
  }
  return true;
}

static bool same_timeline(const Result *a, const Result *b)
{
  if (a->tracks->len != b->tracks->len || a->spans->len != b->spans->len ||
      a->link_spans->len != b->link_spans->len || a->last_start_s != b->last_start_s ||
      a->last_end_s != b->last_end_s)
    return false;
  for (guint i = 0; i < a->tracks->len; i++)
    if (strcmp(g_ptr_array_index(a->tracks, i), g_ptr_array_index(b->tracks, i)) != 0)
      return false;
  for (guint i = 0; i < a->spans->len; i++) {
    const Span *left = &g_array_index(a->spans, Span, i);
    const Span *right = &g_array_index(b->spans, Span, i);
    if (left->track != right->track || g_strcmp0(left->name, right->name) != 0 ||
        left->start_s != right->start_s || left->end_s != right->end_s)
      return false;
  }
  for (guint i = 0; i < a->link_spans->len; i++) {
    const LinkSpan *left = &g_array_index(a->link_spans, LinkSpan, i);
    const LinkSpan *right = &g_array_index(b->link_spans, LinkSpan, i);
    if (left->tier != right->tier || left->start_s != right->start_s ||
        left->end_s != right->end_s || left->mean != right->mean)
      return false;
  }
  return true;
}

static bool same_summary(const Result *a, const Result *b)
{
  return same_fields(a, b, result_fields) && same_fields(a, b, result_latency_fields) &&
         same_uses(a, b) && g_strcmp0(a->engine, b->engine) == 0 &&
         a->replicas == b->replicas &&
         a->iteration_time_half_s == b->iteration_time_half_s &&
         a->throughput_half_samples_per_s == b->throughput_half_samples_per_s;
}

static bool survives(const Result *result)
{
  g_autofree char *text = written(result, true);
  g_autoptr(GPtrArray) read = result_read_json(text, strlen(text), NULL);

  if (read == NULL || read->len != 1)
    return false;
  const Result *back = g_ptr_array_index(read, 0);
  return same_summary(result, back) && same_constants(result, back) &&
         same_timeline(result, back);
}

static void test_samples_survive_the_private_form(void)
{
  Result *(*const samples[])(void) = { sample_horovod, sample_ddp, sample_no_overlap,
                                       sample_one_gpu };

  for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
    g_autoptr(Result) result = samples[i]();
    CU_ASSERT_TRUE(survives(result));
  }
}

/* Of many orders of magnitude, all bits in use. */
static double random_quantity(Rng *rng)
{
  return rng_uniform(rng) * pow(10, rng_below(rng, 40) - 20.0);
}

static char *random_text(Rng *rng)
{
  static const char *const pieces[] = {
    "\"", "\\", "\n", "\t", "\x01", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x8c",
    "a",  " ",  "/",  "{",  "]",    ","
  };
  GString *text = g_string_new(NULL);

  for (guint n = rng_below(rng, 8); n > 0; n--)
    g_string_append(text, pieces[rng_below(rng, G_N_ELEMENTS(pieces))]);
  return g_string_free(text, FALSE);
}

static void randomise_fields(Rng *rng, Result *result, const ResultField *fields)
{
  for (; fields->key != NULL; fields++) {
    const size_t at = fields->offset;
    switch (fields->type) {
    case FIELD_TEXT:
      g_free(G_STRUCT_MEMBER(char *, result, at));
      G_STRUCT_MEMBER(char *, result, at) = rng_below(rng, 4) > 0 ? random_text(rng) : NULL;
      break;
    case FIELD_COUNT:
      G_STRUCT_MEMBER(guint, result, at) = rng_below(rng, G_MAXUINT);
      break;
    case FIELD_COUNT64:
      G_STRUCT_MEMBER(guint64, result, at) = (guint64)(rng_uniform(rng) * 0x1p53);
      break;
    case FIELD_QUANTITY:
      G_STRUCT_MEMBER(double, result, at) = random_quantity(rng);
      break;
    case FIELD_SHARE:
      G_STRUCT_MEMBER(double, result, at) = rng_uniform(rng);
      break;
    }
  }
}

static void add_random_parts(Rng *rng, Result *result)
{
  for (guint i = 0; i < 3; i++) {
    g_autofree char *track = random_text(rng);
    g_autofree char *stage = random_text(rng);
    result_add_track(result, track);
    result_add_stage(result, stage, random_quantity(rng));
    sample_link(result, rng_below(rng, TIER_N), rng_below(rng, G_MAXUINT), rng_uniform(rng),
                rng_uniform(rng));
  }
  for (guint i = 0; i < 5; i++) {
    g_autofree char *name = random_text(rng);
    g_autofree char *value = random_text(rng);
    g_autofree char *source = random_text(rng);
    const double start_s = random_quantity(rng);
    const LinkSpan use = { rng_below(rng, TIER_N), start_s, 2 * start_s, rng_uniform(rng) };
    sample_constant(result, name, value, source, rng_below(rng, 2) == 1);
    result_add_span(result, rng_below(rng, 3), name, start_s,
                    start_s + random_quantity(rng));
    g_array_append_val(result->link_spans, use);
  }
}

static Result *random_result(Rng *rng)
{
  Result *result = result_new();

  result->engine = random_text(rng);
  randomise_fields(rng, result, result_fields);
  randomise_fields(rng, result, result_latency_fields);
  result->latency_p95_s += result->latency_p50_s;
  result->latency_p99_s += result->latency_p95_s;
  result->replicas = 1 + rng_below(rng, 1000);
  result->iteration_time_half_s = random_quantity(rng);
  result->throughput_half_samples_per_s = random_quantity(rng);
  add_random_parts(rng, result);
  result->last_start_s = random_quantity(rng);
  result->last_end_s = result->last_start_s + random_quantity(rng);
  return result;
}

static void test_any_result_survives_exactly(void)
{
  g_autoptr(Rng) rng = rng_stream(1, "test_result_json");

  for (guint i = 0; i < 200; i++) {
    g_autoptr(Result) result = random_result(rng);
    CU_ASSERT_TRUE_FATAL(result_check(result, NULL));
    CU_ASSERT_TRUE(survives(result));
  }
}

static void test_the_public_form_keeps_all_but_the_timeline(void)
{
  g_autoptr(Result) result = sample_horovod();
  g_autofree char *text = written(result, false);
  g_autoptr(GPtrArray) read = result_read_json(text, strlen(text), NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(read);
  const Result *back = g_ptr_array_index(read, 0);
  CU_ASSERT_TRUE(same_summary(result, back));
  CU_ASSERT_TRUE(same_constants(result, back));
  CU_ASSERT_EQUAL(back->spans->len, 0);
  CU_ASSERT_PTR_NULL(strstr(text, "timeline"));
}

static const cJSON *value_of(const cJSON *root, guint constant)
{
  const cJSON *results = cJSON_GetObjectItemCaseSensitive(root, "results");
  const cJSON *constants =
    cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(results, 0), "constants");

  return cJSON_GetArrayItem(constants, (int)constant);
}

static void test_values_split_into_number_and_unit(void)
{
  static const struct {
    const char *text, *number, *unit;
  } cases[] = {
    { "25 Gbit/s", "25", "Gbit/s" },
    { "0.35", "0.35", "" },
    { "1e-3 s", "1e-3", "s" },
    { "nccl", NULL, "" },
    { "01 s", NULL, "" },
    { "1. s", NULL, "" },
    { "25Gbit/s", NULL, "" },
    { "1e999 s", NULL, "" },
    { "", NULL, "" },
    { "-5 us", "-5", "us" },
    { "8-GPU node", NULL, "" },
  };

  g_autoptr(Result) result = sample_one_gpu();
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    sample_constant(result, "x", cases[i].text, "here", false);
  g_autofree char *text = written(result, false);
  g_autoptr(cJSON) root = cJSON_ParseWithOpts(text, NULL, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const cJSON *constant = value_of(root, i);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(constant, "value");
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(constant, "unit");
    CU_ASSERT_STRING_EQUAL(unit->valuestring, cases[i].unit);
    if (cases[i].number != NULL) {
      CU_ASSERT_EQUAL(value->valuedouble, g_ascii_strtod(cases[i].number, NULL));
    } else {
      CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(value), cases[i].text);
    }
  }
}

/* Does reading fail when the first @p from of a good text becomes @p to? */
static bool refuses(const char *from, const char *to, const char *words)
{
  g_autoptr(Result) result = sample_horovod();
  g_autofree char *text = written(result, true);
  const char *at = strstr(text, from);
  g_autoptr(GError) error = NULL;

  if (at == NULL)
    return false;
  g_autofree char *broken =
    g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  g_autoptr(GPtrArray) read = result_read_json(broken, strlen(broken), &error);
  return read == NULL && error != NULL && error->domain == SIM_ERROR &&
         strstr(error->message, words) != NULL;
}

static void test_what_is_no_result_is_refused(void)
{
  CU_ASSERT_TRUE(refuses("\"format\": 1", "\"format\": 2", "format: 2"));
  CU_ASSERT_TRUE(refuses("\"gpus\": 1600", "\"gpus\": -1", "gpus"));
  CU_ASSERT_TRUE(refuses("\"gpus\": 1600", "\"gpus\": 1.5", "gpus"));
  CU_ASSERT_TRUE(refuses("\"gpus\": 1600", "\"gpus\": 1e10", "gpus"));
  CU_ASSERT_TRUE(refuses("\"gpus\": 1600", "\"gpus\": \"1600\"", "gpus"));
  CU_ASSERT_TRUE(refuses("\"floor_s\"", "\"flor_s\"", "floor_s"));
  CU_ASSERT_TRUE(refuses("\"retransmission_rate\": 0", "\"retransmission_rate\": 1e999",
                         "retransmission_rate"));
  CU_ASSERT_TRUE(refuses("\"retransmission_rate\": 0", "\"retransmission_rate\": 2",
                         "retransmission_rate"));
  CU_ASSERT_TRUE(refuses("\"p99\"", "\"p98\"", "p99"));
  CU_ASSERT_TRUE(refuses("\"tier\": \"nic\"", "\"tier\": \"string\"", "tier"));
  CU_ASSERT_TRUE(refuses("\"replicas\": 1", "\"replicas\": 0", "replicas"));
  CU_ASSERT_TRUE(refuses("\"assumed\": false", "\"assumed\": 0", "assumed"));
  CU_ASSERT_TRUE(refuses("\"results\": [", "\"results\": [1,", "results"));
  CU_ASSERT_TRUE(refuses("[0, \"optimizer\"", "[9, \"optimizer\"", "track"));
  CU_ASSERT_TRUE(refuses("[0, \"optimizer\"", "[0, 1, \"optimizer\"", "timeline.spans"));
  CU_ASSERT_TRUE(refuses("\"link_spans\": [", "\"link_spans\": [[],", "link_spans"));
}

static void test_a_text_that_is_cut_off_is_refused(void)
{
  g_autoptr(Result) result = sample_horovod();
  g_autofree char *text = written(result, true);
  const gsize length = strlen(text) - 1; /* the last byte is a line end */

  for (gsize n = 0; n < length; n += 7) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) read = result_read_json(text, n, &error);
    CU_ASSERT_PTR_NULL(read);
    CU_ASSERT_PTR_NOT_NULL(error);
  }
  text[length / 2] = '\0';
  CU_ASSERT_PTR_NULL(result_read_json(text, length, NULL));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("result_json", NULL, NULL);
  CU_ADD_TEST(suite, test_samples_survive_the_private_form);
  CU_ADD_TEST(suite, test_any_result_survives_exactly);
  CU_ADD_TEST(suite, test_the_public_form_keeps_all_but_the_timeline);
  CU_ADD_TEST(suite, test_values_split_into_number_and_unit);
  CU_ADD_TEST(suite, test_what_is_no_result_is_refused);
  CU_ADD_TEST(suite, test_a_text_that_is_cut_off_is_refused);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
