/**
 * @file test_collective_form.c
 * @brief The three views of a collective agree: plan, phases, closed form.
 */
#include "tests/unit/collective_cases.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums of up to some hundred terms. */
static const double rounding = 1e-12;

/* Trees: the closed form fills the pipe before all ports are busy and lets ports receive
 * one message at a time; in the plan the other tree's leaves send meanwhile, and ports
 * receive all at once. Above: messages of two chunks wait for one another at a port. */
static const double pipe_below = 0.2, pipe_above = 0.05;

static const LinkCost *same_for_all(guint src G_GNUC_UNUSED, guint dst G_GNUC_UNUSED,
                                    void *data)
{
  return data;
}

static bool all_ranks_share_nics_alike(const CollOps *ops, const CollCall *call)
{
  return ops == &coll_hierarchical || ops == &coll_torus ||
         (ops == &coll_ring &&
          (call->kind & (COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_ALL_GATHER)));
}

/* Idle, identical links: in the plan each rank has one, in the closed form the ranks of a
 * node share a NIC, which must carry as much as all of theirs. */
static void law_ideal(const CollOps *ops, const CollCall *call)
{
  const guint n_local = group_max_local(call->group);
  LinkCost link = { 3e-6, 25e9 };
  const CollCost cost = { link, { 3e-6, 25e9 * n_local } };
  const double size_B = 1 << 20;
  g_autoptr(Plan) plan = plan_of(ops, call, size_B);
  const double path_s = plan_critical_path_s(plan, same_for_all, &link);
  const double ideal_s = ops->ideal_s(call, size_B, &cost);

  CU_ASSERT_EQUAL(ideal_s == 0, call->group->n_ranks == 1);
  if (ops->n_switches != NULL)
    return; /* their links are not those of ranks */
  /* Where some ranks of a node talk to others and to the NIC, here by one port, or one for
   * all of its node, the two do not compare. */
  if (call->group->n_nodes > 1 && n_local > 1 && !all_ranks_share_nics_alike(ops, call))
    return;
  CU_ASSERT_TRUE(path_s <= ideal_s * (1 + (ops->exact ? rounding : pipe_above)));
  CU_ASSERT_TRUE(path_s >= ideal_s * (1 - (ops->exact ? rounding : pipe_below)));
}

static void test_critical_path_meets_the_closed_form_on_identical_links(void)
{
  hold_all_even(law_ideal, 1, 10e3);
}

typedef struct {
  const CollCall *call;
  LinkCost local, net, half_local, half_net;
} TwoCosts;

static const LinkCost *local_or_net(guint src, guint dst, void *data)
{
  TwoCosts *costs = data;
  const Group *group = costs->call->group;
  const guint last = MAX(src, dst);

  /* To and from a switch that sums is half a hop each. */
  if (last >= group->n_ranks)
    return last < group->n_ranks + group->n_nodes ? &costs->half_local : &costs->half_net;
  return group_is_local(group, src, dst) ? &costs->local : &costs->net;
}

/* Without bytes only the hops count, however different the two kinds are. */
static void compare_hops(const CollOps *ops, const CollCall *call, double slack)
{
  TwoCosts costs = {
    call, { 2e-6, 25e9 }, { 11e-6, 25e9 }, { 1e-6, 25e9 }, { 5.5e-6, 25e9 }
  };
  const CollCost cost = { costs.local, costs.net };
  g_autoptr(Plan) plan = plan_of(ops, call, 0);
  const double path_s = plan_critical_path_s(plan, local_or_net, &costs);
  const double ideal_s = ops->ideal_s(call, 0, &cost);

  CU_ASSERT_TRUE(path_s <= ideal_s * (1 + rounding));
  CU_ASSERT_TRUE(path_s >= ideal_s * (1 - slack - rounding));
}

/* Rounds that run into one another, of messages inside nodes and between them: each counts
 * as the slower, but no chain of messages may meet the slower one in every round. */
static void law_hops(const CollOps *ops, const CollCall *call)
{
  static const double mixed_slack = 0.35;
  const guint n_local = group_max_local(call->group);
  const bool is_mixed = call->group->n_nodes > 1 && (n_local & (n_local - 1)) != 0;

  compare_hops(ops, call, is_mixed && ops == &coll_pairwise ? mixed_slack : 0);
}

/* The closed form lets every phase wait for its largest node; no one rank may have to. */
static void law_uneven_hops(const CollOps *ops, const CollCall *call)
{
  static const double uneven_slack = 0.35;
  compare_hops(ops, call, uneven_slack);
}

