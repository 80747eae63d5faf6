/**
 * @file test_collective.c
 * @brief Laws that every algorithm in coll_table must obey, and its three views agree.
 */
#include "models/collective.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums of up to some hundred terms. */
static const double rounding = 1e-12;

static const CollKind kinds[] = { COLL_ALL_REDUCE, COLL_REDUCE_SCATTER, COLL_ALL_GATHER };

/* Called for every algorithm, kind it can do, and shape. */
typedef void (*Law)(const CollOps *ops, const CollCall *call);

static void hold_kinds(Law law, guint n_nodes, guint ranks_per_node, guint n_rails)
{
  g_autofree guint *gpus = g_new(guint, n_nodes * ranks_per_node);

  for (guint i = 0; i < n_nodes * ranks_per_node; i++)
    gpus[i] = i;
  for (guint m = 0; coll_table[m] != NULL; m++) {
    const CollOps *ops = (const CollOps *)coll_table[m];
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
      const CollCall call = { kinds[k], { n_nodes, ranks_per_node, gpus }, n_rails };
      if (ops->kinds & kinds[k])
        law(ops, &call);
    }
  }
}

/* All shapes of up to 33 ranks, and two of 200. */
static void hold(Law law, guint max_rails)
{
  for (guint n_rails = 1; n_rails <= max_rails; n_rails++) {
    for (guint n_nodes = 1; n_nodes <= 33; n_nodes++)
      for (guint ranks_per_node = 1; n_nodes * ranks_per_node <= 33; ranks_per_node++)
        hold_kinds(law, n_nodes, ranks_per_node, n_rails);
    hold_kinds(law, 200, 1, n_rails);
    hold_kinds(law, 25, 8, n_rails);
  }
}

static guint n_ranks(const CollCall *call)
{
  return call->group.n_nodes * call->group.ranks_per_node;
}

static Plan *plan_of(const CollOps *ops, const CollCall *call, double size_B)
{
  Plan *plan = plan_new(n_ranks(call), ops->n_chunks(call));
  ops->plan(call, size_B, plan);
  return plan;
}

/* What a rank holds of a chunk: how often each rank's part is summed into it. */
typedef struct {
  guint n, n_chunks;
  guint8 *counts; /* [(rank * n_chunks + chunk) * n + contributor] */
  guint *writers; /* [rank * n_chunks + chunk]: step that wrote it last */
} Memory;

static guint8 *cell(const Memory *memory, guint rank, guint chunk)
{
  return &memory->counts[((gsize)rank * memory->n_chunks + chunk) * memory->n];
}

static Memory memory_new(const CollCall *call, guint n_chunks)
{
  const guint n = n_ranks(call);
  Memory memory = { n, n_chunks, g_new0(guint8, (gsize)n * n_chunks * n),
                    g_new(guint, (gsize)n * n_chunks) };

  for (guint i = 0; i < n * n_chunks; i++) {
    const guint rank = i / n_chunks, chunk = i % n_chunks;
    memory.writers[i] = PLAN_START;
    if (call->kind != COLL_ALL_GATHER || chunk % n == rank)
      cell(&memory, rank, chunk)[rank] = 1;
  }
  return memory;
}

static void memory_clear(Memory *memory)
{
  g_free(memory->counts);
  g_free(memory->writers);
}

/* A step may only send what the message it waits for, or an earlier one, has brought. */
static bool apply(Memory *memory, const Plan *plan, guint id)
{
  const PlanStep *step = plan_step(plan, id);

  for (guint chunk = step->first_chunk; chunk < step->first_chunk + step->n_chunks;
       chunk++) {
    const guint8 *src = cell(memory, step->src, chunk);
    guint8 *dst = cell(memory, step->dst, chunk);
    const guint writer = memory->writers[step->src * memory->n_chunks + chunk];

    if (writer != PLAN_START && (step->after == PLAN_START || writer > step->after))
      return false;
    for (guint i = 0; i < memory->n; i++)
      dst[i] = (guint8)((step->reduce ? dst[i] : 0) + src[i]);
    memory->writers[step->dst * memory->n_chunks + chunk] = id;
  }
  return step->after == PLAN_START || plan_step(plan, step->after)->dst == step->src;
}

static bool is_right(const Memory *memory, CollKind kind, guint rank, guint chunk)
{
  const guint owner = chunk % memory->n;

  if (kind == COLL_REDUCE_SCATTER && rank != owner)
    return true;
  for (guint i = 0; i < memory->n; i++)
    if (cell(memory, rank, chunk)[i] != (kind != COLL_ALL_GATHER || i == owner))
      return false;
  return true;
}

