/**
 * @file test_transport_path.c
 * @brief What transports do to the graph: copies through hosts, many paths, incast.
 */
#include "models/collective.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums and quotients of a few doubles. */
static const double rounding = 1e-12;

/* Two nodes whose NICs are faster than PCIe: one switch each with two GPUs and the NIC. */
static Fixture two_nodes(const char *transport, const char *keys, const char *fabric_keys)
{
  return (Fixture){
    .n_nodes = 2,
    .n_gpus = 2,
    .n_nics = 1,
    .nic_Bps = 100e9,
    .fabric_keys = fabric_keys,
    .transport = transport,
    .transport_keys = keys,
  };
}

/* Seconds per byte of an all-reduce around a ring of all GPUs. */
static double ring_s_per_B(const Fixture *fixture)
{
  g_autoptr(Topology) topology = fixture_topology(fixture, NULL);
  g_autoptr(Group) group = group_new_all(topology);
  g_autoptr(GArray) phases = coll_phases_new();
  const CollCall call = { .kind = COLL_ALL_REDUCE,
                          .group = group,
                          .n_rails = topology_nics_per_node(topology) };

  coll_ring.phases(&call, topology, phases);
  return g_array_index(phases, CollPhase, 0).bound_s_per_B;
}

#define SWITCHED "pcie_rate=12 GB/s; gpus_per_switch=2"
#define ROOT_PORTS "pcie_rate=12 GB/s; gpus_per_switch=1"

/* A ring sends into and out of a node at once. GPU and NIC on one PCIe switch: directly,
 * each port carries one of the two each way; through the host the switch's own port
 * carries what goes to the NIC up and down, and what comes from it too. */
static void test_staging_halves_what_a_shared_switch_carries(void)
{
  const Fixture direct = two_nodes("rdma", "", SWITCHED);
  const Fixture staged = two_nodes("rdma", "gpu_direct=false", SWITCHED);
  const Fixture tcp =
    two_nodes("tcp", "offload=nic; tcp_rmem=2 GiB; tcp_wmem=1 GiB", SWITCHED);

  CU_ASSERT_DOUBLE_EQUAL(ring_s_per_B(&direct) * 12e9, 1.5, rounding);
  CU_ASSERT_DOUBLE_EQUAL(ring_s_per_B(&staged) / ring_s_per_B(&direct), 2, rounding);
  CU_ASSERT_DOUBLE_EQUAL(ring_s_per_B(&tcp) / ring_s_per_B(&direct), 2, rounding);
}

static void test_staging_costs_nothing_where_the_nic_has_a_root_port_of_its_own(void)
{
  const Fixture direct = two_nodes("rdma", "", ROOT_PORTS);
  const Fixture staged = two_nodes("rdma", "gpu_direct=false", ROOT_PORTS);

  CU_ASSERT_DOUBLE_EQUAL(ring_s_per_B(&staged) / ring_s_per_B(&direct), 1, rounding);
}

/* 1.5 bytes in and 1.5 out per byte of message, each twice through 12 GB/s of memory. */
static void test_host_memory_carries_every_staged_byte_twice_or_with_a_copy_four_times(void)
{
  const Fixture staged =
    two_nodes("rdma", "gpu_direct=false; host_memory=12 GB/s", ROOT_PORTS);
  const Fixture copied = two_nodes(
    "rdma", "gpu_direct=false; host_memory=12 GB/s; zero_copy=false; copy_rate=1 TB/s",
    ROOT_PORTS);

  CU_ASSERT_DOUBLE_EQUAL(ring_s_per_B(&staged) * 12e9, 2 * 3, rounding);
  CU_ASSERT_DOUBLE_EQUAL(ring_s_per_B(&copied) * 12e9, 4 * 3, rounding);
}

static void test_a_window_limits_a_ring(void)
{
  const Fixture fixture = two_nodes("tcp", "window=1 MiB; rtt=1 ms", ROOT_PORTS);
  CU_ASSERT_DOUBLE_EQUAL(ring_s_per_B(&fixture) * 0x1p20 / 1e-3, 1.5, rounding);
}