static void test_critical_path_has_the_hops_of_the_closed_form(void)
{
  hold_all_even(law_hops, 1, 0);
  hold_all_uneven(law_uneven_hops, 1, 0);
}

/* The closed form lets a chunk of every channel meet at every port on the way; where a ring
 * enters a node by another rank in every channel, one of them is at the NIC instead. */
static double slack_of_phases(const CollOps *ops, const CollCall *call)
{
  static const double entrance_slack = 0.1;
  const bool is_line =
    ops == &coll_ring && (call->kind & (COLL_BROADCAST | COLL_REDUCE)) != 0;
  return is_line && call->n_rails > 1 ? entrance_slack : 0;
}

/* The closed form knows ports only. What leaves by a far NIC crosses another GPU's NVLink
 * port first, where it meets messages of the same round that stay inside. */
static double excess_of_phases(const CollOps *ops, const CollCall *call)
{
  static const double far_rail_excess = 0.01;
  const guint n_local = group_max_local(call->group);
  const bool is_mixed = (n_local & (n_local - 1)) != 0;
  return ops == &coll_recursive_doubling && is_mixed && call->n_rails > 1 ? far_rail_excess
                                                                          : 0;
}

static void law_phases_ideal(const CollOps *ops, const CollCall *call)
{
  static const double size_B = 1 << 24;
  g_autoptr(Topology) topology = plain_topology(call);
  g_autoptr(GArray) phases = phases_of(ops, call, topology);
  const CollCost cost = plain_cost();
  CollCost with_latency = cost;
  with_latency.net.alpha_s += switch_s;
  const double ideal_s = ops->ideal_s(call, size_B, &with_latency);

  const double time_s = phases_s(phases, call, size_B, &cost);

  CU_ASSERT_TRUE(time_s <= ideal_s * (1 + rounding + excess_of_phases(ops, call)));
  CU_ASSERT_TRUE(time_s >= ideal_s * (1 - rounding - slack_of_phases(ops, call)));
}

static void test_phases_add_up_to_the_closed_form_on_an_idle_star(void)
{
  for (guint n_rails = 1; n_rails <= 8; n_rails *= 2)
    for (guint n_nodes = 1; n_nodes <= 9; n_nodes++)
      for (guint ranks_per_node = n_rails; ranks_per_node <= 8; ranks_per_node++)
        if (ranks_per_node % n_rails == 0)
          hold_even(law_phases_ideal, n_nodes, ranks_per_node, n_rails, 1e6);
}

static void test_flat_ring_of_single_gpu_nodes_is_the_textbook_formula(void)
{
  static const double alpha_s = 11e-6, size_B = 12345678;
  const CollCost cost = { { 0, 1 }, { alpha_s, 1 } };

  for (guint n = 2; n <= 200; n = n == 64 ? 200 : n + 1) {
    g_autoptr(Group) group = group_of_nodes(n, 1);
    const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1 };
    g_autoptr(Topology) topology = plain_topology(&call);
    g_autoptr(GArray) phases = phases_of(&coll_ring, &call, topology);
    const double beta = (4096 + 26) / (10e9 * 4096);
    const double formula_s = 2 * (n - 1) * (alpha_s + switch_s + size_B / n * beta);

    CU_ASSERT_DOUBLE_EQUAL(phases_s(phases, &call, size_B, &cost), formula_s,
                           rounding * formula_s);
  }
}

/* Messages and parts of the buffer that follow one another with n single-GPU nodes. */
typedef struct {
  const CollOps *ops;
  CollKind kind;
  double (*n_hops)(double n, double log_n);
  double (*n_buffers)(double n, double log_n);
} Textbook;

static double log_n(double n G_GNUC_UNUSED, double l)
{
  return l;
}
static double twice_log_n(double n G_GNUC_UNUSED, double l)
{
  return 2 * l;
}
static double all_but_one(double n, double l G_GNUC_UNUSED)
{
  return n - 1;
}
static double parts(double n, double l G_GNUC_UNUSED)
{
  return (n - 1) / n;
}
static double twice_parts(double n, double l G_GNUC_UNUSED)
{
  return 2 * (n - 1) / n;
}
static double one(double n G_GNUC_UNUSED, double l G_GNUC_UNUSED)
{
  return 1;
}
static double two(double n G_GNUC_UNUSED, double l G_GNUC_UNUSED)
{
  return 2;
}

