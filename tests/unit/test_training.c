/**
 * @file test_training.c
 * @brief The whole chain, from a scenario's text to a Result, against closed forms.
 *
 * SimGrid allows one engine per process: every forecast happens in a child, through the
 * same farm that the program uses.
 */
#include "tests/unit/forecast.h"

#include <math.h>

/* A model of one tensor of 25 M values (100 MB) that computes for 10 + 20 ms. */
#define ONE_TENSOR                                                                         \
  "{\"name\": \"one\", \"sample\": \"x\", \"source\": \"test\", \"layers\": [{\"name\": "  \
  "\"l\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": 25000000}]}]}"

/* Twelve tensors, small and large. */
#define SEVERAL_TENSORS                                                                    \
  "{\"name\": \"several\", \"sample\": \"x\", \"source\": \"test\", \"layers\": "          \
  "[{\"repeat\""                                                                           \
  ": 6, \"name\": \"b.{i}\", \"layers\": [{\"name\": \"l\", \"flops\": 1000, "             \
  "\"tensors\": "                                                                          \
  "[{\"name\": \"w\", \"values\": 3000000}, {\"name\": \"b\", \"values\": 300}]}]}]}"

#define COMPUTE                                                                            \
  "{\"layers\": [{\"name\": \"l\", \"forward\": \"10 ms\", \"backward\": \"20 ms\"}]}"

static char *star_scenario(guint n_nodes, const char *node, const char *library,
                           const char *strategy)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"%s\", \"network\": "
    "{\"topology\": \"switch\", \"latency\": \"0 s\"}, \"nic\": {\"count\": 1, \"rate\": "
    "\"25 Gbit/s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": %s, \"batch_per_gpu\": 8, \"compute\": %s}, "
    "\"strategy\": %s, \"library\": %s, \"run\": {\"iterations\": 3, \"warmup\": 1}}",
    n_nodes, node, ONE_TENSOR, COMPUTE, strategy, library);
}

/* Time that communication adds when it follows backward. */
static double exposed_s(const char *text)
{
  g_autoptr(Result) result = forecast_with(text, true);
  return result->iteration_time_s - result->compute_time_s;
}

/* What RDMA leaves of 25 Gbit/s: taken from the forecast of a two-node ring, whose
 * transfer takes S / B exactly, so that this test is about the ring alone. */
static double ring_s(guint n, double alpha_s, double rate_Bps)
{
  return 2.0 * (n - 1) * (alpha_s + 100e6 / (n * rate_Bps));
}

static void test_flat_ring_on_an_idle_star_takes_its_closed_form(void)
{
  g_autofree char *two =
    star_scenario(2, "pcie_1", RULES("ring", "0 s", "0 s"), "{\"name\": \"wait_free\"}");
  const double rate_Bps = 100e6 / exposed_s(two);

  CU_ASSERT(rate_Bps < 3.125e9 && rate_Bps > 0.9 * 3.125e9);
  for (guint n = 2; n <= 200; n = n == 64 ? 200 : n + 1) {
    g_autofree char *text =
      star_scenario(n, "pcie_1", RULES("ring", "0 s", "7 us"), "{\"name\": \"wait_free\"}");
    CU_ASSERT_DOUBLE_EQUAL(exposed_s(text) / ring_s(n, 7e-6, rate_Bps), 1, TOL_ENGINE);
  }
}

static void test_hierarchical_over_nvlink_and_nic_takes_its_closed_form(void)
{
  static const guint sizes[] = { 2, 3, 25, 200 };
  /* 8 x A100: 231.7 GB/s per GPU, see catalogue/node/dgx_a100.json. */
  const double local_s = 2 * (7 * 3e-6 + 7.0 / 8 * 100e6 / 231.7e9);
  g_autofree char *two =
    star_scenario(2, "pcie_1", RULES("ring", "0 s", "0 s"), "{\"name\": \"wait_free\"}");
  const double rate_Bps = 100e6 / exposed_s(two);

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    g_autofree char *text =
      star_scenario(sizes[i], "dgx_a100", RULES("hierarchical", "3 us", "7 us"),
                    "{\"name\": \"wait_free\"}");
    CU_ASSERT_DOUBLE_EQUAL(exposed_s(text) / (local_s + ring_s(sizes[i], 7e-6, rate_Bps)),
                           1, TOL_ENGINE);
  }
}

/* Two resources that run collectives at once, several strategies, shared links. Rings
 * except once: thousands of flows of trees, one by one, would take minutes. */