static void law_exactly_once(const CollOps *ops, const CollCall *call)
{
  g_autoptr(Plan) plan = plan_of(ops, call, 1000);
  Memory memory = memory_new(call, plan_n_chunks(plan));
  bool ok = true;

  for (guint id = 0; ok && id < plan_n_steps(plan); id++)
    ok = apply(&memory, plan, id);
  for (guint i = 0; ok && i < memory.n * memory.n_chunks; i++)
    ok = is_right(&memory, call->kind, i / memory.n_chunks, i % memory.n_chunks);
  CU_ASSERT_TRUE(ok);
  memory_clear(&memory);
}

static void test_everything_arrives_everywhere_exactly_once(void)
{
  hold(law_exactly_once, 3);
}

static const LinkCost *same_for_all(guint src G_GNUC_UNUSED, guint dst G_GNUC_UNUSED,
                                    void *data)
{
  return data;
}

/* Idle, identical links: in the plan each rank has one, in the closed form the ranks of a
 * node share a NIC, which must carry as much as all of theirs. */
static void law_ideal(const CollOps *ops, const CollCall *call)
{
  LinkCost link = { 3e-6, 25e9 };
  const CollCost cost = { link, { 3e-6, 25e9 * call->group.ranks_per_node } };
  const double size_B = 1 << 20;
  g_autoptr(Plan) plan = plan_of(ops, call, size_B);
  const double path_s = plan_critical_path_s(plan, same_for_all, &link);
  const double ideal_s = ops->ideal_s(call, size_B, &cost);

  CU_ASSERT_TRUE(ops->exact);
  CU_ASSERT_EQUAL(ideal_s == 0, n_ranks(call) == 1);
  CU_ASSERT_DOUBLE_EQUAL(path_s, ideal_s, rounding * ideal_s);
}

static void test_critical_path_meets_the_closed_form_on_identical_links(void)
{
  hold(law_ideal, 1);
}

typedef struct {
  const CollCall *call;
  LinkCost local, net;
} TwoCosts;

static const LinkCost *local_or_net(guint src, guint dst, void *data)
{
  const TwoCosts *costs = data;
  const guint g = costs->call->group.ranks_per_node;
  return src / g == dst / g ? &costs->local : &costs->net;
}

/* Without bytes only the hops count, however different the two kinds are. */
static void law_hops(const CollOps *ops, const CollCall *call)
{
  TwoCosts costs = { call, { 2e-6, 25e9 }, { 11e-6, 25e9 } };
  const CollCost cost = { costs.local, costs.net };
  g_autoptr(Plan) plan = plan_of(ops, call, 0);
  const double path_s = plan_critical_path_s(plan, local_or_net, &costs);
  const double ideal_s = ops->ideal_s(call, 0, &cost);

  CU_ASSERT_DOUBLE_EQUAL(path_s, ideal_s, rounding * ideal_s);
}

static void test_critical_path_has_the_hops_of_the_closed_form(void)
{
  hold(law_hops, 1);
}

static const char nvswitch_keys[] = "port_rate=100 GB/s; pcie_rate=40 GB/s";

/* GPU 0 of NIC 0 and so on: a node whose rings follow the ranks, as those of plan() do. */
static Topology *plain_topology(const CollCall *call)
{
  const Fixture fixture = {
    .n_nodes = call->group.n_nodes,
    .n_gpus = call->group.ranks_per_node,
    .n_nics = call->n_rails,
    .nic_Bps = 10e9,
    .fabric = "nvswitch",
    .fabric_keys = nvswitch_keys,
  };
  return fixture_topology(&fixture, NULL);
}

static GArray *phases_of(const CollOps *ops, const CollCall *call, const Topology *topology)
{
  GArray *phases = coll_phases_new();
  ops->phases(call, topology, phases);
  return phases;
}

static double phases_s(const GArray *phases, double size_B, const CollCost *cost)
{
  double sum_s = 0;
  for (guint i = 0; i < phases->len; i++) {
    const CollPhase *phase = &g_array_index(phases, CollPhase, i);
    sum_s += phase->n_local_hops * cost->local.alpha_s +
             phase->n_net_hops * cost->net.alpha_s + phase->path_latency_s +
             phase->bound_s_per_B * size_B;
  }
  return sum_s;
}

/* What plain_topology() costs; links between switches have latency 0.5 us. */
static CollCost plain_cost(void)
{
  return (CollCost){ { 2e-6, 100e9 }, { 11e-6, 10e9 * 4096 / (4096 + 26) } };
}

static void law_phases_ideal(const CollOps *ops, const CollCall *call)
{
  static const double switch_s = 0.5e-6, size_B = 1 << 24;
  g_autoptr(Topology) topology = plain_topology(call);
  g_autoptr(GArray) phases = phases_of(ops, call, topology);
  const CollCost cost = plain_cost();
  CollCost with_latency = cost;
  with_latency.net.alpha_s += switch_s;
  const double ideal_s = ops->ideal_s(call, size_B, &with_latency);

  CU_ASSERT_DOUBLE_EQUAL(phases_s(phases, size_B, &cost), ideal_s, rounding * ideal_s);
}