static void test_powers_of_two_cost_what_the_textbooks_say(void)
{
  static const Textbook rows[] = {
    { &coll_tree, COLL_ALL_REDUCE, twice_log_n, twice_log_n },
    { &coll_tree, COLL_BROADCAST, log_n, log_n },
    { &coll_tree, COLL_REDUCE, log_n, log_n },
    { &coll_recursive_doubling, COLL_ALL_REDUCE, log_n, log_n },
    { &coll_recursive_doubling, COLL_ALL_GATHER, log_n, parts },
    { &coll_halving_doubling, COLL_ALL_REDUCE, twice_log_n, twice_parts },
    { &coll_halving_doubling, COLL_REDUCE_SCATTER, log_n, parts },
    { &coll_halving_doubling, COLL_ALL_GATHER, log_n, parts },
    { &coll_push_pull, COLL_ALL_REDUCE, two, twice_parts },
    { &coll_pairwise, COLL_ALL_TO_ALL, all_but_one, parts },
    { &coll_direct, COLL_ALL_TO_ALL, one, parts },
    { &coll_neighbour, COLL_SEND_RECV, one, one },
  };
  static const double size_B = 0x1p20;
  const CollCost cost = { { 0, 1 }, { 5e-6, 10e9 } };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    for (guint l = 1; l <= 8; l++) {
      g_autoptr(Group) group = group_of_nodes(1u << l, 1);
      const CollCall call = { .kind = rows[i].kind, .group = group, .n_rails = 1 };
      const double n = 1u << l;
      const double time_s = rows[i].n_hops(n, l) * cost.net.alpha_s +
                            rows[i].n_buffers(n, l) * size_B / cost.net.bandwidth_Bps;
      CU_ASSERT_DOUBLE_EQUAL(rows[i].ops->ideal_s(&call, size_B, &cost), time_s,
                             rounding * time_s);
    }
}

static void test_other_numbers_of_ranks_cost_two_more_messages_of_the_whole_buffer(void)
{
  static const double size_B = 0x1p20;
  const CollCost cost = { { 0, 1 }, { 5e-6, 10e9 } };
  const double message_s = cost.net.alpha_s + size_B / cost.net.bandwidth_Bps;
  g_autoptr(Group) eight = group_of_nodes(8, 1);
  g_autoptr(Group) eleven = group_of_nodes(11, 1);

  for (guint i = 0; i < 2; i++) {
    const CollOps *ops = i == 0 ? &coll_recursive_doubling : &coll_halving_doubling;
    const CollCall few = { .kind = COLL_ALL_REDUCE, .group = eight, .n_rails = 1 };
    const CollCall more = { .kind = COLL_ALL_REDUCE, .group = eleven, .n_rails = 1 };
    CU_ASSERT_DOUBLE_EQUAL(ops->ideal_s(&more, size_B, &cost),
                           ops->ideal_s(&few, size_B, &cost) + 2 * message_s, rounding);
  }
}

/* A tree whose chunks did not overlap would need its depth times as long. */
static void test_large_messages_cost_trees_twice_the_buffer_whatever_their_depth(void)
{
  LinkCost link = { 3e-6, 25e9 };
  const CollCost cost = { link, link };
  const double size_B = 0x1p30;

  for (guint n = 4; n <= 200; n = n == 64 ? 200 : n * 2) {
    g_autoptr(Group) group = group_of_nodes(n, 1);
    const CollCall call = {
      .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1, .chunk_B = 0x1p21
    };
    g_autoptr(Plan) plan = plan_of(&coll_double_tree, &call, size_B);
    const double twice_s = 2 * size_B / link.bandwidth_Bps;
    const double path_s = plan_critical_path_s(plan, same_for_all, &link);

    CU_ASSERT_DOUBLE_EQUAL(path_s / twice_s, 1, 0.03);
    CU_ASSERT_DOUBLE_EQUAL(coll_double_tree.ideal_s(&call, size_B, &cost) / twice_s, 1,
                           0.03);
  }
}

/* Which pair of GPUs a route belongs to. */
static GHashTable *routes_by_links(const Topology *topology, guint n_rails)
{
  GHashTable *table =
    g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
  const guint n = topology_n_gpus(topology);

  for (guint i = 0; i < n * n * n_rails; i++) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    topology_route(topology, i % n, i / n % n, i / n / n, 0, links);
    if (links->len > 0)
      g_hash_table_insert(table, g_bytes_new(links->data, links->len * sizeof(guint32)),
                          GUINT_TO_POINTER(i % (n * n)));
  }
  return table;
}

