/** @file test_group.c  @brief Groups of ranks, plans and phases: the parts of a collective.
 */
#include "models/collective.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums of a few doubles. */
static const double rounding = 1e-12;

static const Fixture three_nodes = { .n_nodes = 3, .n_gpus = 4, .n_nics = 1 };

static void test_a_group_counts_only_nodes_that_take_part(void)
{
  static const guint gpus[] = { 11, 2, 9, 0, 1 };
  g_autoptr(Topology) topology = fixture_topology(&three_nodes, NULL);
  g_autoptr(Group) group = group_new_gpus(topology, gpus, 5, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(group);
  CU_ASSERT_EQUAL(group->n_ranks, 5);
  CU_ASSERT_EQUAL(group->n_nodes, 2);
  CU_ASSERT_EQUAL(group_n_local(group, 0), 3);
  CU_ASSERT_EQUAL(group_n_local(group, 1), 2);
  CU_ASSERT_EQUAL(group_max_local(group), 3);
  CU_ASSERT_EQUAL(group_min_local(group), 2);
  CU_ASSERT_FALSE(group_is_even(group));
  CU_ASSERT_EQUAL(group->gpus[3], 9);
  CU_ASSERT_TRUE(group_is_local(group, 3, 4));
  CU_ASSERT_FALSE(group_is_local(group, 2, 3));
}

static void test_all_gpus_are_an_even_group(void)
{
  g_autoptr(Topology) topology = fixture_topology(&three_nodes, NULL);
  g_autoptr(Group) group = group_new_all(topology);

  CU_ASSERT_EQUAL(group->n_ranks, 12);
  CU_ASSERT_EQUAL(group->n_nodes, 3);
  CU_ASSERT_TRUE(group_is_even(group));
}

static void test_groups_that_make_no_sense_are_refused(void)
{
  static const struct {
    guint gpus[2], n;
    const char *message;
  } cases[] = {
    { { 0, 0 }, 0, "a group needs at least one GPU" },
    { { 3, 3 }, 2, "GPU 3 is in the group twice" },
    { { 12, 1 }, 2, "no GPU 12: the cluster has 12" },
  };
  g_autoptr(Topology) topology = fixture_topology(&three_nodes, NULL);

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(group_new_gpus(topology, cases[i].gpus, cases[i].n, &error));
    CU_ASSERT_STRING_EQUAL_FATAL(error->message, cases[i].message);
  }
}

static guint add(Plan *plan, guint src, guint dst, guint after, double size_B)
{
  return plan_add(plan,
                  (PlanStep){ .src = src, .dst = dst, .after = after, .size_B = size_B });
}

static const LinkCost *one_and_one(guint src G_GNUC_UNUSED, guint dst G_GNUC_UNUSED,
                                   void *data G_GNUC_UNUSED)
{
  static const LinkCost cost = { 1, 1 };
  return &cost;
}

static void test_a_step_waits_for_all_it_names(void)
{
  g_autoptr(Plan) plan = plan_new(4, 1);
  const guint fast = add(plan, 0, 2, PLAN_START, 1);
  const guint slow = add(plan, 1, 2, PLAN_START, 5);
  const guint up = add(plan, 2, 3, fast, 1);
  plan_also_after(plan, PLAN_START);
  plan_also_after(plan, slow);
  const guint down = add(plan, 2, 0, PLAN_START, 1);
  plan_also_after_same(plan, up);

  CU_ASSERT_EQUAL(plan_n_after(plan, up), 2);
  CU_ASSERT_EQUAL(plan_after(plan, up, 0), fast);
  CU_ASSERT_EQUAL(plan_after(plan, up, 1), slow);
  CU_ASSERT_EQUAL(plan_n_after(plan, down), 1);
  CU_ASSERT_EQUAL(plan_after(plan, down, 0), slow);
  /* 5 + 1 for the slow one; then the port sends 1 + 1, and the last arrives 1 later. */
  CU_ASSERT_DOUBLE_EQUAL(plan_critical_path_s(plan, one_and_one, NULL), 9, rounding);
}

