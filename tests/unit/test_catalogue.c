/**
 * @file test_catalogue.c
 * @brief The catalogues hold what was published: tensors, work, activations, links.
 */
#include "models/fabric.h"
#include "models/network.h"
#include "models/precision.h"
#include "tests/unit/catalogue_read.h"

#include <math.h>

#define MIB_B (1024.0 * 1024.0)

/** Published totals are printed with three or four digits. */
#define TOL_PRINTED 0.005

static bool within(double value, double wanted, double tolerance)
{
  return fabs(value - wanted) <= tolerance * wanted;
}

/* ---- models ----------------------------------------------------------------------- */

/* The digest is over "NAME VALUES\n" of every tensor in forward order, from lists that were
 * derived from the published architectures independently of the catalogue. */
// clang-format off
static const struct {
  const char *name;
  guint n_tensors;
  guint64 n_parameters, largest;
  const char *digest;
} published[] = {
  { "resnet50", 161, 25557032, 2359296,
    "334f53755e6ff66031029f8c28a746bfed2b51c490fae7f2f590bd9ca4bc0aaa" },
  { "resnet101", 314, 44549160, 2359296,
    "eed25310e442baecf3453f550fa18629ef21596ac7cf8a05e04864184766014f" },
  { "resnet152", 467, 60192808, 2359296,
    "3c487603201826569dc2d865d5cb811538ccd21e8c874a8525ce19b732ced2c8" },
  { "vgg16", 32, 138357544, 102760448,
    "d3c309f1f4622f6eaae8610ea6e9952d7df6c3d2baca65d9232d765b18e7a34b" },
  { "bert_base", 199, 109482240, 23440896,
    "05e5009b82634013e78642ec3b7f167c627493513297a70c6e71733f64ae21d2" },
  { "bert_large", 391, 335141888, 31254528,
    "f47485df60bdf1d6c1bde95fa6f4d785a01b96ef11ee889506acc415b44d413e" },
  { "gpt2_small", 148, 124439808, 38597376,
    "f9f2b8b0d82fa695b1c531bf62550dd5602382d5b3a8574f7519d1141ba9930b" },
  { "gpt2_xl", 580, 1557611200, 80411200,
    "6f9e4cb6f9a44a24997c79607e1456837e99a8110b7eea3f6d7890490822c50d" },
  { "gpt3_175b", 1156, 174604259328, 617558016,
    "617767dad64bbd3bc635b70005b1fea03b439218a0b39995cf411f9454b20456" },
  { "llama3_8b", 291, 8030261248, 525336576,
    "dac0a753cd83e897f3c370ca957faa7ae2d7fbfce9d8632ca8c033819d5c9b83" },
  { "llama3_70b", 723, 70553706496, 1050673152,
    "0af6128a9dbe46a78d61a51bc3403870e25f79bf4d428c15c198c1dc8770a4e8" },
  { "llama3_405b", 1137, 405853388800, 2101346304,
    "b72b2049f038929794192c81e9e2b3ef286756765f1996f0263b77a0069a8123" },
};
// clang-format on

static void test_every_tensor_is_the_published_one(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    g_autoptr(Model) model = read_model(published[i].name, 0);
    g_autoptr(GString) list = g_string_new(NULL);
    guint64 largest = 0;
    for (guint t = 0; t < model->tensors->len; t++) {
      const ModelTensor *tensor = model_tensor(model, t);
      g_string_append_printf(list, "%s %" G_GUINT64_FORMAT "\n", tensor->name,
                             tensor->n_values);
      largest = MAX(largest, tensor->n_values);
    }
    g_autofree char *digest =
      g_compute_checksum_for_string(G_CHECKSUM_SHA256, list->str, (gssize)list->len);
    CU_ASSERT_EQUAL(model->tensors->len, published[i].n_tensors);
    CU_ASSERT_EQUAL(model_n_parameters(model), published[i].n_parameters);
    CU_ASSERT_EQUAL(largest, published[i].largest);
    CU_ASSERT_STRING_EQUAL(digest, published[i].digest);
  }
}

