/**
 * @file test_uneven.c
 * @brief Clusters whose nodes are not all alike: stragglers, mixed kinds, faults.
 */
#include "models/crew.h"
#include "tests/unit/forecast.h"

#include <math.h>

/* Six layers, twelve tensors, of which half are tiny. */
#define SEVERAL_TENSORS                                                                    \
  "{\"name\": \"several\", \"sample\": \"x\", \"source\": \"test\", \"layers\": "          \
  "[{\"repeat\": 6, \"name\": \"b.{i}\", \"layers\": [{\"name\": \"l\", \"flops\": 1000, " \
  "\"tensors\": [{\"name\": \"w\", \"values\": 3000000}, {\"name\": \"b\", \"values\": "   \
  "300}]}]}]}"

static char *uneven_scenario(guint n_nodes, const char *uneven, const char *strategy,
                             const char *more)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"dgx1_v100\", %s "
    "\"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 3, "
    "\"oversubscription\": 2}, \"transport\": {\"kind\": \"tcp\"}}, "
    "\"workload\": {\"model\": " SEVERAL_TENSORS
    ", \"batch_per_gpu\": 64, \"compute\": {\"samples_per_s\": 1000 %s}}, "
    "\"library\": {\"name\": \"nccl\", \"algo\": \"ring\"}, "
    "\"strategy\": {%s}, \"run\": {\"iterations\": 2, \"warmup\": 1}}",
    n_nodes, uneven, more, strategy);
}

static const char *const strategies[] = {
  "\"name\": \"none\"",
  "\"name\": \"wait_free\", \"streams\": 3",
  "\"name\": \"horovod\"",
  "\"name\": \"ddp\"",
  "\"name\": \"bytescheduler\"",
  "\"name\": \"mg_wfbp\"",
  "\"name\": \"predictive\"",
  "\"name\": \"adaptive\", \"codecs\": [{\"codec\": \"onebit\"}]",
  "\"name\": \"bandwidth_policy\", \"streams\": 2",
  "\"name\": \"zero\", \"stage\": 2",
  "\"name\": \"zero\", \"stage\": 3, \"stage3_max_reuse_distance\": 0",
  "\"name\": \"byteps\", \"servers\": 2",
  "\"name\": \"parameter_server\", \"servers\": 2",
  "\"name\": \"p3\", \"servers\": 2",
};

static void check_folds(const char *text)
{
  g_autoptr(Result) folded = forecast_with(text, true);
  g_autoptr(Result) explicit = forecast_with(text, false);

  CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                         TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(folded->comm_busy_share, explicit->comm_busy_share, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(folded->compute_time_s, explicit->compute_time_s,
                         TOL_ENGINE * explicit->compute_time_s);
  CU_ASSERT(folded->comm_busy_share > 0);
}

/* The same with nodes of another kind behind them. */
#define A100_NODES                                                                         \
  "\"other_nodes\": [{\"nodes\": 2, \"node\": {\"base\": \"dgx_a100\", \"nics\": 4}, "     \
  "\"nic\": {\"rate\": \"50 Gbit/s\"}}], \"faults\": [{\"link\": \"nic\", \"node\": 1, "   \
  "\"index\": 2, \"capacity\": 0}],"

static void test_mixed_nodes_compute_as_one_by_one_with_every_strategy(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    g_autofree char *text =
      uneven_scenario(1 + i % 4, A100_NODES, strategies[i],
                      ", \"gpu_spread\": \"2 %\", \"other_gpus\": [{\"gpu\": "
                      "\"a100_sxm4_80gb\", \"samples_per_s\": 1500}]");
    check_folds(text);
  }
}