static void test_a_port_sends_first_what_may_leave_first(void)
{
  g_autoptr(Plan) plan = plan_new(3, 1);
  const guint far = add(plan, 1, 0, PLAN_START, 10);
  add(plan, 0, 2, far, 1);
  add(plan, 0, 2, PLAN_START, 1);

  CU_ASSERT_DOUBLE_EQUAL(plan_critical_path_s(plan, one_and_one, NULL), 13, rounding);
}

static void test_messages_are_cut_into_equal_chunks(void)
{
  CU_ASSERT_EQUAL(coll_n_chunks(0, 10), 1);
  CU_ASSERT_EQUAL(coll_n_chunks(10, 10), 1);
  CU_ASSERT_EQUAL(coll_n_chunks(11, 10), 2);
  CU_ASSERT_EQUAL(coll_n_chunks(COLL_CHUNK_B * 3, 0), 3);
  CU_ASSERT_EQUAL(coll_n_chunks(1e30, 1), COLL_MAX_CHUNKS);
  CU_ASSERT_DOUBLE_EQUAL(coll_chunk_B(11, 10), 5.5, rounding);
}

static void test_a_phase_takes_hops_fill_and_the_slower_of_links_and_channels(void)
{
  const CollPhase phase = { .n_local_hops = 2,
                            .n_net_hops = 1,
                            .path_latency_s = 3,
                            .bound_s_per_B = 0.5,
                            .fill_s_per_B = 0.5,
                            .first_s_per_B = 0.25,
                            .rank_share = 2 };
  CollTerms terms = {
    .alpha_local_s = 10, .alpha_net_s = 100, .wire_factor = 2, .chunk_B = 40
  };

  CU_ASSERT_DOUBLE_EQUAL(coll_phase_wait_s(&phase, &terms, 80), 123 + 0.25 * 40 * 2,
                         rounding);
  CU_ASSERT_DOUBLE_EQUAL(coll_phase_idle_s(&phase, &terms, 80), 143 + 80, rounding);
  terms.additive = true;
  CU_ASSERT_DOUBLE_EQUAL(coll_phase_wait_s(&phase, &terms, 80), 123 + 0.5 * 40 * 2,
                         rounding);
  terms.additive = false;
  terms.rank_Bps = 1;
  CU_ASSERT_DOUBLE_EQUAL(coll_phase_least_s(&phase, &terms, 80), 160, rounding);
  CU_ASSERT_DOUBLE_EQUAL(coll_phase_idle_s(&phase, &terms, 80), 123 + 20 * 2 + 160,
                         rounding);
}

static void test_every_kind_is_found_by_its_name(void)
{
  for (guint i = 0; coll_kind_names[i] != NULL; i++) {
    CollKind kind = 0;
    CU_ASSERT_TRUE(coll_kind_find(coll_kind_names[i], &kind, NULL));
    CU_ASSERT_STRING_EQUAL(coll_kind_name(kind), coll_kind_names[i]);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("groups, plans, phases", NULL, NULL);
  CU_ADD_TEST(suite, test_a_group_counts_only_nodes_that_take_part);
  CU_ADD_TEST(suite, test_all_gpus_are_an_even_group);
  CU_ADD_TEST(suite, test_groups_that_make_no_sense_are_refused);
  CU_ADD_TEST(suite, test_a_step_waits_for_all_it_names);
  CU_ADD_TEST(suite, test_a_port_sends_first_what_may_leave_first);
  CU_ADD_TEST(suite, test_messages_are_cut_into_equal_chunks);
  CU_ADD_TEST(suite, test_a_phase_takes_hops_fill_and_the_slower_of_links_and_channels);
  CU_ADD_TEST(suite, test_every_kind_is_found_by_its_name);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
