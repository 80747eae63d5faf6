/**
 * @file test_strategy_servers.c
 * @brief Parameter servers in whole forecasts, against their closed forms.
 *
 * Eight nodes behind 25 Gbit/s on a switch without latency, one tensor of 100 MB; sums and
 * messages take no time unless a test is about them.
 */
#include "tests/unit/forecast.h"

#include <math.h>

#define N_NODES 8
#define M_B 100e6

/* The same of a difference of times a hundred times as long. */
#define TOL_DIFFERENCE 1e-6

static char *scenario_of(const char *node, const char *strategy, const char *compression)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %d, \"node\": \"%s\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\", \"count\": 1}, \"network\": {\"topology\": \"switch\", "
    "\"latency\": \"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"one\", \"layers\": [{\"name\": \"l\", "
    "\"tensors\": [{\"name\": \"w\", \"values\": 25000000, \"shape\": [5000, 5000]}]}]}, "
    "\"batch_per_gpu\": 8, \"compute\": {\"layers\": [{\"name\": \"l\", \"forward\": "
    "\"10 ms\", \"backward\": \"20 ms\"}]}}, \"strategy\": %s, \"library\": %s, "
    "\"compression\": %s, \"run\": {\"iterations\": 3, \"warmup\": 1}}",
    N_NODES, node, strategy, RULES("ring", "0 s", "0 s"), compression);
}

static Result *run_coded(const char *node, const char *strategy, const char *compression)
{
  g_autofree char *text = scenario_of(node, strategy, compression);
  return forecast_with(text, true);
}

static Result *run(const char *strategy)
{
  return run_coded("pcie_1", strategy, "{}");
}

static double stage_s(const Result *result, const char *name)
{
  for (guint i = 0; i < result->stages->len; i++)
    if (strcmp(g_array_index(result->stages, StageUse, i).name, name) == 0)
      return g_array_index(result->stages, StageUse, i).busy_s;
  return 0;
}

static double exposed_s(const Result *result)
{
  return result->iteration_time_s - result->compute_time_s;
}

/* Less the copies between GPU and host, and the sums. */
static double network_s(const Result *result)
{
  return exposed_s(result) - stage_s(result, "copy_d2h") - stage_s(result, "copy_h2d") -
         stage_s(result, "sum") - stage_s(result, "rack_sum");
}

#define FREE                                                                               \
  ", \"message_latency\": \"0 s\", \"kernel_launch\": \"0 s\", \"server_sum_rate\": "      \
  "\"10000 GB/s\", \"update_passes\": 0"

/* M / B of a push to a server of its own, from one server: n M / B each way. */
static double message_s(void)
{
  g_autoptr(Result) one = run("{\"name\": \"parameter_server\"" FREE "}");
  return network_s(one) / 2 / N_NODES;
}

/* An array is cut over k <= n servers, whose ports bound its k parts, side by side:
 * n (M / k) / B each. */
static void test_servers_share_an_array(void)
{
  static const guint servers[] = { 1, 2, 4, 8 };
  const double unit_s = message_s();

  for (guint i = 0; i < G_N_ELEMENTS(servers); i++) {
    const double k = servers[i];
    g_autofree char *strategy = g_strdup_printf(
      "{\"name\": \"parameter_server\", \"servers\": %u" FREE "}", servers[i]);
    g_autoptr(Result) result = run(strategy);
    CU_ASSERT_DOUBLE_EQUAL(stage_s(result, "push") / k / (N_NODES / k * unit_s), 1,
                           TOL_ENGINE);
  }
}

/* max(M, (r - 1) M) / B + max(M / B, (n / r) M / (k B)), and the same back. */
static void test_racks_sum_before_servers_do(void)
{
  const double unit_s = message_s();

  for (guint r = 1; r <= N_NODES; r *= 2) {
    g_autofree char *strategy = g_strdup_printf("{\"name\": \"hierarchical_ps\", "
                                                "\"nodes_per_aggregator\": %u" FREE "}",
                                                r);
    g_autoptr(Result) result = run(strategy);
    const double expected_s = 2 * ((r - 1) + N_NODES / r) * unit_s;
    CU_ASSERT_DOUBLE_EQUAL(network_s(result) / expected_s, 1, TOL_DIFFERENCE);
  }
}

