/**
 * @file test_strategy_zero.c
 * @brief ZeRO's volumes, memory and timelines against their closed forms.
 *
 * Four nodes of one GPU on a switch without latency; rings with hops of 1 us. Layer "a" has
 * 10 MB of parameters, layer "b" 40 MB.
 */
#include "tests/unit/forecast.h"

#define N_NODES 4
#define HOP_S 1e-6
#define A_B 10e6
#define B_B 40e6

/* Sums of some ten simulated times of less than a second [s]. */
#define TOL_S 1e-9

typedef struct {
  double forward_a_s, forward_b_s, backward_a_s, backward_b_s;
  guint accumulation_steps;
  const char *strategy;
} TwoLayers;

static Result *run(const TwoLayers *two)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %d, \"node\": \"pcie_1\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\"}, \"network\": {\"topology\": \"switch\", \"latency\": "
    "\"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"two\", \"sample\": \"x\", \"source\": "
    "\"test\", "
    "\"layers\": ["
    "{\"name\": \"a\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": "
    "2500000}]},"
    "{\"name\": \"b\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": "
    "10000000}]}"
    "]}, \"batch_per_gpu\": 8, \"accumulation_steps\": %u, \"compute\": {\"layers\": ["
    "{\"name\": \"a\", \"forward\": \"%g s\", \"backward\": \"%g s\"},"
    "{\"name\": \"b\", \"forward\": \"%g s\", \"backward\": \"%g s\"}]}},"
    "\"strategy\": %s, \"library\": %s, \"run\": {\"iterations\": 2, \"warmup\": 1}}",
    N_NODES, two->accumulation_steps, two->forward_a_s, two->backward_a_s, two->forward_b_s,
    two->backward_b_s, two->strategy, RULES("ring", "0 s", "1 us"));
  return forecast_with(text, true);
}

/* Long enough to hide nothing by chance. */
static const TwoLayers usual = { .forward_a_s = 0.001,
                                 .forward_b_s = 0.002,
                                 .backward_a_s = 0.003,
                                 .backward_b_s = 0.004,
                                 .accumulation_steps = 1 };

static Result *run_usual(const char *strategy)
{
  TwoLayers two = usual;
  two.strategy = strategy;
  return run(&two);
}

#define STAGE_3(keys)                                                                      \
  "{\"name\": \"zero\", \"stage\": 3, \"stage3_max_reuse_distance\": 0, "                  \
  "\"stage3_prefetch_bucket_size\": 0, \"kernel_launch\": \"0 s\"" keys "}"

/* Bytes that leave all NICs in an iteration. */
static double moved_B(const Result *result)
{
  for (guint i = 0; i < result->links->len; i++) {
    const LinkUse *use = &g_array_index(result->links, LinkUse, i);
    if (use->tier == TIER_NIC)
      return use->mean * result->iteration_time_s;
  }
  return 0;
}

