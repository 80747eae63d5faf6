/**
 * @file test_workload.c
 * @brief Where compute time comes from, and when gradients are ready.
 */
#include "models/workload.h"
#include "tests/unit/catalogue_read.h"

#include <math.h>

/** Sums of times in another order. */
#define TOL_ROUNDING 1e-12

static const GpuSpec v100 = { .name = (char *)"v100_sxm2_16gb",
                              .memory_B = 16160ull << 20,
                              .memory_Bps = 900e9,
                              .fp32_flops = 15.7e12,
                              .fp16_flops = 125e12,
                              .n_sms = 80 };

typedef struct {
  WorkloadSpec spec;
  ComputeSpec compute;
} Case;

static Case case_of(guint batch, Precision precision)
{
  return (Case){ .spec = { .batch_per_gpu = batch,
                           .precision = precision,
                           .optimizer = OPTIMIZER_MOMENTUM } };
}

static Workload *build(const Model *model, const Case *c)
{
  g_autoptr(GError) error = NULL;
  Workload *workload = workload_new(model, &c->spec, &c->compute, &v100, &error);

  if (workload == NULL)
    CU_FAIL(error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
  return workload;
}

/* The message of a workload that is refused. Transfer: caller frees. */
static char *refusal(const Model *model, const Case *c)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Workload) workload = workload_new(model, &c->spec, &c->compute, &v100, &error);

  CU_ASSERT_PTR_NULL(workload);
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
  return g_strdup(error->message);
}

static void add_layer(Case *c, const char *name, double forward_s, double backward_s)
{
  const ComputeLayer layer = { .name = (char *)name,
                               .forward_s = forward_s,
                               .backward_s = backward_s };

  if (c->compute.layers == NULL)
    c->compute.layers = g_array_new(FALSE, TRUE, sizeof(ComputeLayer));
  g_array_append_val(c->compute.layers, layer);
}

static bool same(double a, double b)
{
  return fabs(a - b) <= TOL_ROUNDING * fmax(fabs(a), fabs(b));
}

/* ---- the sum ---------------------------------------------------------------------- */

static void test_a_measured_rate_is_the_whole_iteration(void)
{
  g_autoptr(Model) model = read_model("resnet50", 0);
  Case c = case_of(64, PRECISION_FP32);
  c.compute.samples_per_s = 370;
  g_autoptr(Workload) workload = build(model, &c);

  CU_ASSERT(same(workload_compute_s(workload), 64.0 / 370));
  CU_ASSERT(same(workload->optimizer_s, 25557032 * 20.0 / 900e9));
  CU_ASSERT(same(workload->backward_s, 2 * workload->forward_s));
  CU_ASSERT_FALSE(workload->compute_is_assumed);
  CU_ASSERT_PTR_NOT_NULL(strstr(workload->compute_source, "370 samples/s"));
}

static void test_an_efficiency_is_a_share_of_the_peak(void)
{
  g_autoptr(Model) model = read_model("resnet50", 0);
  Case c = case_of(32, PRECISION_AMP);
  c.compute.efficiency = 0.25;
  g_autoptr(Workload) workload = build(model, &c);

  CU_ASSERT(same(workload->forward_s + workload->backward_s,
                 3 * 32 * model_forward_flops(model) / (0.25 * 125e12)));
  CU_ASSERT_FALSE(workload->compute_is_assumed);
}

static void test_a_published_rate_serves_where_nothing_is_given(void)
{
  g_autoptr(Model) model = read_model("resnet50", 0);
  const Case c = case_of(128, PRECISION_FP32);
  g_autoptr(Workload) workload = build(model, &c);

  CU_ASSERT(same(workload->forward_s + workload->backward_s, 128.0 / 367));
  CU_ASSERT_FALSE(workload->compute_is_assumed);
  CU_ASSERT_PTR_NOT_NULL(strstr(workload->compute_source, "published: 367 samples/s"));
  CU_ASSERT_PTR_NOT_NULL(strstr(workload->compute_source, "DeepLearningExamples"));
}

static void test_without_any_rate_the_assumption_is_flagged(void)
{
  g_autoptr(Model) model = read_model("vgg16", 0);
  const Case c = case_of(64, PRECISION_FP32);
  g_autoptr(Workload) workload = build(model, &c);
  const double floor_s = 3 * 64 * model_forward_flops(model) / v100.fp32_flops;

  CU_ASSERT_TRUE(workload->compute_is_assumed);
  CU_ASSERT(g_str_has_prefix(workload->compute_source, "assumed: 75 %"));
  CU_ASSERT(workload_compute_s(workload) > floor_s);
  CU_ASSERT(workload_compute_s(workload) < 2 * floor_s);
}

