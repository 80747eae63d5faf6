/** @file test_library.c  @brief What NCCL and rule tables choose, and what they refuse. */
#include "models/library.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>

static const double rounding = 1e-12;

/* A cluster with every collective laid on it. */
typedef struct {
  Topology *topology;
  Group *group;
  GArray *phases[32]; /* by place in coll_table */
  LibraryCall call;
} Bench;

static const GArray *phases_of(const CollOps *collective, void *data)
{
  const Bench *bench = data;

  for (guint i = 0; coll_table[i] != NULL; i++)
    if (coll_table[i] == &collective->info)
      return bench->phases[i];
  return NULL;
}

static void bench_init(Bench *bench, const Fixture *fixture, bool nvlink, bool gpu_direct)
{
  bench->topology = fixture_topology(fixture, NULL);
  bench->group = group_new_all(bench->topology);
  const CollCall call = { .kind = COLL_ALL_REDUCE,
                          .group = bench->group,
                          .n_rails = MAX(1, fixture->n_nics) };
  for (guint i = 0; coll_table[i] != NULL; i++) {
    bench->phases[i] = coll_phases_new();
    ((const CollOps *)coll_table[i])->phases(&call, bench->topology, bench->phases[i]);
  }
  bench->call = (LibraryCall){
    .kind = COLL_ALL_REDUCE,
    .n_nodes = fixture->n_nodes,
    .ranks_per_node = fixture->n_gpus,
    .nvlink = nvlink,
    .gpu_direct = gpu_direct,
    .message_latency_s = topology_message_latency_s(bench->topology),
    .phases_of = phases_of,
    .links = topology_links(bench->topology),
    .n_links = topology_n_links(bench->topology),
    .data = bench,
  };
}

static void bench_clear(Bench *bench)
{
  for (guint i = 0; coll_table[i] != NULL; i++)
    g_array_unref(bench->phases[i]);
  group_free(bench->group);
  topology_free(bench->topology);
}

static void params_free(const ModuleInfo *info, void *params)
{
  param_clear(info->params, params);
  g_free(params);
}

static double time_s(const Bench *bench, const LibraryChoice *choice, double size_B)
{
  const GArray *phases = phases_of(choice->collective, (void *)bench);
  double sum_s = choice->launch_s;

  for (guint i = 0; i < phases->len; i++)
    sum_s +=
      coll_phase_idle_s(&g_array_index(phases, CollPhase, i), &choice->terms, size_B);
  return sum_s;
}

static const Fixture dgx_a100 = {
  .n_nodes = 1,
  .n_gpus = 8,
  .fabric = "nvswitch",
  .fabric_keys = "port_rate=240 GB/s; pcie_rate=24 GB/s",
};

/* Made with a re-implementation of NCCL's tuner for 12 channels of 20 GB/s, rounded to two
 * or three digits; its bandwidth factors 0.5 and 0.92 are our wire factors 2 and 16/15. */
static void test_nccl_repeats_its_tuner_on_one_a100_node(void)
{
  static const struct {
    double size_B, time_s, tolerance;
    const char *protocol;
  } known[] = {
    { 1 << 10, 15e-6, 0.03, "ll" },      { 256 << 10, 20e-6, 0.10, "ll" },
    { 4 << 20, 74e-6, 0.03, "ll128" },   { 64 << 20, 545e-6, 0.01, "simple" },
    { 1 << 30, 7.9e-3, 0.01, "simple" },
  };
  Bench bench;
  bench_init(&bench, &dgx_a100, true, true);
  void *params = fixture_params(&library_nccl.info, "");

  for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
    const LibraryChoice choice = library_nccl.choose(params, &bench.call, known[i].size_B);
    CU_ASSERT_STRING_EQUAL(choice.protocol, known[i].protocol);
    CU_ASSERT_DOUBLE_EQUAL(time_s(&bench, &choice, known[i].size_B) / known[i].time_s, 1,
                           known[i].tolerance);
  }
  params_free(&library_nccl.info, params);
  bench_clear(&bench);
}