static void test_background_and_fec_reach_every_cable_and_uplink(void)
{
  Fixture fixture = { .n_nodes = 4,
                      .n_gpus = 1,
                      .n_nics = 1,
                      .network = "leaf_spine",
                      .network_keys = "nodes_per_leaf=2" };
  g_autoptr(Topology) idle = fixture_topology(&fixture, NULL);
  fixture.transport_keys = "background=25 %; fec_latency=0.1 us";
  g_autoptr(Topology) busy = fixture_topology(&fixture, NULL);

  for (guint i = 0; i < topology_n_links(idle); i++) {
    const Link *before = &topology_links(idle)[i], *after = &topology_links(busy)[i];
    const bool shared = before->tier == TIER_NIC || before->tier == TIER_LEAF_UPLINK;
    CU_ASSERT_DOUBLE_EQUAL(after->capacity_Bps / before->capacity_Bps, shared ? 0.75 : 1,
                           rounding);
    CU_ASSERT_DOUBLE_EQUAL(after->latency_s - before->latency_s, shared ? 0.1e-6 : 0,
                           rounding);
  }
}

static guint n_flows_to_the_other_leaf(const char *ecmp, const char *keys, double *share)
{
  g_autofree char *network_keys =
    g_strdup_printf("nodes_per_leaf=2; spines=16; ecmp=%s", ecmp);
  const Fixture fixture = { .n_nodes = 4,
                            .n_gpus = 1,
                            .n_nics = 1,
                            .network = "leaf_spine",
                            .network_keys = network_keys,
                            .transport_keys = keys };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(FlowSet) set = flow_set_new();

  topology_add_flow(topology, 0, 3, 0, 0.5, set);
  *share = 0;
  for (guint f = 0; f < flow_set_n_flows(set); f++)
    *share += flow_set_flow(set, f)->share;
  return flow_set_n_flows(set);
}

static void test_connections_are_spread_over_the_paths_that_hashing_gives_them(void)
{
  double share = 0;

  CU_ASSERT_EQUAL(n_flows_to_the_other_leaf("hashed", "", &share), 1);
  CU_ASSERT_EQUAL(n_flows_to_the_other_leaf("hashed", "qps_per_connection=8", &share), 8);
  CU_ASSERT_DOUBLE_EQUAL(share, 0.5, rounding);
  CU_ASSERT_EQUAL(n_flows_to_the_other_leaf("ideal", "qps_per_connection=8", &share), 1);
  CU_ASSERT_DOUBLE_EQUAL(share, 0.5, rounding);
}

/* Every node of one leaf sends to its like in the other. */
static double busiest_uplink(const char *transport_keys)
{
  const Fixture fixture = { .n_nodes = 64,
                            .n_gpus = 1,
                            .n_nics = 1,
                            .network = "leaf_spine",
                            .network_keys = "nodes_per_leaf=32; spines=32; ecmp=hashed",
                            .transport_keys = transport_keys };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(FlowSet) set = flow_set_new();

  for (guint node = 0; node < 32; node++)
    topology_add_flow(topology, node, node + 32, 0, 1, set);
  return flow_set_bound_s_per_B(set, topology_links(topology), topology_n_links(topology)) *
         topology_nic_Bps(topology);
}

/* 32 flows on 32 paths: the busiest has 3.5 on average, of 2,048 it has 1.3 times the mean;
 * the hash that this test fixes is unluckier. */
static void test_more_queue_pairs_even_out_the_hash(void)
{
  CU_ASSERT_TRUE(busiest_uplink("") >= 3);
  CU_ASSERT_TRUE(busiest_uplink("qps_per_connection=4") < busiest_uplink(""));
  CU_ASSERT_TRUE(busiest_uplink("qps_per_connection=64") < 1.5);
}

static void test_a_path_out_of_many_carries_its_part_of_the_limit(void)
{
  const Fixture fixture = { .n_nodes = 4,
                            .n_gpus = 1,
                            .n_nics = 1,
                            .network = "leaf_spine",
                            .network_keys = "nodes_per_leaf=2; spines=16; ecmp=hashed",
                            .transport = "tcp",
                            .transport_keys =
                              "window=64 KiB; rtt=1 ms; nsocks_perthread=4" };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(FlowSet) set = flow_set_new();

  topology_add_flow(topology, 0, 3, 0, 1, set);
  CU_ASSERT_EQUAL_FATAL(flow_set_n_flows(set), 4);
  CU_ASSERT_DOUBLE_EQUAL(flow_set_flow(set, 3)->cap_Bps * 1e-3, 65536, 1e-6);
}

/* ---- incast ---------------------------------------------------------------------------
 */

