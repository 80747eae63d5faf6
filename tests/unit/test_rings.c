/** @file test_rings.c  @brief Rings use every link and NIC that a cluster has. */
#include "models/collective.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>

/* Sums of a few doubles. */
static const double rounding = 1e-12;

static GArray *phases_of(const CollCall *call, const Topology *topology)
{
  GArray *phases = coll_phases_new();
  coll_ring.phases(call, topology, phases);
  return phases;
}

/* A DGX-1: three rings each way use each of its six NVLinks per GPU once each way. */
#define DGX1                                                                               \
  "link_rate=20 GB/s; pcie_rate=12 GB/s; gpus_per_switch=2; sockets=2;"                    \
  "links={gpus=0-3, count=2}; links={gpus=0-4, count=2}; links={gpus=1-2, count=2};"       \
  "links={gpus=1-5, count=2}; links={gpus=2-3, count=2}; links={gpus=4-7, count=2};"       \
  "links={gpus=5-6, count=2}; links={gpus=6-7, count=2}; links={gpus=0-1};"                \
  "links={gpus=0-2}; links={gpus=1-3}; links={gpus=2-6}; links={gpus=3-7};"                \
  "links={gpus=4-5}; links={gpus=4-6}; links={gpus=5-7};"                                  \
  "rings={order=0 1 2 3 7 6 5 4}; rings={order=0 2 6 4 7 5 1 3};"                          \
  "rings={order=0 3 2 1 5 6 7 4}"

/* Bus bandwidth of an all-reduce without latency, as nccl-tests define it [B/s]. */
static double bus_Bps(const Fixture *fixture, guint n_rails)
{
  g_autoptr(Topology) topology = fixture_topology(fixture, NULL);
  const guint n = topology_n_gpus(topology);
  g_autoptr(Group) group = group_new_all(topology);
  const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = n_rails };
  g_autoptr(GArray) phases = phases_of(&call, topology);

  CU_ASSERT_EQUAL_FATAL(phases->len, 1);
  return 2.0 * (n - 1) / n / g_array_index(phases, CollPhase, 0).bound_s_per_B;
}

static void test_rings_of_a_mesh_fill_all_its_links(void)
{
  const Fixture fixture = {
    .n_nodes = 1, .n_gpus = 8, .fabric = "nvlink_mesh", .fabric_keys = DGX1
  };
  CU_ASSERT_DOUBLE_EQUAL(bus_Bps(&fixture, 1) / (6 * 20e9), 1, rounding);
}

static void test_rings_of_several_nodes_fill_all_nics(void)
{
  /* Each NIC carries more than the sockets exchange, so no ring may cross to a far one. */
  const Fixture nvswitch = {
    .n_nodes = 3,
    .n_gpus = 8,
    .n_nics = 8,
    .nic_Bps = 20e9,
    .fabric = "nvswitch",
    .fabric_keys = "port_rate=300 GB/s; pcie_rate=24 GB/s; gpus_per_switch=2; sockets=2",
  };
  const Fixture mesh = {
    .n_nodes = 3,
    .n_gpus = 8,
    .n_nics = 4,
    .nic_Bps = 5e9,
    .fabric = "nvlink_mesh",
    .fabric_keys = DGX1,
  };
  const double goodput = 4096.0 / (4096 + 26);

  CU_ASSERT_DOUBLE_EQUAL(bus_Bps(&nvswitch, 8) / (8 * 20e9 * goodput), 1, rounding);
  CU_ASSERT_DOUBLE_EQUAL(bus_Bps(&mesh, 4) / (4 * 5e9 * goodput), 1, rounding);
  CU_ASSERT_DOUBLE_EQUAL(bus_Bps(&mesh, 1) / (5e9 * goodput), 1, rounding);
}

static void test_rings_enter_and_leave_by_the_gpus_of_the_nics_switch(void)
{
  const Fixture fixture = {
    .n_nodes = 2,
    .n_gpus = 8,
    .n_nics = 4,
    .fabric = "nvswitch",
    .fabric_keys = "port_rate=300 GB/s; pcie_rate=24 GB/s; gpus_per_switch=2; sockets=2",
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(Group) group = group_new_all(topology);
  const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 4 };
  g_autoptr(GArray) phases = phases_of(&call, topology);
  const FlowSet *set = g_array_index(phases, CollPhase, 0).set;
  guint n_between_nodes = 0;

  /* GPU port, NIC port, two cables, NIC port, GPU port; no NVLink, no switch uplink. */
  for (guint f = 0; f < flow_set_n_flows(set); f++) {
    const Flow *flow = flow_set_flow(set, f);
    const guint tier = topology_links(topology)[flow_set_links(set, flow)[0]].tier;
    n_between_nodes += tier == TIER_PCIE;
    CU_ASSERT_EQUAL(flow->n_links, tier == TIER_PCIE ? 6 : 2);
  }
  CU_ASSERT_EQUAL(n_between_nodes, 2 * 4);
}

static void test_pcie_rings_are_bound_by_what_they_cross(void)
{
  const Fixture peers = {
    .n_nodes = 1,
    .n_gpus = 8,
    .fabric_keys = "pcie_rate=12 GB/s; gpus_per_switch=4; sockets=2; socket_rate=7 GB/s",
  };
  const Fixture host = {
    .n_nodes = 1,
    .n_gpus = 4,
    .fabric_keys = "pcie_rate=24 GB/s; p2p=false; host_rate=10 GB/s",
  };

  CU_ASSERT_DOUBLE_EQUAL(bus_Bps(&peers, 1) / 7e9, 1, rounding);
  CU_ASSERT_DOUBLE_EQUAL(bus_Bps(&host, 1) / (10e9 / 4), 1, rounding);
}

static void test_hashed_paths_are_the_same_every_time(void)
{
  const Fixture fixture = {
    .n_nodes = 40,
    .n_gpus = 1,
    .n_nics = 1,
    .network = "leaf_spine",
    .network_keys = "nodes_per_leaf=1; ecmp=hashed; spines=4",
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(Group) group = group_new_all(topology);
  const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1 };
  g_autoptr(GArray) first = phases_of(&call, topology);
  g_autoptr(GArray) second = phases_of(&call, topology);
  const GArray *a = g_array_index(first, CollPhase, 0).set->links;
  const GArray *b = g_array_index(second, CollPhase, 0).set->links;

  CU_ASSERT_EQUAL_FATAL(a->len, b->len);
  CU_ASSERT_EQUAL(memcmp(a->data, b->data, a->len * sizeof(guint32)), 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("rings", NULL, NULL);
  CU_ADD_TEST(suite, test_rings_of_a_mesh_fill_all_its_links);
  CU_ADD_TEST(suite, test_rings_of_several_nodes_fill_all_nics);
  CU_ADD_TEST(suite, test_rings_enter_and_leave_by_the_gpus_of_the_nics_switch);
  CU_ADD_TEST(suite, test_pcie_rings_are_bound_by_what_they_cross);
  CU_ADD_TEST(suite, test_hashed_paths_are_the_same_every_time);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
