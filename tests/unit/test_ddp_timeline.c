/**
 * @file test_ddp_timeline.c
 * @brief DDP's buckets, one after another on one stream: the whole chain against its
 * recurrence.
 *
 *     a(b) = max(r(b), a(b - 1)) + A(S(b))
 *     e(b) = max(a(b), e(b - 1)) + T(S(b))
 *     iteration = forward + max(backward, e(last)) + optimizer
 *
 * r(b) is when backward has the bucket's gradients, A what dividing them by the number of
 * workers takes, T an all-reduce. PyTorch reducer.cpp: buckets leave in
 * the order of their numbers, on one stream of NCCL.
 */
#include "tests/unit/forecast.h"

#define N_LAYERS 5

/* Sums of some ten simulated times of less than a second [s]. */
#define TOL_S 1e-8

/* In the order of the model; backward is the other way round. */
typedef struct {
  guint n_layers;
  guint values[N_LAYERS]; /* of each layer's tensor, which fills a bucket */
  guint backward_ms[N_LAYERS];
} Case;

static char *scenario_of(const Case *it)
{
  g_autoptr(GString) layers = g_string_new(NULL);
  g_autoptr(GString) times = g_string_new(NULL);

  for (guint i = 0; i < it->n_layers; i++) {
    const char *comma = i == 0 ? "" : ", ";
    g_string_append_printf(layers,
                           "%s{\"name\": \"l%u\", \"flops\": 1, \"tensors\": [{\"name\": "
                           "\"w\", \"values\": %u}]}",
                           comma, i, it->values[i]);
    g_string_append_printf(
      times, "%s{\"name\": \"l%u\", \"forward\": \"10 ms\", \"backward\": \"%u ms\"}",
      comma, i, it->backward_ms[i]);
  }
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 4, \"node\": \"pcie_1\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\"}, \"network\": {\"topology\": \"switch\", \"latency\": "
    "\"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"some\", \"sample\": \"x\", \"source\": "
    "\"test\", \"layers\": [%s]}, \"batch_per_gpu\": 8, \"compute\": {\"gpu_spread\": \"0 "
    "%%\", \"layers\": [%s]}}, \"strategy\": {\"name\": \"ddp\", \"bucket_cap_mb\": 1, "
    "\"gradient_as_bucket_view\": true, \"broadcast_buffers\": false, \"kernel_launch\": "
    "\"0 s\"}, \"library\": %s, \"run\": {\"iterations\": 2, \"warmup\": 2}}",
    layers->str, times->str, RULES("ring", "0 s", "1 us"));
}

static Result *run(const Case *it)
{
  g_autofree char *text = scenario_of(it);
  return forecast_with(text, true);
}

/* A(S) reads and writes the memory of pcie_1's GPU, 900 GB/s. */
static double average_s(guint n_values)
{
  return 2 * 4.0 * n_values / 900e9;
}

/* A(S) + T(S) of a bucket of so many values: what it adds when it is alone. */
static double bucket_s(guint n_values)
{
  const Case alone = { 1, { n_values }, { 1 } };
  g_autoptr(Result) result = run(&alone);
  return result->iteration_time_s - result->compute_time_s;
}

/* What communication adds to an iteration. */
static double exposed_s(const Case *it)
{
  double ready_s = 0, averaged_s = 0, end_s = 0;

  for (guint i = it->n_layers; i-- > 0;) {
    ready_s += it->backward_ms[i] * 1e-3;
    averaged_s = MAX(ready_s, averaged_s) + average_s(it->values[i]);
    end_s = MAX(averaged_s, end_s) + bucket_s(it->values[i]) - average_s(it->values[i]);
  }
  return MAX(0, end_s - ready_s);
}

static void test_buckets_follow_one_another_and_hide_behind_backward(void)
{
  static const Case cases[] = {
    /* all wait for the wire; none does; some do */
    { 3, { 8000000, 9000000, 10000000 }, { 1, 1, 1 } },
    { 3, { 600000, 700000, 800000 }, { 40, 50, 60 } },
    { 5, { 1000000, 12000000, 500000, 20000000, 400000 }, { 20, 30, 1, 5, 50 } },
    { 4, { 400000, 25000000, 25000000, 400000 }, { 100, 5, 5, 5 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(Result) result = run(&cases[i]);
    CU_ASSERT_EQUAL(result->units_per_iteration, cases[i].n_layers);
    CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s - result->compute_time_s,
                           exposed_s(&cases[i]), TOL_S);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("DDP's timeline", NULL, NULL);
  CU_ADD_TEST(suite, test_buckets_follow_one_another_and_hide_behind_backward);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
