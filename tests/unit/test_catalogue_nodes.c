/**
 * @file test_catalogue_nodes.c
 * @brief Every node of the catalogue can be drawn, and all-reduces at the measured rate.
 */
#include "models/collective.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/scenario.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <string.h>

/** Rates of links were derived from the measured ones and rounded to three digits. */
#define TOL_RATE 0.01

/** Sums of a few doubles. */
#define TOL_ROUNDING 1e-12

static Scenario *load(const char *node, guint n_nodes, const char *network)
{
  g_autofree char *text =
    g_strdup_printf("{\"cluster\": {\"nodes\": %u, \"node\": \"%s\", \"network\": \"%s\"},"
                    " \"workload\": {\"model\": \"resnet50\", \"batch_per_gpu\": 1}}",
                    n_nodes, node, network);
  g_autoptr(GError) error = NULL;
  Scenario *scenario = scenario_parse("test.json", text, strlen(text), NULL, &error);

  if (scenario == NULL) {
    printf("%s: %s\n", node, error->message);
    CU_FAIL_FATAL("a catalogue entry is refused");
  }
  return scenario;
}

static Topology *draw(const Scenario *scenario)
{
  g_autoptr(GError) error = NULL;
  Topology *topology = topology_new(&scenario_setup(scenario)->cluster, &error);

  if (topology == NULL) {
    printf("%s\n", error->message);
    CU_FAIL_FATAL("a catalogue node cannot be drawn");
  }
  return topology;
}

/* What nccl-tests call bus bandwidth, of a ring on idle links [B/s]. */
static double ring_busbw_Bps(const Topology *topology)
{
  const guint n = topology_gpus_per_node(topology);
  g_autoptr(Group) group = group_new_all(topology);
  g_autoptr(GArray) phases = coll_phases_new();
  double s_per_B = 0;

  const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1 };
  coll_ring.phases(&call, topology, phases);
  for (guint i = 0; i < phases->len; i++)
    s_per_B += flow_set_bound_s_per_B(g_array_index(phases, CollPhase, i).set,
                                      topology_links(topology), topology_n_links(topology));
  return 2.0 * (n - 1) / n / s_per_B;
}

static void test_every_node_can_be_drawn_on_every_network(void)
{
  g_auto(GStrv) nodes = catalogue_names("node");
  g_auto(GStrv) networks = catalogue_names("network");

  for (guint i = 0; nodes[i] != NULL; i++)
    for (guint j = 0; networks[j] != NULL; j++) {
      g_autoptr(Scenario) scenario = load(nodes[i], 3, networks[j]);
      g_autoptr(Topology) topology = draw(scenario);
      CU_ASSERT_EQUAL(topology_n_nodes(topology), 3);
    }
}

/* All-reduce bus bandwidth of one node for large messages, as nccl-tests printed it. */
static void test_rings_reach_the_measured_bus_bandwidth(void)
{
  static const struct {
    const char *node;
    double busbw_Bps;
  } measured[] = {
    { "dgx1_v100", 129e9 },   { "dgx2_v100", 123.6e9 }, { "dgx_a100", 231.7e9 },
    { "dgx_h100", 368.6e9 },  { "gh200_x4", 339e9 },    { "pcie_4", 7.2e9 },
    { "rtx4090_x4", 2.59e9 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(measured); i++) {
    g_autoptr(Scenario) scenario = load(measured[i].node, 1, "single_switch");
    g_autoptr(Topology) topology = draw(scenario);
    const double busbw_Bps = ring_busbw_Bps(topology);
    if (!(ABS(busbw_Bps / measured[i].busbw_Bps - 1) <= TOL_RATE))
      printf("%s: %g GB/s\n", measured[i].node, busbw_Bps / 1e9);
    CU_ASSERT_DOUBLE_EQUAL(busbw_Bps / measured[i].busbw_Bps, 1.0, TOL_RATE);
  }
}

/* Alphas of NCCL's LL, the least of any: what is faster than the floor beats physics. */
static void check_floor(const CollOps *ops, const CollCall *call, const Topology *topology)
{
  const double some = ops->fans ? 0 : 1; /* who sends to many at once pays it but once */
  const CollCost cost = {
    .local = { .alpha_s = some * 0.6e-6, .bandwidth_Bps = topology_gpu_Bps(topology) },
    .net = { .alpha_s = some * 2.7e-6, .bandwidth_Bps = topology_nic_Bps(topology) },
  };
  g_autoptr(GArray) phases = coll_phases_new();

  ops->phases(call, topology, phases);
  const CollTerms terms = { .alpha_local_s = cost.local.alpha_s,
                            .alpha_net_s = cost.net.alpha_s,
                            .wire_factor = 1 };
  for (double size_B = 1; size_B <= 1e9; size_B *= 1000) {
    double time_s = 0;
    for (guint i = 0; i < phases->len; i++)
      time_s += coll_phase_idle_s(&g_array_index(phases, CollPhase, i), &terms, size_B);
    CU_ASSERT(time_s >= coll_floor_of_s(ops, call, size_B, &cost) * (1 - TOL_ROUNDING));
  }
}

static void check_floor_of_kinds(const CollOps *ops, const CollCall *shape,
                                 const Topology *topology)
{
  for (guint i = 0; coll_kind_names[i] != NULL; i++) {
    CollCall call = *shape;
    call.kind = (CollKind)(1u << i);
    if (ops->kinds & call.kind)
      check_floor(ops, &call, topology);
  }
}

static void test_no_collective_beats_the_floor_on_any_node(void)
{
  g_auto(GStrv) nodes = catalogue_names("node");

  for (guint i = 0; nodes[i] != NULL; i++)
    for (guint n_nodes = 1; n_nodes <= 5; n_nodes++) {
      g_autoptr(Scenario) scenario = load(nodes[i], n_nodes, "single_switch");
      g_autoptr(Topology) topology = draw(scenario);
      g_autoptr(Group) group = group_new_all(topology);
      const CollCall call = {
        .group = group,
        .n_rails = n_nodes > 1 ? topology_nics_per_node(topology) : 1,
      };
      for (guint m = 0; coll_table[m] != NULL; m++)
        check_floor_of_kinds((const CollOps *)coll_table[m], &call, topology);
    }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("catalogue nodes", NULL, NULL);
  CU_ADD_TEST(suite, test_every_node_can_be_drawn_on_every_network);
  CU_ADD_TEST(suite, test_rings_reach_the_measured_bus_bandwidth);
  CU_ADD_TEST(suite, test_no_collective_beats_the_floor_on_any_node);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
