/**
 * @file test_strategy_ddp.c
 * @brief What PyTorch DDP exchanges beside gradients, and when it does not: the whole
 * chain.
 *
 * One tensor of 100 MB on nodes of one GPU and a switch without latency; rings with hops of
 * 1 us. No copies: gradients are views of their bucket and kernels start at once, so that
 * what is exposed is the transfer and the average (one pass over the memory).
 */
#include "tests/unit/forecast.h"

#define N_NODES 4
#define HOP_S 1e-6
#define SIZE_B 100e6
#define BUFFER_B 8e6

/* Sums of some ten simulated times of less than a second [s]. */
#define TOL_S 1e-9

static Result *run(guint accumulation_steps, const char *keys)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %d, \"node\": \"pcie_1\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\"}, \"network\": {\"topology\": \"switch\", \"latency\": "
    "\"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"one\", \"sample\": \"x\", \"source\": "
    "\"test\", "
    "\"layers\": [{\"name\": \"l\", \"flops\": 1, \"buffer_bytes\": 8000000, "
    "\"tensors\": [{\"name\": \"w\", \"values\": 25000000}]}]}, "
    "\"batch_per_gpu\": 8, \"accumulation_steps\": %u, \"compute\": {\"layers\": "
    "[{\"name\": \"l\", \"forward\": \"10 ms\", \"backward\": \"20 ms\"}]}}, "
    "\"strategy\": {\"name\": \"ddp\", \"gradient_as_bucket_view\": true, "
    "\"kernel_launch\": \"0 s\", %s}, \"library\": %s, "
    "\"run\": {\"iterations\": 3, \"warmup\": 1}}",
    N_NODES, accumulation_steps, keys, RULES("ring", "0 s", "1 us"));
  return forecast_with(text, true);
}

static double exposed_s(const Result *result)
{
  return result->iteration_time_s - result->compute_time_s;
}

#define PLAIN "\"broadcast_buffers\": false"

static void test_every_accumulation_step_exchanges_unless_under_no_sync(void)
{
  g_autoptr(Result) one = run(1, PLAIN);
  g_autoptr(Result) every = run(4, PLAIN);
  g_autoptr(Result) last = run(4, PLAIN ", \"no_sync\": true");
  const double optimizer_s = one->compute_time_s - 0.030;

  CU_ASSERT_DOUBLE_EQUAL(every->compute_time_s, 4 * 0.030 + optimizer_s, TOL_S);
  CU_ASSERT_DOUBLE_EQUAL(exposed_s(every), 4 * exposed_s(one), TOL_S);
  CU_ASSERT_DOUBLE_EQUAL(exposed_s(last), exposed_s(one), TOL_S);
  CU_ASSERT_EQUAL(every->units_per_iteration, 4);
  CU_ASSERT_EQUAL(last->units_per_iteration, 1);
  CU_ASSERT_DOUBLE_EQUAL(last->throughput_samples_per_s * last->iteration_time_s,
                         4 * 8 * N_NODES, 1e-6);
}

/* A broadcast goes round in 16 chunks of 500 kB, the last of which passes N - 1 hops. */
#define BROADCAST_B (BUFFER_B * (1 + (N_NODES - 2) / 16.0))

/* What a NIC takes per byte. */
static double wire_s_per_B(void)
{
  g_autoptr(Result) with = run(1, "\"broadcast_buffers\": true");
  g_autoptr(Result) without = run(1, PLAIN);
  return (exposed_s(with) - exposed_s(without) - (N_NODES - 1) * HOP_S) / BROADCAST_B;
}

/* Once per synchronised forward, before it. */
static void test_buffers_are_sent_before_forward(void)
{
  g_autoptr(Result) plain = run(1, PLAIN);
  g_autoptr(Result) every = run(4, "\"broadcast_buffers\": true");
  g_autoptr(Result) every_plain = run(4, PLAIN);
  g_autoptr(Result) last = run(4, "\"broadcast_buffers\": true, \"no_sync\": true");
  const double byte_s = wire_s_per_B(), n = N_NODES;
  const double average_s =
    exposed_s(plain) - 2 * (n - 1) * HOP_S - 2 * (n - 1) / n * SIZE_B * byte_s;
  const double buffers_s = (n - 1) * HOP_S + BROADCAST_B * byte_s;

  /* An all-reduce moves 2 (n-1)/n of its bytes; what is left is the average, 200 MB at the
   * memory's speed: a few hundred microseconds. */
  CU_ASSERT(average_s > 1e-5 && average_s < 1e-3);
  CU_ASSERT_DOUBLE_EQUAL(exposed_s(every) - exposed_s(every_plain), 4 * buffers_s, TOL_S);
  CU_ASSERT_DOUBLE_EQUAL(exposed_s(last) - exposed_s(plain), buffers_s, TOL_S);
}

/* One tensor: 4 B around the ring, 2(n-1) hops and next to no bytes, on the critical path.
 */
static void test_the_map_of_used_parameters_follows_the_last_bucket(void)
{
  g_autoptr(Result) plain = run(1, PLAIN);
  g_autoptr(Result) map = run(1, PLAIN ", \"find_unused_parameters\": true");
  const double bytes_s = 2 * 4 * wire_s_per_B();

  CU_ASSERT_DOUBLE_EQUAL(exposed_s(map) - exposed_s(plain),
                         2 * (N_NODES - 1) * HOP_S + bytes_s, TOL_S);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("ddp", NULL, NULL);
  CU_ADD_TEST(suite, test_every_accumulation_step_exchanges_unless_under_no_sync);
  CU_ADD_TEST(suite, test_buffers_are_sent_before_forward);
  CU_ADD_TEST(suite, test_the_map_of_used_parameters_follows_the_last_bucket);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