/* The leader copies all, where every GPU of parameter_server copies its half. */
static void test_a_leader_stands_for_its_node(void)
{
  g_autoptr(Result) parts =
    run_coded("pcie_2", "{\"name\": \"parameter_server\"" FREE "}", "{}");
  g_autoptr(Result) leader =
    run_coded("pcie_2", "{\"name\": \"hierarchical_ps\"" FREE "}", "{}");

  CU_ASSERT_DOUBLE_EQUAL(stage_s(leader, "push") / stage_s(parts, "push"), 1, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(leader, "copy_d2h") / stage_s(parts, "copy_d2h"), 2,
                         TOL_ENGINE);
  CU_ASSERT(stage_s(leader, "local_reduce") > stage_s(parts, "local_reduce_scatter"));
  CU_ASSERT(stage_s(leader, "local_broadcast") > 0);
}

/* Four GPUs in two switches: each copies a half, not a quarter, and the host adds a half
 * for each: 100 MB / 2 at four threads of 4.5 GB/s. */
static void test_the_host_adds_the_sums_of_switches(void)
{
  g_autoptr(Result) one =
    run_coded("pcie_4", "{\"name\": \"byteps\", \"partition\": \"1 GB\"}", "{}");
  g_autoptr(Result) two = run_coded(
    "pcie_4", "{\"name\": \"byteps\", \"partition\": \"1 GB\", \"pcie_switch_size\": 2}",
    "{}");

  CU_ASSERT_EQUAL(stage_s(one, "pcie_reduce"), 0);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(two, "pcie_reduce"), M_B / 2 / 18e9, 1e-9);
  CU_ASSERT(stage_s(two, "copy_d2h") > 1.5 * stage_s(one, "copy_d2h"));
  CU_ASSERT(stage_s(two, "local_reduce_scatter") < stage_s(one, "local_reduce_scatter"));
  CU_ASSERT_DOUBLE_EQUAL(stage_s(two, "push") / stage_s(one, "push"), 1, TOL_ENGINE);
}

/* What is pushed is encoded, what is pulled is not; the host encodes once, the server
 * decodes eight pushes: fp16 moves 6 B a value each time. */
static void test_servers_decode_pushes_and_answer_in_full(void)
{
  const char *strategy = "{\"name\": \"parameter_server\"" FREE "}";
  g_autoptr(Result) none = run_coded("pcie_1", strategy, "{}");
  g_autoptr(Result) fast =
    run_coded("pcie_1", strategy,
              "{\"codec\": \"fp16\", \"cpu_threads\": 1, \"cpu_rate\": \"8 GB/s\"}");
  g_autoptr(Result) slow =
    run_coded("pcie_1", strategy,
              "{\"codec\": \"fp16\", \"cpu_threads\": 1, \"cpu_rate\": \"4 GB/s\"}");
  const double work_s = (1 + N_NODES) * 6 * M_B / 4 / 8e9;

  CU_ASSERT_DOUBLE_EQUAL(stage_s(fast, "push") / stage_s(none, "push"), 0.5, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(fast, "pull") / stage_s(none, "pull"), 1, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL((exposed_s(slow) - exposed_s(fast)) / work_s, 1, TOL_DIFFERENCE);
  CU_ASSERT_EQUAL(stage_s(fast, "decode"), 0);
}

/* In racks only what goes to the servers is encoded, and they decode a push per rack. */
static void test_only_what_leaves_a_rack_is_encoded(void)
{
  const char *strategy =
    "{\"name\": \"hierarchical_ps\", \"nodes_per_aggregator\": 4" FREE "}";
  g_autoptr(Result) none = run_coded("pcie_1", strategy, "{}");
  g_autoptr(Result) sign = run_coded("pcie_1", strategy, "{\"codec\": \"onebit\"}");

  CU_ASSERT_DOUBLE_EQUAL(stage_s(sign, "rack_push") / stage_s(none, "rack_push"), 1,
                         TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(sign, "push") / stage_s(none, "push") /
                           ((25e6 / 8 + 4) / M_B),
                         1, TOL_DIFFERENCE);
}

/* Twenty pieces of a message of halves are reduced as one of 50 MB: 2 (n - 1) / n M / B. */
static void test_messages_are_cut_and_summed_in_pieces(void)
{
  g_autoptr(Result) whole =
    run_coded("pcie_1", "{\"name\": \"bytescheduler\", \"partition\": 25000000}", "{}");
  g_autoptr(Result) pieces =
    run_coded("pcie_1", "{\"name\": \"bytescheduler\", \"partition\": 625000}",
              "{\"codec\": \"fp16\"}");
  g_autoptr(Result) policy =
    run_coded("pcie_1", "{\"name\": \"bandwidth_policy\", \"partition\": \"5 MB\"}",
              "{\"codec\": \"fp16\"}");

  CU_ASSERT_EQUAL(whole->units_per_iteration, 1);
  CU_ASSERT_EQUAL(pieces->units_per_iteration, 20);
  CU_ASSERT_EQUAL(policy->units_per_iteration, 10);
  CU_ASSERT_EQUAL(pieces->message_B, M_B / 2);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(pieces, "all_reduce") / stage_s(whole, "all_reduce"), 0.5,
                         TOL_DIFFERENCE);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(policy, "all_reduce") / stage_s(pieces, "all_reduce"), 1,
                         TOL_DIFFERENCE);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(policy, "encode") / stage_s(pieces, "encode"), 1,
                         TOL_ENGINE);
}