static void test_folded_equals_explicit_for_every_strategy(void)
{
  static const char *const strategies[] = {
    "{\"name\": \"none\"}",
    "{\"name\": \"wait_free\"}",
    "{\"name\": \"wait_free\", \"streams\": 3}",
    "{\"name\": \"horovod\"}",
    "{\"name\": \"horovod\", \"num_nccl_streams\": 2}",
    "{\"name\": \"horovod\", \"torus_allreduce\": true}",
    "{\"name\": \"horovod\", \"hierarchical_allreduce\": true}",
    "{\"name\": \"ddp\"}",
    "{\"name\": \"ddp\", \"find_unused_parameters\": true, \"bucket_cap_mb\": 4}",
    "{\"name\": \"bytescheduler\"}",
    "{\"name\": \"bytescheduler\", \"partition\": 300000, \"cross_barrier\": false}",
    "{\"name\": \"mg_wfbp\"}",
    "{\"name\": \"predictive\"}",
    "{\"name\": \"bandwidth_policy\"}",
    "{\"name\": \"zero\", \"stage\": 1}",
    "{\"name\": \"zero\", \"stage\": 3, \"stage3_max_reuse_distance\": 0}",
    "{\"name\": \"bandwidth_policy\", \"streams\": 3, \"large\": \"5 MB\"}",
  };

  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    g_autofree char *text = g_strdup_printf(
      "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"dgx1_v100\", "
      "\"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 3, "
      "\"oversubscription\": 2, \"ecmp\": \"hashed\"}, \"transport\": {\"kind\": \"tcp\", "
      "\"nsocks_perthread\": 3, \"loss\": \"0.01 %%\"}},"
      "\"workload\": {\"model\": " SEVERAL_TENSORS
      ", \"batch_per_gpu\": 64, \"compute\": {\"samples_per_s\": 1000}}, "
      "\"library\": {\"name\": \"nccl\", \"algo\": \"%s\"}, "
      "\"strategy\": %s, \"run\": {\"iterations\": 2, \"warmup\": 1}}",
      2 + 7 * i % 23, i == 0 ? "auto" : "ring", strategies[i]);
    g_autoptr(Result) folded = forecast_with(text, true);
    g_autoptr(Result) explicit = forecast_with(text, false);
    CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                           TOL_ENGINE);
    CU_ASSERT_DOUBLE_EQUAL(folded->comm_busy_share, explicit->comm_busy_share, TOL_ENGINE);
    CU_ASSERT(folded->comm_busy_share > 0);
  }
}

static void test_one_gpu_does_not_communicate(void)
{
  g_autofree char *text =
    star_scenario(1, "pcie_1", RULES("ring", "1 us", "1 us"), "{\"name\": \"horovod\"}");
  g_autoptr(Result) result = forecast_with(text, true);

  CU_ASSERT_EQUAL(result->comm_busy_share, 0);
  CU_ASSERT_DOUBLE_EQUAL(result->comm_exposed_share, 0, 1e-12);
  CU_ASSERT_EQUAL(result->units_per_iteration, 0);
  CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s, result->compute_time_s, 1e-12);
}

/* MECHANISMS of DDP: e_b = max(r_b, e_(b-1)) + T(b); T = forward + max(backward, e_last)
 * + optimizer. One tensor: nothing overlaps but the end of backward. */
static void test_communication_hides_behind_backward(void)
{
  const char *two_layers =
    "{\"name\": \"two\", \"sample\": \"x\", \"source\": \"test\", \"layers\": ["
    "{\"name\": \"a\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": 250}]},"
    "{\"name\": \"b\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": "
    "25000000}]}"
    "]}";
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 4, \"node\": \"pcie_1\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\"}, \"network\": {\"topology\": \"switch\", \"latency\": "
    "\"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": %s, \"batch_per_gpu\": 8, \"optimizer\": \"sgd\", "
    "\"compute\": {\"layers\": ["
    "{\"name\": \"a\", \"forward\": \"1 ms\", \"backward\": \"500 ms\"},"
    "{\"name\": \"b\", \"forward\": \"1 ms\", \"backward\": \"2 ms\"}]}},"
    "\"strategy\": {\"name\": \"wait_free\"}, \"library\": %s, "
    "\"run\": {\"iterations\": 2, \"warmup\": 1}}",
    two_layers, RULES("ring", "0 s", "1 us"));
  g_autoptr(Result) result = forecast_with(text, true);
  /* b's 100 MB take some 50 ms inside a's 500; a's 1 kB follow backward: 6 hops of 1 us. */
  const double exposed = result->iteration_time_s - result->compute_time_s;

  CU_ASSERT(exposed > 6e-6 && exposed < 8e-6);
  CU_ASSERT(result->comm_busy_share * result->iteration_time_s > 0.048);
}

