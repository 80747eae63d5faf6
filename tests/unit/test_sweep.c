/** @file test_sweep.c  @brief Order, repetitions and failures of a sweep. */
#include "calibrate/sweep.h"
#include "calibrate/synthetic.h"

#include "sim/base/param.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

/* A backend of ten cells that notes in which order they are measured. */
struct Backend {
  GArray *order; /* of sizes [count] */
  guint n_timed;
};

static GPtrArray *scripted_cells(Backend *backend G_GNUC_UNUSED)
{
  GPtrArray *cells = sample_list_new();

  for (guint i = 10; i-- > 0;) {
    Sample *cell = sample_new(i % 2 == 0 ? "even" : "odd");
    cell->size = i;
    g_ptr_array_add(cells, cell);
  }
  return cells;
}

/* Size 7 cannot be measured; size 4 is slowed down the first time it is tried. */
static bool scripted_measure(Backend *backend, const Sample *cell, double *time_s, guint n,
                             guint *flags, GError **error)
{
  const bool is_slow = cell->size == 4 && backend->n_timed == 0;

  g_array_append_val(backend->order, cell->size);
  if (cell->size == 7) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "no memory");
    return false;
  }
  for (guint i = 0; i < n; i++)
    time_s[i] = (cell->size + 1) * (is_slow ? 100 : 1);
  if (cell->size == 4)
    backend->n_timed += n;
  if (is_slow)
    *flags |= SAMPLE_THROTTLED;
  return true;
}

static const BackendOps scripted = {
  .info = { .name = "scripted" },
  .cells = scripted_cells,
  .measure = scripted_measure,
};

static GPtrArray *run_scripted(const SweepOptions *options, GArray *order, GError **error)
{
  Backend backend = { .order = order };

  return sweep_run(&scripted, &backend, options, error);
}

static GArray *order_new(void)
{
  return g_array_new(FALSE, FALSE, sizeof(double));
}

static void test_samples_come_sorted_whatever_the_order_of_measurement(void)
{
  const SweepOptions options = SWEEP_DEFAULTS;
  g_autoptr(GArray) order = order_new();
  g_autoptr(GPtrArray) samples = run_scripted(&options, order, NULL);

  CU_ASSERT_EQUAL_FATAL(samples->len, 10);
  for (guint i = 0; i < 10; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    CU_ASSERT_EQUAL(sample->size, i < 5 ? 2 * i : 2 * (i - 5) + 1);
  }
}

static void test_passes_are_shuffled_by_the_seed(void)
{
  SweepOptions options = SWEEP_DEFAULTS;
  g_autoptr(GArray) one = order_new(), same = order_new(), other = order_new();

  options.n_passes = 1;
  g_ptr_array_unref(run_scripted(&options, one, NULL));
  g_ptr_array_unref(run_scripted(&options, same, NULL));
  options.seed = 2;
  g_ptr_array_unref(run_scripted(&options, other, NULL));
  CU_ASSERT_EQUAL_FATAL(one->len, same->len);
  CU_ASSERT_EQUAL(memcmp(one->data, same->data, one->len * sizeof(double)), 0);
  CU_ASSERT_NOT_EQUAL(memcmp(one->data, other->data, one->len * sizeof(double)), 0);
}

static void test_a_cell_that_fails_is_marked_and_the_others_go_on(void)
{
  const SweepOptions options = SWEEP_DEFAULTS;
  g_autoptr(GArray) order = order_new();
  g_autoptr(GPtrArray) samples = run_scripted(&options, order, NULL);
  guint n_tries = 0;

  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    CU_ASSERT_EQUAL((sample->flags & SAMPLE_FAILED) != 0, sample->size == 7);
    CU_ASSERT_EQUAL(sample->n, sample->size == 7 ? 0 : 21);
    CU_ASSERT_EQUAL(sample->median_s, sample->size == 7 ? 0 : sample->size + 1);
  }
  for (guint i = 0; i < order->len; i++)
    n_tries += g_array_index(order, double, i) == 7;
  CU_ASSERT_EQUAL(n_tries, 1);
}

