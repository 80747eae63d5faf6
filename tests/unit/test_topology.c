/**
 * @file test_topology.c
 * @brief Routes, capacities and latencies of fabrics and networks.
 */
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums and quotients of a few doubles. */
static const double rounding = 1e-12;

#define CUBE_MESH                                                                          \
  "link_rate=20 GB/s; pcie_rate=12 GB/s; gpus_per_switch=2; sockets=2;"                    \
  "links={gpus=0-1}; links={gpus=0-2}; links={gpus=0-3, count=2}; links={gpus=0-4, "       \
  "count=2}; links={gpus=1-2, count=2}; links={gpus=1-3}; links={gpus=1-5, count=2};"      \
  "links={gpus=2-3, count=2}; links={gpus=2-6}; links={gpus=3-7}; links={gpus=4-5};"       \
  "links={gpus=4-6}; links={gpus=4-7, count=2}; links={gpus=5-6, count=2};"                \
  "links={gpus=5-7}; links={gpus=6-7, count=2};"

static const Fixture boxes[] = {
  { .n_nodes = 5,
    .n_gpus = 8,
    .n_nics = 8,
    .fabric = "nvswitch",
    .fabric_keys = "port_rate=450 GB/s; pcie_rate=50 GB/s; gpus_per_switch=2; sockets=2",
    .network = "rail_optimised",
    .network_keys = "nodes_per_leaf=2" },
  { .n_nodes = 5,
    .n_gpus = 8,
    .n_nics = 4,
    .fabric = "nvlink_mesh",
    .fabric_keys = CUBE_MESH,
    .network = "leaf_spine",
    .network_keys = "nodes_per_leaf=2; oversubscription=2" },
  { .n_nodes = 3,
    .n_gpus = 5,
    .n_nics = 2,
    .fabric_keys = "pcie_rate=12 GB/s; gpus_per_switch=2; sockets=2; p2p=false",
    .transport = "tcp" },
  { .n_nodes = 3, .n_gpus = 1, .n_nics = 1 },
  { .n_nodes = 1, .n_gpus = 6, .fabric_keys = "pcie_rate=12 GB/s; gpus_per_switch=4" },
};

static GArray *route(const Topology *topology, guint src, guint dst, guint rail,
                     guint64 hash)
{
  GArray *links = g_array_new(FALSE, FALSE, sizeof(guint32));
  topology_route(topology, src, dst, rail, hash, links);
  return links;
}

static const Link *link_of(const Topology *topology, const GArray *links, guint index)
{
  return &topology_links(topology)[g_array_index(links, guint32, index)];
}

static guint count_tier(const Topology *topology, const GArray *links, guint tier)
{
  guint n = 0;
  for (guint i = 0; i < links->len; i++)
    n += link_of(topology, links, i)->tier == tier;
  return n;
}

static bool has_loop(const GArray *links)
{
  for (guint i = 0; i < links->len; i++)
    for (guint j = 0; j < i; j++)
      if (g_array_index(links, guint32, i) == g_array_index(links, guint32, j))
        return true;
  return false;
}

