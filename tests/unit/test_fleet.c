/**
 * @file test_fleet.c
 * @brief Nodes that do not wait for each other, and servers message by message.
 */
#include "tests/unit/forecast.h"

#include <math.h>

/* One job for all nodes against every node on its own. */
#define TOL_REFERENCE 0.02
/* The same where servers of unequal load run on the nodes: a node whose NIC its server's
 * answers fill is late with its own pushes, and one job for all holds up every node. */
#define TOL_COLOCATED 0.10

#define FREE                                                                               \
  "\"message_latency\": \"0 s\", \"kernel_launch\": \"0 s\", \"server_sum_rate\": "        \
  "\"10000 GB/s\", \"update_passes\": 0"

/* One tensor of @p n_values; 30 ms on a GPU; @p cluster adds keys. */
static char *scenario_of(guint n_nodes, guint n_values, const char *cluster,
                         const char *strategy)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"pcie_1\"%s, \"nic\": "
    "{\"rate\": \"25 Gbit/s\", \"count\": 1}, \"network\": {\"topology\": \"switch\", "
    "\"latency\": \"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"one\", \"layers\": [{\"name\": \"l\", "
    "\"tensors\": [{\"name\": \"w\", \"values\": %u}]}]}, "
    "\"batch_per_gpu\": 8, \"compute\": {\"layers\": [{\"name\": \"l\", \"forward\": "
    "\"10 ms\", \"backward\": \"20 ms\"}]}}, \"strategy\": {\"name\": %s}, "
    "\"run\": {\"iterations\": 10, \"warmup\": 2}}",
    n_nodes, cluster, n_values, strategy);
}

static Result *run(guint n_nodes, guint n_values, const char *cluster, const char *strategy)
{
  g_autofree char *text = scenario_of(n_nodes, n_values, cluster, strategy);
  return forecast_with(text, true);
}

static double stage_s(const Result *result, const char *name)
{
  for (guint i = 0; i < result->stages->len; i++)
    if (strcmp(g_array_index(result->stages, StageUse, i).name, name) == 0)
      return g_array_index(result->stages, StageUse, i).busy_s;
  return 0;
}

/* In step all push, then all pull: 2 n M / B, one direction of the server's port idle at a
 * time. Whoever drifts from it pulls while others push: no later, and n M / B at least.
 * Between a pull and the next push every other node pushes once. */
static void test_asynchronous_nodes_use_both_directions(void)
{
  for (guint n = 2; n <= 8; n *= 2) {
    g_autoptr(Result) sync = run(n, 25000000, "", "\"parameter_server\", " FREE);
    g_autoptr(Result) async =
      run(n, 25000000, "", "\"parameter_server\", \"consistency\": \"async\", " FREE);
    const double port_s = stage_s(sync, "push");
    CU_ASSERT(async->iteration_time_s <= sync->iteration_time_s * (1 + 1e-9));
    CU_ASSERT(async->iteration_time_s >= port_s);
    CU_ASSERT_EQUAL(sync->staleness_updates, 0);
    CU_ASSERT_DOUBLE_EQUAL(async->staleness_updates, n - 1, 1e-9);
  }
}

#define SLOW_NODE ", \"stragglers\": [{\"node\": 2, \"slowdown\": 3}]"

/* Four nodes, one of which takes three times as long, and next to nothing to send. All wait
 * for it, or it waits alone; with a bound the others wait when they are that far ahead. */
static void test_a_straggler_holds_up_those_who_wait_for_it(void)
{
  g_autoptr(Result) alike = run(4, 100, "", "\"parameter_server\", " FREE);
  g_autoptr(Result) sync = run(4, 100, SLOW_NODE, "\"parameter_server\", " FREE);
  g_autoptr(Result) async =
    run(4, 100, SLOW_NODE, "\"parameter_server\", \"consistency\": \"async\", " FREE);
  g_autoptr(Result) ssp = run(4, 100, SLOW_NODE,
                              "\"parameter_server\", \"consistency\": \"ssp\", "
                              "\"staleness\": 2, " FREE);
  const double alone = alike->throughput_samples_per_s / 4;

  CU_ASSERT_DOUBLE_EQUAL(sync->throughput_samples_per_s / (4 * alone / 3), 1, 1e-3);
  CU_ASSERT_DOUBLE_EQUAL(async->throughput_samples_per_s / ((3 + 1.0 / 3) * alone), 1,
                         1e-3);
  CU_ASSERT_DOUBLE_EQUAL(ssp->throughput_samples_per_s / sync->throughput_samples_per_s, 1,
                         1e-3);
  CU_ASSERT_EQUAL(ssp->staleness_iterations, 2);
  /* 12 of the slow node's iterations last 36 of the others'. */
  CU_ASSERT(async->staleness_iterations >= 20);
}

