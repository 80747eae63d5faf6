/** @file test_library_nccl_proxy.c  @brief What the threads between GPUs and NICs cost. */
#include "models/library/nccl.h"
#include "tests/unit/library_bench.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Four nodes of four GPUs and cards of 25 GB/s that hang on the CPU, as on Alps. */
static Fixture slingshot(const char *keys)
{
  return (Fixture){
    .n_nodes = 4,
    .n_gpus = 4,
    .n_nics = 4,
    .nic_Bps = 25e9,
    .fabric = "nvswitch",
    .fabric_keys = "port_rate=340 GB/s; pcie_rate=50 GB/s; nic_path=phb; sockets=4",
    .transport = "cxi",
    .transport_keys = keys,
  };
}

static NcclParams params_of(const char *keys)
{
  NcclParams *params = fixture_params(&library_nccl.info, keys);
  const NcclParams copy = *params;
  params_free(&library_nccl.info, params);
  return copy;
}

static double forced_s(const Bench *bench, const char *keys, double size_B)
{
  const NcclParams params = params_of(keys);
  const LibraryChoice choice = library_nccl.choose(&params, &bench->call, size_B);
  return bench_time_s(bench, &choice, size_B);
}

static double time_s(const char *transport_keys, const char *keys, double size_B)
{
  const Fixture fixture = slingshot(transport_keys);
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  const double result_s = forced_s(&bench, keys, size_B);
  bench_clear(&bench);
  return result_s;
}

/* A ring of 16 ranks has 30 rounds; 8 channels share 4 proxies: two chunks of two slices.
 */
static void test_a_ring_waits_for_the_gap_between_its_messages(void)
{
  const char *keys = "algo=ring; proto=simple";
  const double size_B = 1e6, gap_s = 100e-6;
  const double busy_s = 30 * 2 * 2 * gap_s;
  const double with_s = time_s("message_gap=100 us", keys, size_B);

  CU_ASSERT_TRUE(with_s >= busy_s);
  CU_ASSERT_DOUBLE_EQUAL(with_s, busy_s, 0.02 * busy_s); /* hops hide behind it */
  /* More bytes per message hide it: 16 GiB are 2 MiB a message. */
  const double large_B = 16.0 * (1 << 30);
  CU_ASSERT_DOUBLE_EQUAL(time_s("message_gap=5 us", keys, large_B) /
                           time_s("message_gap=0 s", keys, large_B),
                         1, 1e-3);
}

/* 8 channels of 512 KiB: one by one at 1 GB/s, together at 4 x 25 GB/s. */
static void test_a_tree_waits_for_messages_that_do_not_fill_a_nic(void)
{
  const char *keys = "algo=tree; proto=simple";
  const double size_B = 4 << 20, alone_s = size_B / 8 / 1e9;
  const double slow_s = time_s("message_rate=1 GB/s", keys, size_B);
  const double fast_s = time_s("message_rate=100 GB/s", keys, size_B);

  CU_ASSERT_DOUBLE_EQUAL(slow_s - fast_s, 4 * (alone_s - size_B / 96e9),
                         0.05 * 4 * alone_s);
  CU_ASSERT_EQUAL(time_s("message_rate=1 GB/s", "algo=ring; proto=simple", size_B),
                  time_s("message_rate=100 GB/s", "algo=ring; proto=simple", size_B));
}

static void test_only_ll_waits_for_copies_of_small_messages(void)
{
  const char *slow = "gdrcopy_latency=1 ms",
             *fast = "gdrcopy_latency=0 s; message_gap=5.5 us";
  const double size_B = 64 * 1024; /* trees: 8 channels of 8 KiB, twice that on the wire */

  CU_ASSERT_TRUE(time_s(slow, "algo=tree; proto=ll", size_B) -
                   time_s(fast, "algo=tree; proto=ll", size_B) >
                 4 * 0.9e-3);
  CU_ASSERT_DOUBLE_EQUAL(time_s(slow, "algo=tree; proto=simple", size_B),
                         time_s(fast, "algo=tree; proto=simple", size_B), 1e-12);
  /* Twice as large messages are fetched by the NIC. */
  CU_ASSERT_TRUE(time_s(slow, "algo=tree; proto=ll", 4 * size_B) <
                 time_s(slow, "algo=tree; proto=ll", size_B));
}

static void test_small_messages_are_copied_by_whoever_the_threshold_says(void)
{
  static const TransportMessages messages = { .small_B = 16384,
                                              .near_limit_B = 4096,
                                              .near_Bps = 2e9,
                                              .slow_s = 8e-6,
                                              .slow_Bps = 10e9 };

  CU_ASSERT_DOUBLE_EQUAL(transport_copy_s(&messages, 4096), 2.048e-6, 1e-15);
  CU_ASSERT_DOUBLE_EQUAL(transport_copy_s(&messages, 8192), 8.8192e-6, 1e-15);
  CU_ASSERT_EQUAL(transport_copy_s(&messages, 16385), 0);
  CU_ASSERT_EQUAL(transport_copy_s(&(TransportMessages){ 0 }, 100), 0);
}

/* Rings of one channel per NIC, each doubled; those that must leave by another GPU's NIC
 * are two per NIC already. */