static void test_the_same_scenario_gives_the_same_bytes(void)
{
  const char *text =
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 6, \"node\": \"dgx1_v100\"}, "
    "\"workload\": {\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"compute\": "
    "{\"jitter\": \"5 %\"}}, \"strategy\": {\"name\": \"horovod\"}}";
  GString *first = forecast_bytes(text, true, 0), *second = forecast_bytes(text, true, 0);
  GString *other_draws = forecast_bytes(text, true, 1);

  CU_ASSERT_TRUE(g_string_equal(first, second));
  CU_ASSERT_FALSE(g_string_equal(first, other_draws));
  g_string_free(first, TRUE);
  g_string_free(second, TRUE);
  g_string_free(other_draws, TRUE);
}

/* The slowest of n lognormal workers: exp(sigma z - sigma^2 / 2), z about 2.4 for 64. */
static void test_workers_wait_for_the_slowest(void)
{
  const char *text =
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"pcie_1\"}, "
    "\"workload\": {\"model\": " ONE_TENSOR
    ", \"batch_per_gpu\": 8, \"compute\": {\"samples_per_s\": 100, "
    "\"jitter\": \"5 %%\"}}, \"strategy\": {\"name\": \"none\"}, "
    "\"run\": {\"iterations\": 400, \"warmup\": 0}}";
  g_autofree char *one = g_strdup_printf(text, 1), *many = g_strdup_printf(text, 64);
  g_autoptr(Result) alone = forecast_with(one, true);
  g_autoptr(Result) together = forecast_with(many, true);
  g_autofree char *steady = g_strdup_printf(text, 64);
  *strstr(steady, "5 %") = '0';
  g_autoptr(Result) without = forecast_with(steady, true);
  const double slowest =
    (together->iteration_time_s - without->iteration_time_s) / without->compute_time_s;

  CU_ASSERT_DOUBLE_EQUAL(alone->iteration_time_s / 0.08, 1, 0.01);
  CU_ASSERT_DOUBLE_EQUAL(slowest, exp(0.05 * 2.34 - 0.05 * 0.05 / 2) - 1, 0.01);
}