static void test_every_gpu_reaches_every_other_over_links_that_exist(void)
{
  for (guint b = 0; b < G_N_ELEMENTS(boxes); b++) {
    g_autoptr(Topology) topology = fixture_topology(&boxes[b], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
    const guint n = topology_n_gpus(topology), local = topology_gpus_per_node(topology);

    CU_ASSERT_EQUAL(n, boxes[b].n_nodes * boxes[b].n_gpus);
    for (guint i = 0; i < n * n * MAX(1, boxes[b].n_nics); i++) {
      const guint src = i % n, dst = i / n % n;
      g_autoptr(GArray) links = route(topology, src, dst, i / n / n, i);
      const bool same_node = src / local == dst / local;

      CU_ASSERT_EQUAL(links->len == 0, src == dst);
      for (guint k = 0; k < links->len; k++)
        CU_ASSERT_TRUE_FATAL(g_array_index(links, guint32, k) < topology_n_links(topology));
      CU_ASSERT_FALSE(has_loop(links));
      CU_ASSERT_EQUAL(count_tier(topology, links, TIER_NIC), same_node ? 0 : 2);
    }
  }
}

static void test_routes_of_different_nodes_share_no_link_inside_the_nodes(void)
{
  g_autoptr(Topology) topology = fixture_topology(&boxes[0], NULL);
  g_autoptr(GArray) first = route(topology, 0, 1, 0, 0);
  g_autoptr(GArray) second = route(topology, 8, 9, 0, 0);

  CU_ASSERT_EQUAL_FATAL(first->len, 2);
  CU_ASSERT_EQUAL_FATAL(second->len, 2);
  for (guint i = 0; i < 2; i++) {
    CU_ASSERT_NOT_EQUAL(g_array_index(first, guint32, i),
                        g_array_index(second, guint32, i));
    CU_ASSERT_EQUAL(link_of(topology, first, i)->capacity_Bps, 450e9);
    CU_ASSERT_EQUAL(link_of(topology, first, i)->tier, TIER_NVLINK);
  }
}

static void test_mesh_takes_the_straight_link_else_one_stopover(void)
{
  g_autoptr(Topology) topology = fixture_topology(&boxes[1], NULL);
  g_autoptr(GArray) straight = route(topology, 0, 3, 0, 0);
  g_autoptr(GArray) back = route(topology, 3, 0, 0, 0);
  g_autoptr(GArray) detour = route(topology, 0, 5, 0, 0);

  CU_ASSERT_EQUAL_FATAL(straight->len, 1);
  CU_ASSERT_EQUAL(link_of(topology, straight, 0)->capacity_Bps, 40e9);
  CU_ASSERT_NOT_EQUAL(g_array_index(straight, guint32, 0), g_array_index(back, guint32, 0));
  CU_ASSERT_EQUAL(detour->len, 2);
  CU_ASSERT_EQUAL(count_tier(topology, detour, TIER_NVLINK), 2);
}

static void test_mesh_without_rings_finds_one_over_its_links(void)
{
  g_autoptr(Topology) topology = fixture_topology(&boxes[1], NULL);
  const guint n = topology_gpus_per_node(topology);

  CU_ASSERT_EQUAL_FATAL(topology_n_ring_orders(topology), 2);
  for (guint o = 0; o < 2; o++) {
    const guint *order = topology_ring_order(topology, o);
    for (guint i = 0; i < n; i++) {
      g_autoptr(GArray) links = route(topology, order[i], order[(i + 1) % n], 0, 0);
      CU_ASSERT_EQUAL(links->len, 1);
    }
  }
}

static void test_mesh_uses_given_rings_in_both_directions(void)
{
  const Fixture fixture = {
    .n_nodes = 1,
    .n_gpus = 3,
    .fabric = "nvlink_mesh",
    .fabric_keys =
      "link_rate=20 GB/s; pcie_rate=12 GB/s; links={gpus=0-1}; links={gpus=1-2};"
      "links={gpus=2-0}; rings={order=0 2 1}",
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  static const guint forth[] = { 0, 2, 1 }, back[] = { 1, 2, 0 };

  CU_ASSERT_EQUAL_FATAL(topology_n_ring_orders(topology), 2);
  CU_ASSERT_EQUAL(memcmp(topology_ring_order(topology, 0), forth, sizeof forth), 0);
  CU_ASSERT_EQUAL(memcmp(topology_ring_order(topology, 1), back, sizeof back), 0);
}

static void test_mesh_without_links_falls_back_to_pcie(void)
{
  const Fixture fixture = { .n_nodes = 1,
                            .n_gpus = 4,
                            .fabric = "nvlink_mesh",
                            .fabric_keys = "link_rate=20 GB/s; pcie_rate=12 GB/s" };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GArray) links = route(topology, 0, 1, 0, 0);

  CU_ASSERT_EQUAL(links->len, 4);
  CU_ASSERT_EQUAL(count_tier(topology, links, TIER_PCIE), 4);
}

static void test_mesh_refuses_links_and_rings_that_make_no_sense(void)
{
  static const struct {
    const char *keys, *message;
  } cases[] = {
    { "links={gpus=0-4}",
      "links[0]: '0-4' names a GPU that is not there: the node has 4, 0 to 3; give "
      "\"fabric\" the links and rings of these, or as many GPUs as it is drawn for" },
    { "links={gpus=0}", "links[0]: '0' does not name two GPUs of 0 to 3, such as \"0-1\"" },
    { "links={gpus=}", "links[0]: '' does not name two GPUs of 0 to 3, such as \"0-1\"" },
    { "links={gpus=0-1}; links={gpus=2-2}", "links[1]: '2-2' links a GPU to itself" },
    { "links={gpus=0-1}; links={gpus=1-0}",
      "links[1]: GPUs 1 and 0 are linked twice; give a higher count" },
    { "rings={order=0 1 2}",
      "rings[0]: '0 1 2' does not name each of the GPUs 0 to 3 once" },
    { "rings={order=0 1 2 2}",
      "rings[0]: '0 1 2 2' does not name each of the GPUs 0 to 3 once" },
    { "rings={order=0 1 2 x}",
      "rings[0]: '0 1 2 x' does not name each of the GPUs 0 to 3 once" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *keys =
      g_strconcat("link_rate=20 GB/s; pcie_rate=12 GB/s;", cases[i].keys, NULL);
    const Fixture fixture = {
      .n_nodes = 1, .n_gpus = 4, .fabric = "nvlink_mesh", .fabric_keys = keys
    };
    g_autoptr(GError) error = NULL;

    CU_ASSERT_PTR_NULL(fixture_topology(&fixture, &error));
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
    CU_ASSERT_STRING_EQUAL(error->message, cases[i].message);
  }
}

static void test_pcie_peers_climb_only_as_high_as_they_must(void)
{
  const Fixture fixture = {
    .n_nodes = 1,
    .n_gpus = 8,
    .fabric_keys = "pcie_rate=12 GB/s; gpus_per_switch=2; sockets=2; socket_rate=9 GB/s",
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GArray) neighbours = route(topology, 0, 1, 0, 0);
  g_autoptr(GArray) cousins = route(topology, 0, 2, 0, 0);
  g_autoptr(GArray) strangers = route(topology, 0, 7, 0, 0);

  CU_ASSERT_EQUAL(neighbours->len, 2);
  CU_ASSERT_EQUAL(cousins->len, 4);
  CU_ASSERT_EQUAL_FATAL(strangers->len, 5);
  CU_ASSERT_EQUAL(count_tier(topology, cousins, TIER_HOST), 0);
  CU_ASSERT_EQUAL(link_of(topology, strangers, 2)->tier, TIER_HOST);
  CU_ASSERT_EQUAL(link_of(topology, strangers, 2)->capacity_Bps, 9e9);
}

static void test_pcie_without_peer_access_shares_host_memory(void)
{
  const Fixture fixture = {
    .n_nodes = 1,
    .n_gpus = 2,
    .fabric_keys = "pcie_rate=12 GB/s; gpus_per_switch=2; p2p=false; host_rate=5 GB/s",
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GArray) there = route(topology, 0, 1, 0, 0);
  g_autoptr(GArray) back = route(topology, 1, 0, 0, 0);

  CU_ASSERT_EQUAL_FATAL(there->len, 5);
  CU_ASSERT_EQUAL_FATAL(back->len, 5);
  CU_ASSERT_EQUAL(link_of(topology, there, 2)->tier, TIER_HOST);
  CU_ASSERT_EQUAL(link_of(topology, there, 2)->capacity_Bps, 5e9);
  CU_ASSERT_EQUAL(g_array_index(there, guint32, 2), g_array_index(back, guint32, 2));
}

static void test_nics_spread_over_the_switches_and_their_gpus(void)
{
  static const struct {
    guint n_nics, gpus[8];
  } cases[] = {
    { 1, { 0 } }, { 2, { 0, 4 } }, { 4, { 0, 2, 4, 6 } }, { 8, { 0, 1, 2, 3, 4, 5, 6, 7 } }
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    Fixture fixture = boxes[0];
    fixture.n_nics = cases[c].n_nics;
    g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
    for (guint nic = 0; nic < fixture.n_nics; nic++)
      CU_ASSERT_EQUAL(topology_nic_gpu(topology, nic), cases[c].gpus[nic]);
  }
}

static void test_a_gpu_away_from_the_nic_hands_over_by_nvlink(void)
{
  g_autoptr(Topology) topology = fixture_topology(&boxes[0], NULL);
  g_autoptr(GArray) near = route(topology, 2, 8 + 2, 2, 0);
  g_autoptr(GArray) far = route(topology, 7, 8 + 2, 2, 0);

  CU_ASSERT_EQUAL(count_tier(topology, near, TIER_NVLINK), 0);
  CU_ASSERT_EQUAL(count_tier(topology, near, TIER_PCIE), 4);
  CU_ASSERT_EQUAL(count_tier(topology, far, TIER_NVLINK), 2);
  CU_ASSERT_EQUAL(count_tier(topology, far, TIER_PCIE), 4);
  CU_ASSERT_EQUAL(count_tier(topology, far, TIER_HOST), 0);
}

static void test_neighbours_share_the_nic_of_their_switch(void)
{
  g_autoptr(Topology) topology = fixture_topology(&boxes[1], NULL);
  g_autoptr(GArray) links = route(topology, 1, 8 + 1, 0, 0);

  CU_ASSERT_EQUAL(count_tier(topology, links, TIER_NVLINK), 0);
  CU_ASSERT_EQUAL(count_tier(topology, links, TIER_PCIE), 4);
}

static double latency_s(const Topology *topology, guint src, guint dst, guint64 hash)
{
  g_autoptr(GArray) links = route(topology, src, dst, 0, hash);
  return topology_latency_s(topology, &g_array_index(links, guint32, 0), links->len);
}

static void test_a_path_through_k_switches_costs_k_hops(void)
{
  static const struct {
    const char *network, *keys;
    double near_hops, far_hops;
  } cases[] = {
    { "switch", "latency=2 us", 1, 1 },
    { "leaf_spine", "latency=2 us; nodes_per_leaf=2", 1, 3 },
    { "leaf_spine", "latency=2 us; nodes_per_leaf=2; ecmp=hashed", 1, 3 },
    { "rail_optimised", "latency=2 us; nodes_per_leaf=2", 1, 3 },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const Fixture fixture = { .n_nodes = 5,
                              .n_gpus = 1,
                              .n_nics = 1,
                              .network = cases[c].network,
                              .network_keys = cases[c].keys };
    g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
    CU_ASSERT_DOUBLE_EQUAL(latency_s(topology, 0, 1, 7), cases[c].near_hops * 2e-6,
                           rounding);
    CU_ASSERT_DOUBLE_EQUAL(latency_s(topology, 0, 4, 7), cases[c].far_hops * 2e-6,
                           rounding);
  }
}

static void test_uplinks_carry_what_oversubscription_leaves(void)
{
  const Fixture fixture = {
    .n_nodes = 5,
    .n_gpus = 4,
    .n_nics = 2,
    .nic_Bps = 1e9,
    .network = "leaf_spine",
    .network_keys = "nodes_per_leaf=2; oversubscription=4",
    .transport_keys = "mtu=4096 B",
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GArray) inside = route(topology, 0, 4, 0, 0);
  g_autoptr(GArray) outside = route(topology, 0, 16, 0, 0);
  const double nic_Bps = 1e9 * 4096 / (4096 + 26);

  CU_ASSERT_EQUAL(count_tier(topology, inside, TIER_LEAF_UPLINK), 0);
  CU_ASSERT_EQUAL(count_tier(topology, outside, TIER_LEAF_UPLINK), 2);
  for (guint i = 0; i < outside->len; i++) {
    const Link *link = link_of(topology, outside, i);
    if (link->tier == TIER_LEAF_UPLINK)
      CU_ASSERT_DOUBLE_EQUAL(link->capacity_Bps / nic_Bps, 2 * 2 / 4.0, rounding);
    if (link->tier == TIER_NIC)
      CU_ASSERT_DOUBLE_EQUAL(link->capacity_Bps / nic_Bps, 1, rounding);
  }
}

/* The network's links of a route, in order: uplink, downlink. */
static void uplinks(const Topology *topology, guint64 hash, guint32 *up, guint32 *down)
{
  g_autoptr(GArray) links = route(topology, 0, 4, 0, hash);
  *up = *down = G_MAXUINT32;
  for (guint i = 0; i < links->len; i++)
    if (link_of(topology, links, i)->tier == TIER_LEAF_UPLINK)
      *(*up == G_MAXUINT32 ? up : down) = g_array_index(links, guint32, i);
}

static void test_hashed_flows_use_one_spine_up_and_down(void)
{
  const Fixture fixture = {
    .n_nodes = 5,
    .n_gpus = 1,
    .n_nics = 1,
    .nic_Bps = 1e9,
    .network = "leaf_spine",
    .network_keys = "nodes_per_leaf=2; ecmp=hashed; spines=3",
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  guint32 first_up, first_down;

  uplinks(topology, 0, &first_up, &first_down);
  for (guint64 hash = 0; hash < 6; hash++) {
    guint32 up, down;
    uplinks(topology, hash, &up, &down);
    CU_ASSERT_EQUAL(up - first_up, 2 * (hash % 3));
    CU_ASSERT_EQUAL(down - first_down, 2 * (hash % 3));
  }
  const double nic_Bps = 1e9 * 4096 / (4096 + 26);
  CU_ASSERT_DOUBLE_EQUAL(topology_links(topology)[first_up].capacity_Bps / nic_Bps, 2 / 3.0,
                         rounding);
}

static void test_rails_meet_only_at_the_spines(void)
{
  const NetworkPorts ports = { .n_nodes = 5, .nics_per_node = 4, .nic_Bps = 1e9 };
  static const struct {
    guint src_node, src_nic, dst_node, dst_nic, n_links;
  } cases[] = { { 0, 1, 1, 1, 0 },
                { 0, 1, 1, 2, 2 },
                { 0, 1, 2, 1, 2 },
                { 0, 3, 4, 0, 2 },
                { 2, 3, 3, 3, 0 } };
  const NetworkOps *ops = &network_rail_optimised;
  void *params = fixture_params(&ops->info, "nodes_per_leaf=2; oversubscription=2");
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(Link));
  void *state = ops->build(params, &ports, links, NULL);

  CU_ASSERT_EQUAL_FATAL(links->len, 2 * 3 * 4);
  CU_ASSERT_DOUBLE_EQUAL(g_array_index(links, Link, 0).capacity_Bps, 2 * 1e9 / 2, rounding);
  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));
    ops->route(state, cases[c].src_node, cases[c].src_nic, cases[c].dst_node,
               cases[c].dst_nic, 0, path);
    CU_ASSERT_EQUAL(path->len, cases[c].n_links);
  }
  ops->free(state);
  g_free(params);
}