static double saved_B(const Model *model, const char *prefix, double element_B)
{
  double total_B = 0;

  for (guint i = 0; i < model->layers->len; i++) {
    const ModelLayer *layer = model_layer(model, i);
    if (g_str_has_prefix(layer->name, prefix))
      total_B += layer->saved_values * element_B + layer->saved_B;
  }
  return total_B;
}

/* Multiply-adds and fp32 activations kept of one 224x224 image. */
static void test_convolutional_networks_work_and_keep_what_was_published(void)
{
  static const struct {
    const char *name;
    double gmacs, saved_mib;
  } totals[] = {
    { "resnet50", 4.089, 81.9 }, { "resnet101", 7.801, 121 }, { "resnet152", 11.514, 169 },
    { "vgg16", 15.470, 69.8 },   { "resnet18", 1.814, 21.2 }, { "alexnet", 0.714, 3.5 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(totals); i++) {
    g_autoptr(Model) model = read_model(totals[i].name, 0);
    CU_ASSERT(within(model_forward_flops(model), 2e9 * totals[i].gmacs, TOL_PRINTED / 10));
    CU_ASSERT(fabs(saved_B(model, "", 4) / MIB_B - totals[i].saved_mib) <=
              (totals[i].saved_mib < 100 ? 0.05 : 0.5));
  }
  g_autoptr(Model) resnet18 = read_model("resnet18", 0);
  g_autoptr(Model) alexnet = read_model("alexnet", 0);
  CU_ASSERT_EQUAL(model_n_parameters(resnet18), 11689512);
  CU_ASSERT_EQUAL(model_n_parameters(alexnet), 61100840);
}

/* s h (34 + 5 a s / h) bytes of 16-bit activations per layer (arXiv:2205.05198) and
 * 24 s h^2 (1 + s / 6h) forward FLOPs (arXiv:2104.04473) in each transformer layer. */
static void test_transformer_layers_follow_the_published_formulas(void)
{
  static const struct {
    const char *name, *layer;
    double h, heads;
    guint sequence;
  } rows[] = {
    { "bert_base", "l0.", 768, 12, 128 },     { "bert_large", "l23.", 1024, 16, 512 },
    { "gpt2_small", "h0.", 768, 12, 1024 },   { "gpt2_xl", "h47.", 1600, 25, 1024 },
    { "gpt3_175b", "h95.", 12288, 96, 2048 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Model) model = read_model(rows[i].name, rows[i].sequence);
    const double s = rows[i].sequence, h = rows[i].h;
    double flops = 0;
    for (guint l = 0; l < model->layers->len; l++)
      if (g_str_has_prefix(model_layer(model, l)->name, rows[i].layer))
        flops += model_layer(model, l)->forward_flops;
    CU_ASSERT_DOUBLE_EQUAL(saved_B(model, rows[i].layer, 2) /
                             (s * h * (34 + 5 * rows[i].heads * s / h)),
                           1.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(flops / (24 * s * h * h * (1 + s / (6 * h))), 1.0, 1e-12);
  }
}

/* 6 N D, the usual estimate of a training step, is 2 N D forward; attention comes on top.
 */
static void test_llama_does_two_flops_per_parameter_and_token(void)
{
  g_autoptr(Model) model = read_model("llama3_405b", 1);
  const double embedding = (double)model_tensor(model, 0)->n_values;
  const double n = (double)model_n_parameters(model) - embedding;

  CU_ASSERT(within(model_forward_flops(model), 2 * n, 1e-4));
}

static void test_positions_bound_the_sequence(void)
{
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;

  CU_ASSERT_TRUE_FATAL(
    g_file_get_contents("models/catalogue/model/bert_base.json", &text, NULL, NULL));
  g_autoptr(Model) model = bind_text(text, 513, &error);
  CU_ASSERT_PTR_NULL(model);
}

/* ---- files ------------------------------------------------------------------------ */

static GPtrArray *names_in(const char *kind)
{
  g_autofree char *folder = g_strdup_printf("models/catalogue/%s", kind);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  const char *file;

  CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
  while ((file = g_dir_read_name(dir)) != NULL)
    if (g_str_has_suffix(file, ".json"))
      g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".json")));
  CU_ASSERT(names->len > 0);
  return names;
}