/* Half the rate of everything that computes is a slowdown of two. */
static void test_slow_gpus_are_as_slow_as_stragglers(void)
{
  const char *half =
    "\"other_nodes\": [{\"nodes\": 1, \"node\": {\"base\": \"dgx1_v100\", \"gpu\": "
    "{\"base\": \"v100_sxm2_16gb\", \"name\": \"half\", \"memory_bandwidth\": "
    "\"450 GB/s\"}}}],";
  g_autofree char *mixed =
    uneven_scenario(3, half, "\"name\": \"wait_free\"",
                    ", \"other_gpus\": [{\"gpu\": \"half\", \"samples_per_s\": 500}]");
  g_autofree char *slow = uneven_scenario(
    4, "\"stragglers\": [{\"node\": 3, \"slowdown\": 2}],", "\"name\": \"wait_free\"", "");
  g_autoptr(Result) one = forecast_with(mixed, true);
  g_autoptr(Result) other = forecast_with(slow, true);

  CU_ASSERT_DOUBLE_EQUAL(one->iteration_time_s / other->iteration_time_s, 1, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(one->compute_time_s / other->compute_time_s, 1, TOL_ENGINE);
  CU_ASSERT_STRING_EQUAL(one->gpu, "v100_sxm2_16gb + half");
  /* Three GPUs of rate 1 and one of 1/2 could do 3.5 of 4. */
  CU_ASSERT_DOUBLE_EQUAL(one->scaling_efficiency / other->scaling_efficiency, 4 / 3.5,
                         TOL_ENGINE);
}

/* Nodes that differ in name only. */
static void test_another_kind_of_the_same_nodes_changes_nothing(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(strategies); i += 3) {
    const char *spread = ", \"gpu_spread\": \"2 %\"";
    g_autofree char *even = uneven_scenario(5, "", strategies[i], spread);
    g_autofree char *same =
      uneven_scenario(3, "\"other_nodes\": [{\"nodes\": 2, \"node\": \"dgx1_v100\"}],",
                      strategies[i], spread);
    g_autoptr(Result) one = forecast_with(even, true);
    g_autoptr(Result) other = forecast_with(same, true);
    CU_ASSERT_DOUBLE_EQUAL(one->iteration_time_s / other->iteration_time_s, 1, TOL_ENGINE);
    CU_ASSERT_EQUAL(other->n_nodes, 5);
  }
}

/* One worker of each crew against one of each node, and flows as well. */
static void test_crews_compute_as_their_nodes_one_by_one_with_every_strategy(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    const guint n_nodes = i == 0 ? 24 : 2 + i % 5;
    g_autofree char *uneven = g_strdup_printf(
      "\"stragglers\": [{\"node\": %u, \"slowdown\": 1.5}, {\"node\": 0, \"slowdown\": "
      "1.1}], \"random_stragglers\": [{\"share\": \"20 %%\", \"slowdown\": 1.2}], "
      "\"faults\": [{\"link\": \"nic\", \"node\": 1, \"index\": 1, \"capacity\": \"40 "
      "%%\"}],",
      n_nodes - 1);
    g_autofree char *text =
      uneven_scenario(n_nodes, uneven, strategies[i],
                      i % 2 ? ", \"jitter\": \"3 %\"" : ", \"gpu_spread\": \"2 %\"");
    check_folds(text);
  }
}

/* None overlaps nothing: all wait for the slow node's forward and backward, and the next
 * iteration for its optimizer. */
static void test_one_slow_node_slows_all_down(void)
{
  g_autofree char *even = uneven_scenario(8, "", strategies[0], "");
  g_autofree char *slow = uneven_scenario(
    8, "\"stragglers\": [{\"node\": 5, \"slowdown\": 1.5}],", strategies[0], "");
  g_autoptr(Result) without = forecast_with(even, true);
  g_autoptr(Result) with = forecast_with(slow, true);
  const double compute_s = without->compute_time_s;

  CU_ASSERT_DOUBLE_EQUAL(with->iteration_time_s - without->iteration_time_s,
                         0.5 * compute_s, 1e-9 * compute_s);
  /* One node in eight computes half as long again. */
  CU_ASSERT_DOUBLE_EQUAL(with->compute_time_s, compute_s * (1 + 0.5 / 8), 1e-12);
  CU_ASSERT(with->scaling_efficiency < without->scaling_efficiency);
}

/* Four rings, one per NIC. A NIC at half its rate, or one that carries two rings since its
 * neighbour has failed, makes them all wait twice as long. */