/* Bytes from GPU src to GPU dst per byte of message, at [dst * n + src]. */
static void add_flows(const GArray *phases, GHashTable *routes, double *traffic)
{
  for (guint i = 0; i < phases->len; i++) {
    const FlowSet *set = g_array_index(phases, CollPhase, i).set;
    for (guint f = 0; f < flow_set_n_flows(set); f++) {
      const Flow *flow = flow_set_flow(set, f);
      g_autoptr(GBytes) key =
        g_bytes_new(flow_set_links(set, flow), flow->n_links * sizeof(guint32));
      gpointer pair = NULL;
      CU_ASSERT_TRUE_FATAL(g_hash_table_lookup_extended(routes, key, NULL, &pair));
      traffic[GPOINTER_TO_UINT(pair)] += flow->share;
    }
  }
}

/* Switches that sum: what ranks send. Flows go to the next rank instead. */
static double sent_by_ranks(const Plan *plan, const CollCall *call)
{
  double sent_B = 0;
  for (guint id = 0; id < plan_n_steps(plan); id++)
    if (plan_step(plan, id)->src < call->group->n_ranks)
      sent_B += plan_step(plan, id)->size_B;
  return sent_B;
}

static void law_flows(const CollOps *ops, const CollCall *call)
{
  if (ops->n_switches != NULL)
    return; /* see law_stays_in_the_group */

  g_autoptr(Topology) topology = plain_topology(call);
  const guint n = topology_n_gpus(topology);
  g_autoptr(GHashTable) routes = routes_by_links(topology, call->n_rails);
  g_autoptr(GArray) phases = phases_of(ops, call, topology);
  g_autoptr(Plan) plan = plan_of(ops, call, 1);
  g_autofree double *traffic = g_new0(double, n *n);
  bool ok = true;

  add_flows(phases, routes, traffic);
  for (guint id = 0; id < plan_n_steps(plan); id++) {
    const PlanStep *step = plan_step(plan, id);
    traffic[call->group->gpus[step->dst] * n + call->group->gpus[step->src]] -=
      step->size_B;
  }
  for (guint i = 0; i < n * n; i++)
    ok = ok && fabs(traffic[i]) < rounding;
  CU_ASSERT_TRUE(ok);
}

static void test_flows_carry_the_bytes_of_the_plan_between_the_same_ranks(void)
{
  for (guint n_rails = 1; n_rails <= 4; n_rails++)
    for (guint n_nodes = 1; n_nodes <= 6; n_nodes++)
      for (guint ranks_per_node = n_rails; ranks_per_node <= 6; ranks_per_node++)
        /* Else the topology does not share its NICs out as plan() does. */
        if (ranks_per_node % n_rails == 0 || ranks_per_node < 2 * n_rails)
          hold_even(law_flows, n_nodes, ranks_per_node, n_rails, 0.3);
  hold_all_uneven(law_flows, 1, 0.3);
}

static void law_floor(const CollOps *ops, const CollCall *call)
{
  static const double sizes_B[] = { 0, 1, 1e3, 1e6, 1e9 };
  g_autoptr(Topology) topology = plain_topology(call);
  g_autoptr(GArray) phases = phases_of(ops, call, topology);
  CollCost cost = plain_cost();

  if (ops->fans)
    cost.local.alpha_s = cost.net.alpha_s = 0;
  for (guint i = 0; i < G_N_ELEMENTS(sizes_B); i++) {
    const double floor_s = coll_floor_of_s(ops, call, sizes_B[i], &cost);
    CU_ASSERT_TRUE(phases_s(phases, call, sizes_B[i], &cost) >= floor_s * (1 - rounding));
    CU_ASSERT_TRUE(ops->ideal_s(call, sizes_B[i], &cost) >= floor_s * (1 - rounding));
    CU_ASSERT_EQUAL(floor_s > 0,
                    call->group->n_ranks > 1 && (sizes_B[i] > 0 || !ops->fans));
  }
}

static void test_no_algorithm_beats_the_floor(void)
{
  for (guint n_rails = 1; n_rails <= 8; n_rails *= 2)
    for (guint n_nodes = 1; n_nodes <= 20; n_nodes += n_nodes < 6 ? 1 : 7)
      for (guint ranks_per_node = 1; ranks_per_node <= 16; ranks_per_node++)
        hold_even(law_floor, n_nodes, ranks_per_node, n_rails, 100e3);
  hold_all_uneven(law_floor, 2, 100e3);
}

