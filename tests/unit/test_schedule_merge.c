/**
 * @file test_schedule_merge.c
 * @brief MG-WFBP's groups, by hand and against every other way to merge.
 */
#include "sim/base/rng.h"
#include "sim/base/stats.h"
#include "tests/unit/schedule_run.h"

#include <CUnit/Basic.h>

/* Sums of a few times [s]. */
#define TOL_S 1e-12

/* a = 1 ms, b = 1 ms/MB */
static const AllReduceCost cost = { .startup_s = 1e-3, .s_per_B = 1e-9 };

static Workload *workload_at(const double *ready_s, const double *sizes_B, guint n)
{
  Workload *workload = workload_of(sizes_B, n);

  for (guint i = 0; i < n; i++)
    g_array_index(workload->gradients, Gradient, i).ready_s = ready_s[i];
  return workload;
}

static void check_groups(const double *ready_ms, const double *sizes_MB, guint n,
                         const guint32 *expected, guint n_expected)
{
  double ready_s[8], sizes_B[8];

  for (guint i = 0; i < n; i++) {
    ready_s[i] = ready_ms[i] * 1e-3;
    sizes_B[i] = sizes_MB[i] * 1e6;
  }
  Workload *workload = workload_at(ready_s, sizes_B, n);
  g_autoptr(GArray) ends = schedule_merge(workload, &cost);
  CU_ASSERT_EQUAL_FATAL(ends->len, n_expected);
  for (guint g = 0; g < n_expected; g++)
    CU_ASSERT_EQUAL(g_array_index(ends, guint32, g), expected[g]);
  workload_release(workload);
}

/* 0 could leave at 1; 1 is ready at 1.5, half a startup later: together from 1.5 to 5.5. 2
 * is ready at 3, too late to wait for and before the wire is free: alone, 5.5 to 7.5. 3 is
 * ready at 9, long after; 4 at 9.2. */
static void test_a_gradient_waits_for_the_next_if_that_takes_less_than_a_startup(void)
{
  check_groups((const double[]){ 1, 1.5, 3, 9, 9.2 }, (const double[]){ 2, 1, 1, 1, 1 }, 5,
               (const guint32[]){ 2, 3, 5 }, 3);
}

/* 0 has the wire from 1 to 12; whatever gets ready meanwhile goes together. */
static void test_what_waits_for_the_wire_is_merged(void)
{
  check_groups((const double[]){ 1, 2, 2.5, 3 }, (const double[]){ 10, 1, 1, 1 }, 4,
               (const guint32[]){ 1, 4 }, 2);
}

/* 0 would be done at 1.6 (b = 0.1 MB), and 1 is ready just before and just after. */
static void test_a_gradient_that_is_done_before_the_next_is_ready_goes_alone(void)
{
  const AllReduceCost quick = { .startup_s = 1e-3, .s_per_B = 0 };
  const double sizes_B[] = { 1e6, 1e6 };
  Workload *before = workload_at((const double[]){ 0, 0.99e-3 }, sizes_B, 2);
  Workload *after = workload_at((const double[]){ 0, 1.01e-3 }, sizes_B, 2);
  g_autoptr(GArray) one = schedule_merge(before, &quick);
  g_autoptr(GArray) two = schedule_merge(after, &quick);

  CU_ASSERT_EQUAL(one->len, 1);
  CU_ASSERT_EQUAL(two->len, 2);
  workload_release(before);
  workload_release(after);
}

/* When the last transfer ends if gradient i is merged into the next for each bit i set. */
static double end_s(const Workload *workload, guint merged)
{
  const guint n = workload_n_gradients(workload);
  double free_s = 0, group_B = 0;

  for (guint i = 0; i < n; i++) {
    const Gradient *gradient = workload_gradient(workload, i);
    group_B += gradient->size_B;
    if (i + 1 < n && merged >> i & 1)
      continue;
    free_s = MAX(free_s, gradient->ready_s) + cost.startup_s + group_B * cost.s_per_B;
    group_B = 0;
  }
  return free_s;
}

static guint merged_by_rule(const Workload *workload)
{
  g_autoptr(GArray) ends = schedule_merge(workload, &cost);
  guint merged = (1u << workload_n_gradients(workload)) - 1;

  for (guint g = 0; g < ends->len; g++)
    merged &= ~(1u << (g_array_index(ends, guint32, g) - 1));
  return merged;
}

/* Looking one gradient ahead, the rule misses the best of all ways now and then. */
static void test_merging_never_ends_later_than_not_and_mostly_soonest(void)
{
  const guint n_trials = 300;
  g_autoptr(Rng) rng = rng_stream(3, "test_schedule_merge");
  guint n_best = 0;

  for (guint trial = 0; trial < n_trials; trial++) {
    const guint n = 2 + rng_below(rng, 8);
    double ready_s[10], sizes_B[10], best_s = G_MAXDOUBLE;
    for (guint i = 0; i < n; i++) {
      ready_s[i] = rng_below(rng, 20000) * 1e-6;
      sizes_B[i] = 1 + rng_below(rng, 3000000);
    }
    stats_sort(ready_s, n);
    Workload *workload = workload_at(ready_s, sizes_B, n);
    for (guint merged = 0; merged < 1u << (n - 1); merged++)
      best_s = MIN(best_s, end_s(workload, merged));
    const double rule_s = end_s(workload, merged_by_rule(workload));
    CU_ASSERT(rule_s <= end_s(workload, 0) + TOL_S);
    n_best += rule_s <= best_s + TOL_S;
    workload_release(workload);
  }
  CU_ASSERT(n_best > n_trials * 3 / 4);
}