static void test_rings_wait_for_the_worst_nic(void)
{
  static const char *const faults[] = {
    "",
    "\"faults\": [{\"link\": \"nic\", \"node\": 3, \"index\": 2, \"capacity\": 0.5}],",
    "\"faults\": [{\"link\": \"nic\", \"node\": 3, \"index\": 2, \"capacity\": 0}],",
    "\"faults\": [{\"link\": \"nic\", \"node\": 3, \"capacity\": 0.25}],",
  };
  double transfer_s[G_N_ELEMENTS(faults)];

  for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
    g_autofree char *text = g_strdup_printf(
      "{\"cluster\": {\"nodes\": 6, \"node\": {\"base\": \"dgx1_v100\", \"nic_rate\": "
      "\"5 Gbit/s\"}, %s \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}, "
      "\"network\": {\"topology\": \"switch\", \"latency\": \"0 s\"}}, \"workload\": "
      "{\"model\": " SEVERAL_TENSORS ", \"batch_per_gpu\": 8, \"compute\": "
      "{\"samples_per_s\": 1000}}, \"library\": " RULES(
        "ring", "0 s", "0 s") ", "
                              "\"strategy\": {\"name\": \"wait_free\"}}",
      faults[i]);
    g_autoptr(Result) result = forecast_with(text, true);
    transfer_s[i] = result->comm_busy_share * result->iteration_time_s;
  }
  CU_ASSERT_DOUBLE_EQUAL(transfer_s[1] / transfer_s[0], 2, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(transfer_s[2] / transfer_s[0], 2, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(transfer_s[3] / transfer_s[0], 4, 1e-6);
}

/* One of four spines takes what the failed one carried. */
static void test_failed_uplinks_are_gone_round(void)
{
  g_autofree char *text = g_strdup(
    "{\"cluster\": {\"nodes\": 8, \"node\": \"dgx1_v100\", \"network\": {\"topology\": "
    "\"leaf_spine\", \"nodes_per_leaf\": 4, \"ecmp\": \"hashed\", \"spines\": 4}, "
    "\"faults\": [{\"link\": \"leaf_uplink\", \"index\": 0, \"capacity\": 0}, {\"link\": "
    "\"leaf_uplink\", \"index\": 1, \"capacity\": 0}, {\"link\": \"leaf_uplink\", "
    "\"index\": 6, \"capacity\": 0}]}, \"workload\": {\"model\": " SEVERAL_TENSORS
    ", \"batch_per_gpu\": 8}}");
  g_autoptr(Scenario) scenario = parse(text);
  g_autoptr(Topology) topology = topology_new(&scenario_setup(scenario)->cluster, NULL);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint src = 0; src < 64; src++) {
    for (guint dst = 0; dst < 64; dst++) {
      g_array_set_size(links, 0);
      topology_route(topology, src, dst, src % 4, src * dst, links);
      for (guint i = 0; i < links->len; i++)
        CU_ASSERT(topology_links(topology)[g_array_index(links, guint32, i)].capacity_Bps >
                  1);
      CU_ASSERT((links->len > 0) == (src != dst));
    }
  }
}

/* A job on the same nodes takes links away; one on machines behind them, the uplinks. */
static void test_other_jobs_share_the_links(void)
{
  static const char *const jobs[] = {
    "",
    "\"other_jobs\": [{\"nodes\": 3, \"bytes\": \"1 GiB\", \"every\": \"1 ms\"}],",
    "\"other_jobs\": [{\"nodes\": 4, \"first_node\": 0, \"bytes\": \"1 GiB\", \"every\": "
    "\"1 "
    "ms\"}],",
  };
  double time_s[G_N_ELEMENTS(jobs)];

  for (guint i = 0; i < G_N_ELEMENTS(jobs); i++) {
    g_autofree char *text = uneven_scenario(5, jobs[i], "\"name\": \"ddp\"", "");
    g_autoptr(Result) result = forecast_with(text, true);
    time_s[i] = result->iteration_time_s;
    check_folds(text);
  }
  CU_ASSERT(time_s[2] > 1.001 * time_s[0]);
}