/* A server that applies every push needs n (1 + passes) M / rate for an iteration. */
static void test_updates_of_every_push_bound_the_server(void)
{
  const guint n = 4;
  g_autoptr(Result) result =
    run(n, 2500000, "",
        "\"parameter_server\", \"consistency\": \"async\", \"message_latency\": \"0 s\", "
        "\"kernel_launch\": \"0 s\", \"server_sum_rate\": \"100 MB/s\", "
        "\"update_passes\": 4");
  const double update_s = n * 5 * 10e6 / 100e6;

  CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s / update_s, 1, 1e-3);
}

static void test_random_stragglers_are_not_waited_for(void)
{
  const char *keys = ", \"random_stragglers\": [{\"share\": 0.5, \"slowdown\": 1.5}]";
  g_autoptr(Result) sync = run(8, 100, keys, "\"parameter_server\", " FREE);
  g_autoptr(Result) async = run(8, 100, keys,
                                "\"byteps\", \"enable_async\": true, "
                                "\"servers\": 2, \"kernel_launch\": \"0 s\"");

  CU_ASSERT(async->throughput_samples_per_s > 1.1 * sync->throughput_samples_per_s);
}

/* ---- the reference ----------------------------------------------------------------- */

static char *real_scenario(guint n_nodes, const char *node, const char *strategy)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"%s\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\", \"count\": 1}, \"network\": {\"topology\": \"leaf_spine\", "
    "\"nodes_per_leaf\": 4, \"oversubscription\": 2}, \"transport\": {\"kind\": \"tcp\"}}, "
    "\"workload\": {\"model\": \"resnet18\", \"batch_per_gpu\": 16, \"compute\": "
    "{\"samples_per_s\": 1000}}, \"strategy\": {\"name\": %s}, "
    "\"run\": {\"iterations\": 2, \"warmup\": 1}}",
    n_nodes, node, strategy);
}

/* Every push and pull of every node a transfer of its own. */
static void test_one_job_for_all_nodes_takes_as_long_as_every_node_on_its_own(void)
{
  static const struct {
    guint n_nodes;
    const char *node, *strategy;
    double tolerance;
  } cases[] = {
    { 2, "pcie_1", "\"parameter_server\"", TOL_REFERENCE },
    { 5, "pcie_2", "\"parameter_server\", \"servers\": 3", TOL_REFERENCE },
    { 8, "pcie_1", "\"parameter_server\", \"servers\": 2, \"colocated\": true",
      TOL_REFERENCE },
    { 16, "pcie_1", "\"parameter_server\", \"servers\": 4", TOL_REFERENCE },
    { 4, "pcie_2", "\"p3\", \"servers\": 2, \"slice_threshold\": 400000", TOL_REFERENCE },
    { 6, "pcie_2", "\"hierarchical_ps\", \"servers\": 2", TOL_REFERENCE },
    { 16, "pcie_1", "\"byteps\", \"servers\": 3", TOL_REFERENCE },
    { 3, "pcie_2", "\"byteps\", \"servers\": 2, \"cross_barrier\": true", TOL_REFERENCE },
    { 8, "pcie_1", "\"byteps\", \"servers\": 4, \"mixed_mode\": true", TOL_REFERENCE },
    { 2, "pcie_1", "\"byteps\"", TOL_REFERENCE },
    { 4, "pcie_2", "\"byteps\"", TOL_COLOCATED },
    { 16, "pcie_1", "\"byteps\"", TOL_COLOCATED },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text =
      real_scenario(cases[i].n_nodes, cases[i].node, cases[i].strategy);
    g_autoptr(Result) folded = forecast_with(text, true);
    g_autoptr(Result) reference = forecast_by_messages(text);
    CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / reference->iteration_time_s, 1,
                           cases[i].tolerance);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("fleet", NULL, NULL);
  CU_ADD_TEST(suite, test_asynchronous_nodes_use_both_directions);
  CU_ADD_TEST(suite, test_a_straggler_holds_up_those_who_wait_for_it);
  CU_ADD_TEST(suite, test_updates_of_every_push_bound_the_server);
  CU_ADD_TEST(suite, test_random_stragglers_are_not_waited_for);
  CU_ADD_TEST(suite, test_one_job_for_all_nodes_takes_as_long_as_every_node_on_its_own);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
