/**
 * @file test_scenario.c
 * @brief What a scenario says is what the setup holds; what show prints says the same.
 */
#include "sim/scenario/scenario.h"

#include "models/network.h"
#include "models/transport.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"

#include <CUnit/Basic.h>
#include <glib/gstdio.h>
#include <string.h>

#define CLUSTER "\"cluster\": {\"nodes\": 4, \"node\": \"dgx1_v100\"}"
#define WORKLOAD "\"workload\": {\"model\": \"alexnet\", \"batch_per_gpu\": 8}"

static Scenario *parse(const char *text, const char *const *settings)
{
  g_autoptr(GError) error = NULL;
  Scenario *scenario = scenario_parse("x.json", text, strlen(text), settings, &error);

  if (scenario == NULL)
    g_printerr("\n%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

static char *refusal_of(const char *text, const char *const *settings)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario =
    scenario_parse("x.json", text, strlen(text), settings, &error);

  CU_ASSERT_PTR_NULL(scenario);
  return error == NULL ? g_strdup("") : g_strdup(error->message);
}

/* The value that show prints for "strategy.name". Transfer: caller frees. */
static char *shown(const Scenario *scenario, const char *path)
{
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autofree char *text = scenario_show(scenario);
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  const cJSON *item = documents_parse(documents, "show", text, strlen(text), problems);

  for (char **key = keys; *key != NULL; key++)
    item = cJSON_GetObjectItemCaseSensitive(item, *key);
  return item == NULL ? g_strdup("(none)") : documents_raw(documents, item);
}

static void assert_shown(const Scenario *scenario, const char *path, const char *value)
{
  g_autofree char *found = shown(scenario, path);

  CU_ASSERT_STRING_EQUAL(found, value);
  if (strcmp(found, value) != 0)
    g_printerr("\n%s: %s, not %s\n", path, found, value);
}

static const Constant *constant(const Scenario *scenario, const char *name)
{
  const GArray *constants = scenario_setup(scenario)->constants;

  for (guint i = 0; i < constants->len; i++)
    if (strcmp(g_array_index(constants, Constant, i).name, name) == 0)
      return &g_array_index(constants, Constant, i);
  return NULL;
}

/* ---- reading ------------------------------------------------------------------------ */

static const char whole[] =
  "// ResNet-50 under Horovod on 200 nodes\n"
  "{\n"
  "  \"name\": \"resnet50-200x8-horovod\",\n"
  "  \"cluster\": {\n"
  "    \"nodes\": 200,\n"
  "    \"node\": \"dgx1_v100\",\n"
  "    \"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 20, "
  "\"oversubscription\": 2, \"latency\": \"1 us\"},\n"
  "    \"nic\": {\"count\": 1, \"rate\": \"25 Gbit/s\"},\n"
  "    \"transport\": {\"kind\": \"tcp\", \"mtu\": \"9000 B\"}\n"
  "  },\n"
  "  \"workload\": {\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"precision\": "
  "\"fp32\", "
  "\"compute\": {\"samples_per_s\": 370}},\n"
  "  \"strategy\": {\"name\": \"horovod\", \"fusion_threshold\": \"64 MiB\", "
  "\"cycle_time\": \"5 ms\"},\n"
  "  \"library\": {\"name\": \"nccl\", \"algo\": \"ring\"},\n"
  "  \"compression\": {\"codec\": \"none\"},\n"
  "  \"calibration\": \"preset\",\n"
  "  \"run\": {\"iterations\": 20, \"warmup\": 3, \"seed\": 1, \"replicas\": 1}\n"
  "}\n";

static void test_a_whole_scenario_becomes_a_setup(void)
{
  g_autoptr(Scenario) scenario = parse(whole, NULL);
  const Setup *setup = scenario_setup(scenario);

  CU_ASSERT_STRING_EQUAL(setup->name, "resnet50-200x8-horovod");
  CU_ASSERT_EQUAL(setup->cluster.n_nodes, 200);
  CU_ASSERT_EQUAL(setup->cluster.node.n_gpus, 8);
  CU_ASSERT_EQUAL(setup->cluster.node.n_nics, 1);
  CU_ASSERT_EQUAL(setup->cluster.node.nic_rate_Bps, 3125000000);
  CU_ASSERT_STRING_EQUAL(setup->cluster.node.gpu.name, "v100_sxm2_16gb");
  CU_ASSERT_EQUAL(setup->cluster.node.gpu.memory_Bps, 900e9);
  CU_ASSERT_STRING_EQUAL(setup->cluster.network->info.name, "leaf_spine");
  CU_ASSERT_STRING_EQUAL(setup->cluster.transport->info.name, "tcp");
  CU_ASSERT_STRING_EQUAL(setup->model->name, "resnet50");
  CU_ASSERT_EQUAL(setup->workload.batch_per_gpu, 64);
  CU_ASSERT_EQUAL(setup->workload.precision, PRECISION_FP32);
  CU_ASSERT_EQUAL(setup->compute.samples_per_s, 370);
  CU_ASSERT_STRING_EQUAL(setup->strategy->info.name, "horovod");
  CU_ASSERT_STRING_EQUAL(setup->library->info.name, "nccl");
  CU_ASSERT_EQUAL(setup->run.iterations, 20);
  assert_shown(scenario, "strategy.fusion_threshold", "\"64 MiB\"");
  assert_shown(scenario, "cluster.network.nodes_per_leaf", "20");
}

static void test_everything_but_cluster_and_workload_has_a_default(void)
{
  g_autoptr(Scenario) scenario = parse("{" CLUSTER ", " WORKLOAD "}", NULL);
  const Setup *setup = scenario_setup(scenario);

  CU_ASSERT_STRING_EQUAL(setup->name, "x");
  CU_ASSERT_STRING_EQUAL(setup->cluster.network->info.name, "switch");
  CU_ASSERT_STRING_EQUAL(setup->cluster.transport->info.name, "rdma");
  CU_ASSERT_STRING_EQUAL(setup->strategy->info.name, "ddp");
  CU_ASSERT_STRING_EQUAL(setup->library->info.name, "nccl");
  CU_ASSERT_EQUAL(setup->run.replicas, 1);
}

static void test_one_gpu_without_a_nic_is_a_cluster(void)
{
  g_autoptr(Scenario) scenario = parse(
    "{\"cluster\": {\"nodes\": 1, \"node\": \"pcie_1\", \"nic\": {\"count\": 0}}, " WORKLOAD
    "}",
    NULL);

  CU_ASSERT_EQUAL(scenario_setup(scenario)->cluster.node.n_gpus, 1);
  CU_ASSERT_EQUAL(scenario_setup(scenario)->cluster.node.n_nics, 0);
}

static void test_windows_files_are_read(void)
{
  g_autoptr(Scenario) scenario =
    parse("\xef\xbb\xbf{\r\n  " CLUSTER ", // c\r\n  " WORKLOAD "\r\n}\r\n", NULL);

  CU_ASSERT_EQUAL(scenario_setup(scenario)->cluster.n_nodes, 4);
}

static void test_a_base_can_be_overridden_key_by_key(void)
{
  g_autoptr(Scenario) scenario = parse(
    "{\"cluster\": {\"nodes\": 2, \"node\": {\"base\": \"dgx_a100\", \"nics\": 4, "
    "\"gpu\": {\"base\": \"a100_sxm4_40gb\", \"memory\": \"39 GiB\"}}}, " WORKLOAD "}",
    NULL);
  const NodeSpec *node = &scenario_setup(scenario)->cluster.node;

  CU_ASSERT_STRING_EQUAL(node->name, "dgx_a100");
  CU_ASSERT_EQUAL(node->n_nics, 4);
  CU_ASSERT_EQUAL(node->nic_rate_Bps, 25e9);
  CU_ASSERT_STRING_EQUAL(node->gpu.name, "a100_sxm4_40gb");
  CU_ASSERT_EQUAL(node->gpu.memory_B, G_GUINT64_CONSTANT(39) << 30);
  CU_ASSERT_EQUAL(node->gpu.fp16_flops, 312e12);
}

static void test_all_mistakes_are_told_at_once(void)
{
  g_autofree char *message =
    refusal_of("{\"cluster\": {\"nodes\": 0, \"node\": \"dgx\"},\n" WORKLOAD
               ",\n\"strategy\": {\"name\": \"ddq\"},\n\"extra\": 1}",
               NULL);

  CU_ASSERT_PTR_NOT_NULL(strstr(message, "x.json:1:23: cluster.nodes: 0 is out of range"));
  CU_ASSERT_PTR_NOT_NULL(strstr(message, "x.json:1:34: cluster.node: unknown node 'dgx'"));
  CU_ASSERT_PTR_NOT_NULL(
    strstr(message, "x.json:3:22: strategy.name: unknown strategy 'ddq'"));
  CU_ASSERT_PTR_NOT_NULL(strstr(message, "x.json:4:1: extra: unknown key 'extra'"));
}

/* ---- settings ----------------------------------------------------------------------- */

static void test_settings_are_laid_over_the_file(void)
{
  const char *const settings[] = {
    "cluster.nodes=16",    "cluster.nic.rate=100 Gbit/s",
    "cluster.node.nics=2", "cluster.node.gpu.memory=8 GiB",
    "run={\"seed\": 7}",   "workload.compute.efficiency=35 %",
    "name=other",          NULL
  };
  g_autoptr(Scenario) scenario = parse(whole, settings);
  const Setup *setup = scenario_setup(scenario);

  CU_ASSERT_EQUAL(setup->cluster.n_nodes, 16);
  CU_ASSERT_EQUAL(setup->cluster.node.nic_rate_Bps, 12.5e9);
  CU_ASSERT_EQUAL(setup->cluster.node.n_nics, 1); /* cluster.nic.count has the last word */
  CU_ASSERT_EQUAL(setup->cluster.node.gpu.memory_B, G_GUINT64_CONSTANT(8) << 30);
  CU_ASSERT_EQUAL(setup->run.seed, 7);
  CU_ASSERT_EQUAL(setup->run.iterations, 20);
  CU_ASSERT_EQUAL(setup->compute.efficiency, 0.35);
  CU_ASSERT_EQUAL(setup->compute.samples_per_s,
                  0); /* one way of saying it replaces another */
  CU_ASSERT_STRING_EQUAL(setup->name, "other");
  CU_ASSERT_STRING_EQUAL(constant(scenario, "cluster.nic.rate")->source,
                         "--set cluster.nic.rate=100 Gbit/s");
}

static void test_another_module_drops_the_parameters_of_the_first(void)
{
  const char *const settings[] = { "strategy.name=ddp", "cluster.network.topology=switch",
                                   NULL };
  g_autoptr(Scenario) scenario = parse(whole, settings);

  CU_ASSERT_STRING_EQUAL(scenario_setup(scenario)->strategy->info.name, "ddp");
  assert_shown(scenario, "strategy.fusion_threshold", "(none)");
  assert_shown(scenario, "cluster.network.nodes_per_leaf", "(none)");
}

static void test_null_takes_a_key_away(void)
{
  const char *const settings[] = { "workload.compute=null", "strategy.cycle_time=null",
                                   NULL };
  g_autoptr(Scenario) scenario = parse(whole, settings);

  CU_ASSERT_EQUAL(scenario_setup(scenario)->compute.samples_per_s, 0);
  assert_shown(scenario, "strategy.cycle_time", "\"1 ms\"");
  assert_shown(scenario, "strategy.fusion_threshold", "\"64 MiB\"");
}

static void test_wrong_settings_are_refused(void)
{
  static const struct {
    const char *setting, *message;
  } rows[] = {
    { "cluster.nodes=0",
      "--set cluster.nodes=0: cluster.nodes: 0 is out of range: must be at least 1" },
    { "cluster.nodes.deep=0",
      "--set cluster.nodes.deep=0: cluster.nodes: 200 has no keys to set; set "
      "\"cluster.nodes\" as a whole" },
    { "nodes=1", "--set nodes=1: nodes: unknown key 'nodes'; did you mean 'name'?" },
    { "cluster", "--set cluster: expected path=value" },
    { "=1", "--set =1: expected path=value" },
    { "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q=1",
      "--set a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q=1: no path is that long" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const char *const settings[] = { rows[i].setting, NULL };
    g_autofree char *message = refusal_of(whole, settings);
    CU_ASSERT_STRING_EQUAL(message, rows[i].message);
    if (strcmp(message, rows[i].message) != 0)
      g_printerr("\n%s\n", message);
  }
}

/* ---- files -------------------------------------------------------------------------- */

/* A folder of files for one test. */
typedef struct {
  char *path;
  GPtrArray *files; /* of char * */
} Folder;

static Folder folder_new(void)
{
  return (Folder){ g_dir_make_tmp("stepcast-XXXXXX", NULL),
                   g_ptr_array_new_with_free_func(g_free) };
}

static const char *folder_add(Folder *folder, const char *name, const char *text)
{
  char *path = g_build_filename(folder->path, name, NULL);

  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
  g_ptr_array_add(folder->files, path);
  return path;
}

static void folder_remove(Folder *folder)
{
  for (guint i = 0; i < folder->files->len; i++)
    g_unlink(g_ptr_array_index(folder->files, i));
  g_rmdir(folder->path);
  g_ptr_array_unref(folder->files);
  g_free(folder->path);
}

static void test_a_file_is_laid_over_what_it_includes(void)
{
  Folder folder = folder_new();
  g_autoptr(GError) error = NULL;

  folder_add(&folder, "base.json",
             "{" CLUSTER
             ", \"strategy\": {\"name\": \"horovod\", \"cycle_time\": \"9 ms\"}, "
             "\"run\": {\"seed\": 3, \"warmup\": 1}}");
  folder_add(&folder, "run.json", "{\"run\": {\"seed\": 4}}");
  const char *path =
    folder_add(&folder, "x.json",
               "{\"include\": [\"base.json\", \"run.json\"], " WORKLOAD
               ", \"run\": {\"iterations\": 5}, \"strategy\": {\"fusion_threshold\": "
               "\"1 MiB\"}, \"cluster\": {\"node\": {\"nics\": 3}}}");
  g_autoptr(Scenario) scenario = scenario_load(path, NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);

  const RunSpec *run = &scenario_setup(scenario)->run;
  CU_ASSERT_EQUAL(run->seed, 4);
  CU_ASSERT_EQUAL(run->warmup, 1);
  CU_ASSERT_EQUAL(run->iterations, 5);
  CU_ASSERT_EQUAL(scenario_setup(scenario)->cluster.node.n_nics, 3);
  assert_shown(scenario, "strategy.cycle_time", "\"9 ms\"");
  assert_shown(scenario, "strategy.fusion_threshold", "\"1 MiB\"");
  folder_remove(&folder);
}

static void test_a_chain_of_includes_ends_at_sixteen(void)
{
  Folder folder = folder_new();
  g_autoptr(GError) error = NULL;
  const char *first = NULL;

  for (guint i = 0; i < 20; i++) {
    g_autofree char *name = g_strdup_printf("%u.json", i);
    g_autofree char *text = g_strdup_printf("{\"include\": \"%u.json\"}", i + 1);
    const char *path = folder_add(&folder, name, text);
    first = first == NULL ? path : first;
  }
  CU_ASSERT_PTR_NULL(scenario_load(first, NULL, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(
    strstr(error->message, "15.json:1:13: include: more than 16 files"));
  folder_remove(&folder);
}

static void test_a_web_of_includes_is_not_followed_for_ever(void)
{
  Folder folder = folder_new();
  g_autoptr(GError) error = NULL;
  const char *first = NULL;

  for (guint i = 0; i < 12; i++) {
    g_autofree char *name = g_strdup_printf("%u.json", i);
    g_autofree char *text = g_strdup_printf(
      i == 11 ? "{}" : "{\"include\": [\"%u.json\", \"%u.json\", \"%u.json\"]}", i + 1,
      i + 1, i + 1);
    const char *path = folder_add(&folder, name, text);
    first = first == NULL ? path : first;
  }
  CU_ASSERT_PTR_NULL(scenario_load(first, NULL, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "more than 64 files are included"));
  folder_remove(&folder);
}

static void test_a_model_file_is_found_beside_the_file_that_names_it(void)
{
  Folder folder = folder_new();
  g_autoptr(GError) error = NULL;
  gsize length = 0;
  const char *alexnet = catalogue_text("model", "alexnet", &length);
  g_autofree char *copy = g_strndup(alexnet, length);

  folder_add(&folder, "own.json", copy);
  const char *path = folder_add(
    &folder, "x.json",
    "{" CLUSTER ", \"workload\": {\"model\": \"own.json\", \"batch_per_gpu\": 1}}");
  g_autoptr(Scenario) scenario = scenario_load(path, NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  CU_ASSERT_EQUAL(scenario_setup(scenario)->model->tensors->len, 16);
  folder_remove(&folder);
}

/* ---- origins ------------------------------------------------------------------------ */

static void test_every_constant_has_a_source(void)
{
  g_autoptr(Scenario) scenario = parse(whole, NULL);
  const GArray *constants = scenario_setup(scenario)->constants;

  CU_ASSERT_TRUE(constants->len > 10);
  for (guint i = 0; i < constants->len; i++) {
    const Constant *c = &g_array_index(constants, Constant, i);
    CU_ASSERT_TRUE(c->source != NULL && *c->source != '\0');
    CU_ASSERT_EQUAL(c->assumed, g_str_has_prefix(c->source, "assumed"));
  }

  const Constant *rate = constant(scenario, "cluster.nic.rate");
  CU_ASSERT_PTR_NOT_NULL_FATAL(rate);
  CU_ASSERT_STRING_EQUAL(rate->value, "25 Gbit/s");
  CU_ASSERT_STRING_EQUAL(rate->source, "scenario x.json:8");

  const Constant *memory = constant(scenario, "cluster.node.gpu.memory_bandwidth");
  CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
  CU_ASSERT_STRING_EQUAL(memory->value, "900 GB/s");
  CU_ASSERT_PTR_NOT_NULL(strstr(memory->source, "datasheet"));

  const Constant *latency = constant(scenario, "cluster.transport.latency");
  CU_ASSERT_PTR_NOT_NULL_FATAL(latency);
  CU_ASSERT_TRUE(latency->assumed);
  CU_ASSERT_PTR_NULL(constant(scenario, "cluster.node.nic_rate"));
}

/* What show prints is a scenario that says and shows the same. */
static void assert_show_round_trips(const Scenario *scenario, const char *name)
{
  g_autofree char *text = scenario_show(scenario);
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) again = scenario_parse(name, text, strlen(text), NULL, &error);

  if (again == NULL)
    g_printerr("\n%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(again);

  g_autofree char *text_again = scenario_show(again);
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  CU_ASSERT_TRUE(cJSON_Compare(
    documents_parse(documents, "a", text, strlen(text), problems),
    documents_parse(documents, "b", text_again, strlen(text_again), problems), true));

  const GArray *a = scenario_setup(scenario)->constants;
  const GArray *b = scenario_setup(again)->constants;
  CU_ASSERT_TRUE(b->len >= a->len); /* defaults of 0 are constants once they are written */
  for (guint i = 0; i < a->len; i++) {
    const Constant *c = &g_array_index(a, Constant, i), *d = constant(again, c->name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    CU_ASSERT_STRING_EQUAL(c->value, d->value);
  }
}

static void test_show_of_every_scenario_loads_to_the_same(void)
{
  g_autoptr(GDir) folder = g_dir_open("scenarios", 0, NULL);
  guint n = 0;

  CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
  for (const char *name = g_dir_read_name(folder); name != NULL;
       name = g_dir_read_name(folder)) {
    if (!g_str_has_suffix(name, ".json"))
      continue;
    g_autofree char *path = g_build_filename("scenarios", name, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Scenario) scenario = scenario_load(path, NULL, &error);
    if (scenario == NULL)
      g_printerr("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
    assert_show_round_trips(scenario, path);
    n++;
  }
  CU_ASSERT_TRUE(n > 0);
}

static void test_every_catalogue_entry_can_be_used(void)
{
  static const struct {
    const char *kind, *format;
  } rows[] = {
    { "node", "{\"cluster\": {\"nodes\": 2, \"node\": \"%s\"}, " WORKLOAD "}" },
    { "gpu", "{\"cluster\": {\"nodes\": 2, \"node\": {\"base\": \"pcie_2\", \"gpu\": "
             "\"%s\"}}, " WORKLOAD "}" },
    { "network",
      "{\"cluster\": {\"nodes\": 2, \"node\": \"dgx_h100\", \"network\": \"%s\"}, " WORKLOAD
      "}" },
    { "model", "{" CLUSTER ", \"workload\": {\"model\": \"%s\", \"batch_per_gpu\": 1}, "
               "\"memory\": {\"check\": \"warn\"}}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_auto(GStrv) names = catalogue_names(rows[i].kind);
    CU_ASSERT_TRUE(g_strv_length(names) > 0);
    for (char **name = names; *name != NULL; name++) {
      g_auto(GStrv) parts = g_strsplit(rows[i].format, "%s", 2);
      g_autofree char *text = g_strjoinv(*name, parts);
      g_autoptr(Scenario) scenario = parse(text, NULL);
      assert_show_round_trips(scenario, "x.json");
    }
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("scenario", NULL, NULL);
  CU_ADD_TEST(suite, test_a_whole_scenario_becomes_a_setup);
  CU_ADD_TEST(suite, test_everything_but_cluster_and_workload_has_a_default);
  CU_ADD_TEST(suite, test_one_gpu_without_a_nic_is_a_cluster);
  CU_ADD_TEST(suite, test_windows_files_are_read);
  CU_ADD_TEST(suite, test_a_base_can_be_overridden_key_by_key);
  CU_ADD_TEST(suite, test_all_mistakes_are_told_at_once);
  CU_ADD_TEST(suite, test_settings_are_laid_over_the_file);
  CU_ADD_TEST(suite, test_another_module_drops_the_parameters_of_the_first);
  CU_ADD_TEST(suite, test_null_takes_a_key_away);
  CU_ADD_TEST(suite, test_wrong_settings_are_refused);
  CU_ADD_TEST(suite, test_a_file_is_laid_over_what_it_includes);
  CU_ADD_TEST(suite, test_a_chain_of_includes_ends_at_sixteen);
  CU_ADD_TEST(suite, test_a_web_of_includes_is_not_followed_for_ever);
  CU_ADD_TEST(suite, test_a_model_file_is_found_beside_the_file_that_names_it);
  CU_ADD_TEST(suite, test_every_constant_has_a_source);
  CU_ADD_TEST(suite, test_show_of_every_scenario_loads_to_the_same);
  CU_ADD_TEST(suite, test_every_catalogue_entry_can_be_used);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
