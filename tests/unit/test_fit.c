/**
 * @file test_fit.c
 * @brief Laws that are known are found again, with intervals that hold them.
 *
 * CASES (make verify) asks for all 500 machines of the coverage proof; else some.
 */
#include "calibrate/fit.h"
#include "calibrate/hops.h"
#include "calibrate/sweep.h"
#include "calibrate/synthetic.h"

#include "sim/base/param.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 1e-6;

static guint n_machines(void)
{
  return getenv("CASES") != NULL ? 500 : 10;
}

static SyntheticParams machine(guint seed)
{
  SyntheticParams params = { 0 };

  param_set_defaults(backend_synthetic.info.params, &params);
  params.seed = seed;
  return params;
}

static GPtrArray *sweep(const SyntheticParams *params, const char *probe)
{
  const char *const only[] = { probe, NULL };
  SweepOptions options = SWEEP_DEFAULTS;
  Backend *backend = backend_synthetic.open(params, NULL);

  options.only = only;
  options.n_passes = 1;
  options.n_warm_up = 0;
  options.n_min = options.n_max = 7;
  GPtrArray *samples = sweep_run(&backend_synthetic, backend, &options, NULL);
  backend_synthetic.close(backend);
  return samples;
}

static Law *first_law(const GPtrArray *samples, LawForm form, const FitOptions *options)
{
  g_autoptr(GPtrArray) laws = fit_all(samples, options, NULL);

  for (guint i = 0; i < laws->len; i++)
    if (((const Law *)g_ptr_array_index(laws, i))->form == form)
      return g_ptr_array_steal_index(laws, i);
  return NULL;
}

static bool holds(const Estimate *estimate, double truth)
{
  return estimate != NULL && estimate->low <= truth && truth <= estimate->high;
}

/* Of n cases at least 93 % hold, less what n cases may scatter by: two standard deviations
 * of a share of 95 %. */
static bool is_enough(guint n_held, guint n)
{
  const double scatter = n < 500 ? 2 * sqrt(0.95 * 0.05 / n) : 0;

  return n_held >= (0.93 - scatter) * n;
}

typedef struct {
  const char *name;
  guint n_held;
  double worst; /* relative error of the value */
} Count;

static void count(Count *of, const Estimate *estimate, double truth)
{
  of->n_held += holds(estimate, truth);
  if (estimate != NULL)
    of->worst = MAX(of->worst, fabs(estimate->value / truth - 1));
}

static void check(const Count *counts, guint n_counts)
{
  for (guint i = 0; i < n_counts; i++) {
    printf("\n    %s: held %u of %u times, worst value off by %.1f %%", counts[i].name,
           counts[i].n_held, n_machines(), 100 * counts[i].worst);
    CU_ASSERT_TRUE(is_enough(counts[i].n_held, n_machines()));
  }
}

