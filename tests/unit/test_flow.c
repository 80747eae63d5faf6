/** @file test_flow.c  @brief Flow sets keep what they are given, and their bound is right.
 */
#include "models/flow.h"

#include <CUnit/Basic.h>
#include <math.h>

static const double rounding = 1e-12;

static const Link links[] = {
  { .tier = 0, .capacity_Bps = 10 },
  { .tier = 0, .capacity_Bps = 4 },
  { .tier = 0, .capacity_Bps = 1 },
};

static double bound(const FlowSet *set)
{
  return flow_set_bound_s_per_B(set, links, G_N_ELEMENTS(links));
}

static void test_flows_keep_their_links_shares_and_caps(void)
{
  g_autoptr(FlowSet) set = flow_set_new();
  guint32 path[] = { 0, 1 };

  flow_set_add(set, 0.5, INFINITY, path, 2);
  path[0] = path[1] = 2; /* the set has its own copy */
  flow_set_add(set, 2, 7, path, 1);
  CU_ASSERT_EQUAL_FATAL(flow_set_n_flows(set), 2);

  const Flow *first = flow_set_flow(set, 0), *second = flow_set_flow(set, 1);
  CU_ASSERT_EQUAL_FATAL(first->n_links, 2);
  CU_ASSERT_EQUAL(first->share, 0.5);
  CU_ASSERT_TRUE(isinf(first->cap_Bps));
  CU_ASSERT_EQUAL(flow_set_links(set, first)[0], 0);
  CU_ASSERT_EQUAL(flow_set_links(set, first)[1], 1);
  CU_ASSERT_EQUAL(second->n_links, 1);
  CU_ASSERT_EQUAL(second->cap_Bps, 7);
  CU_ASSERT_EQUAL(flow_set_links(set, second)[0], 2);
}

static void test_the_busiest_link_bounds_a_set(void)
{
  g_autoptr(FlowSet) set = flow_set_new();

  flow_set_add(set, 1, INFINITY, (guint32[]){ 0, 1 }, 2);
  CU_ASSERT_DOUBLE_EQUAL(bound(set), 1.0 / 4, rounding);
  flow_set_add(set, 9, INFINITY, (guint32[]){ 0 }, 1);
  CU_ASSERT_DOUBLE_EQUAL(bound(set), (1.0 + 9) / 10, rounding);
}

static void test_a_tight_cap_bounds_a_set(void)
{
  g_autoptr(FlowSet) set = flow_set_new();

  flow_set_add(set, 1, 0.5, (guint32[]){ 0 }, 1);
  CU_ASSERT_DOUBLE_EQUAL(bound(set), 2, rounding);
}

static void test_flows_without_links_and_empty_sets_cost_nothing(void)
{
  g_autoptr(FlowSet) set = flow_set_new();

  CU_ASSERT_EQUAL(bound(set), 0);
  flow_set_add(set, 1, INFINITY, NULL, 0);
  CU_ASSERT_EQUAL(flow_set_n_flows(set), 1);
  CU_ASSERT_EQUAL(bound(set), 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("flow", NULL, NULL);
  CU_ADD_TEST(suite, test_flows_keep_their_links_shares_and_caps);
  CU_ADD_TEST(suite, test_the_busiest_link_bounds_a_set);
  CU_ADD_TEST(suite, test_a_tight_cap_bounds_a_set);
  CU_ADD_TEST(suite, test_flows_without_links_and_empty_sets_cost_nothing);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
