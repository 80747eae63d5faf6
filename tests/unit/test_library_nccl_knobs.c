/** @file test_library_nccl_knobs.c  @brief Every knob of NCCL changes what it should. */
#include "models/library/nccl.h"
#include "tests/unit/library_bench.h"

#include <CUnit/Basic.h>
#include <math.h>

static NcclParams params_of(const char *keys)
{
  NcclParams *params = fixture_params(&library_nccl.info, keys);
  const NcclParams copy = *params;
  params_free(&library_nccl.info, params);
  return copy;
}

/* The cluster as NCCL with these keys uses it. Transfer: caller frees. */
static Topology *ruled(const Fixture *fixture, const char *keys)
{
  const NcclParams params = params_of(keys);
  ClusterSpec cluster = fixture_cluster(fixture);

  library_nccl.rule_paths(&params, &cluster.rules);
  Topology *topology = topology_new(&cluster, NULL);
  cluster_clear(&cluster);
  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  return topology;
}

static guint n_of_tier(const Topology *topology, guint src, guint dst, Tier tier)
{
  g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint32));
  guint n = 0;

  topology_route(topology, src, dst, 0, 0, route);
  for (guint i = 0; i < route->len; i++)
    n += topology_links(topology)[g_array_index(route, guint32, i)].tier == tier;
  return n;
}