static void test_a_group_leaves_with_its_last_gradient(void)
{
  const double ready_s[] = { 1e-3, 1.5e-3, 3e-3 }, sizes_B[] = { 2e6, 1e6, 1e6 };
  Workload *workload = workload_at(ready_s, sizes_B, 3);
  const MergeRule rule = { .known = false };
  void *state = schedule_merged.new(&rule, workload);
  schedule_merged.learn(state, &cost);
  g_auto(ScheduleRun) run = schedule_run(&schedule_merged, state, 0, 0, NULL, ready_s, 3);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, 2);
  CU_ASSERT_EQUAL(schedule_run_size_B(&run, 0), 3e6);
  CU_ASSERT_EQUAL(schedule_run_sent(&run, 0)->sent_s, 1.5e-3);
  CU_ASSERT_EQUAL(schedule_run_sent(&run, 2)->sent_s, 3e-3);
  schedule_merged.free(state);
  workload_release(workload);
}

static void test_given_constants_are_not_learnt_anew(void)
{
  const double ready_s[] = { 0, 0.5e-3 }, sizes_B[] = { 1e6, 1e6 };
  Workload *workload = workload_at(ready_s, sizes_B, 2);
  const MergeRule rule = { .known = true };
  void *state = schedule_merged.new(&rule, workload);
  schedule_merged.learn(state, &cost);
  g_auto(ScheduleRun) run = schedule_run(&schedule_merged, state, 0, 0, NULL, ready_s, 2);

  CU_ASSERT_EQUAL(run.sizes_B->len, 2);
  schedule_merged.free(state);
  workload_release(workload);
}

/* What the plan for ready_s and sizes_B sends, in order; units of pieces say so. */
static void check_plan(const double *ready_s, const double *sizes_B, guint n,
                       const double *expected_B, guint n_expected)
{
  Workload *workload = workload_at(ready_s, sizes_B, n);
  const MergeRule rule = { .known = true, .cost = cost };
  void *state = schedule_predictive.new(&rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_predictive, state, 0, 0, NULL, ready_s, n);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, n_expected);
  for (guint i = 0; i < n_expected; i++)
    CU_ASSERT_DOUBLE_EQUAL(schedule_run_size_B(&run, i), expected_B[i], 1e-3);
  schedule_predictive.free(state);
  workload_release(workload);
}

/* The second gradient is the more urgent: it is ready at 4 ms. Until then the first sends
 * 3 MB, which take 1 + 3 ms; then the second, then what is left of the first. */
static void test_a_transfer_is_cut_where_a_more_urgent_one_gets_ready(void)
{
  check_plan((const double[]){ 0, 4e-3 }, (const double[]){ 10e6, 2e6 }, 2,
             (const double[]){ 3e6, 2e6, 7e6 }, 3);
}

/* Ready at 0.5 ms: a piece that ended then would be nothing but startup. The least is one
 * startup's worth of bytes. Ready at 10.5 ms: 11 ms is not worth a cut. */
static void test_no_cut_makes_a_piece_of_less_than_two_startups(void)
{
  check_plan((const double[]){ 0, 0.5e-3 }, (const double[]){ 10e6, 2e6 }, 2,
             (const double[]){ 1e6, 2e6, 9e6 }, 3);
  check_plan((const double[]){ 0, 10.5e-3 }, (const double[]){ 10e6, 2e6 }, 2,
             (const double[]){ 10e6, 2e6 }, 2);
}

/* While the first is on the wire three small ones get ready: the most urgent of them takes
 * the others along, since each adds less than a startup. */
static void test_small_ones_join_the_more_urgent(void)
{
  check_plan((const double[]){ 0, 9.5e-3, 9.6e-3, 9.7e-3 },
             (const double[]){ 10e6, 0.1e6, 0.2e6, 0.3e6 }, 4,
             (const double[]){ 8.5e6, 0.1e6, 0.5e6, 1.5e6 }, 4);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("merge", NULL, NULL);
  CU_ADD_TEST(suite, test_a_gradient_waits_for_the_next_if_that_takes_less_than_a_startup);
  CU_ADD_TEST(suite, test_what_waits_for_the_wire_is_merged);
  CU_ADD_TEST(suite, test_a_gradient_that_is_done_before_the_next_is_ready_goes_alone);
  CU_ADD_TEST(suite, test_merging_never_ends_later_than_not_and_mostly_soonest);
  CU_ADD_TEST(suite, test_a_group_leaves_with_its_last_gradient);
  CU_ADD_TEST(suite, test_given_constants_are_not_learnt_anew);
  CU_ADD_TEST(suite, test_a_transfer_is_cut_where_a_more_urgent_one_gets_ready);
  CU_ADD_TEST(suite, test_no_cut_makes_a_piece_of_less_than_two_startups);
  CU_ADD_TEST(suite, test_small_ones_join_the_more_urgent);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