static void test_clusters_that_cannot_be_are_refused(void)
{
  static const struct {
    Fixture fixture;
    const char *message;
  } cases[] = {
    { { .n_nodes = 0, .n_gpus = 8, .n_nics = 1 }, "a cluster needs at least one GPU" },
    { { .n_nodes = 2, .n_gpus = 8 }, "2 nodes without NICs cannot reach one another" },
    { { .n_nodes = 1000000000, .n_gpus = 8, .n_nics = 1 },
      "1000000000 nodes of 8 GPUs are 8000000000 GPUs; at most 4194304 are simulated" },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(fixture_topology(&cases[c].fixture, &error));
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
    CU_ASSERT_STRING_EQUAL(error->message, cases[c].message);
  }
}

static void test_a_large_cluster_is_one_node_repeated(void)
{
  Fixture fixture = boxes[0];
  g_autoptr(Topology) small = fixture_topology(&fixture, NULL);
  fixture.n_nodes = 16384;
  g_autoptr(Topology) large = fixture_topology(&fixture, NULL);

  CU_ASSERT_EQUAL(topology_n_gpus(large), 131072);
  /* Leaves of two nodes: the small cluster has three per rail, of which one is half full.
   */
  const guint per_node = (topology_n_links(small) - 3 * 8 * 2) / 5;
  CU_ASSERT_EQUAL(topology_n_links(large), 16384 * per_node + 8192 * 8 * 2);
  CU_ASSERT_EQUAL(latency_s(large, 0, 131071, 0), latency_s(small, 0, 39, 0));
}