static cJSON *read_entry(Documents *documents, const char *kind, const char *name)
{
  g_autofree char *path = g_strdup_printf("models/catalogue/%s/%s.json", kind, name);
  cJSON *root = read_json(documents, path);
  const cJSON *source = cJSON_GetObjectItemCaseSensitive(root, "source");

  CU_ASSERT(cJSON_IsString(source) && strlen(source->valuestring) > 10);
  return root;
}

/* Every value of @p object but those of @p extra_keys fits its row in @p specs. */
static void check_values(const char *name, const cJSON *object, const ParamSpec *specs,
                         const char *const *extra_keys)
{
  const cJSON *item = NULL;
  guint64 params[64] = { 0 }; /* room for any of the structs, aligned */

  cJSON_ArrayForEach(item, object)
  {
    const ParamSpec *spec = param_find(specs, item->string);
    g_autofree char *text = cJSON_PrintUnformatted(item);
    g_autoptr(GError) error = NULL;
    if (g_strv_contains(extra_keys, item->string))
      continue;
    if (spec != NULL && spec->type == PARAM_LIST)
      continue;
    const char *value = cJSON_IsString(item) ? item->valuestring : text;
    if (spec == NULL || param_is_quoted(spec) != (bool)cJSON_IsString(item) ||
        !param_set(spec, params, value, &error)) {
      g_autofree char *what = g_strdup_printf(
        "%s: %s: %s", name, item->string, error != NULL ? error->message : "no such key");
      puts(what);
      CU_FAIL("a catalogue value does not fit");
    }
  }
  param_clear(specs, params);
  for (const ParamSpec *spec = specs; spec->key != NULL; spec++)
    if (spec->fallback == NULL)
      CU_ASSERT_PTR_NOT_NULL(cJSON_GetObjectItemCaseSensitive(object, spec->key));
}

static void test_every_gpu_fits_its_keys_and_knows_its_name(void)
{
  g_autoptr(GPtrArray) names = names_in("gpu");

  for (guint i = 0; i < names->len; i++) {
    g_autoptr(Documents) documents = documents_new();
    const char *name = names->pdata[i];
    const cJSON *gpu = read_entry(documents, "gpu", name);
    check_values(name, gpu, gpu_params, (const char *const[]){ NULL });
    CU_ASSERT_STRING_EQUAL(
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(gpu, "name")), name);
  }
}

static bool entry_exists(const char *kind, const char *name)
{
  g_autofree char *path = g_strdup_printf("models/catalogue/%s/%s.json", kind, name);

  return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

static void test_every_node_fits_its_keys_and_its_fabric(void)
{
  g_autoptr(GPtrArray) names = names_in("node");

  for (guint i = 0; i < names->len; i++) {
    g_autoptr(Documents) documents = documents_new();
    const char *name = names->pdata[i];
    const cJSON *node = read_entry(documents, "node", name);
    const cJSON *fabric = cJSON_GetObjectItemCaseSensitive(node, "fabric");
    const char *gpu = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(node, "gpu"));
    const char *kind =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(fabric, "kind"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(gpu);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kind);
    CU_ASSERT(entry_exists("gpu", gpu));
    const ModuleInfo *info = registry_find("fabric", fabric_table, kind, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(info);
    check_values(name, node, node_params, (const char *const[]){ "gpu", "fabric", NULL });
    check_values(name, fabric, info->params, (const char *const[]){ "kind", NULL });
  }
}

static void test_every_network_fits_its_topology(void)
{
  g_autoptr(GPtrArray) names = names_in("network");

  for (guint i = 0; i < names->len; i++) {
    g_autoptr(Documents) documents = documents_new();
    const cJSON *network = read_entry(documents, "network", names->pdata[i]);
    const char *topology =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(network, "topology"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
    const ModuleInfo *info = registry_find("topology", network_table, topology, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(info);
    check_values(names->pdata[i], network, info->params,
                 (const char *const[]){ "topology", "source", NULL });
  }
}

static void test_every_model_binds_and_its_rates_name_known_gpus(void)
{
  g_autoptr(GPtrArray) names = names_in("model");

  for (guint i = 0; i < names->len; i++) {
    g_autoptr(Documents) documents = documents_new();
    g_autoptr(Model) model = read_model(names->pdata[i], 0);
    const cJSON *root = read_entry(documents, "model", names->pdata[i]);
    const cJSON *row = NULL;
    CU_ASSERT_STRING_EQUAL(model->name, names->pdata[i]);
    CU_ASSERT(model_forward_flops(model) > 0);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(root, "baselines"))
      CU_ASSERT(entry_exists(
        "gpu", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "gpu"))));
  }
}

