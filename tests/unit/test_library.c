/** @file test_library.c  @brief What rule tables choose, and what they refuse. */
#include "tests/unit/library_bench.h"

#include <CUnit/Basic.h>

static const double rounding = 1e-12;

static const Fixture dgx_a100 = {
  .n_nodes = 1,
  .n_gpus = 8,
  .fabric = "nvswitch",
  .fabric_keys = "port_rate=240 GB/s; pcie_rate=24 GB/s",
};

static void test_rules_decide_by_size(void)
{
  const LibraryOps *ops = &library_rules;
  void *params =
    fixture_params(&ops->info, "rules={up_to=1 MiB, use=hierarchical}; rules={use=ring};"
                               "launch=5 us; local_latency=1 us; net_latency=4 us");
  const LibraryCall call = {
    .kind = COLL_ALL_REDUCE, .n_nodes = 2, .ranks_per_node = 2, .message_latency_s = 3e-6
  };
  g_autoptr(GPtrArray) candidates = g_ptr_array_new();
  const LibraryChoice choice = ops->choose(params, &call, 0x1p20);

  CU_ASSERT_TRUE(ops->check(params, NULL));
  CU_ASSERT_PTR_EQUAL(choice.collective, &coll_hierarchical);
  CU_ASSERT_PTR_EQUAL(ops->choose(params, &call, 0x1p20 + 1).collective, &coll_ring);
  CU_ASSERT_DOUBLE_EQUAL(choice.launch_s, 5e-6, rounding);
  CU_ASSERT_DOUBLE_EQUAL(choice.terms.alpha_local_s, 1e-6, rounding);
  CU_ASSERT_DOUBLE_EQUAL(choice.terms.alpha_net_s, 7e-6, rounding);
  CU_ASSERT_EQUAL(choice.terms.wire_factor, 1);

  ops->candidates(params, &call, candidates);
  CU_ASSERT_EQUAL(candidates->len, 2);
  params_free(&ops->info, params);
}

static void test_rules_run_the_ring_where_theirs_cannot(void)
{
  void *params = fixture_params(&library_rules.info, "rules={use=hierarchical}");
  const LibraryCall call = { .kind = COLL_ALL_GATHER, .n_nodes = 2, .ranks_per_node = 2 };

  CU_ASSERT_PTR_EQUAL(library_rules.choose(params, &call, 1).collective, &coll_ring);
  params_free(&library_rules.info, params);
}

static void test_rules_that_make_no_sense_are_refused(void)
{
  static const struct {
    const char *keys, *message;
  } cases[] = {
    { "", "rules: at least one is needed, such as [{\"use\": \"ring\"}]" },
    { "rules={use=rnig}", "rules[0]: unknown collective 'rnig'; did you mean 'ring'?" },
    { "rules={up_to=1 MiB, use=ring}",
      "rules[0]: the last rule must be for any size: leave its up_to out" },
    { "rules={use=ring}; rules={use=ring}",
      "rules[0]: no rule behind one for any size is ever used" },
    { "rules={up_to=2 MiB, use=ring}; rules={up_to=2 MiB, use=ring}; rules={use=ring}",
      "rules[1]: up_to must be larger than that of the rule before it" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    void *params = fixture_params(&library_rules.info, cases[i].keys);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(library_rules.check(params, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_STRING_EQUAL(error->message, cases[i].message);
    params_free(&library_rules.info, params);
  }
}

static void test_every_choice_is_a_candidate(void)
{
  Bench bench;
  bench_init(&bench, &dgx_a100, true, true);

  for (guint i = 0; library_table[i] != NULL; i++) {
    const LibraryOps *ops = (const LibraryOps *)library_table[i];
    const bool has_rules = ops == &library_rules;
    void *params = fixture_params(
      &ops->info,
      has_rules ? "rules={up_to=1 kB, use=hierarchical}; rules={use=ring}" : "");
    g_autoptr(GPtrArray) candidates = g_ptr_array_new();
    ops->candidates(params, &bench.call, candidates);

    for (double size_B = 1; size_B < 1e10; size_B *= 8) {
      const LibraryChoice choice = ops->choose(params, &bench.call, size_B);
      CU_ASSERT_TRUE(g_ptr_array_find(candidates, choice.collective, NULL));
      CU_ASSERT_TRUE(choice.terms.wire_factor >= 1 && choice.launch_s >= 0);
    }
    params_free(&ops->info, params);
  }
  bench_clear(&bench);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library", NULL, NULL);
  CU_ADD_TEST(suite, test_rules_decide_by_size);
  CU_ADD_TEST(suite, test_rules_run_the_ring_where_theirs_cannot);
  CU_ADD_TEST(suite, test_rules_that_make_no_sense_are_refused);
  CU_ADD_TEST(suite, test_every_choice_is_a_candidate);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
