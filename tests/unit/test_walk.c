/** @file test_walk.c  @brief Chains of messages: which are the longest, and who waits. */
#include "models/collective/walk.h"

#include <CUnit/Basic.h>

/* Sums of a few doubles. */
static const double rounding = 1e-12;

static const Chain local_hop = { .n_local_hops = 1, .s_per_B = 1 };
static const Chain net_hop = { .n_net_hops = 1, .latency_s = 2, .s_per_B = 3 };

static void test_a_front_keeps_no_chain_that_is_never_the_longest(void)
{
  Front front = { 0 };

  front_add(&front, (Chain){ .n_net_hops = 2, .s_per_B = 5 });
  front_add(&front, (Chain){ .n_net_hops = 1, .s_per_B = 5 });
  CU_ASSERT_EQUAL(front.n, 1);
  front_add(&front, (Chain){ .n_net_hops = 1, .s_per_B = 9 });
  CU_ASSERT_EQUAL(front.n, 2);
  CU_ASSERT_DOUBLE_EQUAL(front_s_per_B(&front), 9, rounding);
  front_add(&front, (Chain){ .n_net_hops = 3, .s_per_B = 9 });
  CU_ASSERT_EQUAL(front.n, 1);
  CU_ASSERT_EQUAL(front.chains[0].n_net_hops, 3);
}

static void test_a_hop_between_nodes_is_no_shorter_than_one_inside(void)
{
  Front front = { 0 };

  front_add(&front, (Chain){ .n_local_hops = 2, .n_net_hops = 1 });
  front_add(&front, (Chain){ .n_local_hops = 1, .n_net_hops = 2 });
  CU_ASSERT_EQUAL(front.n, 1);
  CU_ASSERT_EQUAL(front.chains[0].n_net_hops, 2);
}

static void test_a_full_front_is_never_shorter_than_what_it_was_given(void)
{
  Front front = { 0 };

  for (guint i = 0; i <= FRONT_MAX; i++)
    front_add(&front, (Chain){ .n_net_hops = i, .s_per_B = FRONT_MAX - i });
  CU_ASSERT_EQUAL(front.n, FRONT_MAX);
  for (guint i = 0; i <= FRONT_MAX; i++) {
    bool is_covered = false;
    for (guint k = 0; k < front.n; k++)
      is_covered = is_covered || (front.chains[k].n_net_hops >= i &&
                                  front.chains[k].s_per_B >= FRONT_MAX - i);
    CU_ASSERT_TRUE(is_covered);
  }
}

static void add_round(Walk *walk, guint src, guint dst, Chain hop)
{
  g_autoptr(GArray) messages = g_array_new(FALSE, FALSE, sizeof(RoundMessage));
  const RoundMessage message = { .src = src, .dst = dst, .n_chunks = 1 };
  g_array_append_val(messages, message);
  walk_round(walk, messages, &hop);
}

/* Ranks 2 and 3 take part in the third round only; rank 1 takes part in all. */
static void test_ranks_wait_for_their_own_messages_only(void)
{
  g_autoptr(Walk) walk = walk_new(4);

  add_round(walk, 0, 1, net_hop);
  add_round(walk, 1, 0, local_hop);
  add_round(walk, 2, 3, net_hop);
  Front longest = walk_longest(walk);
  CU_ASSERT_EQUAL(longest.n, 1);
  CU_ASSERT_EQUAL(longest.chains[0].n_net_hops, 1);
  CU_ASSERT_EQUAL(longest.chains[0].n_local_hops, 1);
  CU_ASSERT_DOUBLE_EQUAL(longest.chains[0].s_per_B, 4, rounding);

  add_round(walk, 3, 1, net_hop);
  longest = walk_longest(walk);
  CU_ASSERT_EQUAL(longest.n, 1);
  CU_ASSERT_EQUAL(longest.chains[0].n_net_hops, 2);
  CU_ASSERT_DOUBLE_EQUAL(longest.chains[0].latency_s, 4, rounding);
  CU_ASSERT_DOUBLE_EQUAL(longest.chains[0].s_per_B, 7, rounding);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("walk", NULL, NULL);
  CU_ADD_TEST(suite, test_a_front_keeps_no_chain_that_is_never_the_longest);
  CU_ADD_TEST(suite, test_a_hop_between_nodes_is_no_shorter_than_one_inside);
  CU_ADD_TEST(suite, test_a_full_front_is_never_shorter_than_what_it_was_given);
  CU_ADD_TEST(suite, test_ranks_wait_for_their_own_messages_only);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