static void test_alpha_and_beta_lie_within_their_intervals(void)
{
  const FitOptions options = FIT_DEFAULTS;
  Count counts[] = { { .name = "alpha" }, { .name = "beta" } };
  guint n_single = 0;

  for (guint seed = 1; seed <= n_machines(); seed++) {
    const SyntheticParams params = machine(seed);
    g_autoptr(GPtrArray) samples = sweep(&params, "send_recv");
    g_autoptr(Law) law = first_law(samples, LAW_PIECEWISE, &options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(law);
    const guint last = law->segments->len - 1;
    n_single += last == 0;
    count(&counts[0], &g_array_index(law->segments, LawSegment, 0).alpha_s, params.alpha_s);
    count(&counts[1], &g_array_index(law->segments, LawSegment, last).s_per_unit,
          1 / params.bandwidth_Bps);
  }
  check(counts, G_N_ELEMENTS(counts));
  printf("\n    one segment: %u of %u", n_single, n_machines());
  CU_ASSERT_TRUE(n_single >= 0.9 * n_machines());
}

static void test_a_switch_of_protocols_is_found(void)
{
  const FitOptions options = FIT_DEFAULTS;
  Count counts[] = { { .name = "alpha, eager" }, { .name = "beta, rendezvous" } };
  guint n_two = 0;

  for (guint seed = 1; seed <= n_machines(); seed++) {
    SyntheticParams params = machine(seed);
    params.eager_B = 64 << 10;
    params.handshake_s = 40e-6;
    g_autoptr(GPtrArray) samples = sweep(&params, "send_recv");
    g_autoptr(Law) law = first_law(samples, LAW_PIECEWISE, &options);
    const guint last = law->segments->len - 1;
    const LawSegment *second = &g_array_index(law->segments, LawSegment, last);
    n_two += last == 1 && second->from == params.eager_B;
    count(&counts[0], &g_array_index(law->segments, LawSegment, 0).alpha_s, params.alpha_s);
    count(&counts[1], &second->s_per_unit, 1 / params.bandwidth_Bps);
  }
  check(counts, G_N_ELEMENTS(counts));
  printf("\n    two segments, cut where it is: %u of %u", n_two, n_machines());
  CU_ASSERT_TRUE(n_two >= 0.9 * n_machines());
}

static void test_hops_lie_within_their_intervals(void)
{
  const FitOptions options = { .max_segments = 1, .monotone = true };
  Count counts[] = {
    { .name = "launch" }, { .name = "intra" }, { .name = "inter" }, { .name = "beta" }
  };

  for (guint seed = 1; seed <= n_machines(); seed++) {
    const SyntheticParams params = machine(seed);
    g_autoptr(GPtrArray) samples = sweep(&params, "all_reduce");
    g_autoptr(Law) law = first_law(samples, LAW_HOPS, &options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(law);
    count(&counts[0], law_parameter(law, "launch_s"), params.launch_s);
    count(&counts[1], law_parameter(law, "intra_s"), params.intra_s);
    count(&counts[2], law_parameter(law, "inter_s"), params.inter_s);
    count(&counts[3], law_parameter(law, "net_s_per_B"), 1 / params.bandwidth_Bps);
  }
  check(counts, G_N_ELEMENTS(counts));
}

static void test_saturation_lies_within_its_intervals(void)
{
  const FitOptions options = FIT_DEFAULTS;
  Count counts[] = { { .name = "peak" }, { .name = "half" }, { .name = "sharpness" } };

  for (guint seed = 1; seed <= n_machines(); seed++) {
    const SyntheticParams params = machine(seed);
    g_autoptr(GPtrArray) samples = sweep(&params, "gemm");
    g_autoptr(Law) law = first_law(samples, LAW_SATURATION, &options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(law);
    count(&counts[0], law_parameter(law, "peak_per_s"), params.peak_flops);
    count(&counts[1], law_parameter(law, "half"), params.half_flop);
    count(&counts[2], law_parameter(law, "sharpness"), params.sharpness);
  }
  check(counts, G_N_ELEMENTS(counts));
}

/* A ring on 1, 2 and 4 nodes of 4 tells what 64 nodes take. */
static void test_hops_extrapolate_to_clusters_nobody_measured(void)
{
  const FitOptions options = FIT_DEFAULTS;
  static const double near = 0.05;
  const SyntheticParams params = machine(1);
  g_autoptr(GPtrArray) samples = sweep(&params, "all_reduce");
  g_autoptr(Law) law = first_law(samples, LAW_HOPS, &options);
  g_autoptr(Sample) cell = sample_copy(g_ptr_array_index(samples, 0));

  cell->nodes = 64;
  cell->ranks = 256;
  for (cell->size = 8; cell->size <= 1 << 30; cell->size *= 8)
    CU_ASSERT_DOUBLE_EQUAL(
      law_formula_s(law, cell->size, 256, 64) / synthetic_law_s(&params, cell), 1, near);
  CU_ASSERT_EQUAL(law->nodes_from, 1);
  CU_ASSERT_EQUAL(law->nodes_to, 4);
}

static GPtrArray *exact(const char *probe, double (*time_s)(double), guint n)
{
  GPtrArray *samples = sample_list_new();

  for (guint i = 0; i < n; i++) {
    Sample *sample = sample_new(probe);
    sample->size = 1024 << i;
    sample->median_s = time_s(sample->size);
    g_ptr_array_add(samples, sample);
  }
  return samples;
}

static double floor_and_line_s(double size)
{
  return MAX(7e-6, 1e-6 + size * 1e-10);
}

static void test_a_floor_is_told_from_a_line(void)
{
  const FitOptions options = FIT_DEFAULTS;
  g_autoptr(GPtrArray) samples = exact("cast", floor_and_line_s, 16);
  g_autoptr(Law) law = first_law(samples, LAW_FLOOR, &options);

  CU_ASSERT_PTR_NOT_NULL_FATAL(law);
  CU_ASSERT_DOUBLE_EQUAL(law_parameter(law, "floor_s")->value, 7e-6, 7e-6 * rounding);
  CU_ASSERT_DOUBLE_EQUAL(law_parameter(law, "alpha_s")->value, 1e-6, 1e-6 * 1e-3);
  CU_ASSERT_DOUBLE_EQUAL(law_parameter(law, "s_per_unit")->value, 1e-10, 1e-10 * rounding);
  CU_ASSERT_TRUE(law->fit.max < rounding);
}

static double shared_sms_s(double n_ctas)
{
  return 1e-3 / (1 - n_ctas / 1024 * 2e-4);
}

static void test_contention_is_a_share_of_the_device(void)
{
  const FitOptions options = FIT_DEFAULTS;
  g_autoptr(GPtrArray) samples = exact("contention", shared_sms_s, 6);
  g_autoptr(Law) law = first_law(samples, LAW_CONTENTION, &options);

  CU_ASSERT_PTR_NOT_NULL_FATAL(law);
  CU_ASSERT_DOUBLE_EQUAL(law_parameter(law, "idle_s")->value, 1e-3, 1e-3 * rounding);
  CU_ASSERT_DOUBLE_EQUAL(law_parameter(law, "share_per_unit")->value, 2e-4 / 1024,
                         2e-4 / 1024 * rounding);
}

static double falling_s(double size)
{
  return size == 16384 ? 30e-6 : 20e-6 + size * 1e-10;
}

static void test_knots_never_fall(void)
{
  FitOptions options = FIT_DEFAULTS;
  g_autoptr(GPtrArray) samples = exact("send_recv", falling_s, 12);

  for (guint i = 0; i < samples->len; i++)
    ((Sample *)g_ptr_array_index(samples, i))->ranks = 2;
  g_autoptr(Law) law = first_law(samples, LAW_PIECEWISE, &options);
  for (guint i = 1; i < law->knots->len; i++)
    CU_ASSERT_TRUE(g_array_index(law->knots, LawKnot, i).time_s >=
                   g_array_index(law->knots, LawKnot, i - 1).time_s);
  CU_ASSERT_TRUE(law->knots_change > 0.1);
  options.monotone = false;
  g_autoptr(Law) raw = first_law(samples, LAW_PIECEWISE, &options);
  CU_ASSERT_EQUAL(raw->knots_change, 0);
  CU_ASSERT_DOUBLE_EQUAL(law_time_s(raw, 16384, 0, 0), 30e-6, 30e-6 * rounding);
  CU_ASSERT_EQUAL(law->fit.n_outliers, 1);
}

static void test_of_two_times_the_wild_one_is_left_out(void)
{
  g_autoptr(GPtrArray) samples = sample_list_new();
  const double time_s[] = { 25e-6, 291e-6, 26e-6 };

  for (guint i = 0; i < 3; i++) {
    Sample *sample = sample_new("all_reduce");
    sample->size = 16384;
    sample->median_s = time_s[i];
    g_ptr_array_add(samples, sample);
  }
  g_autoptr(GArray) points = fit_points(samples);
  CU_ASSERT_EQUAL(points->len, 2);
}

static void test_many_points_are_thinned_out(void)
{
  g_autoptr(GPtrArray) samples = sample_list_new();

  for (guint i = 0; i < 30000; i++) {
    Sample *sample = sample_new("all_reduce");
    sample->ranks = 2;
    sample->size = 1 + i / 10; /* ten runs of each size */
    sample->median_s = 1e-5 + 1e-8 * sample->size + 1e-9 * (i % 10);
    g_ptr_array_add(samples, sample);
  }
  g_autoptr(GArray) points = fit_points(samples);
  CU_ASSERT_TRUE(points->len > 200 && points->len <= 256);
  for (guint i = 1; i < points->len; i++)
    CU_ASSERT_TRUE(g_array_index(points, LawKnot, i).size >
                   g_array_index(points, LawKnot, i - 1).size);
}

static void test_few_or_failed_points_make_a_floor_or_nothing(void)
{
  const FitOptions options = FIT_DEFAULTS;
  g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GPtrArray) samples = exact("send_recv", floor_and_line_s, 3);

  for (guint i = 0; i < samples->len; i++)
    ((Sample *)g_ptr_array_index(samples, i))->ranks = 2;
  g_autoptr(GPtrArray) none = fit_all(samples, &options, warnings);
  CU_ASSERT_EQUAL(none->len, 0);
  CU_ASSERT_EQUAL(warnings->len, 1);
  g_autoptr(GPtrArray) one = exact("launch", floor_and_line_s, 1);
  g_autoptr(Law) law = first_law(one, LAW_FLOOR, &options);
  CU_ASSERT_DOUBLE_EQUAL(law_time_s(law, 1, 0, 0), 7e-6, 1e-12);
}

static void test_the_same_seed_gives_the_same_intervals(void)
{
  FitOptions options = FIT_DEFAULTS;
  const SyntheticParams params = machine(3);
  g_autoptr(GPtrArray) samples = sweep(&params, "send_recv");
  g_autoptr(Law) a = first_law(samples, LAW_PIECEWISE, &options);
  g_autoptr(Law) b = first_law(samples, LAW_PIECEWISE, &options);

  CU_ASSERT_EQUAL(
    memcmp(a->segments->data, b->segments->data, a->segments->len * sizeof(LawSegment)), 0);
}

/* 7 ranks on 1 node, and 8 on 4: counted by hand. */
static void test_hops_are_those_of_the_algorithms(void)
{
  g_autoptr(Sample) key = sample_new("all_reduce");

  sample_set(&key->algo, "ring");
  Hops hops = hops_of(key, 700, 7, 1);
  CU_ASSERT_EQUAL(hops.intra, 12);
  CU_ASSERT_EQUAL(hops.inter, 0);
  CU_ASSERT_DOUBLE_EQUAL(hops.local_B, 1200, rounding);
  CU_ASSERT_EQUAL(hops.net_B, 0);
  hops = hops_of(key, 800, 8, 4);
  CU_ASSERT_EQUAL(hops.intra, 14 - 7);
  CU_ASSERT_EQUAL(hops.inter, 7);
  CU_ASSERT_DOUBLE_EQUAL(hops.net_B, 1400, rounding);
  CU_ASSERT_DOUBLE_EQUAL(hops.reduced_B, 700, rounding);
  sample_set(&key->algo, "tree");
  hops = hops_of(key, 800, 8, 4);
  CU_ASSERT_EQUAL(hops.intra, 2);
  CU_ASSERT_EQUAL(hops.inter, 4);
  sample_set(&key->probe, "all_gather");
  sample_set(&key->algo, "ring");
  hops = hops_of(key, 800, 8, 4);
  CU_ASSERT_EQUAL(hops.intra + hops.inter, 7);
  CU_ASSERT_EQUAL(hops.inter, 3);
  CU_ASSERT_EQUAL(hops.reduced_B, 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("fit", NULL, NULL);
  CU_ADD_TEST(suite, test_alpha_and_beta_lie_within_their_intervals);
  CU_ADD_TEST(suite, test_a_switch_of_protocols_is_found);
  CU_ADD_TEST(suite, test_hops_lie_within_their_intervals);
  CU_ADD_TEST(suite, test_saturation_lies_within_its_intervals);
  CU_ADD_TEST(suite, test_hops_extrapolate_to_clusters_nobody_measured);
  CU_ADD_TEST(suite, test_a_floor_is_told_from_a_line);
  CU_ADD_TEST(suite, test_contention_is_a_share_of_the_device);
  CU_ADD_TEST(suite, test_knots_never_fall);
  CU_ADD_TEST(suite, test_of_two_times_the_wild_one_is_left_out);
  CU_ADD_TEST(suite, test_many_points_are_thinned_out);
  CU_ADD_TEST(suite, test_few_or_failed_points_make_a_floor_or_nothing);
  CU_ADD_TEST(suite, test_the_same_seed_gives_the_same_intervals);
  CU_ADD_TEST(suite, test_hops_are_those_of_the_algorithms);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