static void test_p2p_disable_sends_gpus_through_host_memory(void)
{
  static const Fixture nodes[] = {
    { .n_nodes = 1,
      .n_gpus = 4,
      .fabric = "nvswitch",
      .fabric_keys = "port_rate=240 GB/s; pcie_rate=24 GB/s; host_rate=8 GB/s" },
    { .n_nodes = 1,
      .n_gpus = 2,
      .fabric = "nvlink_mesh",
      .fabric_keys = "link_rate=20 GB/s; pcie_rate=24 GB/s; links={gpus=0-1, count=2}" },
    { .n_nodes = 1, .n_gpus = 2, .fabric_keys = "pcie_rate=24 GB/s" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(nodes); i++) {
    g_autoptr(Topology) with = ruled(&nodes[i], "");
    g_autoptr(Topology) without = ruled(&nodes[i], "p2p_disable=true");
    CU_ASSERT_EQUAL(n_of_tier(with, 0, 1, TIER_HOST), 0);
    CU_ASSERT_EQUAL(n_of_tier(without, 0, 1, TIER_HOST), 1);
    CU_ASSERT_EQUAL(n_of_tier(without, 0, 1, TIER_NVLINK), 0);
  }
}

/* GPUs 0 and 1 share a switch with the NIC; 2 and 3 are on the other socket. */
static const Fixture one_nic = {
  .n_nodes = 2,
  .n_gpus = 4,
  .n_nics = 1,
  .nic_Bps = 12.5e9,
  .fabric_keys = "pcie_rate=24 GB/s; gpus_per_switch=2; sockets=2; socket_rate=10 GB/s",
};

static void test_net_gdr_level_stages_what_is_further_from_the_nic(void)
{
  static const struct {
    const char *keys;
    guint near, far; /* links of the tier host from node to node, GPU 0 and GPU 3 */
  } levels[] = {
    { "net_gdr_level=loc", 2, 4 }, { "net_gdr_level=pix", 0, 4 }, { "", 0, 4 },
    { "net_gdr_level=phb", 0, 4 }, { "net_gdr_level=sys", 0, 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(levels); i++) {
    g_autoptr(Topology) topology = ruled(&one_nic, levels[i].keys);
    CU_ASSERT_EQUAL(n_of_tier(topology, 0, 4, TIER_HOST), levels[i].near);
    CU_ASSERT_EQUAL(n_of_tier(topology, 3, 7, TIER_HOST), levels[i].far);
    CU_ASSERT_EQUAL(topology_gpu_direct(topology), levels[i].near == 0);
  }
}

static void test_nics_hang_where_nic_path_says(void)
{
  static const struct {
    const char *nic_path;
    PathType type;
    guint n_host; /* links of the tier host from GPU 0 to GPU 4, nothing staged */
  } places[] = { { "pix", PATH_PIX, 0 }, { "phb", PATH_PHB, 0 }, { "sys", PATH_SYS, 2 } };

  for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
    Fixture fixture = one_nic;
    g_autofree char *keys =
      g_strdup_printf("%s; nic_path=%s", one_nic.fabric_keys, places[i].nic_path);
    fixture.fabric_keys = keys;
    g_autoptr(Topology) topology = ruled(&fixture, "net_gdr_level=sys");
    CU_ASSERT_EQUAL(topology_path_type(topology, 0), places[i].type);
    CU_ASSERT_EQUAL(n_of_tier(topology, 0, 4, TIER_HOST), places[i].n_host);
    /* GPU and NIC ports of two nodes, and the switch port unless the NIC is below it. */
    CU_ASSERT_EQUAL(n_of_tier(topology, 0, 4, TIER_PCIE), i == 0 ? 4 : 6);
    g_autoptr(Topology) careful = ruled(&fixture, "");
    CU_ASSERT_EQUAL(topology_gpu_direct(careful), i == 0);
  }
}

static void test_nics_on_the_next_socket_need_one(void)
{
  Fixture fixture = one_nic;
  g_autoptr(GError) error = NULL;

  fixture.fabric_keys = "pcie_rate=24 GB/s; nic_path=sys";
  CU_ASSERT_PTR_NULL(fixture_topology(&fixture, &error));
  CU_ASSERT_PTR_NOT_NULL(error);
}

static LibraryChoice choose(const Bench *bench, const char *keys, double size_B)
{
  const NcclParams params = params_of(keys);
  return library_nccl.choose(&params, &bench->call, size_B);
}

static void test_pat_gathers_small_blocks_of_many_nodes_with_one_rank(void)
{
  Fixture fixture = { .n_nodes = 64, .n_gpus = 1, .n_nics = 1, .nic_Bps = 25e9 };
  Bench bench;

  bench_init_kind(&bench, &fixture, COLL_ALL_GATHER, false, true);
  CU_ASSERT_PTR_EQUAL(choose(&bench, "", 1024).collective, &coll_pat);
  CU_ASSERT_PTR_EQUAL(choose(&bench, "", 1e9).collective, &coll_ring);
  CU_ASSERT_PTR_EQUAL(choose(&bench, "algo=pat", 1e9).collective, &coll_pat);
  CU_ASSERT_PTR_EQUAL(choose(&bench, "algo=ring", 1024).collective, &coll_ring);
  CU_ASSERT_PTR_EQUAL(choose(&bench, "version=2.20", 1024).collective, &coll_ring);
  /* 8.0 us, 64 turns of 2.8 us, six rounds of a hop of 14 us over 3.5 */
  const LibraryChoice choice = choose(&bench, "algo=pat", 0);
  const double rounds_s = 6 * (14e-6 / 3.5 + nccl_extra_net_s(&bench.call, NCCL_SIMPLE));
  CU_ASSERT_DOUBLE_EQUAL(choice.launch_s + 6 * choice.terms.alpha_net_s,
                         8e-6 + 64 * 2.8e-6 + rounds_s, 1e-12);
  bench_clear(&bench);

  fixture.n_gpus = 2;
  bench_init_kind(&bench, &fixture, COLL_ALL_GATHER, false, true);
  CU_ASSERT_PTR_EQUAL(choose(&bench, "algo=pat", 1024).collective, &coll_ring);
  bench_clear(&bench);
}

/* H100 on NVSwitch: 32 channels; 64 MiB to one of seven peers get four, twice as much
 * eight, but all of one of three peers eight from the start. */
static void test_a_message_gets_channels_by_its_size_and_its_peers(void)
{
  Fixture fixture = { .n_nodes = 1,
                      .n_gpus = 8,
                      .fabric = "nvswitch",
                      .fabric_keys = "port_rate=368.6 GB/s; pcie_rate=52.8 GB/s" };
  Bench bench;

  bench_init_kind(&bench, &fixture, COLL_SEND_RECV, true, true);
  bench.call.architecture = GPU_HOPPER;
  const double four_Bps = choose(&bench, "", 64 << 20).terms.rank_Bps;
  CU_ASSERT_DOUBLE_EQUAL(choose(&bench, "", 32 << 20).terms.rank_Bps / four_Bps, 1, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(choose(&bench, "", 128 << 20).terms.rank_Bps / four_Bps, 2, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(choose(&bench, "", 0x1p40).terms.rank_Bps / four_Bps, 8, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(choose(&bench, "max_ctas=4", 0x1p40).terms.rank_Bps / four_Bps, 1,
                         1e-9);
  bench_clear(&bench);
  fixture.n_gpus = 4;
  bench_init_kind(&bench, &fixture, COLL_SEND_RECV, true, true);
  bench.call.architecture = GPU_HOPPER;
  CU_ASSERT_DOUBLE_EQUAL(choose(&bench, "", 64 << 20).terms.rank_Bps / four_Bps, 2, 1e-9);
  bench_clear(&bench);
}

/* One GPU and one NIC of 400 Gbit/s a node: four channels, of which NCCL gives a peer all
 * among two ranks and half among ten. */
static void test_many_peers_leave_a_message_few_channels(void)
{
  Fixture fixture = { .n_nodes = 2, .n_gpus = 1, .n_nics = 1, .nic_Bps = 50e9 };
  Bench bench;

  bench_init_kind(&bench, &fixture, COLL_SEND_RECV, false, true);
  bench.call.local_Bps = 50e9;
  const double two_nodes_Bps = choose(&bench, "", 1e9).terms.rank_Bps;
  bench_clear(&bench);
  fixture.n_nodes = 10;
  bench_init_kind(&bench, &fixture, COLL_SEND_RECV, false, true);
  bench.call.local_Bps = 50e9;
  CU_ASSERT_DOUBLE_EQUAL(choose(&bench, "", 1e9).terms.rank_Bps / two_nodes_Bps, 0.5, 1e-9);
  bench_clear(&bench);
}

/* Of an all-reduce over rings, four GPUs with a NIC and a PCIe port of their own a node. */
static double ring_bound_s_per_B(const char *keys, const char *fabric,
                                 const char *fabric_keys, double nic_Bps)
{
  const Fixture fixture = { .n_nodes = 4,
                            .n_gpus = 4,
                            .n_nics = 4,
                            .nic_Bps = nic_Bps,
                            .fabric = fabric,
                            .fabric_keys = fabric_keys };
  const NcclParams params = params_of(keys);
  PathRules rules = { 0 };
  library_nccl.rule_paths(&params, &rules);
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(Group) group = group_new_all(topology);
  g_autoptr(GArray) phases = coll_phases_new();
  const CollCall call = {
    .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 4, .cross_nic = rules.cross_nic
  };

  coll_ring.phases(&call, topology, phases);
  return g_array_index(phases, CollPhase, 0).bound_s_per_B;
}

#define QUAD                                                                               \
  "link_rate=20 GB/s; links={gpus=0-1, count=6}; links={gpus=0-2, count=6};"               \
  "links={gpus=0-3, count=6}; links={gpus=1-2, count=6}; links={gpus=1-3, count=6};"       \
  "links={gpus=2-3, count=6}; rings={order=0 1 2 3}; rings={order=0 1 3 2};"               \
  "rings={order=0 2 1 3}; "

/* Without, what leaves a node takes NVLink to the GPU at the NIC that it came in by. */
static void test_cross_nic_spares_nvlink_what_leaves_the_node(void)
{
  static const struct {
    const char *fabric, *keys;
  } nodes[] = {
    { "nvswitch", "port_rate=10 GB/s; pcie_rate=1 TB/s" },
    { "nvlink_mesh", QUAD "pcie_rate=1 TB/s" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(nodes); i++) {
    const char *fabric = nodes[i].fabric, *keys = nodes[i].keys;
    const double same = ring_bound_s_per_B("cross_nic=0", fabric, keys, 500e9);
    CU_ASSERT_DOUBLE_EQUAL(ring_bound_s_per_B("cross_nic=1", fabric, keys, 500e9) / same,
                           0.75, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ring_bound_s_per_B("", fabric, keys, 500e9) / same, 0.75, 1e-9);
    /* NICs are used alike. */
    const double nic_bound = ring_bound_s_per_B("cross_nic=0", fabric, keys, 1e8);
    CU_ASSERT_DOUBLE_EQUAL(ring_bound_s_per_B("cross_nic=2", fabric, keys, 1e8) / nic_bound,
                           1, 1e-9);
  }
}

/* Sockets are keys of the transport. */
static void test_sockets_add_threads_and_connections(void)
{
  static const struct {
    const char *keys;
    double share; /* of what one connection on one core carries */
  } sockets[] = {
    { "socket_nthreads=4", 4 },
    { "nsocks_perthread=4", 1 }, /* the core is the limit */
    { "nsocks_perthread=4; window=64 KiB; rtt=1 ms", 4 },
    { "socket_nthreads=2; nsocks_perthread=8; window=64 KiB; rtt=1 ms", 16 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(sockets); i++) {
    const char *window = strstr(sockets[i].keys, "window");
    Fixture fixture = one_nic;
    fixture.transport = "tcp";
    fixture.transport_keys = window == NULL ? "" : window;
    g_autoptr(Topology) one = fixture_topology(&fixture, NULL);
    fixture.transport_keys = sockets[i].keys;
    g_autoptr(Topology) many = fixture_topology(&fixture, NULL);
    CU_ASSERT_DOUBLE_EQUAL(topology_flow_cap_Bps(many) / topology_flow_cap_Bps(one),
                           sockets[i].share, 1e-9);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library nccl knobs", NULL, NULL);
  CU_ADD_TEST(suite, test_p2p_disable_sends_gpus_through_host_memory);
  CU_ADD_TEST(suite, test_net_gdr_level_stages_what_is_further_from_the_nic);
  CU_ADD_TEST(suite, test_nics_hang_where_nic_path_says);
  CU_ADD_TEST(suite, test_nics_on_the_next_socket_need_one);
  CU_ADD_TEST(suite, test_pat_gathers_small_blocks_of_many_nodes_with_one_rank);
  CU_ADD_TEST(suite, test_a_message_gets_channels_by_its_size_and_its_peers);
  CU_ADD_TEST(suite, test_many_peers_leave_a_message_few_channels);
  CU_ADD_TEST(suite, test_cross_nic_spares_nvlink_what_leaves_the_node);
  CU_ADD_TEST(suite, test_sockets_add_threads_and_connections);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