static void test_nccl_takes_whichever_protocol_is_fastest(void)
{
  const Fixture fixture = { .n_nodes = 4,
                            .n_gpus = 8,
                            .n_nics = 1,
                            .nic_Bps = 12e9,
                            .fabric = "nvswitch",
                            .fabric_keys = dgx_a100.fabric_keys };
  static const char *const protocols[] = { "proto=simple", "proto=ll", "proto=ll128" };
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  void *params = fixture_params(&library_nccl.info, "");

  for (double size_B = 8; size_B < 1e10; size_B *= 4) {
    const LibraryChoice chosen = library_nccl.choose(params, &bench.call, size_B);
    for (guint i = 0; i < G_N_ELEMENTS(protocols); i++) {
      void *forced = fixture_params(&library_nccl.info, protocols[i]);
      const LibraryChoice other = library_nccl.choose(forced, &bench.call, size_B);
      CU_ASSERT_STRING_EQUAL(other.protocol, protocols[i] + strlen("proto="));
      CU_ASSERT_TRUE(time_s(&bench, &chosen, size_B) <= time_s(&bench, &other, size_B));
      params_free(&library_nccl.info, forced);
    }
  }
  params_free(&library_nccl.info, params);
  bench_clear(&bench);
}

static bool uses_ll128(const Fixture *fixture, bool nvlink, bool gpu_direct)
{
  Bench bench;
  bench_init(&bench, fixture, nvlink, gpu_direct);
  void *params = fixture_params(&library_nccl.info, "");
  bool found = false;

  for (double size_B = 8; size_B < 1e10; size_B *= 2) {
    const LibraryChoice choice = library_nccl.choose(params, &bench.call, size_B);
    found = found || strcmp(choice.protocol, "ll128") == 0;
  }
  params_free(&library_nccl.info, params);
  bench_clear(&bench);
  return found;
}

static void test_nccl_uses_ll128_only_where_128_bytes_arrive_whole(void)
{
  Fixture nodes = dgx_a100;
  nodes.n_nodes = 2;
  nodes.n_nics = 8;
  nodes.nic_Bps = 25e9;

  CU_ASSERT_TRUE(uses_ll128(&dgx_a100, true, false));
  CU_ASSERT_FALSE(uses_ll128(&dgx_a100, false, true));
  CU_ASSERT_TRUE(uses_ll128(&nodes, true, true));
  CU_ASSERT_FALSE(uses_ll128(&nodes, true, false));
}

static LibraryChoice nccl_choice(const LibraryCall *call, const char *keys)
{
  void *params = fixture_params(&library_nccl.info, keys);
  const LibraryChoice choice = library_nccl.choose(params, call, 1e6);
  params_free(&library_nccl.info, params);
  return choice;
}

static void test_nccl_hops_cost_what_its_table_says(void)
{
  LibraryCall call = { .n_nodes = 1, .ranks_per_node = 8, .nvlink = true };
  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=ll").terms.alpha_local_s, 0.6e-6,
                         rounding);
  call.nvlink = false;
  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=simple").terms.alpha_local_s, 5.7e-6,
                         rounding);

  /* Between nodes the network thread may be slower than NVLink: 1 us, three for Simple. */
  call.nvlink = true;
  call.n_nodes = 2;
  call.message_latency_s = 0.82e-6; /* InfiniBand's, which the table contains */
  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=ll").terms.alpha_local_s, 1e-6,
                         rounding);
  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=simple").terms.alpha_local_s, 3.4e-6,
                         rounding);
  CU_ASSERT_DOUBLE_EQUAL(
    nccl_choice(&call, "proto=simple; net_overhead=2 us").terms.alpha_local_s, 6e-6,
    rounding);

  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=ll").terms.alpha_net_s, 2.7e-6,
                         rounding);
  call.ranks_per_node = 1;
  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=ll").terms.alpha_net_s, 5e-6, rounding);
}

static void test_nccl_adds_only_what_a_transport_takes_beyond_infiniband(void)
{
  LibraryCall call = { .n_nodes = 2, .ranks_per_node = 8, .message_latency_s = 0.82e-6 };
  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=simple").terms.alpha_net_s, 14e-6,
                         rounding);
  call.message_latency_s = 20.82e-6;
  CU_ASSERT_DOUBLE_EQUAL(nccl_choice(&call, "proto=simple").terms.alpha_net_s, 34e-6,
                         rounding);
}

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
  CU_ADD_TEST(suite, test_nccl_repeats_its_tuner_on_one_a100_node);
  CU_ADD_TEST(suite, test_nccl_takes_whichever_protocol_is_fastest);
  CU_ADD_TEST(suite, test_nccl_uses_ll128_only_where_128_bytes_arrive_whole);
  CU_ADD_TEST(suite, test_nccl_hops_cost_what_its_table_says);
  CU_ADD_TEST(suite, test_nccl_adds_only_what_a_transport_takes_beyond_infiniband);
  CU_ADD_TEST(suite, test_rules_decide_by_size);
  CU_ADD_TEST(suite, test_rules_run_the_ring_where_theirs_cannot);
  CU_ADD_TEST(suite, test_rules_that_make_no_sense_are_refused);
  CU_ADD_TEST(suite, test_every_choice_is_a_candidate);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
