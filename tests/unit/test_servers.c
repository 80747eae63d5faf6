/**
 * @file test_servers.c
 * @brief Placement, and the traffic of servers against the closed forms of their papers.
 */
#include "models/move.h"
#include "models/placement.h"
#include "sim/scenario/scenario.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

/* Partitions are whole: a server is off its part by one of them at most. */
#define TOL_PARTITION 2e-3

static Scenario *scenario_of(const char *model, guint n_nodes)
{
  g_autofree char *text = g_strdup_printf("{\"cluster\": {\"nodes\": %u, \"node\": "
                                          "\"pcie_1\"}, \"workload\": {\"model\": \"%s\", "
                                          "\"batch_per_gpu\": 8}}",
                                          n_nodes, model);
  g_autoptr(GError) error = NULL;
  Scenario *scenario = scenario_parse("test", text, strlen(text), NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

static Workload *workload_of_scenario(const Scenario *scenario)
{
  const Setup *setup = scenario_setup(scenario);
  Workload *workload = workload_new(setup->model, &setup->workload, &setup->compute,
                                    &setup->cluster.node.gpu, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
  return workload;
}

/* Add what one server's part loads. */
static void add_load(const Topology *topology, Move move, guint machine, double part_B,
                     double *load_B)
{
  const CollPhase phase =
    move_phase(topology, &(MoveSpec){ .move = move, .machine = machine });
  g_autoptr(FlowSet) set = phase.set;

  for (guint f = 0; f < flow_set_n_flows(set); f++) {
    const Flow *flow = flow_set_flow(set, f);
    for (guint i = 0; i < flow->n_links; i++)
      load_B[flow_set_links(set, flow)[i]] += flow->share * part_B;
  }
}

/* Bytes on the busiest NIC and direction when all servers move what is placed on them, in
 * all of @p moves (OR of 1 << Move). */
static double busiest_B(const Topology *topology, const GArray *pieces,
                        const ServerParts *parts, guint moves)
{
  const guint n_nodes = topology_n_nodes(topology);
  g_autofree double *load_B = g_new0(double, topology_n_links(topology));
  g_autofree double *part_B = g_new0(double, parts->n_servers);
  double most_B = 0;

  for (guint i = 0; i < pieces->len; i++) {
    const Piece *piece = &g_array_index(pieces, Piece, i);
    part_B[piece->server] += piece->size_B;
  }
  for (guint server = 0; server < parts->n_servers; server++) {
    const guint machine =
      server < parts->n_extra ? n_nodes + server : (server - parts->n_extra) % n_nodes;
    for (Move move = 0; move < MOVE_N; move++)
      if (moves & 1u << move)
        add_load(topology, move, machine, part_B[server], load_B);
  }
  for (guint i = 0; i < topology_n_links(topology); i++)
    if (topology_links(topology)[i].tier == TIER_NIC)
      most_B = fmax(most_B, load_B[i]);
  return most_B;
}

static Topology *topology_with(const Scenario *scenario, guint n_extra)
{
  ClusterSpec cluster = scenario_setup(scenario)->cluster;
  cluster.n_servers = n_extra;
  Topology *topology = topology_new(&cluster, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  return topology;
}

/* t = 2 n (n - 1) M / ((n^2 + k n - 2 k) B), the ring at k = 0, M / B at k = n: OSDI 2020.
 */
static void test_mixed_mode_loads_every_nic_as_the_paper_says(void)
{
  static const guint n_nodes[] = { 2, 4, 8, 32 };

  for (guint i = 0; i < G_N_ELEMENTS(n_nodes); i++) {
    const double n = n_nodes[i];
    g_autoptr(Scenario) scenario = scenario_of("vgg16", n_nodes[i]);
    g_autoptr(Workload) workload = workload_of_scenario(scenario);
    for (guint k = 0; k <= n_nodes[i]; k += MAX(n_nodes[i] / 8, 1)) {
      const ServerParts parts = { .n_servers = k + n_nodes[i],
                                  .n_extra = k,
                                  .extra_share = placement_mixed_share(n_nodes[i], k) };
      g_autoptr(GArray) pieces =
        placement_partitions(workload, 20e3, PLACEMENT_IDEAL, &parts);
      g_autoptr(Topology) topology = topology_with(scenario, k);
      const double expected =
        2 * n * (n - 1) / (n * n + k * n - 2 * k) * workload->gradient_B;
      const double found =
        busiest_B(topology, pieces, &parts, 1u << MOVE_PUSH | 1u << MOVE_PULL);
      CU_ASSERT_DOUBLE_EQUAL(found / expected, 1, TOL_PARTITION);
      if (k == 0) /* what a ring sends */
        CU_ASSERT_DOUBLE_EQUAL(expected / (2 * (n - 1) / n * workload->gradient_B), 1,
                               1e-12);
      if (k == n_nodes[i])
        CU_ASSERT_DOUBLE_EQUAL(expected / workload->gradient_B, 1, 1e-12);
    }
    CU_ASSERT_DOUBLE_EQUAL(placement_mixed_share(n_nodes[i], n_nodes[i]), 1, 1e-12);
    CU_ASSERT_EQUAL(placement_mixed_share(n_nodes[i], 0), 0);
  }
}

/* max(M / B, n M / (k B)) with k servers on machines of their own. */
static void test_separate_servers_take_what_they_must(void)
{
  const guint n = 8;
  g_autoptr(Scenario) scenario = scenario_of("vgg16", n);
  g_autoptr(Workload) workload = workload_of_scenario(scenario);

  for (guint k = 1; k <= 16; k++) {
    const ServerParts parts = { .n_servers = k, .n_extra = k, .extra_share = -1 };
    g_autoptr(GArray) pieces =
      placement_partitions(workload, 20e3, PLACEMENT_IDEAL, &parts);
    g_autoptr(Topology) topology = topology_with(scenario, k);
    const double expected = fmax(1, (double)n / k) * workload->gradient_B;
    for (Move move = MOVE_PUSH; move <= MOVE_PULL; move++)
      CU_ASSERT_DOUBLE_EQUAL(busiest_B(topology, pieces, &parts, 1u << move) / expected, 1,
                             TOL_PARTITION);
  }
}

/* The partitions of ResNet-50 and the load of the fullest server over the mean, rule
 * (key * 9973) mod k: computed apart from this program on the published tensors. */
static void test_big_arrays_load_servers_as_mxnet_does(void)
{
  static const double imbalance[] = { 1.04, 1.05, 1.22, 1.41 };
  g_autoptr(Scenario) scenario = scenario_of("resnet50", 8);
  g_autoptr(Workload) workload = workload_of_scenario(scenario);

  for (guint i = 0; i < G_N_ELEMENTS(imbalance); i++) {
    const guint k = 2u << i;
    g_autoptr(GArray) pieces = placement_big_arrays(workload, 1e6, k);
    CU_ASSERT_DOUBLE_EQUAL(placement_imbalance(pieces, k), imbalance[i], 0.005);
  }
}

/* Load of the fullest server over the mean, BytePS's hashes of partitions of 4096000 B:
 * computed apart from this program on the published tensors, declared in the order of the
 * model. */
static void test_hashes_load_servers_as_byteps_does(void)
{
  static const struct {
    const char *model;
    Placement placement;
    double imbalance[4];
  } found_apart[] = {
    { "resnet50", PLACEMENT_DJB2, { 1.038, 1.334, 1.539, 2.462 } },
    { "resnet50", PLACEMENT_NAIVE, { 1.067, 1.094, 1.225, 1.752 } },
    { "vgg16", PLACEMENT_DJB2, { 1.003, 1.061, 1.122, 1.658 } },
    { "resnet152", PLACEMENT_DJB2, { 1.143, 1.219, 1.634, 2.700 } },
  };

  for (guint m = 0; m < G_N_ELEMENTS(found_apart); m++) {
    g_autoptr(Scenario) scenario = scenario_of(found_apart[m].model, 8);
    g_autoptr(Workload) workload = workload_of_scenario(scenario);
    for (guint i = 0; i < G_N_ELEMENTS(found_apart[m].imbalance); i++) {
      const ServerParts parts = { .n_servers = 2u << i, .extra_share = -1 };
      g_autoptr(GArray) pieces =
        placement_partitions(workload, 4096000, found_apart[m].placement, &parts);
      CU_ASSERT_DOUBLE_EQUAL(placement_imbalance(pieces, parts.n_servers),
                             found_apart[m].imbalance[i], 0.0006);
    }
  }
}

/* The key of the first tensor's only piece is 0: djb2("0") = 5381 * 33 + '0' = 177621. */
static void test_the_first_tensor_lies_where_its_hash_says(void)
{
  g_autoptr(Scenario) scenario = scenario_of("resnet50", 8);
  g_autoptr(Workload) workload = workload_of_scenario(scenario);

  for (guint k = 1; k <= 16; k++) {
    const ServerParts parts = { .n_servers = k, .extra_share = -1 };
    g_autoptr(GArray) pieces =
      placement_partitions(workload, 4096000, PLACEMENT_DJB2, &parts);
    const Piece *piece = &g_array_index(pieces, Piece, pieces->len - 1);
    CU_ASSERT_EQUAL(workload_gradient(workload, piece->gradient)->tensor, 0);
    CU_ASSERT_EQUAL(piece->server, 177621 % k);
  }
}

static void check_pieces(const Workload *workload, const GArray *pieces, guint n_servers)
{
  g_autofree double *found_B = g_new0(double, workload_n_gradients(workload));
  guint32 last = 0;

  for (guint i = 0; i < pieces->len; i++) {
    const Piece *piece = &g_array_index(pieces, Piece, i);
    CU_ASSERT(piece->gradient >= last && piece->server < n_servers && piece->size_B > 0);
    last = piece->gradient;
    found_B[piece->gradient] += piece->size_B;
  }
  for (guint g = 0; g < workload_n_gradients(workload); g++)
    CU_ASSERT_DOUBLE_EQUAL(found_B[g] / workload_gradient(workload, g)->size_B, 1, 1e-12);
}

static void test_every_byte_is_placed_once(void)
{
  g_autoptr(Scenario) scenario = scenario_of("resnet50", 8);
  g_autoptr(Workload) workload = workload_of_scenario(scenario);

  for (guint k = 1; k <= 9; k++) {
    const ServerParts parts = {
      .n_servers = k, .n_extra = k / 2, .extra_share = 0.4, .bound = 101
    };
    const ServerParts even = { .n_servers = k, .extra_share = -1 };
    g_autoptr(GArray) arrays = placement_big_arrays(workload, 1e6, k);
    g_autoptr(GArray) slices = placement_slices(workload, 40000, k);
    check_pieces(workload, arrays, k);
    check_pieces(workload, slices, k);
    for (Placement p = PLACEMENT_IDEAL; p <= PLACEMENT_DJB2; p++) {
      g_autoptr(GArray) mixed =
        placement_partitions(workload, 4096000, p, k > 1 ? &parts : &even);
      g_autoptr(GArray) plain = placement_partitions(workload, 4096000, p, &even);
      check_pieces(workload, mixed, k);
      check_pieces(workload, plain, k);
      CU_ASSERT_EQUAL(plain->len,
                      175); /* 161 tensors; 14 pieces beyond the first of each */
    }
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("servers", NULL, NULL);
  CU_ADD_TEST(suite, test_mixed_mode_loads_every_nic_as_the_paper_says);
  CU_ADD_TEST(suite, test_separate_servers_take_what_they_must);
  CU_ADD_TEST(suite, test_big_arrays_load_servers_as_mxnet_does);
  CU_ADD_TEST(suite, test_hashes_load_servers_as_byteps_does);
  CU_ADD_TEST(suite, test_the_first_tensor_lies_where_its_hash_says);
  CU_ADD_TEST(suite, test_every_byte_is_placed_once);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