static void test_a_slow_nic_keeps_its_capacity(void)
{
  g_autoptr(Topology) topology = fixture_topology(&boxes[3], NULL);
  g_autoptr(GArray) links = route(topology, 0, 1, 0, 0);
  const guint32 number = g_array_index(links, guint32, links->len / 2);

  topology_set_capacity(topology, number, 5);
  CU_ASSERT_EQUAL(topology_links(topology)[number].capacity_Bps, 5);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("topology", NULL, NULL);
  CU_ADD_TEST(suite, test_every_gpu_reaches_every_other_over_links_that_exist);
  CU_ADD_TEST(suite, test_routes_of_different_nodes_share_no_link_inside_the_nodes);
  CU_ADD_TEST(suite, test_mesh_takes_the_straight_link_else_one_stopover);
  CU_ADD_TEST(suite, test_mesh_without_rings_finds_one_over_its_links);
  CU_ADD_TEST(suite, test_mesh_uses_given_rings_in_both_directions);
  CU_ADD_TEST(suite, test_mesh_without_links_falls_back_to_pcie);
  CU_ADD_TEST(suite, test_mesh_refuses_links_and_rings_that_make_no_sense);
  CU_ADD_TEST(suite, test_pcie_peers_climb_only_as_high_as_they_must);
  CU_ADD_TEST(suite, test_pcie_without_peer_access_shares_host_memory);
  CU_ADD_TEST(suite, test_nics_spread_over_the_switches_and_their_gpus);
  CU_ADD_TEST(suite, test_a_gpu_away_from_the_nic_hands_over_by_nvlink);
  CU_ADD_TEST(suite, test_neighbours_share_the_nic_of_their_switch);
  CU_ADD_TEST(suite, test_a_path_through_k_switches_costs_k_hops);
  CU_ADD_TEST(suite, test_uplinks_carry_what_oversubscription_leaves);
  CU_ADD_TEST(suite, test_hashed_flows_use_one_spine_up_and_down);
  CU_ADD_TEST(suite, test_rails_meet_only_at_the_spines);
  CU_ADD_TEST(suite, test_clusters_that_cannot_be_are_refused);
  CU_ADD_TEST(suite, test_a_large_cluster_is_one_node_repeated);
  CU_ADD_TEST(suite, test_a_slow_nic_keeps_its_capacity);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