static void test_phases_add_up_to_the_closed_form_on_an_idle_star(void)
{
  for (guint n_rails = 1; n_rails <= 8; n_rails *= 2)
    for (guint n_nodes = 1; n_nodes <= 9; n_nodes++)
      for (guint ranks_per_node = n_rails; ranks_per_node <= 8; ranks_per_node++)
        if (ranks_per_node % n_rails == 0)
          hold_kinds(law_phases_ideal, n_nodes, ranks_per_node, n_rails);
}

static void test_flat_ring_of_single_gpu_nodes_is_the_textbook_formula(void)
{
  static const double alpha_s = 11e-6, switch_s = 0.5e-6, size_B = 12345678;
  const CollCost cost = { { 0, 1 }, { alpha_s, 1 } };

  for (guint n = 2; n <= 200; n = n == 64 ? 200 : n + 1) {
    g_autofree guint *gpus = g_new(guint, n);
    for (guint i = 0; i < n; i++)
      gpus[i] = i;
    const CollCall call = { COLL_ALL_REDUCE, { n, 1, gpus }, 1 };
    g_autoptr(Topology) topology = plain_topology(&call);
    g_autoptr(GArray) phases = phases_of(&coll_ring, &call, topology);
    const double beta = (4096 + 26) / (10e9 * 4096);
    const double formula_s = 2 * (n - 1) * (alpha_s + switch_s + size_B / n * beta);

    CU_ASSERT_DOUBLE_EQUAL(phases_s(phases, size_B, &cost), formula_s,
                           rounding * formula_s);
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

static void law_flows(const CollOps *ops, const CollCall *call)
{
  const guint n = n_ranks(call);
  g_autoptr(Topology) topology = plain_topology(call);
  g_autoptr(GHashTable) routes = routes_by_links(topology, call->n_rails);
  g_autoptr(GArray) phases = phases_of(ops, call, topology);
  g_autoptr(Plan) plan = plan_of(ops, call, 1);
  g_autofree double *traffic = g_new0(double, n *n);

  add_flows(phases, routes, traffic);
  for (guint id = 0; id < plan_n_steps(plan); id++)
    traffic[plan_step(plan, id)->dst * n + plan_step(plan, id)->src] -=
      plan_step(plan, id)->size_B;
  for (guint i = 0; i < n * n; i++)
    CU_ASSERT_DOUBLE_EQUAL(traffic[i], 0, rounding);
}

static void test_flows_carry_the_bytes_of_the_plan_between_the_same_ranks(void)
{
  for (guint n_rails = 1; n_rails <= 4; n_rails++)
    for (guint n_nodes = 1; n_nodes <= 6; n_nodes++)
      for (guint ranks_per_node = n_rails; ranks_per_node <= 6; ranks_per_node++)
        hold_kinds(law_flows, n_nodes, ranks_per_node, n_rails);
}

static void law_floor(const CollOps *ops, const CollCall *call)
{
  static const double sizes_B[] = { 0, 1, 1e3, 1e6, 1e9 };
  g_autoptr(Topology) topology = plain_topology(call);
  g_autoptr(GArray) phases = phases_of(ops, call, topology);
  const CollCost cost = plain_cost();

  for (guint i = 0; i < G_N_ELEMENTS(sizes_B); i++) {
    const double floor_s = coll_floor_s(call, sizes_B[i], &cost);
    CU_ASSERT_TRUE(phases_s(phases, sizes_B[i], &cost) >= floor_s * (1 - rounding));
    CU_ASSERT_TRUE(ops->ideal_s(call, sizes_B[i], &cost) >= floor_s * (1 - rounding));
    CU_ASSERT_EQUAL(floor_s > 0, n_ranks(call) > 1);
  }
}

static void test_no_algorithm_beats_the_floor(void)
{
  for (guint n_rails = 1; n_rails <= 8; n_rails *= 2)
    for (guint n_nodes = 1; n_nodes <= 20; n_nodes += n_nodes < 6 ? 1 : 7)
      for (guint ranks_per_node = 1; ranks_per_node <= 16; ranks_per_node++)
        hold_kinds(law_floor, n_nodes, ranks_per_node, n_rails);
}

static void test_the_floor_of_large_messages_is_the_rings_bandwidth(void)
{
  const guint gpus[] = { 0, 1, 2, 3 };
  const CollCall call = { COLL_ALL_REDUCE, { 4, 1, gpus }, 1 };
  const CollCost cost = { { 0, 1 }, { 1e-6, 10e9 } };

  CU_ASSERT_DOUBLE_EQUAL(coll_floor_s(&call, 1e9, &cost), 1.5 * 0.1 + 1e-6, rounding);
  CU_ASSERT_DOUBLE_EQUAL(coll_floor_s(&call, 0, &cost), 2e-6, rounding);
}

static void test_a_group_may_leave_gpus_out(void)
{
  const Fixture fixture = { .n_nodes = 3,
                            .n_gpus = 4,
                            .n_nics = 2,
                            .nic_Bps = 1e9,
                            .fabric = "nvswitch",
                            .fabric_keys = nvswitch_keys };
  static const guint gpus[] = { 1, 3, 9, 10 };
  const CollCall call = { COLL_ALL_REDUCE, { 2, 2, gpus }, 2 };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GHashTable) routes = routes_by_links(topology, 2);

  for (guint m = 0; coll_table[m] != NULL; m++) {
    g_autoptr(GArray) phases = phases_of((const CollOps *)coll_table[m], &call, topology);
    g_autofree double *traffic = g_new0(double, 12 * 12);
    double sent = 0;

    add_flows(phases, routes, traffic);
    for (guint i = 0; i < 12 * 12; i++) {
      const bool in_group = (i % 12 == 1 || i % 12 == 3 || i % 12 == 9 || i % 12 == 10) &&
                            (i / 12 == 1 || i / 12 == 3 || i / 12 == 9 || i / 12 == 10);
      CU_ASSERT_TRUE(in_group || traffic[i] == 0);
      sent += traffic[i];
    }
    CU_ASSERT_DOUBLE_EQUAL(sent, 2 * (4 - 1), rounding);
  }
}

static void test_a_single_rank_communicates_nothing(void)
{
  const guint gpu = 0;
  const CollCall call = { COLL_ALL_REDUCE, { 1, 1, &gpu }, 1 };
  g_autoptr(Topology) topology = plain_topology(&call);

  for (guint m = 0; coll_table[m] != NULL; m++) {
    const CollOps *ops = (const CollOps *)coll_table[m];
    g_autoptr(GArray) phases = phases_of(ops, &call, topology);
    g_autoptr(Plan) plan = plan_of(ops, &call, 1000);
    CU_ASSERT_EQUAL(phases->len, 0);
    CU_ASSERT_EQUAL(plan_n_steps(plan), 0);
  }
}

static void test_hierarchical_has_three_phases_where_there_are_two_levels(void)
{
  static const struct {
    guint n_nodes, ranks_per_node, n_phases;
  } cases[] = { { 1, 8, 1 }, { 8, 1, 1 }, { 4, 8, 3 } };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    guint gpus[32];
    for (guint i = 0; i < 32; i++)
      gpus[i] = i;
    const CollCall call = { COLL_ALL_REDUCE,
                            { cases[c].n_nodes, cases[c].ranks_per_node, gpus },
                            1 };
    g_autoptr(Topology) topology = plain_topology(&call);
    g_autoptr(GArray) phases = phases_of(&coll_hierarchical, &call, topology);
    CU_ASSERT_EQUAL(phases->len, cases[c].n_phases);
  }
}

