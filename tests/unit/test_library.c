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
  LibraryPlace place = { 0 };

  CU_ASSERT_TRUE(ops->check(params, &place, NULL));
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

/* Whoever asks is told before anything runs. */
static void test_rules_have_no_candidate_for_an_operation_that_none_does_at_every_size(void)
{
  static const struct {
    const char *keys;
    CollKind kind;
    guint n_candidates;
  } cases[] = {
    { "rules={use=hierarchical}", COLL_ALL_GATHER, 0 },
    { "rules={use=hierarchical}", COLL_ALL_REDUCE, 1 },
    { "rules={up_to=1 MiB, use=recursive_doubling}; rules={use=double_tree}",
      COLL_ALL_GATHER, 0 },
    { "rules={up_to=1 MiB, use=recursive_doubling}; rules={use=double_tree}",
      COLL_ALL_REDUCE, 2 },
    { "rules={operation=all_reduce, use=ring}; rules={operation=broadcast, use=tree}",
      COLL_ALL_GATHER, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    void *params = fixture_params(&library_rules.info, cases[i].keys);
    const LibraryCall call = { .kind = cases[i].kind, .n_nodes = 2, .ranks_per_node = 2 };
    g_autoptr(GPtrArray) candidates = g_ptr_array_new();
    library_rules.candidates(params, &call, candidates);
    CU_ASSERT_EQUAL(candidates->len, cases[i].n_candidates);
    params_free(&library_rules.info, params);
  }
}

static void test_rules_may_be_for_one_operation(void)
{
  void *params = fixture_params(
    &library_rules.info,
    "rules={operation=all_gather, use=ring}; rules={up_to=1 MiB, operation=all_reduce,"
    "use=recursive_doubling}; rules={operation=all_reduce, use=double_tree};"
    "rules={use=tree}");
  LibraryPlace place = { 0 };
  LibraryCall call = { .kind = COLL_ALL_GATHER, .n_nodes = 2, .ranks_per_node = 2 };

  CU_ASSERT_TRUE(library_rules.check(params, &place, NULL));
  CU_ASSERT_PTR_EQUAL(library_rules.choose(params, &call, 1).collective, &coll_ring);
  call.kind = COLL_ALL_REDUCE;
  CU_ASSERT_PTR_EQUAL(library_rules.choose(params, &call, 1).collective,
                      &coll_recursive_doubling);
  CU_ASSERT_PTR_EQUAL(library_rules.choose(params, &call, 1e9).collective,
                      &coll_double_tree);
  call.kind = COLL_BROADCAST;
  CU_ASSERT_PTR_EQUAL(library_rules.choose(params, &call, 1e9).collective, &coll_tree);
  params_free(&library_rules.info, params);
}

static void test_rules_that_make_no_sense_are_refused(void)
{
  static const struct {
    const char *keys;
    guint index;
    const char *message;
  } cases[] = {
    { "", LIBRARY_NO_ELEMENT, "at least one is needed, such as [{\"use\": \"ring\"}]" },
    { "rules={use=rnig}", 0, "unknown collective 'rnig'; did you mean 'ring'?" },
    { "rules={operation=all_to_all, use=ring}", 0,
      "ring cannot do all_to_all; those that can: pairwise, direct" },
    { "rules={up_to=1 MiB, use=ring}", 0,
      "the last rule must be for any size: leave its up_to out" },
    { "rules={use=ring}; rules={use=ring}", 1,
      "is never used: a rule before it is for any size" },
    { "rules={operation=all_reduce, use=ring}; rules={use=torus}", 1,
      "is never used: a rule before it is for any size" },
    { "rules={up_to=2 MiB, use=ring}; rules={up_to=2 MiB, use=ring}; rules={use=ring}", 1,
      "up_to must be larger than that of the rule before it" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    void *params = fixture_params(&library_rules.info, cases[i].keys);
    LibraryPlace place = { 0 };
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(library_rules.check(params, &place, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_STRING_EQUAL(error->message, cases[i].message);
    CU_ASSERT_STRING_EQUAL(place.key, "rules");
    CU_ASSERT_EQUAL(place.index, cases[i].index);
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
  CU_ADD_TEST(suite,
              test_rules_have_no_candidate_for_an_operation_that_none_does_at_every_size);
  CU_ADD_TEST(suite, test_rules_may_be_for_one_operation);
  CU_ADD_TEST(suite, test_rules_that_make_no_sense_are_refused);
  CU_ADD_TEST(suite, test_every_choice_is_a_candidate);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