static void test_what_was_slowed_down_is_measured_again(void)
{
  SweepOptions options = SWEEP_DEFAULTS;
  const char *const only[] = { "even", NULL };
  g_autoptr(GArray) order = order_new();

  options.only = only;
  options.n_warm_up = 0;
  g_autoptr(GPtrArray) samples = run_scripted(&options, order, NULL);
  const Sample *sample = g_ptr_array_index(samples, 2);
  CU_ASSERT_EQUAL(sample->size, 4);
  CU_ASSERT_EQUAL(sample->flags, 0);
  CU_ASSERT_EQUAL(sample->median_s, 5);
  CU_ASSERT_EQUAL(sample->run_spread, 0);
}

static void test_a_probe_that_nobody_has_is_refused(void)
{
  SweepOptions options = SWEEP_DEFAULTS;
  const char *const only[] = { "evn", NULL };
  g_autoptr(GArray) order = order_new();
  g_autoptr(GError) error = NULL;

  options.only = only;
  CU_ASSERT_PTR_NULL(run_scripted(&options, order, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_USAGE));
  CU_ASSERT_STRING_EQUAL(error->message, "unknown probe 'evn'; did you mean 'even'?");
  CU_ASSERT_EQUAL(order->len, 0);
}

static bool stop_after_three(guint n_done, guint n_visits, const Sample *cell,
                             const GError *error, void *data)
{
  (void)cell, (void)error, (void)data;
  CU_ASSERT_EQUAL(n_visits, 30);
  return n_done < 3;
}

static void test_a_stopped_sweep_keeps_what_it_has(void)
{
  SweepOptions options = SWEEP_DEFAULTS;
  g_autoptr(GArray) order = order_new();

  options.progress = stop_after_three;
  g_autoptr(GPtrArray) samples = run_scripted(&options, order, NULL);
  CU_ASSERT_EQUAL(samples->len, 3);
}

/* Times without noise need no more than the least number of repetitions; noisy ones get
 * more, and their median comes near the law. */
static void test_noise_asks_for_repetitions(void)
{
  SyntheticParams params = { 0 };
  const char *const only[] = { "send_recv", NULL };
  SweepOptions options = SWEEP_DEFAULTS;
  static const double near = 0.03; /* 5 % of noise over some hundred repetitions */

  param_set_defaults(backend_synthetic.info.params, &params);
  options.only = only;
  for (guint noisy = 0; noisy < 2; noisy++) {
    params.noise = noisy ? 0.05 : 0;
    params.outliers = noisy ? 0.07 : 0;
    Backend *backend = backend_synthetic.open(&params, NULL);
    g_autoptr(GPtrArray) samples = sweep_run(&backend_synthetic, backend, &options, NULL);
    backend_synthetic.close(backend);
    const Sample *first = g_ptr_array_index(samples, 0);
    const double law_s = synthetic_law_s(&params, first);
    CU_ASSERT_EQUAL(first->n + first->n_rejected > 21, noisy);
    CU_ASSERT_DOUBLE_EQUAL(first->median_s / law_s, 1, noisy ? near : 1e-12);
    CU_ASSERT_EQUAL(first->n_rejected > 0, noisy);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("sweep", NULL, NULL);
  CU_ADD_TEST(suite, test_samples_come_sorted_whatever_the_order_of_measurement);
  CU_ADD_TEST(suite, test_passes_are_shuffled_by_the_seed);
  CU_ADD_TEST(suite, test_a_cell_that_fails_is_marked_and_the_others_go_on);
  CU_ADD_TEST(suite, test_what_was_slowed_down_is_measured_again);
  CU_ADD_TEST(suite, test_a_probe_that_nobody_has_is_refused);
  CU_ADD_TEST(suite, test_a_stopped_sweep_keeps_what_it_has);
  CU_ADD_TEST(suite, test_noise_asks_for_repetitions);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
