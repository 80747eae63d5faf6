/**
 * @file test_every_strategy.c
 * @brief What holds for each strategy of the registry, so that a new one is not forgotten.
 */
#include "models/strategy.h"
#include "sim/base/registry.h"
#include "tests/unit/forecast.h"

#include <math.h>

/* Six layers, twelve tensors, of which half are tiny. */
#define SEVERAL_TENSORS                                                                    \
  "{\"name\": \"several\", \"sample\": \"x\", \"source\": \"test\", \"layers\": "          \
  "[{\"repeat\": 6, \"name\": \"b.{i}\", \"layers\": [{\"name\": \"l\", \"flops\": 1000, " \
  "\"tensors\": [{\"name\": \"w\", \"values\": 3000000}, {\"name\": \"b\", \"values\": "   \
  "300}]}]}]}"

#define STRAGGLERS                                                                         \
  "\"stragglers\": [{\"node\": 1, \"slowdown\": 1.5}, {\"node\": 0, \"slowdown\": 1.1}],"

#define MIXED                                                                              \
  "\"other_nodes\": [{\"nodes\": 2, \"node\": {\"base\": \"pcie_2\", \"gpu\": "            \
  "\"a100_pcie_40gb\"}, \"nic\": {\"rate\": \"50 Gbit/s\"}}],"

#define OTHER_GPUS                                                                         \
  ", \"other_gpus\": [{\"gpu\": \"a100_pcie_40gb\", \"samples_per_s\": 1500}]"

static bool has_key(const ModuleInfo *strategy, const char *key)
{
  for (const ParamSpec *row = strategy->params; row != NULL && row->key != NULL; row++)
    if (strcmp(row->key, key) == 0)
      return true;
  return false;
}

/* Strategies by their defaults; where there are servers also with @p n_servers. */
static char *scenario_of(const ModuleInfo *strategy, guint n_servers, guint n_nodes,
                         const char *uneven)
{
  g_autofree char *servers =
    n_servers > 0 ? g_strdup_printf(", \"servers\": %u", n_servers) : g_strdup("");

  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"pcie_2\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\"}, %s "
    "\"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 3, "
    "\"oversubscription\": 2}, \"transport\": {\"kind\": \"tcp\"}}, "
    "\"workload\": {\"model\": " SEVERAL_TENSORS
    ", \"batch_per_gpu\": 64, \"compute\": {\"samples_per_s\": 1000 %s}}, "
    "\"library\": {\"name\": \"nccl\", \"algo\": \"ring\"}, "
    "\"strategy\": {\"name\": \"%s\"%s}, \"run\": {\"iterations\": 3, \"warmup\": 2}}",
    n_nodes, uneven, strstr(uneven, "other_nodes") != NULL ? OTHER_GPUS : "",
    strategy->name, servers);
}

static void check_stages(const Result *folded, const Result *explicit)
{
  CU_ASSERT_EQUAL_FATAL(folded->stages->len, explicit->stages->len);
  for (guint i = 0; i < explicit->stages->len; i++)
    CU_ASSERT_DOUBLE_EQUAL(g_array_index(folded->stages, StageUse, i).busy_s,
                           g_array_index(explicit->stages, StageUse, i).busy_s,
                           TOL_ENGINE * explicit->iteration_time_s);
  CU_ASSERT_EQUAL_FATAL(folded->links->len, explicit->links->len);
  for (guint i = 0; i < explicit->links->len; i++)
    CU_ASSERT_DOUBLE_EQUAL(g_array_index(folded->links, LinkUse, i).mean,
                           g_array_index(explicit->links, LinkUse, i).mean, TOL_ENGINE);
  CU_ASSERT_EQUAL(folded->path->len, explicit->path->len);
}

/* Without a timeline, which would have every iteration simulated. */
static Result *forecast_untraced(const char *text, bool fold)
{
  return result_of(forecast_configured(text, &(TrainingConfig){ .fold = fold }));
}

/* Everything that a run measures: folded, with iterations that are copies left out, against
 * every flow of every iteration. */
static void check_folds(const char *text)
{
  g_autoptr(Result) folded = forecast_untraced(text, true);
  g_autoptr(Result) explicit = forecast_untraced(text, false);
  const double time_s = TOL_ENGINE * explicit->iteration_time_s;

  CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s, explicit->iteration_time_s, time_s);
  CU_ASSERT_DOUBLE_EQUAL(folded->compute_time_s, explicit->compute_time_s, time_s);
  CU_ASSERT_DOUBLE_EQUAL(folded->comm_busy_share, explicit->comm_busy_share, TOL_ENGINE);
  CU_ASSERT_EQUAL(folded->units_per_iteration, explicit->units_per_iteration);
  CU_ASSERT_DOUBLE_EQUAL(folded->latency_p50_s, explicit->latency_p50_s, time_s);
  CU_ASSERT_DOUBLE_EQUAL(folded->latency_p95_s, explicit->latency_p95_s, time_s);
  CU_ASSERT_DOUBLE_EQUAL(folded->latency_p99_s, explicit->latency_p99_s, time_s);
  CU_ASSERT(folded->comm_busy_share > 0);
  check_stages(folded, explicit);
}

/* 2 to 24 nodes: the largest for one strategy at a time, as explicit flows take long. */
static void test_every_strategy_folds_with_stragglers_and_mixed_gpus(void)
{
  static const char *const uneven[] = { "", STRAGGLERS, MIXED, STRAGGLERS MIXED };
  guint n_seen = 0;

  for (guint i = 0; strategy_table[i] != NULL; i++) {
    const ModuleInfo *strategy = strategy_table[i];
    const guint n_servers = has_key(strategy, "servers") ? 2 : 0;
    for (guint u = 0; u < G_N_ELEMENTS(uneven); u++) {
      g_autofree char *text =
        scenario_of(strategy, n_servers, 2 + (i + 3 * u) % 7, uneven[u]);
      check_folds(text);
    }
    if (n_servers > 0) {
      g_autofree char *text = scenario_of(strategy, 0, 6, STRAGGLERS);
      check_folds(text);
    }
    g_autofree char *large = scenario_of(strategy, n_servers, 24, "");
    check_folds(large);
    n_seen++;
  }
  CU_ASSERT(n_seen >= 14);
}

/* Another job keeps its own time, and begins in the midst: no iteration is a copy of the
 * one before. */
static void test_iterations_beside_another_job_are_not_copies(void)
{
  static const char *const names[] = { "wait_free", "none", "byteps" };

  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autoptr(GError) error = NULL;
    const ModuleInfo *strategy =
      registry_find("strategy", strategy_table, names[i], &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(strategy);
    g_autofree char *text = scenario_of(
      strategy, 0, 4,
      "\"other_jobs\": [{\"nodes\": 4, \"first_node\": 0, \"bytes\": \"20 MB\", "
      "\"every\": \"37 ms\", \"from\": \"0.25 s\"}],");
    check_folds(text);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("every strategy", NULL, NULL);
  CU_ADD_TEST(suite, test_every_strategy_folds_with_stragglers_and_mixed_gpus);
  CU_ADD_TEST(suite, test_iterations_beside_another_job_are_not_copies);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
