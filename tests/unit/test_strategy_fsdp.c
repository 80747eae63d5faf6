/**
 * @file test_strategy_fsdp.c
 * @brief FSDP's volumes and overlap against their closed forms.
 *
 * Nodes of two V100 behind one NIC on a switch without latency. Unit "a" has 10 MB of
 * parameters, unit "b" two layers of 20 MB.
 */
#include "tests/unit/forecast.h"

#include <math.h>

#define N_NODES 4
#define N_LOCAL 2
#define ALL_B 50e6

static char *scenario_of(double layer_s, const char *strategy)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %d, \"node\": \"pcie_2\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\", \"count\": 1}, \"network\": {\"topology\": \"switch\", "
    "\"latency\": \"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"two\", \"layers\": ["
    "{\"name\": \"a\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": "
    "2500000}]},"
    "{\"name\": \"b.x\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": "
    "5000000}]},"
    "{\"name\": \"b.y\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": "
    "5000000}]}]}, \"batch_per_gpu\": 8, \"compute\": {\"layers\": ["
    "{\"name\": \"a\", \"forward\": \"%g s\", \"backward\": \"%g s\"},"
    "{\"name\": \"b.x\", \"forward\": \"%g s\", \"backward\": \"%g s\"},"
    "{\"name\": \"b.y\", \"forward\": \"%g s\", \"backward\": \"%g s\"}]}},"
    "\"strategy\": %s, \"library\": %s, \"run\": {\"iterations\": 2, \"warmup\": 1}}",
    N_NODES, layer_s, layer_s, layer_s, layer_s, layer_s, layer_s, strategy,
    RULES("ring", "0 s", "0 s"));
}

static Result *run(double layer_s, const char *strategy)
{
  g_autofree char *text = scenario_of(layer_s, strategy);
  return forecast_with(text, true);
}

/* Bytes over all NIC links in an iteration, in units of their capacity. */
static double moved(const Result *result)
{
  for (guint i = 0; i < result->links->len; i++) {
    const LinkUse *use = &g_array_index(result->links, LinkUse, i);
    if (use->tier == TIER_NIC)
      return use->mean * result->iteration_time_s;
  }
  return 0;
}

static double stage_s(const Result *result, const char *name)
{
  for (guint i = 0; i < result->stages->len; i++)
    if (strcmp(g_array_index(result->stages, StageUse, i).name, name) == 0)
      return g_array_index(result->stages, StageUse, i).busy_s;
  return 0;
}

#define FSDP(keys) "{\"name\": \"fsdp\", \"kernel_launch\": \"0 s\"" keys "}"

/* A ring of all ranks crosses every NIC once: what a rank sends is what the NIC carries.
 * Hybrid: a g-th of the gradients all-reduced by each of the g GPUs behind the NIC. */
static void test_every_way_to_shard_moves_its_volume(void)
{
  const double n = N_NODES, N = N_NODES * N_LOCAL;
  g_autoptr(Result) ddp = run(0.01, "{\"name\": \"ddp\"}");
  g_autoptr(Result) full = run(0.01, FSDP(""));
  g_autoptr(Result) grad_op = run(0.01, FSDP(", \"sharding_strategy\": \"shard_grad_op\""));
  g_autoptr(Result) hybrid = run(0.01, FSDP(", \"sharding_strategy\": \"hybrid_shard\""));
  g_autoptr(Result) zero2 =
    run(0.01, FSDP(", \"sharding_strategy\": \"hybrid_shard_zero2\""));
  const double psi = moved(ddp) / (2 * (N - 1) / N);

  CU_ASSERT_DOUBLE_EQUAL(moved(full) / psi, 3 * (N - 1) / N, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(moved(grad_op) / psi, 2 * (N - 1) / N, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(moved(hybrid) / psi, 2 * (n - 1) / n, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(moved(zero2) / psi, 2 * (n - 1) / n, TOL_ENGINE);
  /* Inside the node: two all-gathers, or one. Both have two units. */
  CU_ASSERT_DOUBLE_EQUAL(stage_s(hybrid, "local_all_gather") /
                           stage_s(zero2, "local_all_gather"),
                         2, TOL_ENGINE);
}

static void test_a_unit_is_a_block_or_as_many_as_are_asked_for(void)
{
  g_autoptr(Result) blocks = run(0.01, FSDP(""));
  g_autoptr(Result) one = run(0.01, FSDP(", \"min_num_params\": 10000001"));

  CU_ASSERT_EQUAL(blocks->units_per_iteration, 2);
  CU_ASSERT_EQUAL(one->units_per_iteration, 1);
}

/* Long layers: before the first forward a's parameters are waited for, and after the last
 * backward a's gradients. Without prefetch a's parameters for backward as well. */
static void test_prefetch_hides_all_gathers(void)
{
  g_autoptr(Result) pre = run(0.2, FSDP(""));
  g_autoptr(Result) post = run(0.2, FSDP(", \"backward_prefetch\": \"backward_post\""));
  const double gather_s = stage_s(pre, "all_gather") / (2 * ALL_B) * 10e6;
  const double b_gather_s = 4 * gather_s;
  const double exposed_s = pre->iteration_time_s - pre->compute_time_s;
  const double copy_s = stage_s(pre, "copy_in") / ALL_B * 10e6;

  CU_ASSERT_DOUBLE_EQUAL(exposed_s, 2 * gather_s + copy_s, 1e-9);
  /* b is asked for when backward begins, and a when b's is over. */
  CU_ASSERT_DOUBLE_EQUAL(post->iteration_time_s - pre->iteration_time_s,
                         b_gather_s + gather_s, 1e-9);
}

/* (4 + 4 + 4) P bytes for weights, gradients and momentum, in N or in g parts. */
static void test_hybrid_keeps_the_parts_of_a_node(void)
{
  g_autoptr(Result) full = run(0.01, FSDP(""));
  g_autoptr(Result) hybrid = run(0.01, FSDP(", \"sharding_strategy\": \"hybrid_shard\""));
  const double parts = 1.0 / N_LOCAL - 1.0 / (N_NODES * N_LOCAL);

  CU_ASSERT_DOUBLE_EQUAL(
    (hybrid->memory_used_B - full->memory_used_B) / (3 * ALL_B * parts), 1, TOL_ENGINE);
}

static void test_folded_equals_explicit(void)
{
  static const char *const strategies[] = {
    FSDP(""),
    FSDP(", \"sharding_strategy\": \"shard_grad_op\", \"limit_all_gathers\": false"),
    FSDP(", \"sharding_strategy\": \"hybrid_shard\""),
  };

  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    g_autofree char *text = scenario_of(0.003, strategies[i]);
    g_autoptr(Result) folded = forecast_with(text, true);
    g_autoptr(Result) explicit = forecast_with(text, false);
    CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                           TOL_ENGINE);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("fsdp", NULL, NULL);
  CU_ADD_TEST(suite, test_every_way_to_shard_moves_its_volume);
  CU_ADD_TEST(suite, test_a_unit_is_a_block_or_as_many_as_are_asked_for);
  CU_ADD_TEST(suite, test_prefetch_hides_all_gathers);
  CU_ADD_TEST(suite, test_hybrid_keeps_the_parts_of_a_node);
  CU_ADD_TEST(suite, test_folded_equals_explicit);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
