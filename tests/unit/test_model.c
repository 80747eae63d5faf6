/**
 * @file test_model.c
 * @brief A model file means what it says, and every mistake in one is named.
 */
#include "tests/unit/catalogue_read.h"

static const char small[] =
  "{\"name\": \"small\", \"sequence\": 10, \"sample\": \"{sequence} tokens\", \"layers\": ["
  "  {\"name\": \"embed\", \"values\": 50},"
  "  {\"repeat\": 3, \"first\": 1, \"name\": \"h{i}\", \"layers\": ["
  "    {\"name\": \"fc\", \"flops\": 5, \"flops_per_token\": 2, \"flops_per_token_pair\": "
  "1,"
  "     \"moved_per_token\": 4, \"saved\": 7, \"saved_bytes_per_token_pair\": 0.5,"
  "     \"tensors\": [{\"name\": \"w\", \"values\": 8}, {\"name\": \"b\", \"values\": 2}]},"
  "    {\"name\": \"relu\", \"moved\": 6}]}],"
  " \"baselines\": ["
  "   {\"gpu\": \"t4\", \"precision\": \"amp\", \"samples_per_s\": 5, \"source\": \"us\"},"
  "   {\"gpu\": \"t4\", \"precision\": \"amp\", \"samples_per_s\": 9, \"sequence\": 20,"
  "    \"source\": \"us\"}]}";

