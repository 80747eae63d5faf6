/**
 * @file test_strategy_horovod.c
 * @brief Horovod's all-reduces in three steps against closed forms, through the whole
 * chain.
 *
 * One tensor of 100 MB on nodes of 8 A100 (231.7 GB/s over NVLink each, see
 * catalogue/node/dgx_a100.json) with one 25 Gbit/s NIC and a switch without latency. No
 * cycle and no negotiation: what is exposed is the all-reduce.
 */
#include "tests/unit/forecast.h"
#include "tests/unit/schedule_run.h"

#define SIZE_B 100e6
#define NVLINK_BPS 231.7e9
#define N_LOCAL 8
/* NCCL's Ring/Simple, see STRATEGY_NCCL_*. */
#define LAUNCH_S 8.4e-6
#define HOP_S 3.4e-6
#define NET_HOP_S 14e-6

/* Sums of some ten simulated times of less than a second [s]. */
#define TOL_S 1e-9

static Result *run(guint n_nodes, const char *node, const char *keys)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"%s\", \"nic\": "
    "{\"count\": 1, \"rate\": \"25 Gbit/s\"}, \"network\": {\"topology\": \"switch\", "
    "\"latency\": \"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"one\", \"sample\": \"x\", \"source\": "
    "\"test\", "
    "\"layers\": [{\"name\": \"l\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", "
    "\"values\": 25000000}]}]}, \"batch_per_gpu\": 8, \"compute\": {\"layers\": "
    "[{\"name\": \"l\", \"forward\": \"10 ms\", \"backward\": \"20 ms\"}]}}, "
    "\"strategy\": {\"name\": \"horovod\", \"cycle_time\": \"0 s\", \"control_latency\": "
    "\"0 s\", \"kernel_launch\": \"0 s\"%s}, \"library\": %s, "
    "\"run\": {\"iterations\": 2, \"warmup\": 1}}",
    n_nodes, node, keys, RULES("ring", "0 s", "0 s"));
  return forecast_with(text, true);
}

static double exposed_s(guint n_nodes, const char *node, const char *keys)
{
  g_autoptr(Result) result = run(n_nodes, node, keys);
  return result->iteration_time_s - result->compute_time_s;
}

/* Two nodes of one GPU exchange the whole message in 2 hops of half of it. */
static double rate_Bps(void)
{
  return SIZE_B / exposed_s(2, "pcie_1", "");
}

static double local_s(void)
{
  return LAUNCH_S + (N_LOCAL - 1) * (HOP_S + SIZE_B / N_LOCAL / NVLINK_BPS);
}

static double ring_s(guint n, double hop_s, double Bps)
{
  return 2.0 * (n - 1) * (hop_s + SIZE_B / (n * Bps));
}

static void test_the_torus_takes_its_closed_form(void)
{
  const double Bps = rate_Bps();
  const guint sizes[] = { 2, 3, 16 };

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    CU_ASSERT_DOUBLE_EQUAL(exposed_s(sizes[i], "dgx_a100", ", \"torus_allreduce\": true"),
                           2 * local_s() + LAUNCH_S + ring_s(sizes[i], NET_HOP_S, Bps),
                           TOL_S);
}

/* The copies to host memory and back are the same on any number of nodes: each GPU's eighth
 * of the message over PCIe, slower than 5 GB/s and faster than 100. */
static void test_the_hierarchical_way_copies_and_goes_round_the_hosts(void)
{
  const double Bps = rate_Bps();
  double copies_s[2];
  const guint sizes[] = { 2, 5 };

  for (guint i = 0; i < 2; i++)
    copies_s[i] = exposed_s(sizes[i], "dgx_a100", ", \"hierarchical_allreduce\": true") -
                  2 * local_s() - ring_s(sizes[i], 0, Bps);
  CU_ASSERT_DOUBLE_EQUAL(copies_s[0], copies_s[1], TOL_S);
  CU_ASSERT(copies_s[0] > 2 * SIZE_B / N_LOCAL / 100e9);
  CU_ASSERT(copies_s[0] < 2 * SIZE_B / N_LOCAL / 5e9);
}

static void test_on_one_node_neither_means_anything(void)
{
  const double flat_s = exposed_s(1, "dgx_a100", "");

  CU_ASSERT_EQUAL(exposed_s(1, "dgx_a100", ", \"torus_allreduce\": true"), flat_s);
  CU_ASSERT_EQUAL(exposed_s(1, "dgx_a100", ", \"hierarchical_allreduce\": true"), flat_s);
}

static void test_an_iteration_that_takes_long_deserves_a_warning(void)
{
  g_autoptr(Result) quiet = run(2, "pcie_1", "");
  g_autoptr(Result) loud = run(2, "pcie_1", ", \"stall_check_time\": \"10 ms\"");
  g_autoptr(Result) never = run(2, "pcie_1", ", \"stall_check_time\": \"0 s\"");

  CU_ASSERT_EQUAL(quiet->warnings->len, 0);
  CU_ASSERT_EQUAL_FATAL(loud->warnings->len, 1);
  CU_ASSERT_PTR_NOT_NULL(strstr(g_ptr_array_index(loud->warnings, 0), "10 ms"));
  CU_ASSERT_EQUAL(never->warnings->len, 0);
}

/* A cycle of 10 ms takes what is ready at 0. What gets ready at 2 leaves at 10 if
 * operations are only enqueued; else when the first one is done, at 25. */
static void test_a_blocking_operation_holds_up_the_loop(void)
{
  const HorovodCycleRule rule = {
    .cycle_time_s = 0.010, .cache_capacity = 9, .padding_B = 1, .blocks = true
  };
  const double sizes_B[] = { 10, 20 };
  Workload *workload = workload_of(sizes_B, 2);
  void *state = schedule_horovod_cycle.new(&rule, workload);
  double again_s;
  Unit unit;

  unit_init(&unit);
  schedule_horovod_cycle.begin(state, 1, 0);
  schedule_horovod_cycle.ready(state, 0, 0);
  CU_ASSERT_EQUAL(schedule_horovod_cycle.next(state, 0, &unit, &again_s), SCHEDULE_UNIT);
  unit_clear(&unit);
  unit_init(&unit);
  schedule_horovod_cycle.ready(state, 1, 0.002);
  CU_ASSERT_EQUAL(schedule_horovod_cycle.next(state, 0.010, &unit, &again_s),
                  SCHEDULE_IDLE);
  CU_ASSERT_TRUE(schedule_horovod_cycle.finished(state, &unit, 0.025));
  CU_ASSERT_EQUAL(schedule_horovod_cycle.next(state, 0.025, &unit, &again_s),
                  SCHEDULE_UNIT);
  CU_ASSERT_EQUAL(unit.size_B, 20);
  unit_clear(&unit);
  schedule_horovod_cycle.free(state);
  workload_release(workload);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("horovod", NULL, NULL);
  CU_ADD_TEST(suite, test_the_torus_takes_its_closed_form);
  CU_ADD_TEST(suite, test_the_hierarchical_way_copies_and_goes_round_the_hosts);
  CU_ADD_TEST(suite, test_on_one_node_neither_means_anything);
  CU_ADD_TEST(suite, test_an_iteration_that_takes_long_deserves_a_warning);
  CU_ADD_TEST(suite, test_a_blocking_operation_holds_up_the_loop);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
