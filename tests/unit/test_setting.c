/**
 * @file test_setting.c
 * @brief Settings reach into lists; constants that make no difference are not told.
 */
#include "models/library.h"
#include "sim/scenario/scenario.h"

#include <CUnit/Basic.h>
#include <string.h>

#define RULES                                                                              \
  "\"library\": {\"name\": \"rules\", \"rules\": [{\"up_to\": \"1 MiB\", \"use\": "        \
  "\"tree\"}, {\"use\": \"ring\"}]}"

static const char whole[] =
  "{\"cluster\": {\"nodes\": 4, \"node\": \"dgx1_v100\"}, "
  "\"workload\": {\"model\": \"alexnet\", \"batch_per_gpu\": 8}, " RULES "}";

static Scenario *parse(const char *const *settings, GError **error)
{
  return scenario_parse("x.json", whole, strlen(whole), settings, error);
}

static bool shows(const char *const *settings, const char *text)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario = parse(settings, &error);

  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  g_autofree char *shown = scenario_show(scenario);
  return strstr(shown, text) != NULL;
}

static void test_an_element_is_reached_by_its_index(void)
{
  const char *const first[] = { "library.rules[0].use=double_tree", NULL };
  const char *const second[] = { "library.rules[1]={\"use\": \"hierarchical\"}", NULL };
  const char *const both[] = { "library.rules[0].up_to=2 MiB", "library.rules[1].use=tree",
                               NULL };

  CU_ASSERT_TRUE(
    shows(first, "[{\"up_to\":\"1 MiB\",\"use\":\"double_tree\"},{\"use\":\"ring\"}]"));
  CU_ASSERT_TRUE(
    shows(second, "[{\"up_to\":\"1 MiB\",\"use\":\"tree\"},{\"use\":\"hierarchical\"}]"));
  CU_ASSERT_TRUE(
    shows(both, "[{\"use\":\"tree\",\"up_to\":\"2 MiB\"},{\"use\":\"tree\"}]"));
}

static void test_null_takes_an_element_away(void)
{
  const char *const settings[] = { "library.rules[0]=null", NULL };

  CU_ASSERT_TRUE(shows(settings, "\"rules\": [{\"use\":\"ring\"}]"));
}

static void test_what_is_no_element_is_refused(void)
{
  static const struct {
    const char *setting, *message;
  } rows[] = {
    { "library.rules[2].use=ring", "library.rules: the list ends at [1]" },
    { "library.rulez[0].use=ring", "library.rulez: the scenario has no such list" },
    { "library.name[0]=ring", "library.name: the scenario has no such list" },
    { "library.rules[0].use[0]=ring",
      "library.rules[0].use: the scenario has no such list" },
    { "library.rules[-1].use=ring", "is written rules[0]" },
    { "library.rules[].use=ring", "is written rules[0]" },
    { "library.rules[9999999].use=ring", "is written rules[0]" },
    { "library.rules0].use=ring", "is written rules[0]" },
    { "[0].use=ring", "is written rules[0]" },
    { "library.rules.0.use=ring", "is written rules[0], not rules.0" },
    { "library.rules[0]=ring", "library.rules[0]: expected an object" },
    { "include=x.json", "write \"include\" into a scenario" },
    { "include[0]=x.json", "write \"include\" into a scenario" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const char *const settings[] = { rows[i].setting, NULL };
    g_autoptr(GError) error = NULL;
    g_autoptr(Scenario) scenario = parse(settings, &error);
    CU_ASSERT_PTR_NULL(scenario);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, rows[i].message));
    if (strstr(error->message, rows[i].message) == NULL)
      g_printerr("\n%s\n", error->message);
  }
}

/* ---- constants --------------------------------------------------------------------- */

static bool uses(const char *setting, const char *key)
{
  const char *const settings[] = { setting, NULL };
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario = parse(settings, &error);

  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  g_autofree char *constant = g_strconcat("cluster.transport.", key, NULL);
  return setup_uses(scenario_setup(scenario), constant, true);
}

static void test_constants_that_do_nothing_are_not_told(void)
{
  static const struct {
    const char *transport, *key;
    bool counts;
  } rows[] = {
    { "{\"kind\": \"tcp\"}", "packet_cost", true },
    { "{\"kind\": \"tcp\"}", "copy_rate", true },
    { "{\"kind\": \"tcp\"}", "host_memory", true },
    { "{\"kind\": \"tcp\"}", "rto", false },
    { "{\"kind\": \"tcp\", \"zero_copy\": true}", "copy_rate", false },
    { "{\"kind\": \"tcp\", \"offload\": \"nic\"}", "packet_cost", false },
    { "{\"kind\": \"tcp\", \"offload\": \"nic\"}", "copy_rate", false },
    { "{\"kind\": \"tcp\", \"switch_buffer\": \"1 MiB\"}", "rto", true },
    { "{\"kind\": \"rdma\"}", "latency", true },
    { "{\"kind\": \"rdma\"}", "host_memory", false },
    { "{\"kind\": \"rdma\"}", "copy_rate", false },
    { "{\"kind\": \"rdma\", \"gpu_direct\": false}", "host_memory", true },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *setting = g_strconcat("cluster.transport=", rows[i].transport, NULL);
    CU_ASSERT_EQUAL(uses(setting, rows[i].key), rows[i].counts);
  }
}

static void test_one_machine_depends_on_no_network(void)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario = parse(NULL, &error);
  const Setup *setup = scenario_setup(scenario);

  CU_ASSERT_FALSE(setup_uses(setup, "cluster.network.latency", false));
  CU_ASSERT_FALSE(setup_uses(setup, "cluster.transport.latency", false));
  CU_ASSERT_FALSE(setup_uses(setup, "cluster.nic.rate", false));
  CU_ASSERT_TRUE(setup_uses(setup, "cluster.network.latency", true));
  CU_ASSERT_TRUE(setup_uses(setup, "cluster.node.fabric.port_rate", false));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("setting", NULL, NULL);
  CU_ADD_TEST(suite, test_an_element_is_reached_by_its_index);
  CU_ADD_TEST(suite, test_null_takes_an_element_away);
  CU_ADD_TEST(suite, test_what_is_no_element_is_refused);
  CU_ADD_TEST(suite, test_constants_that_do_nothing_are_not_told);
  CU_ADD_TEST(suite, test_one_machine_depends_on_no_network);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