static void test_rings_that_leave_far_have_twice_the_channels(void)
{
  const Fixture fixture = slingshot("");
  const NcclParams near = params_of(""), far = params_of("cross_nic=0");
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  bench.call.nic_path = PATH_PHB;

  CU_ASSERT_EQUAL(nccl_layout(&near, &bench.call).n_channels, 8);
  CU_ASSERT_EQUAL(nccl_layout(&far, &bench.call).n_channels, 16);
  bench.call.nic_path = PATH_PXB; /* PXN takes it to the right GPU */
  CU_ASSERT_EQUAL(nccl_layout(&far, &bench.call).n_channels, 8);
  bench_clear(&bench);
}

/* ncclTopoDupChannels(): only channels of 25 GB/s and more are doubled once more. */
static void test_slow_nics_have_fewer_channels(void)
{
  const NcclParams params = params_of("");
  Fixture fixture = slingshot("");
  Bench bench;

  fixture.nic_Bps = 50e9;
  bench_init(&bench, &fixture, true, true);
  CU_ASSERT_EQUAL(nccl_layout(&params, &bench.call).n_channels, 16);
  bench_clear(&bench);
}

static void test_what_a_plugin_tells_of_its_latency_decides_but_costs_nothing(void)
{
  const char *near = "proto=simple; version=2.20",
             *far = "proto=simple; version=2.20; net_latency=75 us";
  const Fixture fixture = { .n_nodes = 2,
                            .n_gpus = 8,
                            .n_nics = 4,
                            .nic_Bps = 12.5e9,
                            .fabric = "nvswitch",
                            .fabric_keys = "port_rate=240 GB/s; pcie_rate=24 GB/s" };
  const NcclParams a = params_of(near), b = params_of(far);
  Bench bench;
  bench_init(&bench, &fixture, true, true);

  CU_ASSERT_PTR_EQUAL(library_nccl.choose(&a, &bench.call, 8).collective, &coll_ring);
  CU_ASSERT_PTR_EQUAL(library_nccl.choose(&b, &bench.call, 8).collective,
                      &coll_double_tree);
  CU_ASSERT_DOUBLE_EQUAL(forced_s(&bench, "algo=ring; proto=simple; net_latency=75 us", 8),
                         forced_s(&bench, "algo=ring; proto=simple", 8), 1e-15);
  bench_clear(&bench);
}

/* Two channels of 1.95 GB/s on the wire; LL needs two bytes there for one. */
static void test_channels_through_host_memory_bound_gpus_without_peer_access(void)
{
  const Fixture fixture = { .n_nodes = 1,
                            .n_gpus = 2,
                            .fabric_keys =
                              "pcie_rate=24 GB/s; p2p=false; host_rate=100 GB/s" };
  const double size_B = 1e9;
  Bench bench;
  bench_init(&bench, &fixture, false, true);
  const double free_s = forced_s(&bench, "algo=ring; proto=simple", size_B);
  CU_ASSERT_TRUE(topology_copies_through_host(bench.topology));
  bench.call.through_host = true;

  CU_ASSERT_TRUE(free_s < size_B / 20e9);
  CU_ASSERT_DOUBLE_EQUAL(
    forced_s(&bench, "algo=ring; proto=simple", size_B) / (size_B / 3.9e9), 1, 0.01);
  CU_ASSERT_DOUBLE_EQUAL(
    forced_s(&bench, "algo=ring; proto=ll", size_B) / (2 * size_B / 3.9e9), 1, 0.01);
  bench_clear(&bench);
}

/* llMaxBws of two nodes, 39 GB/s of message over eight proxies; one works here. */
static void test_one_proxy_carries_an_eighth_of_what_eight_do(void)
{
  const Fixture fixture = { .n_nodes = 2,
                            .n_gpus = 1,
                            .n_nics = 1,
                            .nic_Bps = 1e12,
                            .fabric_keys = "pcie_rate=1 TB/s" };
  Bench bench;
  bench_init(&bench, &fixture, false, true);

  const double per_B = (forced_s(&bench, "algo=ring; proto=ll", 2e9) -
                        forced_s(&bench, "algo=ring; proto=ll", 1e9)) /
                       1e9;
  CU_ASSERT_DOUBLE_EQUAL(per_B * 39e9 / 8, 1, 0.02);
  bench_clear(&bench);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library nccl proxy", NULL, NULL);
  CU_ADD_TEST(suite, test_a_ring_waits_for_the_gap_between_its_messages);
  CU_ADD_TEST(suite, test_a_tree_waits_for_messages_that_do_not_fill_a_nic);
  CU_ADD_TEST(suite, test_only_ll_waits_for_copies_of_small_messages);
  CU_ADD_TEST(suite, test_small_messages_are_copied_by_whoever_the_threshold_says);
  CU_ADD_TEST(suite, test_rings_that_leave_far_have_twice_the_channels);
  CU_ADD_TEST(suite, test_slow_nics_have_fewer_channels);
  CU_ADD_TEST(suite, test_what_a_plugin_tells_of_its_latency_decides_but_costs_nothing);
  CU_ADD_TEST(suite, test_channels_through_host_memory_bound_gpus_without_peer_access);
  CU_ADD_TEST(suite, test_one_proxy_carries_an_eighth_of_what_eight_do);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
