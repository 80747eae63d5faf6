/** @file test_library_nccl_costs.c  @brief What NCCL's parts cost can be set, each by
 * itself. */
#include "models/library/nccl.h"
#include "tests/unit/library_bench.h"

#include <CUnit/Basic.h>
#include <math.h>

static const double rounding = 1e-12;

static NcclParams params_of(const char *keys)
{
  NcclParams *params = fixture_params(&library_nccl.info, keys);
  const NcclParams copy = *params;
  params_free(&library_nccl.info, params);
  return copy;
}

static bool same(double a, double b)
{
  return fabs(a - b) <= rounding * MAX(fabs(a), fabs(b));
}

/* Two lists of one table would drift apart. */
static void test_costs_are_the_latest_releases_unless_given(void)
{
  const NcclParams params = params_of("");
  const NcclVersion *latest = nccl_latest();

  for (NcclAlgo algo = 0; algo < NCCL_N_ALGOS; algo++)
    for (NcclProto proto = 0; proto < NCCL_N_PROTOS; proto++) {
      const bool anywhere = algo == NCCL_TREE || algo == NCCL_RING;
      if (!anywhere && proto != NCCL_SIMPLE)
        continue;
      CU_ASSERT_TRUE(same(params.costs.base_s[algo][proto], latest->base_s[algo][proto]));
      for (NcclHop hop = 0; hop < NCCL_N_HOPS; hop++)
        if (anywhere || hop != NCCL_PCI) /* the others need NVSwitch, or one GPU a node */
          CU_ASSERT_TRUE(
            same(params.costs.hop_s[hop][algo][proto], latest->hop_s[hop][algo][proto]));
    }
}

static const Fixture nodes = {
  .n_nodes = 4,
  .n_gpus = 8,
  .n_nics = 8,
  .nic_Bps = 25e9,
  .fabric = "nvswitch",
  .fabric_keys = "port_rate=240 GB/s; pcie_rate=24 GB/s",
};

static double forced_s(const Bench *bench, const char *keys, double size_B)
{
  const NcclParams params = params_of(keys);
  const LibraryChoice choice = library_nccl.choose(&params, &bench->call, size_B);
  return bench_time_s(bench, &choice, size_B);
}

/* Of eight bytes: each key by itself makes its own algorithm slower, by as much as it is
 * used, and no other. */
static void test_every_cost_is_felt_where_it_is_used_and_nowhere_else(void)
{
  static const struct {
    const char *key, *used_by, *not_by;
    double n; /* times that it is waited for; NAN: whatever */
  } costs[] = {
    { "base_lat_ring_ll", "algo=ring; proto=ll", "algo=ring; proto=simple", 1 },
    { "base_lat_ring_simple", "algo=ring; proto=simple", "algo=tree; proto=simple", 1 },
    { "base_lat_tree_ll128", "algo=tree; proto=ll128", "algo=ring; proto=ll128", 1 },
    { "hw_lat_net_ring_simple", "algo=ring; proto=simple", "algo=ring; proto=ll", NAN },
    { "hw_lat_net_tree_ll", "algo=tree; proto=ll", "algo=ring; proto=ll", 4 },
    { "hw_lat_nvlink_tree_ll", "algo=tree; proto=ll", "algo=ring; proto=ll", 14 },
    { "hw_lat_nvlink_ring_ll128", "algo=ring; proto=ll128", "algo=tree; proto=ll128", NAN },
    { "hw_lat_net_ring_ll128", "algo=ring; proto=ll128", "algo=ring; proto=simple", NAN },
  };
  Bench bench;
  bench_init(&bench, &nodes, true, true);

  for (guint i = 0; i < G_N_ELEMENTS(costs); i++) {
    g_autofree char *used =
      g_strdup_printf("%s; %s=200 us", costs[i].used_by, costs[i].key);
    g_autofree char *more =
      g_strdup_printf("%s; %s=300 us", costs[i].used_by, costs[i].key);
    g_autofree char *other =
      g_strdup_printf("%s; %s=200 us", costs[i].not_by, costs[i].key);
    const double by_s = forced_s(&bench, more, 8) - forced_s(&bench, used, 8);

    CU_ASSERT_TRUE(by_s > 99e-6);
    if (isfinite(costs[i].n))
      CU_ASSERT_DOUBLE_EQUAL(by_s / 100e-6, costs[i].n, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(
      forced_s(&bench, other, 8) / forced_s(&bench, costs[i].not_by, 8), 1, rounding);
  }
  bench_clear(&bench);
}

/* 2 channels of a ring of 8 GPUs, at 1 GB/s each. */
static void test_channel_bw_bounds_few_channels(void)
{
  Fixture one = nodes;
  one.n_nodes = 1;
  Bench bench;
  bench_init(&bench, &one, true, true);

  const double size_B = 8e9;
  const double time_s =
    forced_s(&bench, "algo=ring; proto=simple; max_ctas=2; channel_bw=1 GB/s", size_B);
  CU_ASSERT_DOUBLE_EQUAL(time_s, 2 * 7.0 / 8 * size_B / 2e9, 0.01 * time_s);
  bench_clear(&bench);
}

static void test_what_a_cost_is_never_changes_what_nccl_chooses(void)
{
  Bench bench;
  bench_init(&bench, &nodes, true, true);
  const NcclParams plain = params_of("");
  const NcclParams slow = params_of("base_lat_tree_ll=1 ms; hw_lat_net_tree_ll=1 ms");

  for (double size_B = 8; size_B < 1e10; size_B *= 2) {
    const LibraryChoice a = library_nccl.choose(&plain, &bench.call, size_B);
    const LibraryChoice b = library_nccl.choose(&slow, &bench.call, size_B);
    CU_ASSERT_PTR_EQUAL(a.collective, b.collective);
    CU_ASSERT_STRING_EQUAL(a.protocol, b.protocol);
  }
  bench_clear(&bench);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library nccl costs", NULL, NULL);
  CU_ADD_TEST(suite, test_costs_are_the_latest_releases_unless_given);
  CU_ADD_TEST(suite, test_every_cost_is_felt_where_it_is_used_and_nowhere_else);
  CU_ADD_TEST(suite, test_channel_bw_bounds_few_channels);
  CU_ADD_TEST(suite, test_what_a_cost_is_never_changes_what_nccl_chooses);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