/* 1 Gbit/s, 200 ms: 10 senders of 25 MiB take 2.1 s and lose 7 s. */
static void test_timeouts_eat_what_many_senders_could_get(void)
{
  const TransportIncast incast = {
    .window_B = 64e3, .bdp_B = 10e3, .buffer_B = 512e3, .timeout_s = 0.2
  };
  const double ideal_s = 10 * 25.0 * 0x1p20 / 125e6;

  CU_ASSERT_EQUAL(transport_incast_share(&incast, 1, 125e6), 1);
  CU_ASSERT_EQUAL(transport_incast_share(&incast, 8, 125e6), 1);
  CU_ASSERT_DOUBLE_EQUAL(transport_incast_share(&incast, 10, 125e6),
                         ideal_s / (ideal_s + 35 * 0.2), rounding);
  /* No further timeouts beyond ten senders, so it recovers. */
  CU_ASSERT_TRUE(transport_incast_share(&incast, 40, 125e6) >
                 transport_incast_share(&incast, 10, 125e6));
}

/* Nodes 1 .. n-1 send to node 0, which sends to node 1. */
static FlowSet *many_to_one(const Topology *topology)
{
  FlowSet *set = flow_set_new();

  topology_add_flow(topology, 0, 1, 0, 1, set);
  for (guint node = 1; node < topology_n_nodes(topology); node++)
    topology_add_flow(topology, node, 0, 0, 1, set);
  return set;
}

static void test_incast_limits_the_flows_of_its_receiver_alone(void)
{
  const Fixture fixture = { .n_nodes = 9,
                            .n_gpus = 1,
                            .n_nics = 1,
                            .transport = "tcp",
                            .transport_keys = "switch_buffer=1 MB; window=1 MiB" };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  const TransportIncast *incast = &topology_transport(topology)->incast;
  g_autoptr(FlowSet) set = many_to_one(topology);
  const double before_Bps = flow_set_flow(set, 0)->cap_Bps;
  const double link_Bps = topology_nic_Bps(topology);

  transport_limit_incast(incast, topology_links(topology), set);
  CU_ASSERT_EQUAL(flow_set_flow(set, 0)->cap_Bps, before_Bps);
  for (guint f = 1; f < flow_set_n_flows(set); f++)
    CU_ASSERT_DOUBLE_EQUAL(flow_set_flow(set, f)->cap_Bps / link_Bps,
                           transport_incast_share(incast, 8, link_Bps) / 8, rounding);
}

static void test_dctcp_and_large_buffers_know_no_incast(void)
{
  static const char *const keys[] = { "", "switch_buffer=1 MB; congestion_control=dctcp",
                                      "switch_buffer=1 GB; window=1 MiB" };

  for (guint k = 0; k < G_N_ELEMENTS(keys); k++) {
    const Fixture fixture = {
      .n_nodes = 9, .n_gpus = 1, .n_nics = 1, .transport = "tcp", .transport_keys = keys[k]
    };
    g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
    g_autoptr(FlowSet) set = many_to_one(topology);

    transport_limit_incast(&topology_transport(topology)->incast, topology_links(topology),
                           set);
    for (guint f = 0; f < flow_set_n_flows(set); f++)
      CU_ASSERT_EQUAL(flow_set_flow(set, f)->cap_Bps, topology_flow_cap_Bps(topology));
  }
}

static void test_a_ring_has_one_sender_and_so_no_incast(void)
{
  const Fixture small =
    two_nodes("tcp", "switch_buffer=1 kB; window=1 MiB; rtt=1 ms", ROOT_PORTS);
  const Fixture large = two_nodes("tcp", "window=1 MiB; rtt=1 ms", ROOT_PORTS);

  CU_ASSERT_EQUAL(ring_s_per_B(&small), ring_s_per_B(&large));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("transport path", NULL, NULL);
  CU_ADD_TEST(suite, test_staging_halves_what_a_shared_switch_carries);
  CU_ADD_TEST(suite, test_staging_costs_nothing_where_the_nic_has_a_root_port_of_its_own);
  CU_ADD_TEST(suite,
              test_host_memory_carries_every_staged_byte_twice_or_with_a_copy_four_times);
  CU_ADD_TEST(suite, test_a_window_limits_a_ring);
  CU_ADD_TEST(suite, test_background_and_fec_reach_every_cable_and_uplink);
  CU_ADD_TEST(suite, test_connections_are_spread_over_the_paths_that_hashing_gives_them);
  CU_ADD_TEST(suite, test_more_queue_pairs_even_out_the_hash);
  CU_ADD_TEST(suite, test_a_path_out_of_many_carries_its_part_of_the_limit);
  CU_ADD_TEST(suite, test_timeouts_eat_what_many_senders_could_get);
  CU_ADD_TEST(suite, test_incast_limits_the_flows_of_its_receiver_alone);
  CU_ADD_TEST(suite, test_dctcp_and_large_buffers_know_no_incast);
  CU_ADD_TEST(suite, test_a_ring_has_one_sender_and_so_no_incast);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