static void test_unknown_name_suggests_the_nearest(void)
{
  g_autoptr(GError) error = NULL;
  CU_ASSERT_PTR_NULL(coll_find("rnig", &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_UNKNOWN));
  CU_ASSERT_STRING_EQUAL(error->message, "unknown collective 'rnig'; did you mean 'ring'?");
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("collective", NULL, NULL);
  CU_ADD_TEST(suite, test_everything_arrives_everywhere_exactly_once);
  CU_ADD_TEST(suite, test_critical_path_meets_the_closed_form_on_identical_links);
  CU_ADD_TEST(suite, test_critical_path_has_the_hops_of_the_closed_form);
  CU_ADD_TEST(suite, test_phases_add_up_to_the_closed_form_on_an_idle_star);
  CU_ADD_TEST(suite, test_flat_ring_of_single_gpu_nodes_is_the_textbook_formula);
  CU_ADD_TEST(suite, test_flows_carry_the_bytes_of_the_plan_between_the_same_ranks);
  CU_ADD_TEST(suite, test_no_algorithm_beats_the_floor);
  CU_ADD_TEST(suite, test_the_floor_of_large_messages_is_the_rings_bandwidth);
  CU_ADD_TEST(suite, test_a_group_may_leave_gpus_out);
  CU_ADD_TEST(suite, test_a_single_rank_communicates_nothing);
  CU_ADD_TEST(suite, test_hierarchical_has_three_phases_where_there_are_two_levels);
  CU_ADD_TEST(suite, test_unknown_name_suggests_the_nearest);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
