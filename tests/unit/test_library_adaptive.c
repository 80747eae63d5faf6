/** @file test_library_adaptive.c  @brief The fastest collective, and when it stops being.
 */
#include "sim/training/observed.h"
#include "tests/unit/forecast.h"
#include "tests/unit/library_bench.h"

static const Fixture cluster = { .n_nodes = 16,
                                 .n_gpus = 8,
                                 .n_nics = 1,
                                 .fabric = "nvswitch",
                                 .fabric_keys = "port_rate=240 GB/s; pcie_rate=24 GB/s" };

/* What a test says the collective named so takes of late. */
typedef struct {
  Bench bench;
  const CollOps *slow;
  double slowdown;
} SlowBench;

static const GArray *phases_of(const CollOps *collective, void *data)
{
  SlowBench *slow = data;
  return bench_phases_of(collective, &slow->bench);
}

static double slowdown_of(const CollOps *collective, double size_B G_GNUC_UNUSED,
                          void *data)
{
  const SlowBench *slow = data;
  return collective == slow->slow ? slow->slowdown : 1;
}

static const CollOps *chosen(SlowBench *slow, const void *params, double size_B)
{
  slow->bench.call.phases_of = phases_of;
  slow->bench.call.slowdown_of = slowdown_of;
  slow->bench.call.data = slow;
  return library_adaptive.choose(params, &slow->bench.call, size_B).collective;
}

/* Less than the drift of 20 % is noise; more lets another take over; the same of that one
 * does not bring the first back if it is slower still. */
static void test_another_takes_over_when_measurements_drift(void)
{
  void *params = fixture_params(&library_adaptive.info, "drift=20 %");
  SlowBench slow = { 0 };
  bench_init(&slow.bench, &cluster, true, true);
  const CollOps *first = chosen(&slow, params, 1e8);

  slow.slow = first;
  slow.slowdown = 1.19;
  CU_ASSERT_PTR_EQUAL(chosen(&slow, params, 1e8), first);
  slow.slowdown = 100;
  CU_ASSERT_PTR_NOT_EQUAL(chosen(&slow, params, 1e8), first);
  slow.slowdown = 0.5;
  CU_ASSERT_PTR_EQUAL(chosen(&slow, params, 1e8), first);
  bench_clear(&slow.bench);
  params_free(&library_adaptive.info, params);
}

static void test_nothing_that_needs_special_hardware_competes(void)
{
  void *params = fixture_params(&library_adaptive.info, "");
  SlowBench slow = { 0 };
  g_autoptr(GPtrArray) candidates = g_ptr_array_new();

  bench_init(&slow.bench, &cluster, true, true);
  library_adaptive.candidates(params, &slow.bench.call, candidates);
  CU_ASSERT(candidates->len > 3);
  CU_ASSERT_FALSE(g_ptr_array_find(candidates, &coll_in_network, NULL));
  CU_ASSERT_FALSE(g_ptr_array_find(candidates, &coll_push_pull, NULL));
  bench_clear(&slow.bench);
  params_free(&library_adaptive.info, params);
}

static double iteration_s(const char *library, guint n_values)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 16, \"node\": \"dgx_a100\", "
    "\"network\": "
    "{\"topology\": \"switch\", \"latency\": \"1 us\"}, \"transport\": {\"kind\": "
    "\"rdma\"}}, "
    "\"workload\": {\"model\": {\"name\": \"one\", \"sample\": \"x\", \"source\": "
    "\"test\", "
    "\"layers\": [{\"name\": \"l\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", "
    "\"values\": %u}]}]}, \"batch_per_gpu\": 8, \"compute\": {\"layers\": "
    "[{\"name\": \"l\", \"forward\": \"1 ms\", \"backward\": \"1 ms\"}]}}, "
    "\"strategy\": {\"name\": \"wait_free\"}, \"library\": %s, "
    "\"run\": {\"iterations\": 2, \"warmup\": 4}}",
    n_values, library);
  g_autoptr(Result) result = forecast_with(text, true);
  return result->iteration_time_s;
}

/* Alone on an idle cluster, what is predicted is what happens, or is soon corrected. */
static void test_no_single_collective_is_faster(void)
{
  static const char *const names[] = {
    "ring", "double_tree", "halving_doubling", "recursive_doubling", "hierarchical", "torus"
  };
  static const guint sizes[] = { 100, 100000, 25000000 };

  for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
    const double adaptive_s = iteration_s("{\"name\": \"adaptive\"}", sizes[s]);
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
      g_autofree char *library =
        g_strdup_printf("{\"name\": \"rules\", \"rules\": [{\"use\": \"%s\"}]}", names[i]);
      CU_ASSERT(adaptive_s <= iteration_s(library, sizes[s]) * (1 + TOL_ENGINE));
    }
  }
}

static void test_observations_are_kept_by_powers_of_two(void)
{
  g_autofree Observed *observed = observed_new();

  CU_ASSERT_EQUAL(observed_slowdown(observed, 1000), 1);
  observed_add(observed, 1000, 2);
  CU_ASSERT_EQUAL(observed_slowdown(observed, 600), 2);
  CU_ASSERT_EQUAL(observed_slowdown(observed, 1024), 1);
  observed_add(observed, 700, 1); /* the last counts half */
  CU_ASSERT_EQUAL(observed_slowdown(observed, 1000), 1.5);
  observed_add(observed, 0, 3);
  CU_ASSERT_EQUAL(observed_slowdown(observed, 0.5), 3);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library adaptive", NULL, NULL);
  CU_ADD_TEST(suite, test_another_takes_over_when_measurements_drift);
  CU_ADD_TEST(suite, test_nothing_that_needs_special_hardware_competes);
  CU_ADD_TEST(suite, test_no_single_collective_is_faster);
  CU_ADD_TEST(suite, test_observations_are_kept_by_powers_of_two);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