/* ---- the hybrid cube mesh --------------------------------------------------------- */

#define CUBE_GPUS 8
#define CUBE_LINKS_PER_GPU 6

static guint number(const char *text)
{
  return (guint)g_ascii_strtoull(text, NULL, 10);
}

static void test_the_rings_of_dgx1_use_every_link_as_often_as_it_exists(void)
{
  g_autoptr(Documents) documents = documents_new();
  const cJSON *node = read_entry(documents, "node", "dgx1_v100");
  const cJSON *fabric = cJSON_GetObjectItemCaseSensitive(node, "fabric");
  const cJSON *item = NULL;
  guint links[CUBE_GPUS][CUBE_GPUS] = { 0 }, used[CUBE_GPUS][CUBE_GPUS] = { 0 };

  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(fabric, "links"))
  {
    g_auto(GStrv) gpus = g_strsplit(
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "gpus")), "-", 2);
    const guint a = number(gpus[0]), b = number(gpus[1]);
    links[a][b] = links[b][a] =
      (guint)cJSON_GetObjectItemCaseSensitive(item, "count")->valuedouble;
  }
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(fabric, "rings"))
  {
    g_auto(GStrv) order = g_strsplit(
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "order")), " ", 0);
    CU_ASSERT_EQUAL_FATAL(g_strv_length(order), CUBE_GPUS);
    for (guint i = 0; i < CUBE_GPUS; i++) {
      const guint a = number(order[i]), b = number(order[(i + 1) % CUBE_GPUS]);
      used[a][b]++;
      used[b][a]++;
    }
  }
  for (guint a = 0; a < CUBE_GPUS; a++) {
    guint n_links = 0;
    for (guint b = 0; b < CUBE_GPUS; b++) {
      n_links += links[a][b];
      CU_ASSERT_EQUAL(used[a][b], links[a][b]);
    }
    CU_ASSERT_EQUAL(n_links, CUBE_LINKS_PER_GPU);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("catalogue", NULL, NULL);
  CU_ADD_TEST(suite, test_every_tensor_is_the_published_one);
  CU_ADD_TEST(suite, test_convolutional_networks_work_and_keep_what_was_published);
  CU_ADD_TEST(suite, test_transformer_layers_follow_the_published_formulas);
  CU_ADD_TEST(suite, test_llama_does_two_flops_per_parameter_and_token);
  CU_ADD_TEST(suite, test_positions_bound_the_sequence);
  CU_ADD_TEST(suite, test_every_gpu_fits_its_keys_and_knows_its_name);
  CU_ADD_TEST(suite, test_every_node_fits_its_keys_and_its_fabric);
  CU_ADD_TEST(suite, test_every_network_fits_its_topology);
  CU_ADD_TEST(suite, test_every_model_binds_and_its_rates_name_known_gpus);
  CU_ADD_TEST(suite, test_the_rings_of_dgx1_use_every_link_as_often_as_it_exists);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