/* DDP: 2 (N-1)/N; stages 1 and 2: the same; stage 3: 3 (N-1)/N, and 2 if all is kept. */
static void test_stage_3_moves_half_as_much_again(void)
{
  g_autoptr(Result) ddp = run_usual("{\"name\": \"ddp\"}");
  g_autoptr(Result) one = run_usual("{\"name\": \"zero\", \"stage\": 1}");
  g_autoptr(Result) two = run_usual("{\"name\": \"zero\", \"stage\": 2}");
  g_autoptr(Result) three = run_usual(STAGE_3(""));
  g_autoptr(Result) kept = run_usual("{\"name\": \"zero\", \"stage\": 3}");

  CU_ASSERT_DOUBLE_EQUAL(moved_B(one) / moved_B(ddp), 1, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(moved_B(two) / moved_B(ddp), 1, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(moved_B(three) / moved_B(ddp), 1.5, TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(moved_B(kept) / moved_B(ddp), 1, TOL_ENGINE);
}

/* (4 + 4 + 4) P for weights, gradients and momentum; a part of each is divided by N. */
static void test_memory_is_divided_by_stage(void)
{
  const double part_B = A_B + B_B;
  g_autoptr(Result) one = run_usual("{\"name\": \"zero\", \"stage\": 1}");
  g_autoptr(Result) two = run_usual("{\"name\": \"zero\", \"stage\": 2}");
  g_autoptr(Result) ddp = run_usual("{\"name\": \"ddp\"}");
  g_autoptr(Result) three = run_usual(STAGE_3(", \"reduce_bucket_size\": 1"));
  const double saved_B = part_B * (N_NODES - 1) / N_NODES;

  CU_ASSERT_DOUBLE_EQUAL((one->memory_used_B - two->memory_used_B) / saved_B, 1,
                         TOL_ENGINE);
  /* DDP's buckets and the one bucket here are as large as all gradients. */
  CU_ASSERT_DOUBLE_EQUAL((ddp->memory_used_B - one->memory_used_B) / saved_B, 1,
                         TOL_ENGINE);
  /* Two buckets of one value, and b gathered whole. */
  CU_ASSERT_DOUBLE_EQUAL((ddp->memory_used_B - three->memory_used_B - part_B + B_B + 8) /
                           (3 * saved_B),
                         1, TOL_ENGINE);
}

typedef struct {
  double gather_a_s, gather_b_s; /* and to reduce-scatter it */
  double copy_s_per_B;
} Times;

/* Stage 1 exposes one reduce-scatter, one all-gather and the copy of all. */
static Times measure(void)
{
  g_autoptr(Result) two = run_usual("{\"name\": \"zero\", \"kernel_launch\": \"0 s\"}");
  double copy_s = 0, scatter_s = 0;

  for (guint i = 0; i < two->stages->len; i++) {
    const StageUse *stage = &g_array_index(two->stages, StageUse, i);
    if (strcmp(stage->name, "copy_in") == 0)
      copy_s = stage->busy_s;
    if (strcmp(stage->name, "reduce_scatter") == 0)
      scatter_s = stage->busy_s;
  }
  const double wire_s_per_B = (scatter_s - (N_NODES - 1) * HOP_S) / (A_B + B_B);
  CU_ASSERT_DOUBLE_EQUAL(two->iteration_time_s - two->compute_time_s,
                         2 * scatter_s + copy_s, TOL_S);
  return (Times){ .gather_a_s = (N_NODES - 1) * HOP_S + A_B * wire_s_per_B,
                  .gather_b_s = (N_NODES - 1) * HOP_S + B_B * wire_s_per_B,
                  .copy_s_per_B = copy_s / (A_B + B_B) };
}

/* Nothing is asked for ahead: every gather is waited for, and each layer's bucket follows
 * its backward: b's hides behind a's gather and backward only. */
static void test_without_prefetch_every_gather_is_waited_for(void)
{
  const Times t = measure();
  g_autoptr(Result) result = run_usual(STAGE_3(", \"reduce_bucket_size\": 1"));
  const double optimizer_s = result->compute_time_s - 0.010;
  /* a's gather for backward is asked for as b's bucket is being copied, and goes first. */
  const double backward_b_s = t.gather_a_s + t.gather_b_s + 0.003 + t.gather_b_s + 0.004;
  const double scatter_b_s =
    backward_b_s + MAX(t.gather_a_s, B_B * t.copy_s_per_B) + t.gather_b_s;
  const double backward_a_s = backward_b_s + t.gather_a_s + 0.003;
  const double end_s = MAX(scatter_b_s, backward_a_s + A_B * t.copy_s_per_B) + t.gather_a_s;

  CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s, end_s + optimizer_s, TOL_S);
}

/* With one unit ahead b arrives while a computes, and a's for backward while b does. */
static void test_prefetch_hides_gathers_behind_the_layer_before(void)
{
  const Times t = measure();
  TwoLayers two = usual;
  two.forward_a_s = two.forward_b_s = two.backward_a_s = two.backward_b_s = 0.1;
  two.strategy = STAGE_3(", \"reduce_bucket_size\": 1, \"prefetch_units\": 1");
  g_autoptr(Result) result = run(&two);

  CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s - result->compute_time_s,
                         t.gather_a_s + A_B * t.copy_s_per_B + t.gather_a_s, TOL_S);
}

static void test_gradients_in_parts_are_reduced_in_every_step(void)
{
  TwoLayers two = usual;

  two.accumulation_steps = 3;
  two.strategy = "{\"name\": \"zero\", \"stage\": 1, \"kernel_launch\": \"0 s\"}";
  g_autoptr(Result) one = run(&two);
  two.strategy = "{\"name\": \"zero\", \"stage\": 2, \"kernel_launch\": \"0 s\"}";
  g_autoptr(Result) every = run(&two);

  CU_ASSERT_EQUAL(one->units_per_iteration, 1);
  CU_ASSERT_EQUAL(every->units_per_iteration, 3);
  /* Two more reduce-scatters; what is gathered after the update does not change. */
  CU_ASSERT_DOUBLE_EQUAL(moved_B(every) / moved_B(one), 2, TOL_ENGINE);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("zero", NULL, NULL);
  CU_ADD_TEST(suite, test_stage_3_moves_half_as_much_again);
  CU_ADD_TEST(suite, test_memory_is_divided_by_stage);
  CU_ADD_TEST(suite, test_without_prefetch_every_gather_is_waited_for);
  CU_ADD_TEST(suite, test_prefetch_hides_gathers_behind_the_layer_before);
  CU_ADD_TEST(suite, test_gradients_in_parts_are_reduced_in_every_step);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