static void test_repetitions_are_written_out_in_order(void)
{
  static const char *const layers[] = { "embed",   "h1.fc", "h1.relu", "h2.fc",
                                        "h2.relu", "h3.fc", "h3.relu" };
  static const char *const tensors[] = { "embed",   "h1.fc.w", "h1.fc.b", "h2.fc.w",
                                         "h2.fc.b", "h3.fc.w", "h3.fc.b" };
  g_autoptr(Model) model = bind_text(small, 0, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(model);
  CU_ASSERT_EQUAL_FATAL(model->layers->len, G_N_ELEMENTS(layers));
  CU_ASSERT_EQUAL_FATAL(model->tensors->len, G_N_ELEMENTS(tensors));
  for (guint i = 0; i < G_N_ELEMENTS(layers); i++)
    CU_ASSERT_STRING_EQUAL(model_layer(model, i)->name, layers[i]);
  for (guint i = 0; i < G_N_ELEMENTS(tensors); i++)
    CU_ASSERT_STRING_EQUAL(model_tensor(model, i)->name, tensors[i]);
  CU_ASSERT_EQUAL(model_layer(model, 3)->first_tensor, 3);
  CU_ASSERT_EQUAL(model_layer(model, 3)->n_tensors, 2);
  CU_ASSERT_EQUAL(model_layer(model, 4)->n_tensors, 0);
  CU_ASSERT_EQUAL(model_n_parameters(model), 80);
}

static void test_amounts_grow_with_the_sequence_and_its_square(void)
{
  g_autoptr(Model) own = bind_text(small, 0, NULL);
  g_autoptr(Model) longer = bind_text(small, 20, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(own);
  CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
  CU_ASSERT_EQUAL(model_layer(own, 1)->forward_flops, 5 + 2 * 10 + 1 * 100);
  CU_ASSERT_EQUAL(model_layer(longer, 1)->forward_flops, 5 + 2 * 20 + 1 * 400);
  CU_ASSERT_EQUAL(model_layer(longer, 1)->moved_values, 80);
  CU_ASSERT_EQUAL(model_layer(longer, 1)->saved_values, 7);
  CU_ASSERT_EQUAL(model_layer(longer, 1)->saved_B, 200);
  CU_ASSERT_EQUAL(model_forward_flops(own), 3 * 125);
  CU_ASSERT_EQUAL(longer->sequence, 20);
  CU_ASSERT_STRING_EQUAL(longer->sample, "20 tokens");
}

static void test_a_published_rate_holds_for_its_sequence_alone(void)
{
  g_autoptr(Model) own = bind_text(small, 0, NULL);
  g_autoptr(Model) longer = bind_text(small, 20, NULL);
  g_autoptr(Model) other = bind_text(small, 30, NULL);

  CU_ASSERT_EQUAL_FATAL(own->baselines->len, 1);
  CU_ASSERT_EQUAL_FATAL(longer->baselines->len, 1);
  CU_ASSERT_EQUAL(g_array_index(own->baselines, ModelBaseline, 0).samples_per_s, 5);
  CU_ASSERT_EQUAL(g_array_index(longer->baselines, ModelBaseline, 0).samples_per_s, 9);
  CU_ASSERT_EQUAL(other->baselines->len, 0);
}

/* ---- mistakes --------------------------------------------------------------------- */

#define MODEL(layers) "{\"name\": \"m\", \"layers\": [" layers "]}"
#define LAYER(rest) MODEL("{\"name\": \"a\", " rest "}")
#define RATE(rest)                                                                         \
  "{\"name\": \"m\", \"layers\": [{\"name\": \"a\", \"values\": 1}], " rest "}"

/* clang-format off */
static const struct {
  const char *text;
  const char *message; /* part of the report */
} mistakes[] = {
  { "[]", "expected an object" },
  { "{}", "missing \"name\"" },
  { "{}", "missing \"layers\"" },
  { "{\"name\": \"\", \"layers\": []}", "name: expected a text" },
  { MODEL(""), "layers: expected a list, [...] that is not empty" },
  { MODEL("7"), "layers[0]: expected an object" },
  { MODEL("{\"values\": 1}"), "missing \"name\"" },
  { LAYER("\"values\": -5"), "layers[0].values: expected a bare whole number, 1 to 1" },
  { LAYER("\"values\": 0"), "layers[0].values" },
  { LAYER("\"values\": 1.5"), "layers[0].values" },
  { LAYER("\"values\": 1e13"), "layers[0].values" },
  { LAYER("\"values\": \"64 MiB\""), "layers[0].values" },
  { LAYER("\"values\": null"), "layers[0].values" },
  { LAYER("\"tensors\": [{\"values\": 1}]"), "layers[0].tensors[0]: missing \"name\"" },
  { LAYER("\"tensors\": [{\"name\": \"w\"}]"), "missing \"values\"" },
  { LAYER("\"tensors\": [{\"name\": \"w\", \"values\": -1}]"), "layers[0].tensors[0].values" },
  { LAYER("\"tensors\": [{\"name\": \"w\", \"values\": 1}, {\"name\": \"w\", \"values\": 2}]"),
    "layers[0].tensors[1]: the layer has another tensor 'w'" },
  { LAYER("\"values\": 1, \"tensors\": [{\"name\": \"w\", \"values\": 1}]"), "give either" },
  { LAYER("\"valeus\": 1"), "unknown key 'valeus'; did you mean 'values'?" },
  { LAYER("\"values\": 1, \"flops\": -1"), "layers[0].flops" },
  { LAYER("\"values\": 1, \"flops\": 1e31"), "layers[0].flops" },
  { LAYER("\"values\": 1, \"flops_per_token\": 1"), "needs a \"sequence\"" },
  { LAYER("\"flops\": 1"), "no tensor" },
  { LAYER("\"values\": 1, \"repeat\": 0"), "layers[0].repeat" },
  { LAYER("\"values\": 1, \"repeat\": 10001"), "layers[0].repeat" },
  { LAYER("\"values\": 1, \"repeat\": 2"), "needs {i} in the name" },
  { LAYER("\"layers\": []"), "layers[0].layers: expected a list" },
  { LAYER("\"flops\": 1, \"layers\": [{\"name\": \"b\", \"values\": 1}]"),
    "layers[0].flops: belongs into one of the \"layers\"" },
  { MODEL("{\"name\": \"a\", \"values\": 1}, {\"name\": \"a\", \"values\": 2}"),
    "another layer 'a'" },
  { MODEL("{\"name\": \"h{i}\", \"repeat\": 3, \"values\": 1}, {\"name\": \"h2\", \"values\": 1}"),
    "another layer 'h2'" },
  { MODEL("{\"name\": \"a{i}\", \"repeat\": 10000, \"layers\": ["
          "{\"name\": \"b{i}\", \"repeat\": 10000, \"layers\": ["
          "{\"name\": \"c{i}\", \"repeat\": 10000, \"values\": 1}]}]}"),
    "repeat to 1e+12 layers and 1e+12 tensors; at most 1000000" },
  { RATE("\"baselines\": {}"), "baselines: expected a list" },
  { RATE("\"baselines\": [{\"gpu\": \"t4\", \"precision\": \"fp23\", \"samples_per_s\": 1, "
         "\"source\": \"s\"}]"), "unknown precision 'fp23'; did you mean 'fp32'?" },
  { RATE("\"baselines\": [{\"gpu\": \"t4\", \"precision\": \"amp\", \"samples_per_s\": 1}]"),
    "baselines[0]: missing \"source\"" },
  { RATE("\"baselines\": [{\"gpu\": \"t4\", \"precision\": \"amp\", \"samples_per_s\": 0, "
         "\"source\": \"s\"}]"), "more than 0" },
  { RATE("\"sequence\": 600, \"max_sequence\": 512"), "600 tokens is longer than its 512" },
  { RATE("\"sequence\": -1"), "sequence: expected a bare whole number" },
};
/* clang-format on */

static void test_every_mistake_is_named(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Model) model = bind_text(mistakes[i].text, 0, &error);
    CU_ASSERT_PTR_NULL(model);
    if (error == NULL || strstr(error->message, mistakes[i].message) == NULL) {
      g_autofree char *what =
        g_strdup_printf("%s: wanted '%s', got '%s'", mistakes[i].text, mistakes[i].message,
                        error != NULL ? error->message : "nothing");
      puts(what);
      CU_FAIL("a mistake is not named");
    }
  }
}