/* Nodes in racks of three behind hashed uplinks, several tensors. */
static char *racks(guint n_nodes, const char *strategy, const char *compression)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"dgx1_v100\", "
    "\"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 3, "
    "\"oversubscription\": 2, \"ecmp\": \"hashed\"}, \"transport\": {\"kind\": \"tcp\"}},"
    "\"workload\": {\"model\": {\"name\": \"several\", \"layers\": [{\"repeat\": 6, "
    "\"name\": \"b.{i}\", \"layers\": [{\"name\": \"l\", \"flops\": 1000, \"tensors\": "
    "[{\"name\": \"w\", \"values\": 3000000}, {\"name\": \"b\", \"values\": 300}]}]}]}, "
    "\"batch_per_gpu\": 64, \"compute\": {\"samples_per_s\": 1000}}, \"library\": "
    "{\"name\": \"nccl\", \"algo\": \"ring\"}, \"strategy\": %s, \"compression\": %s, "
    "\"run\": {\"iterations\": 2, \"warmup\": 1}}",
    n_nodes, strategy, compression);
}

static void test_folded_equals_explicit_for_every_server(void)
{
  static const struct {
    guint n_nodes;
    const char *strategy, *compression;
  } cases[] = {
    { 2, "{\"name\": \"parameter_server\"}", "{}" },
    { 9, "{\"name\": \"parameter_server\", \"servers\": 4}", "{\"codec\": \"onebit\"}" },
    { 14, "{\"name\": \"parameter_server\", \"servers\": 5, \"colocated\": true}", "{}" },
    { 7, "{\"name\": \"hierarchical_ps\", \"servers\": 2}", "{}" },
    { 12, "{\"name\": \"hierarchical_ps\", \"nodes_per_aggregator\": 3}", "{}" },
    { 6, "{\"name\": \"hierarchical_ps\", \"nodes_per_aggregator\": 3}",
      "{\"codec\": \"fp16\"}" },
    { 5, "{\"name\": \"p3\", \"servers\": 3, \"slice_threshold\": 500000}",
      "{\"codec\": \"fp16\"}" },
    { 24, "{\"name\": \"byteps\", \"servers\": 3, \"mixed_mode\": true}", "{}" },
    { 6, "{\"name\": \"byteps\"}", "{\"codec\": \"onebit\"}" },
    { 3, "{\"name\": \"byteps\", \"pcie_switch_size\": 3}", "{}" },
    { 4, "{\"name\": \"bytescheduler\", \"partition\": 500000}",
      "{\"codec\": \"onebit\"}" },
    { 3, "{\"name\": \"bandwidth_policy\", \"streams\": 2}", "{\"codec\": \"fp16\"}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text =
      racks(cases[i].n_nodes, cases[i].strategy, cases[i].compression);
    g_autoptr(Result) folded = forecast_with(text, true);
    g_autoptr(Result) explicit = forecast_with(text, false);
    CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                           TOL_ENGINE);
    CU_ASSERT(folded->comm_busy_share > 0);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("servers", NULL, NULL);
  CU_ADD_TEST(suite, test_servers_share_an_array);
  CU_ADD_TEST(suite, test_racks_sum_before_servers_do);
  CU_ADD_TEST(suite, test_a_leader_stands_for_its_node);
  CU_ADD_TEST(suite, test_the_host_adds_the_sums_of_switches);
  CU_ADD_TEST(suite, test_servers_decode_pushes_and_answer_in_full);
  CU_ADD_TEST(suite, test_only_what_leaves_a_rack_is_encoded);
  CU_ADD_TEST(suite, test_messages_are_cut_and_summed_in_pieces);
  CU_ADD_TEST(suite, test_folded_equals_explicit_for_every_server);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
