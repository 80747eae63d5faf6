/**
 * @file test_collective.c
 * @brief Plans do what their operation means, in every order that they allow.
 */
#include "tests/unit/collective_cases.h"
#include "tests/unit/plan_play.h"

#include <CUnit/Basic.h>

static const double size_B = 1000, chunk_B = 201;

static bool has_as_many_chunks_as_it_means(const CollCall *call, const Plan *plan)
{
  const guint n = call->group->n_ranks, n_chunks = plan_n_chunks(plan);

  switch (call->kind) {
  case COLL_ALL_TO_ALL:
    return n_chunks == n * n;
  case COLL_SEND_RECV:
    return n_chunks == n;
  case COLL_REDUCE_SCATTER:
  case COLL_ALL_GATHER:
    return n_chunks % n == 0;
  default:
    return n_chunks > 0;
  }
}

static void law_meaning(const CollOps *ops, const CollCall *call)
{
  g_autoptr(Plan) plan = plan_of(ops, call, size_B);
  bool ok = has_as_many_chunks_as_it_means(call, plan);

  for (Order order = 0; ok && order < N_ORDERS; order++)
    ok = plays_right(call, plan, order);
  CU_ASSERT_TRUE(ok);
  if (!ok)
    g_print("%s %s: %u nodes, %u ranks, %u rails\n", ops->info.name,
            coll_kind_name(call->kind), call->group->n_nodes, call->group->n_ranks,
            call->n_rails);
}

static void test_every_rank_ends_with_what_the_operation_means_exactly_once(void)
{
  hold_all_even(law_meaning, 3, chunk_B);
}

static void test_push_and_pull_work_with_any_number_of_servers(void)
{
  for (guint n = 1; n <= 12; n++)
    for (guint n_servers = 1; n_servers <= n + 1; n_servers++) {
      g_autoptr(Group) group = group_of_nodes(n, 1);
      const CollCall call = {
        .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1, .n_servers = n_servers
      };
      law_meaning(&coll_push_pull, &call);
    }
}

static void test_the_same_on_nodes_with_unequal_numbers_of_ranks(void)
{
  hold_all_uneven(law_meaning, 3, chunk_B);
}

/* Who is not told that a message has arrived cannot wait for it. */
static void law_deps(const CollOps *ops, const CollCall *call)
{
  g_autoptr(Plan) plan = plan_of(ops, call, size_B);
  bool ok = true;

  for (guint id = 0; id < plan_n_steps(plan); id++) {
    const PlanStep *step = plan_step(plan, id);
    ok = ok && step->src != step->dst;
    for (guint i = 0; i < plan_n_after(plan, id); i++) {
      const PlanStep *dep = plan_step(plan, plan_after(plan, id, i));
      ok = ok && plan_after(plan, id, i) < id &&
           (dep->dst == step->src || dep->src == step->src || dep->dst == step->dst ||
            dep->src == step->dst);
    }
  }
  CU_ASSERT_TRUE(ok);
}

static void test_messages_wait_only_for_what_their_ends_know(void)
{
  hold_all_even(law_deps, 2, chunk_B);
  hold_all_uneven(law_deps, 2, chunk_B);
}

static void test_a_single_rank_communicates_nothing(void)
{
  g_autoptr(Group) group = group_of_nodes(1, 1);

  for (guint m = 0; coll_table[m] != NULL; m++) {
    const CollOps *ops = (const CollOps *)coll_table[m];
    for (guint k = 0; coll_kind_names[k] != NULL; k++) {
      const CollCall call = { .kind = (CollKind)(1u << k), .group = group, .n_rails = 1 };
      if (!(ops->kinds & call.kind))
        continue;
      g_autoptr(Topology) topology = plain_topology(&call);
      g_autoptr(GArray) phases = phases_of(ops, &call, topology);
      g_autoptr(Plan) plan = plan_of(ops, &call, size_B);
      const CollCost cost = plain_cost();
      CU_ASSERT_EQUAL(phases->len, 0);
      CU_ASSERT_EQUAL(plan_n_steps(plan), 0);
      CU_ASSERT_EQUAL(ops->ideal_s(&call, size_B, &cost), 0);
    }
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
  CU_ADD_TEST(suite, test_every_rank_ends_with_what_the_operation_means_exactly_once);
  CU_ADD_TEST(suite, test_push_and_pull_work_with_any_number_of_servers);
  CU_ADD_TEST(suite, test_the_same_on_nodes_with_unequal_numbers_of_ranks);
  CU_ADD_TEST(suite, test_messages_wait_only_for_what_their_ends_know);
  CU_ADD_TEST(suite, test_a_single_rank_communicates_nothing);
  CU_ADD_TEST(suite, test_unknown_name_suggests_the_nearest);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
