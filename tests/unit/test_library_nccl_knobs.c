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

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library nccl knobs", NULL, NULL);
  CU_ADD_TEST(suite, test_p2p_disable_sends_gpus_through_host_memory);
  CU_ADD_TEST(suite, test_net_gdr_level_stages_what_is_further_from_the_nic);
  CU_ADD_TEST(suite, test_nics_hang_where_nic_path_says);
  CU_ADD_TEST(suite, test_nics_on_the_next_socket_need_one);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