static void test_the_floor_of_large_messages_is_the_rings_bandwidth(void)
{
  g_autoptr(Group) group = group_of_nodes(4, 1);
  const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1 };
  const CollCost cost = { { 0, 1 }, { 1e-6, 10e9 } };

  CU_ASSERT_DOUBLE_EQUAL(coll_floor_s(&call, 1e9, &cost), 1.5 * 0.1 + 1e-6, rounding);
  CU_ASSERT_DOUBLE_EQUAL(coll_floor_s(&call, 0, &cost), 2e-6, rounding);
}

static void law_stays_in_the_group(const CollOps *ops, const CollCall *call)
{
  const Fixture fixture = { .n_nodes = 3,
                            .n_gpus = 4,
                            .n_nics = 2,
                            .nic_Bps = 1e9,
                            .fabric = "nvswitch",
                            .fabric_keys = "port_rate=100 GB/s; pcie_rate=40 GB/s" };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GHashTable) routes = routes_by_links(topology, 2);
  g_autoptr(GArray) phases = phases_of(ops, call, topology);
  g_autoptr(Plan) plan = plan_of(ops, call, 1);
  g_autofree double *traffic = g_new0(double, 12 * 12);
  double sent = 0;
  bool in_group[12] = { false };

  for (guint rank = 0; rank < call->group->n_ranks; rank++)
    in_group[call->group->gpus[rank]] = true;
  add_flows(phases, routes, traffic);
  for (guint i = 0; i < 12 * 12; i++) {
    CU_ASSERT_TRUE((in_group[i % 12] && in_group[i / 12]) || traffic[i] == 0);
    sent += traffic[i];
  }
  CU_ASSERT_DOUBLE_EQUAL(sent, sent_by_ranks(plan, call), rounding);
}

static void test_a_group_may_leave_gpus_and_nodes_out(void)
{
  static const guint even[] = { 1, 3, 9, 10 }, uneven[] = { 0, 5, 6, 7 };
  g_autoptr(Group) two_each = group_new(even, 4, 4);
  g_autoptr(Group) one_and_three = group_new(uneven, 4, 4);

  hold_kinds(law_stays_in_the_group, &(CollCall){ .group = two_each, .n_rails = 2 });
  hold_kinds(law_stays_in_the_group, &(CollCall){ .group = one_and_three, .n_rails = 2 });
}

static void test_hierarchical_has_three_phases_where_there_are_two_levels(void)
{
  static const struct {
    guint n_nodes, ranks_per_node, n_phases;
  } cases[] = { { 1, 8, 1 }, { 8, 1, 1 }, { 4, 8, 3 } };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autoptr(Group) group = group_of_nodes(cases[c].n_nodes, cases[c].ranks_per_node);
    const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1 };
    g_autoptr(Topology) topology = plain_topology(&call);
    g_autoptr(GArray) phases = phases_of(&coll_hierarchical, &call, topology);
    CU_ASSERT_EQUAL(phases->len, cases[c].n_phases);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("forms of collectives", NULL, NULL);
  CU_ADD_TEST(suite, test_critical_path_meets_the_closed_form_on_identical_links);
  CU_ADD_TEST(suite, test_critical_path_has_the_hops_of_the_closed_form);
  CU_ADD_TEST(suite, test_phases_add_up_to_the_closed_form_on_an_idle_star);
  CU_ADD_TEST(suite, test_flat_ring_of_single_gpu_nodes_is_the_textbook_formula);
  CU_ADD_TEST(suite, test_powers_of_two_cost_what_the_textbooks_say);
  CU_ADD_TEST(suite,
              test_other_numbers_of_ranks_cost_two_more_messages_of_the_whole_buffer);
  CU_ADD_TEST(suite, test_large_messages_cost_trees_twice_the_buffer_whatever_their_depth);
  CU_ADD_TEST(suite, test_flows_carry_the_bytes_of_the_plan_between_the_same_ranks);
  CU_ADD_TEST(suite, test_no_algorithm_beats_the_floor);
  CU_ADD_TEST(suite, test_the_floor_of_large_messages_is_the_rings_bandwidth);
  CU_ADD_TEST(suite, test_a_group_may_leave_gpus_and_nodes_out);
  CU_ADD_TEST(suite, test_hierarchical_has_three_phases_where_there_are_two_levels);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