/* At 75 % of the peak large products are usual, so that half as fast means half as fast. */
static void test_measured_products_scale_the_assumption(void)
{
  const Case c = case_of(1, PRECISION_FP32);
  g_autoptr(Model) model = read_model("vgg16", 0);
  GpuSpec usual = v100, slow = v100;
  usual.gemm_fp32_flops = 0.75 * usual.fp32_flops;
  slow.gemm_fp32_flops = usual.gemm_fp32_flops / 2;

  CU_ASSERT_DOUBLE_EQUAL(precision_kernel_flops(PRECISION_FP32, &usual),
                         precision_kernel_flops(PRECISION_FP32, &v100), 1);
  CU_ASSERT_DOUBLE_EQUAL(precision_kernel_flops(PRECISION_FP32, &slow),
                         precision_kernel_flops(PRECISION_FP32, &v100) / 2, 1);
  slow.name = (char *)"slow";
  g_autoptr(Workload) workload = workload_new(model, &c.spec, &c.compute, &slow, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
  CU_ASSERT_PTR_NOT_NULL(strstr(workload->compute_source, "37.5 %"));
  CU_ASSERT_PTR_NOT_NULL(strstr(workload->compute_source, "measured"));
}

static void test_a_measured_bandwidth_replaces_the_datasheet(void)
{
  GpuSpec gpu = v100;

  CU_ASSERT_EQUAL(gpu_memory_Bps(&gpu), 900e9);
  gpu.kernel_Bps = 790e9;
  CU_ASSERT_EQUAL(gpu_memory_Bps(&gpu), 790e9);
}

/* The assumption was fitted to the published rates: it must stay near them. */
static void test_the_assumption_agrees_with_the_published_rates(void)
{
  static const struct {
    const char *model;
    Precision precision;
    guint batch;
    double samples_per_s, tolerance;
  } rows[] = {
    { "resnet50", PRECISION_FP32, 128, 367, 0.15 },
    { "resnet50", PRECISION_AMP, 256, 1200, 0.20 },
    { "bert_large", PRECISION_FP32, 8, 39.43, 0.25 },
    { "bert_large", PRECISION_AMP, 16, 134.34, 0.40 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Model) model = read_model(rows[i].model, 0);
    const Case c = case_of(rows[i].batch, rows[i].precision);
    g_array_set_size(model->baselines, 0);
    g_autoptr(Workload) workload = build(model, &c);
    const double rate = rows[i].batch / workload_compute_s(workload);
    CU_ASSERT(fabs(rate / rows[i].samples_per_s - 1) < rows[i].tolerance);
  }
}

static void test_impossible_computing_is_refused(void)
{
  g_autoptr(Model) resnet = read_model("resnet50", 0);
  g_autoptr(Model) bare = bind_text(
    "{\"name\": \"bare\", \"layers\": [{\"name\": \"a\", \"values\": 9}]}", 0, NULL);
  Case c = case_of(1, PRECISION_BF16);
  g_autofree char *no_unit = refusal(resnet, &c);
  CU_ASSERT_STRING_EQUAL(no_unit,
                         "this GPU (v100_sxm2_16gb) has no bf16; it has fp32, amp, fp16");

  c = case_of(1, PRECISION_FP32);
  c.compute.samples_per_s = 1e6;
  g_autofree char *too_fast = refusal(resnet, &c);
  CU_ASSERT_PTR_NOT_NULL(strstr(too_fast, "the momentum optimizer alone takes"));

  c = case_of(1, PRECISION_FP32);
  c.compute.efficiency = 0.5;
  g_autofree char *no_flops = refusal(bare, &c);
  CU_ASSERT_PTR_NOT_NULL(strstr(no_flops, "states no FLOPs"));

  c = case_of(1, PRECISION_FP32);
  g_autofree char *nothing = refusal(bare, &c);
  CU_ASSERT_PTR_NOT_NULL(strstr(nothing, "give \"samples_per_s\""));

  c.compute.efficiency = 0.5;
  c.compute.samples_per_s = 5;
  g_autofree char *both = refusal(resnet, &c);
  CU_ASSERT_PTR_NOT_NULL(strstr(both, "only one of"));
}

/* ---- measured layers -------------------------------------------------------------- */

static const char three[] =
  "{\"name\": \"three\", \"layers\": ["
  "{\"name\": \"stem\", \"flops\": 1e6, \"values\": 10},"
  "{\"name\": \"g\", \"layers\": [{\"name\": \"a\", \"flops\": 3e6, \"values\": 20},"
  "                             {\"name\": \"b\", \"flops\": 1e6, \"values\": 30}]}]}";

static void test_measured_layers_and_groups_keep_their_times(void)
{
  g_autoptr(Model) model = bind_text(three, 0, NULL);
  Case c = case_of(1000, PRECISION_FP32);
  add_layer(&c, "g", 4e-3, 8e-3);
  add_layer(&c, "stem", 1e-3, 3e-3);
  g_autoptr(Workload) workload = build(model, &c);
  const LayerTime *times = &g_array_index(workload->layer_times, LayerTime, 0);

  CU_ASSERT_EQUAL_FATAL(workload->layer_times->len, 3);
  CU_ASSERT(same(times[0].forward_s, 1e-3));
  CU_ASSERT(same(times[0].backward_s, 3e-3));
  CU_ASSERT(same(times[1].forward_s + times[2].forward_s, 4e-3));
  CU_ASSERT(same(times[1].forward_s, 3e-3));
  CU_ASSERT(same(times[2].backward_s, 2e-3));
  CU_ASSERT(same(workload->forward_s, 5e-3));
  CU_ASSERT(same(workload->backward_s, 11e-3));
  g_array_unref(c.compute.layers);
}

static void test_measured_layers_must_cover_the_model_once(void)
{
  g_autoptr(Model) model = bind_text(three, 0, NULL);
  Case c = case_of(1, PRECISION_FP32);
  add_layer(&c, "stem", 1, 1);
  add_layer(&c, "g.a", 1, 1);
  g_autofree char *missing = refusal(model, &c);
  CU_ASSERT_PTR_NOT_NULL(strstr(missing, "no time for layer 'g.b'"));

  add_layer(&c, "g.b", 1, 1);
  add_layer(&c, "g.c", 1, 1);
  g_autofree char *unknown = refusal(model, &c);
  CU_ASSERT_PTR_NOT_NULL(strstr(unknown, "no layer 'g.c'"));

  g_array_index(c.compute.layers, ComputeLayer, 3).name = (char *)"stem";
  g_autofree char *twice = refusal(model, &c);
  CU_ASSERT_STRING_EQUAL(twice, "layer 'stem' was measured twice");
  g_array_unref(c.compute.layers);
}

/* ---- gradients -------------------------------------------------------------------- */

static void test_gradients_become_ready_from_the_last_layer_to_the_first(void)
{
  g_autoptr(Model) model = read_model("resnet50", 0);
  const Case c = case_of(64, PRECISION_AMP);
  g_autoptr(Workload) workload = build(model, &c);
  const guint n = workload_n_gradients(workload);

  CU_ASSERT_EQUAL_FATAL(n, 161);
  for (guint i = 0; i < n; i++) {
    const Gradient *gradient = workload_gradient(workload, i);
    CU_ASSERT_EQUAL(gradient->tensor, n - 1 - i);
    CU_ASSERT_EQUAL(gradient->size_B,
                    4.0 * (double)model_tensor(model, gradient->tensor)->n_values);
    if (i > 0)
      CU_ASSERT(gradient->ready_s >= workload_gradient(workload, i - 1)->ready_s);
  }
  CU_ASSERT(same(workload_gradient(workload, n - 1)->ready_s, workload->backward_s));
  CU_ASSERT_EQUAL(workload->gradient_B, 4.0 * 25557032);
}

/* VGG-16 keeps three quarters of its parameters in one layer near the end: they are ready
 * after a small part of backward, which size alone would not tell. */
static void test_readiness_follows_work_not_size(void)
{
  g_autoptr(Model) model = read_model("vgg16", 0);
  const Case c = case_of(64, PRECISION_FP32);
  g_autoptr(Workload) workload = build(model, &c);

  for (guint i = 0; i < workload_n_gradients(workload); i++) {
    const Gradient *gradient = workload_gradient(workload, i);
    if (gradient->size_B > 4e8)
      CU_ASSERT(gradient->ready_s < 0.1 * workload->backward_s);
  }
}

static void test_sixteen_bit_gradients_are_half_as_large(void)
{
  g_autoptr(Model) model = read_model("gpt2_small", 0);
  const Case c = case_of(8, PRECISION_FP16);
  g_autoptr(Workload) workload = build(model, &c);

  CU_ASSERT_EQUAL(workload->gradient_B, 2.0 * 124439808);
}

static void test_a_model_without_flops_is_spread_by_parameters(void)
{
  g_autoptr(Model) model = bind_text("{\"name\": \"bare\", \"layers\": ["
                                     "{\"name\": \"a\", \"values\": 1000},"
                                     "{\"name\": \"b\", \"values\": 3000}]}",
                                     0, NULL);
  Case c = case_of(1, PRECISION_FP32);
  c.compute.samples_per_s = 100;
  g_autoptr(Workload) workload = build(model, &c);

  CU_ASSERT(same(workload_gradient(workload, 0)->ready_s, 0.75 * workload->backward_s));
}

/* Three batches of 64 at 192 samples/s take a second, the optimizer's step included. */
static void test_accumulated_batches_share_one_update(void)
{
  g_autoptr(Model) model = read_model("resnet50", 0);
  Case c = case_of(64, PRECISION_FP32);
  c.spec.accumulation_steps = 3;
  c.compute.samples_per_s = 192;
  g_autoptr(Workload) workload = build(model, &c);

  CU_ASSERT(same(workload_compute_s(workload), 1));
  CU_ASSERT(
    same(3 * (workload->forward_s + workload->backward_s) + workload->optimizer_s, 1));
  CU_ASSERT_EQUAL(workload_samples(workload), 192);
}

static void test_the_keys_are_sound(void)
{
  WorkloadSpec spec = { 0 };
  ComputeSpec compute = { 0 };

  param_set_defaults(workload_params, &spec);
  param_set_defaults(compute_params, &compute);
  CU_ASSERT_EQUAL(spec.precision, PRECISION_FP32);
  CU_ASSERT_EQUAL(spec.optimizer, OPTIMIZER_MOMENTUM);
  CU_ASSERT_EQUAL(compute.jitter, 0);
  CU_ASSERT_EQUAL(compute.layers->len, 0);
  CU_ASSERT_FALSE(
    param_set(param_find(workload_params, "batch_per_gpu"), &spec, "0", NULL));
  CU_ASSERT_FALSE(
    param_set(param_find(workload_params, "batch_per_gpu"), &spec, "1000001", NULL));
  CU_ASSERT_FALSE(
    param_set(param_find(compute_params, "samples_per_s"), &compute, "-3", NULL));
  CU_ASSERT_FALSE(
    param_set(param_find(compute_params, "efficiency"), &compute, "101 %", NULL));
  param_clear(compute_params, &compute);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("workload", NULL, NULL);
  CU_ADD_TEST(suite, test_a_measured_rate_is_the_whole_iteration);
  CU_ADD_TEST(suite, test_an_efficiency_is_a_share_of_the_peak);
  CU_ADD_TEST(suite, test_a_published_rate_serves_where_nothing_is_given);
  CU_ADD_TEST(suite, test_without_any_rate_the_assumption_is_flagged);
  CU_ADD_TEST(suite, test_measured_products_scale_the_assumption);
  CU_ADD_TEST(suite, test_a_measured_bandwidth_replaces_the_datasheet);
  CU_ADD_TEST(suite, test_the_assumption_agrees_with_the_published_rates);
  CU_ADD_TEST(suite, test_impossible_computing_is_refused);
  CU_ADD_TEST(suite, test_measured_layers_and_groups_keep_their_times);
  CU_ADD_TEST(suite, test_measured_layers_must_cover_the_model_once);
  CU_ADD_TEST(suite, test_gradients_become_ready_from_the_last_layer_to_the_first);
  CU_ADD_TEST(suite, test_readiness_follows_work_not_size);
  CU_ADD_TEST(suite, test_sixteen_bit_gradients_are_half_as_large);
  CU_ADD_TEST(suite, test_a_model_without_flops_is_spread_by_parameters);
  CU_ADD_TEST(suite, test_accumulated_batches_share_one_update);
  CU_ADD_TEST(suite, test_the_keys_are_sound);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