static void test_all_mistakes_of_a_file_are_named_at_once(void)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Model) model =
    bind_text(MODEL("{\"name\": \"a\", \"values\": -1}, {\"name\": \"b\", \"values\": 0.5},"
                    "{\"nmae\": \"c\", \"values\": 1}"),
              0, &error);

  CU_ASSERT_PTR_NULL(model);
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "layers[0].values"));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "layers[1].values"));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "did you mean 'name'"));
}

static void test_a_sequence_is_refused_where_there_is_none(void)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Model) model = bind_text(LAYER("\"values\": 1"), 128, &error);

  CU_ASSERT_PTR_NULL(model);
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "workload.sequence"));
}

static void test_the_largest_model_allowed_is_read(void)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Model) model =
    bind_text(MODEL("{\"name\": \"a{i}\", \"repeat\": 100, \"layers\": ["
                    "{\"name\": \"b{i}\", \"repeat\": 10000, \"values\": 1000000000000}]}"),
              0, &error);

  CU_ASSERT_PTR_NOT_NULL_FATAL(model);
  CU_ASSERT_EQUAL(model->tensors->len, 1000000);
  CU_ASSERT_EQUAL(model_n_parameters(model), G_GUINT64_CONSTANT(1000000000000000000));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("model", NULL, NULL);
  CU_ADD_TEST(suite, test_repetitions_are_written_out_in_order);
  CU_ADD_TEST(suite, test_amounts_grow_with_the_sequence_and_its_square);
  CU_ADD_TEST(suite, test_a_published_rate_holds_for_its_sequence_alone);
  CU_ADD_TEST(suite, test_every_mistake_is_named);
  CU_ADD_TEST(suite, test_all_mistakes_of_a_file_are_named_at_once);
  CU_ADD_TEST(suite, test_a_sequence_is_refused_where_there_is_none);
  CU_ADD_TEST(suite, test_the_largest_model_allowed_is_read);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
