/** @file test_library_host.c  @brief What Gloo and Open MPI run, and how fast a thread is.
 */
#include "tests/unit/library_bench.h"

#include <CUnit/Basic.h>

static const Fixture four_nodes = { .n_nodes = 4,
                                    .n_gpus = 2,
                                    .n_nics = 1,
                                    .nic_Bps = 12.5e9,
                                    .fabric = "nvswitch",
                                    .fabric_keys =
                                      "port_rate=240 GB/s; pcie_rate=24 GB/s" };

static const CollOps *chosen(const LibraryOps *ops, const char *keys, CollKind kind,
                             guint n_ranks, double size_B)
{
  void *params = fixture_params(&ops->info, keys);
  const LibraryCall call = { .kind = kind, .n_nodes = n_ranks, .ranks_per_node = 1 };
  const CollOps *collective = ops->choose(params, &call, size_B).collective;

  params_free(&ops->info, params);
  return collective;
}

static void test_open_mpi_decides_by_size(void)
{
  static const struct {
    CollKind kind;
    guint n_ranks;
    double size_B;
    const CollOps *collective;
  } known[] = {
    { COLL_ALL_REDUCE, 8, 9999, &coll_recursive_doubling },
    { COLL_ALL_REDUCE, 8, 10000, &coll_ring },
    { COLL_ALL_REDUCE, 4000, 12000, &coll_tree }, /* 3,000 elements */
    { COLL_ALL_REDUCE, 4000, 16000, &coll_ring },
    { COLL_ALL_GATHER, 8, 49999, &coll_recursive_doubling },
    { COLL_ALL_GATHER, 8, 50000, &coll_ring },
    { COLL_BROADCAST, 8, 2047, &coll_tree },
    { COLL_ALL_TO_ALL, 8, 8 * 2999.0, &coll_direct },
    { COLL_ALL_TO_ALL, 8, 8 * 3000.0, &coll_pairwise },
  };

  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    CU_ASSERT_PTR_EQUAL(
      chosen(&library_mpi, "", known[i].kind, known[i].n_ranks, known[i].size_B),
      known[i].collective);
}

static void test_gloo_runs_rings_unless_told_otherwise(void)
{
  const LibraryOps *gloo = &library_gloo;

  CU_ASSERT_PTR_EQUAL(chosen(gloo, "", COLL_ALL_REDUCE, 8, 8), &coll_ring);
  CU_ASSERT_PTR_EQUAL(chosen(gloo, "algo=halving_doubling", COLL_ALL_REDUCE, 8, 1e9),
                      &coll_halving_doubling);
  CU_ASSERT_PTR_EQUAL(chosen(gloo, "algo=by_size", COLL_ALL_REDUCE, 8, 1000),
                      &coll_halving_doubling);
  CU_ASSERT_PTR_EQUAL(chosen(gloo, "algo=by_size", COLL_ALL_REDUCE, 8, 1e6), &coll_ring);
}

static void test_they_can_run_every_operation_at_any_size(void)
{
  static const LibraryOps *const libraries[] = { &library_gloo, &library_mpi };

  for (guint i = 0; i < G_N_ELEMENTS(libraries); i++)
    for (guint kind = 0; coll_kind_names[kind] != NULL; kind++)
      for (double size_B = 1; size_B < 1e12; size_B *= 10) {
        const CollOps *ops = chosen(libraries[i], "", (CollKind)(1u << kind), 200, size_B);
        CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
        CU_ASSERT_TRUE((ops->kinds & (1u << kind)) != 0);
      }
}

/* 2 (n - 1) / n of the message through a thread of 1 GB/s: slower than any link here. */
static void test_a_thread_limits_a_ring(void)
{
  const double size_B = 1e9;
  Bench bench;
  bench_init(&bench, &four_nodes, true, false);
  void *params = fixture_params(&library_gloo.info, "thread_rate=1 GB/s; launch=0 s");
  const LibraryChoice choice = library_gloo.choose(params, &bench.call, size_B);
  const double time_s = bench_time_s(&bench, &choice, size_B);

  CU_ASSERT_DOUBLE_EQUAL(time_s / (2 * 7.0 / 8 * size_B / 1e9), 1, 1e-3);
  params_free(&library_gloo.info, params);
  bench_clear(&bench);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library host", NULL, NULL);
  CU_ADD_TEST(suite, test_open_mpi_decides_by_size);
  CU_ADD_TEST(suite, test_gloo_runs_rings_unless_told_otherwise);
  CU_ADD_TEST(suite, test_they_can_run_every_operation_at_any_size);
  CU_ADD_TEST(suite, test_a_thread_limits_a_ring);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
