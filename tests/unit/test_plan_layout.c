/**
 * @file test_plan_layout.c
 * @brief Plans lay their rings and trees on a cluster as flows do, NIC by NIC, whether
 * rings may leave nodes by another NIC than they came in by or not.
 */
#include "tests/unit/collective_cases.h"
#include "tests/unit/plan_play.h"

#include <CUnit/Basic.h>
#include <math.h>

static const double rounding = 1e-9;

#define MESH                                                                               \
  "link_rate=20 GB/s; links={gpus=0-1, count=6}; links={gpus=0-2, count=6};"               \
  "links={gpus=0-3, count=6}; links={gpus=1-2, count=6}; links={gpus=1-3, count=6};"       \
  "links={gpus=2-3, count=6}; rings={order=0 1 2 3}; rings={order=0 1 3 2};"               \
  "rings={order=0 2 1 3}; pcie_rate=1 TB/s"

static Topology *nodes_of_four(guint n_nodes, bool mesh)
{
  const Fixture fixture = { .n_nodes = n_nodes,
                            .n_gpus = 4,
                            .n_nics = 4,
                            .nic_Bps = 50e9,
                            .fabric = mesh ? "nvlink_mesh" : "nvswitch",
                            .fabric_keys =
                              mesh ? MESH : "port_rate=10 GB/s; pcie_rate=1 TB/s" };
  return fixture_topology(&fixture, NULL);
}

/* Add the bytes of the plan's messages to the links on their ways. */
static void add_plan(const Plan *plan, const CollCall *call, const Topology *topology,
                     double *loads)
{
  for (guint id = 0; id < plan_n_steps(plan); id++) {
    const PlanStep *step = plan_step(plan, id);
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    CU_ASSERT_TRUE_FATAL(step->rail > 0);
    topology_route(topology, call->group->gpus[step->src], call->group->gpus[step->dst],
                   coll_nic(call, step->rail - 1), 0, links);
    for (guint i = 0; i < links->len; i++)
      loads[g_array_index(links, guint32, i)] += step->size_B;
  }
}

static void take_flows(const GArray *phases, double *loads)
{
  for (guint p = 0; p < phases->len; p++) {
    const FlowSet *set = g_array_index(phases, CollPhase, p).set;
    for (guint f = 0; f < flow_set_n_flows(set); f++) {
      const Flow *flow = flow_set_flow(set, f);
      for (guint i = 0; i < flow->n_links; i++)
        loads[flow_set_links(set, flow)[i]] -= flow->share;
    }
  }
}

/* Link by link, so NIC by NIC. */
static void law_links(const CollOps *ops, const CollCall *call)
{
  const Topology *topology = call->layout;
  g_autofree double *loads = g_new0(double, topology_n_links(topology));
  g_autoptr(GArray) phases = coll_phases_new();
  g_autoptr(Plan) plan = plan_of(ops, call, 1);
  double worst = 0;

  ops->phases(call, topology, phases);
  add_plan(plan, call, topology, loads);
  take_flows(phases, loads);
  for (guint link = 0; link < topology_n_links(topology); link++)
    worst = MAX(worst, fabs(loads[link]));
  CU_ASSERT_TRUE(worst < rounding);
  if (worst >= rounding)
    g_print("%s %s: %u nodes, %s: %g of a message too many on a link\n", ops->info.name,
            coll_kind_name(call->kind), call->group->n_nodes,
            call->cross_nic ? "crossing" : "straight", worst);
}

static void law_meaning(const CollOps *ops, const CollCall *call)
{
  g_autoptr(Plan) plan = plan_of(ops, call, 1000);

  for (Order order = 0; order < N_ORDERS; order++)
    CU_ASSERT_TRUE(plays_right(call, plan, order));
}

/* All operations of rings and double trees, on two fabrics. */
static void hold(Law law, guint max_nodes)
{
  for (guint i = 0; i < 4; i++)
    for (guint n_nodes = 2; n_nodes <= max_nodes; n_nodes++) {
      g_autoptr(Topology) topology = nodes_of_four(n_nodes, i / 2 == 1);
      g_autoptr(Group) group = group_new_all(topology);
      CollCall call = {
        .group = group, .n_rails = 4, .chunk_B = 0.3, .cross_nic = true, .layout = topology
      };
      for (guint k = 0; k < COLL_N_KINDS; k++) {
        call.kind = (CollKind)(1u << k);
        if (coll_ring.kinds & call.kind)
          law(&coll_ring, &call);
        if (coll_double_tree.kinds & call.kind)
          law(&coll_double_tree, &call);
      }
    }
}

static void test_messages_load_the_links_that_flows_load(void)
{
  hold(law_links, 5);
}

static void test_plans_so_laid_do_what_the_operation_means(void)
{
  hold(law_meaning, 3);
}

/* On a switch that relays, each channel comes in by one NIC and leaves by another. */
static void test_some_messages_leave_by_another_nic_than_rings_by_rank_use(void)
{
  g_autoptr(Topology) topology = nodes_of_four(4, false);
  g_autoptr(Group) group = group_new_all(topology);
  CollCall call = { .kind = COLL_ALL_REDUCE,
                    .group = group,
                    .n_rails = 4,
                    .cross_nic = true,
                    .layout = topology };
  g_autoptr(Plan) crossing = plan_of(&coll_ring, &call, 1);
  call.cross_nic = false;
  g_autoptr(Plan) straight = plan_of(&coll_ring, &call, 1);
  bool crosses[2] = { false, false };

  for (guint i = 0; i < 2; i++) {
    const Plan *plan = i == 0 ? crossing : straight;
    guint rail[64] = { 0 }; /* of each channel, once seen */
    for (guint id = 0; id < plan_n_steps(plan); id++) {
      const PlanStep *step = plan_step(plan, id);
      if (group_is_local(group, step->src, step->dst))
        continue;
      crosses[i] =
        crosses[i] || (rail[step->channel] > 0 && rail[step->channel] != step->rail);
      rail[step->channel] = step->rail;
    }
  }
  CU_ASSERT_TRUE(crosses[0]);
  CU_ASSERT_FALSE(crosses[1]);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("plan_layout", NULL, NULL);
  CU_ADD_TEST(suite, test_messages_load_the_links_that_flows_load);
  CU_ADD_TEST(suite, test_plans_so_laid_do_what_the_operation_means);
  CU_ADD_TEST(suite, test_some_messages_leave_by_another_nic_than_rings_by_rank_use);
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