/* A straggler that is not slower is no straggler. */
static void test_a_slowdown_of_one_changes_nothing(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    g_autofree char *even = uneven_scenario(4, "", strategies[i], "");
    g_autofree char *same = uneven_scenario(
      4, "\"stragglers\": [{\"node\": 2, \"slowdown\": 1}],", strategies[i], "");
    GString *one = forecast_bytes(even, true, 0), *other = forecast_bytes(same, true, 0);
    CU_ASSERT_TRUE(g_string_equal(one, other));
    g_string_free(one, TRUE);
    g_string_free(other, TRUE);
  }
}

static void test_stragglers_are_drawn_by_the_seed(void)
{
  RandomStragglers draw = { .share = 0.25, .slowdown = 2 };
  ClusterSpec cluster = { .n_nodes = 1000,
                          .random_stragglers =
                            g_array_new(FALSE, FALSE, sizeof(RandomStragglers)) };
  g_array_append_val(cluster.random_stragglers, draw);
  g_autoptr(Crews) one = crews_new(&cluster, 1);
  g_autoptr(Crews) again = crews_new(&cluster, 1);
  g_autoptr(Crews) other = crews_new(&cluster, 2);
  guint n_slow = 0, n_moved = 0;

  for (guint node = 0; node < cluster.n_nodes; node++) {
    const double slowdown = crews_at(one, one->crew_of_node[node])->slowdown;
    CU_ASSERT_EQUAL(slowdown, crews_at(again, again->crew_of_node[node])->slowdown);
    n_slow += slowdown == 2;
    n_moved += slowdown != crews_at(other, other->crew_of_node[node])->slowdown;
  }
  CU_ASSERT_EQUAL(one->crews->len, 2);
  CU_ASSERT_EQUAL(crews_at(one, 0)->n_nodes + crews_at(one, 1)->n_nodes, 1000);
  /* 250 expected, standard deviation 13.7 */
  CU_ASSERT(n_slow > 200 && n_slow < 300);
  CU_ASSERT(n_moved > 0);
  g_array_unref(cluster.random_stragglers);
}

static void test_nodes_of_one_slowdown_are_one_crew(void)
{
  const StragglerSpec slow[] = { { 1, 1.5 }, { 3, 1.5 }, { 4, 2 } };
  ClusterSpec cluster = { .n_nodes = 6,
                          .stragglers = g_array_new(FALSE, FALSE, sizeof(StragglerSpec)) };
  g_array_append_vals(cluster.stragglers, slow, G_N_ELEMENTS(slow));
  g_autoptr(Crews) crews = crews_new(&cluster, 1);
  static const guint expected[] = { 0, 1, 0, 1, 2, 0 };

  CU_ASSERT_EQUAL_FATAL(crews->crews->len, 3);
  for (guint node = 0; node < 6; node++)
    CU_ASSERT_EQUAL(crews->crew_of_node[node], expected[node]);
  CU_ASSERT_EQUAL(crews_at(crews, 0)->n_nodes, 3);
  g_array_unref(cluster.stragglers);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("uneven", NULL, NULL);
  CU_ADD_TEST(suite, test_crews_compute_as_their_nodes_one_by_one_with_every_strategy);
  CU_ADD_TEST(suite, test_mixed_nodes_compute_as_one_by_one_with_every_strategy);
  CU_ADD_TEST(suite, test_slow_gpus_are_as_slow_as_stragglers);
  CU_ADD_TEST(suite, test_another_kind_of_the_same_nodes_changes_nothing);
  CU_ADD_TEST(suite, test_one_slow_node_slows_all_down);
  CU_ADD_TEST(suite, test_rings_wait_for_the_worst_nic);
  CU_ADD_TEST(suite, test_failed_uplinks_are_gone_round);
  CU_ADD_TEST(suite, test_other_jobs_share_the_links);
  CU_ADD_TEST(suite, test_a_slowdown_of_one_changes_nothing);
  CU_ADD_TEST(suite, test_stragglers_are_drawn_by_the_seed);
  CU_ADD_TEST(suite, test_nodes_of_one_slowdown_are_one_crew);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