/* The slowest of 64 normals is 2.34 deviations above their mean; see rng.h for its 1 %. */
static void test_all_wait_for_the_slowest_gpu_of_a_kind(void)
{
  const char *text =
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"pcie_1\"}, "
    "\"workload\": {\"model\": " ONE_TENSOR
    ", \"batch_per_gpu\": 8, \"compute\": {\"samples_per_s\": 100, "
    "\"gpu_spread\": \"%u %%\"}}, \"strategy\": {\"name\": \"none\"}, "
    "\"run\": {\"iterations\": 2, \"warmup\": 0, \"replicas\": %u}}";
  g_autofree char *one = g_strdup_printf(text, 1, 2, 1);
  g_autofree char *many = g_strdup_printf(text, 64, 2, 1);
  g_autofree char *alike = g_strdup_printf(text, 64, 0, 1);
  g_autofree char *drawn = g_strdup_printf(text, 64, 2, 4);
  g_autoptr(Result) alone = forecast_with(one, true);
  g_autoptr(Result) together = forecast_with(many, true);
  g_autoptr(Result) without = forecast_with(alike, true);
  g_autoptr(Result) first = result_of(forecast_bytes(drawn, true, 0));
  g_autoptr(Result) second = result_of(forecast_bytes(drawn, true, 1));
  const double slowest =
    (together->iteration_time_s - without->iteration_time_s) / without->compute_time_s;

  CU_ASSERT_DOUBLE_EQUAL(alone->iteration_time_s, 0.08, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(slowest, 0.02 * 2.3437, 0.02 * 0.0234);
  CU_ASSERT_EQUAL(together->compute_time_s, without->compute_time_s);
  CU_ASSERT_NOT_EQUAL(first->iteration_time_s, second->iteration_time_s);
  CU_ASSERT(first->iteration_time_s > without->iteration_time_s);
}

static void test_replicas_give_an_interval(void)
{
  Result *replicas[4];
  for (guint i = 0; i < 4; i++) {
    replicas[i] = result_new();
    replicas[i]->iteration_time_s = 1 + 0.1 * i;
    replicas[i]->throughput_samples_per_s = 10;
  }
  g_autoptr(Result) merged = training_merge(replicas, 4);

  CU_ASSERT_DOUBLE_EQUAL(merged->iteration_time_s, 1.15, 1e-12);
  /* t(0.975, 3) = 3.182446, standard error 0.1291 / 2 */
  CU_ASSERT_DOUBLE_EQUAL(merged->iteration_time_half_s, 3.182446 * 0.12909944 / 2, 1e-6);
  CU_ASSERT_EQUAL(merged->throughput_half_samples_per_s, 0);
  CU_ASSERT_EQUAL(merged->replicas, 4);
}

/* Racks of unequal weight once stopped SimGrid's sharing: see network.h on weights. */
static void test_thousands_of_nodes_in_racks_fold(void)
{
  const char *text =
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 2048, \"node\": \"dgx1_v100\", "
    "\"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 20, "
    "\"oversubscription\": 2}}, \"workload\": {\"model\": \"resnet50\", "
    "\"batch_per_gpu\": 64}, \"run\": {\"iterations\": 1, \"warmup\": 1}}";
  g_autoptr(Result) result = forecast_with(text, true);

  CU_ASSERT_EQUAL(result->n_gpus, 16384);
  CU_ASSERT(result->iteration_time_s > result->compute_time_s);
}

/* One tensor of 100 MB over two nodes of one GPU: each sends all of it, a window a round
 * trip. */
static void test_a_window_bounds_an_iteration_and_losses_are_told(void)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 2, \"node\": \"pcie_1\", \"network\": "
    "{\"topology\": \"switch\", \"latency\": \"0 s\"}, \"transport\": {\"kind\": \"tcp\", "
    "\"latency\": \"0 s\", \"window\": \"1 MiB\", \"rtt\": \"1 ms\", \"loss\": 1e-9}}, "
    "\"workload\": {\"model\": %s, \"batch_per_gpu\": 8, \"compute\": %s}, "
    "\"strategy\": {\"name\": \"wait_free\"}, \"library\": %s, "
    "\"run\": {\"iterations\": 3, \"warmup\": 1}}",
    ONE_TENSOR, COMPUTE, RULES("ring", "0 s", "0 s"));
  g_autoptr(Result) result = forecast_with(text, true);

  CU_ASSERT_DOUBLE_EQUAL((result->iteration_time_s - result->compute_time_s) /
                           (100e6 / (0x1p20 / 1e-3)),
                         1, TOL_ENGINE);
  CU_ASSERT_EQUAL(result->retransmission_rate, 1e-9);
  CU_ASSERT_STRING_EQUAL(result->bottleneck, RESULT_BOUND_CONNECTION);
}

/* DDP also broadcasts, in another collective: each must find its own way. */
static void test_every_message_simulated_takes_as_long_as_flows(void)
{
  const char *text =
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 3, \"node\": \"dgx1_v100\"}, "
    "\"workload\": {\"model\": \"resnet50\", \"batch_per_gpu\": 64}, \"strategy\": "
    "{\"name\": \"ddp\"}, \"library\": {\"name\": \"rules\", \"rules\": [{\"use\": "
    "\"ring\"}]}, \"run\": {\"iterations\": 1, \"warmup\": 1}}";
  g_autoptr(Result) flows = forecast_with(text, true);
  g_autoptr(Result) messages = forecast_by_messages(text);

  CU_ASSERT_DOUBLE_EQUAL(messages->iteration_time_s / flows->iteration_time_s, 1, 0.02);
  CU_ASSERT(messages->comm_busy_share > 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("training", NULL, NULL);
  CU_ADD_TEST(suite, test_flat_ring_on_an_idle_star_takes_its_closed_form);
  CU_ADD_TEST(suite, test_hierarchical_over_nvlink_and_nic_takes_its_closed_form);
  CU_ADD_TEST(suite, test_folded_equals_explicit_for_every_strategy);
  CU_ADD_TEST(suite, test_one_gpu_does_not_communicate);
  CU_ADD_TEST(suite, test_communication_hides_behind_backward);
  CU_ADD_TEST(suite, test_a_window_bounds_an_iteration_and_losses_are_told);
  CU_ADD_TEST(suite, test_the_same_scenario_gives_the_same_bytes);
  CU_ADD_TEST(suite, test_workers_wait_for_the_slowest);
  CU_ADD_TEST(suite, test_all_wait_for_the_slowest_gpu_of_a_kind);
  CU_ADD_TEST(suite, test_replicas_give_an_interval);
  CU_ADD_TEST(suite, test_thousands_of_nodes_in_racks_fold);
  CU_ADD_TEST(suite, test_every_message_simulated_takes_as_long_as_flows);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
