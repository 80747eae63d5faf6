/**
 * @file test_strategy.c
 * @brief Laws that every strategy obeys, and what the real systems' rules come to.
 */
#include "models/strategy.h"
#include "sim/base/param.h"
#include "sim/base/rng.h"
#include "sim/base/stats.h"
#include "tests/unit/schedule_run.h"

#include <CUnit/Basic.h>
#include <string.h>

#define MIB_B (1024.0 * 1024.0)
/* A few roundings of doubles. */
#define TOL_ROUNDING 1e-12

static const GpuSpec gpu_1TBps = { .memory_Bps = 1e12 };

/* Parameters of @p info: defaults, then "key=value" from @p settings (NULL-terminated). */
static void *params_of(const ModuleInfo *info, const char *const *settings)
{
  void *params = g_malloc0(info->params_size);

  param_set_defaults(info->params, params);
  for (; settings != NULL && *settings != NULL; settings++) {
    g_auto(GStrv) parts = g_strsplit(*settings, "=", 2);
    const ParamSpec *spec = param_find(info->params, parts[0]);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    CU_ASSERT_TRUE_FATAL(param_set(spec, params, parts[1], NULL));
  }
  return params;
}

static Composition compose(const StrategyOps *ops, const Workload *workload, guint n_nodes,
                           guint gpus_per_node, const char *const *settings)
{
  g_autofree void *params = params_of(&ops->info, settings);
  const StrategyContext context = { .workload = workload,
                                    .gpu = &gpu_1TBps,
                                    .n_nodes = n_nodes,
                                    .gpus_per_node = gpus_per_node };
  Composition composition = { 0 };

  ops->compose(params, &context, &composition);
  return composition;
}

static const Stage *stage_named(const Composition *composition, const char *name)
{
  for (guint i = 0; i < composition->pipeline.stages->len; i++) {
    const Stage *stage = &g_array_index(composition->pipeline.stages, Stage, i);
    if (strcmp(stage->name, name) == 0)
      return stage;
  }
  return NULL;
}

/* A random order of @p n gradients. */
static void shuffle(Rng *rng, guint *order, guint n)
{
  for (guint i = 0; i < n; i++)
    order[i] = i;
  for (guint i = n; i > 1; i--) {
    const guint j = rng_below(rng, i);
    const guint swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
}

/* Everything is sent once, in all of its parts, and not before it is ready; no answer lies
 * in the past. */
static void check_run(const ScheduleRun *run, const guint *order, const double *ready_s,
                      guint n)
{
  g_autofree double *ready_of_s = g_new(double, n);
  g_autofree guint *times_sent = g_new0(guint, n);
  g_autofree guint *n_parts = g_new0(guint, n);

  for (guint i = 0; i < n; i++)
    ready_of_s[order[i]] = ready_s[i];
  CU_ASSERT_EQUAL(run->n_too_soon, 0);
  for (guint i = 0; i < run->sent->len; i++) {
    const Sent *sent = schedule_run_sent(run, i);
    CU_ASSERT_TRUE_FATAL(sent->index < n);
    CU_ASSERT_TRUE(sent->sent_s >= ready_of_s[sent->index]);
    times_sent[sent->index]++;
    n_parts[sent->index] = sent->n_parts;
  }
  for (guint i = 0; i < n; i++)
    CU_ASSERT_TRUE(times_sent[i] > 0 && times_sent[i] == n_parts[i]);
  /* A question per event (gradient, message, alarm), however long the gaps. */
  CU_ASSERT_TRUE(run->n_asked <= run->sizes_B->len + 3 * n + 1);
}

/* Random gradients of an iteration that begins at @p begin_s; returns when it ends. */
static double check_iteration(const Composition *composition, Rng *rng, guint iteration,
                              double begin_s, guint n)
{
  g_autofree guint *order = g_new(guint, n);
  g_autofree double *ready_s = g_new(double, n);

  shuffle(rng, order, n);
  for (guint i = 0; i < n; i++) /* many at one moment, some far apart */
    ready_s[i] =
      begin_s + (rng_below(rng, 4) == 0 ? 10 : 0.01) * rng_below(rng, 1000) / 1e3;
  stats_sort(ready_s, n);

  g_auto(ScheduleRun) run = schedule_run(composition->schedule, composition->schedule_state,
                                         iteration, begin_s, order, ready_s, n);
  check_run(&run, order, ready_s, n);
  return run.sent->len > 0 ? schedule_run_sent(&run, run.sent->len - 1)->sent_s : begin_s;
}

static void test_every_gradient_is_sent_once_and_not_before_it_is_ready(void)
{
  g_autoptr(Rng) rng = rng_stream(1, "test_strategy");

  for (guint m = 0; strategy_table[m] != NULL; m++) {
    const StrategyOps *ops = (const StrategyOps *)strategy_table[m];
    for (guint trial = 0; trial < 50; trial++) {
      const guint n = 1 + rng_below(rng, 80);
      g_autofree double *sizes_B = g_new(double, n);
      for (guint i = 0; i < n; i++)
        sizes_B[i] = 4.0 * (1 + rng_below(rng, 1u << (1 + rng_below(rng, 26))));
      Workload *workload = workload_of(sizes_B, n);
      g_auto(Composition) composition =
        compose(ops, workload, 1 + rng_below(rng, 200), 1 + rng_below(rng, 8), NULL);
      double now_s = 0;
      for (guint iteration = 0; iteration < 3; iteration++)
        now_s = check_iteration(&composition, rng, iteration, now_s, n);
      composition_clear(&composition);
      workload_release(workload);
    }
  }
}

static void test_every_pipeline_exchanges_once_over_known_resources(void)
{
  const double sizes_B[] = { 1e6, 2e6 };
  Workload *workload = workload_of(sizes_B, 2);

  for (guint m = 0; strategy_table[m] != NULL; m++) {
    g_auto(Composition) composition =
      compose((const StrategyOps *)strategy_table[m], workload, 2, 8, NULL);
    const Pipeline *pipeline = &composition.pipeline;
    guint n_exchanges = 0;
    for (guint i = 0; i < pipeline->stages->len; i++) {
      const Stage *stage = &g_array_index(pipeline->stages, Stage, i);
      CU_ASSERT_TRUE(stage->resource < pipeline->resources->len);
      CU_ASSERT_TRUE(stage_wait_s(stage, 2, 1e6) >= 0);
      n_exchanges += stage->route == ROUTE_GRADIENTS &&
                     (stage->kind == STAGE_COLLECTIVE ||
                      (stage->kind == STAGE_MOVE && stage->move == MOVE_PUSH));
    }
    for (guint i = 0; i < pipeline->resources->len; i++)
      CU_ASSERT_TRUE(g_array_index(pipeline->resources, Resource, i).concurrency >= 1);
    CU_ASSERT_EQUAL(n_exchanges, 1);
  }
  workload_release(workload);
}

/* Names, sources, and defaults that read back as what they are. */
static void check_info(const ModuleInfo *info)
{
  CU_ASSERT_TRUE(strlen(info->summary) < 72);
  CU_ASSERT_PTR_NOT_NULL(info->source);
  g_autofree void *params = g_malloc0(MAX(info->params_size, 1));
  for (guint i = 0; i < param_count(info->params); i++) {
    const ParamSpec *spec = &info->params[i];
    CU_ASSERT_PTR_NOT_NULL(spec->help);
    CU_ASSERT_TRUE(spec->type == PARAM_LIST ||
                   param_set(spec, params, spec->fallback, NULL));
  }
}

static void test_every_module_describes_itself(void)
{
  for (guint m = 0; strategy_table[m] != NULL; m++)
    check_info(strategy_table[m]);
  for (guint m = 0; schedule_table[m] != NULL; m++)
    check_info(schedule_table[m]);
}

static void test_a_stage_counts_batches_and_bytes(void)
{
  const Stage stage = {
    .fixed_s = 1, .per_tensor_s = 10, .tensors_per_batch = 160, .per_B_s = 0.5
  };
  const Stage fused = { .only_fused = true, .per_tensor_s = 10 };

  CU_ASSERT_EQUAL(stage_wait_s(&stage, 160, 8), 1 + 10 + 4);
  CU_ASSERT_EQUAL(stage_wait_s(&stage, 161, 8), 1 + 20 + 4);
  CU_ASSERT_EQUAL(stage_wait_s(&fused, 1, 8), 0);
  CU_ASSERT_EQUAL(stage_wait_s(&fused, 2, 8), 20);
}

/* 161 tensors of 1 MiB in a fused buffer, copied at 1 TB/s: two launches and 2 S / B. */
static void test_horovod_copies_fused_units_in_and_out(void)
{
  const double sizes_B[] = { MIB_B, MIB_B };
  Workload *workload = workload_of(sizes_B, 2);
  const char *const one_by_one[] = { "batch_d2d_memcopies=false", NULL };
  g_auto(Composition) batched = compose(&strategy_horovod, workload, 2, 8, NULL);
  g_auto(Composition) single = compose(&strategy_horovod, workload, 2, 8, one_by_one);
  const double bytes_s = 2 * 161 * MIB_B / 1e12;

  CU_ASSERT_DOUBLE_EQUAL(stage_wait_s(stage_named(&batched, "copy_in"), 161, 161 * MIB_B),
                         2 * 3.8e-6 + bytes_s, TOL_ROUNDING);
  CU_ASSERT_DOUBLE_EQUAL(stage_wait_s(stage_named(&batched, "copy_out"), 161, 161 * MIB_B),
                         2 * 3.8e-6 + bytes_s, TOL_ROUNDING);
  CU_ASSERT_EQUAL(stage_wait_s(stage_named(&batched, "copy_in"), 1, MIB_B), 0);
  CU_ASSERT_DOUBLE_EQUAL(stage_wait_s(stage_named(&single, "copy_out"), 161, 161 * MIB_B),
                         161 * 3.8e-6 + bytes_s, TOL_ROUNDING);
  workload_release(workload);
}

/* When a gradient that is ready at 0 leaves, in iteration @p iteration: the negotiation. */
static double negotiation_s(guint n_nodes, guint gpus_per_node, guint iteration,
                            const char *const *settings)
{
  const double size_B = MIB_B;
  const double ready_s = 0;
  Workload *workload = workload_of(&size_B, 1);
  g_auto(Composition) composition =
    compose(&strategy_horovod, workload, n_nodes, gpus_per_node, settings);
  g_auto(ScheduleRun) run = schedule_run(composition.schedule, composition.schedule_state,
                                         iteration, 0, NULL, &ready_s, 1);
  const double sent_s = schedule_run_sent(&run, 0)->sent_s;
  composition_clear(&composition);
  workload_release(workload);
  return sent_s;
}

static void test_horovod_negotiates_in_rounds_of_the_control_plane(void)
{
  const char *const settings[] = { "control_latency=10 us", NULL };
  const char *const uncached[] = { "control_latency=10 us", "cache_capacity=0", NULL };

  /* 16 ranks: 4 rounds; the coordinator takes 4 trees of 4 more. */
  CU_ASSERT_DOUBLE_EQUAL(negotiation_s(2, 8, 1, settings), 40e-6, TOL_ROUNDING);
  CU_ASSERT_DOUBLE_EQUAL(negotiation_s(2, 8, 0, settings), 200e-6, TOL_ROUNDING);
  CU_ASSERT_DOUBLE_EQUAL(negotiation_s(2, 8, 1, uncached), 160e-6, TOL_ROUNDING);
  /* 24 ranks: 4 rounds for the 16 and 2 for the others; trees of 5. */
  CU_ASSERT_DOUBLE_EQUAL(negotiation_s(3, 8, 1, settings), 60e-6, TOL_ROUNDING);
  CU_ASSERT_DOUBLE_EQUAL(negotiation_s(3, 8, 0, settings), 260e-6, TOL_ROUNDING);
  CU_ASSERT_EQUAL(negotiation_s(1, 1, 1, settings), 0);
}

/* 8 GPUs a node: buffers hold a multiple of 4096 B, per stream, if they are ever used. */
static void test_horovod_rounds_its_buffer_up_and_keeps_one_per_stream(void)
{
  const double small_B[] = { 1000, 1000 };
  const double large_B[] = { 3000, 3000 };
  const char *const settings[] = { "fusion_threshold=4000 B", "num_nccl_streams=2", NULL };
  const char *const off[] = { "fusion_threshold=0", NULL };
  Workload *small = workload_of(small_B, 2);
  Workload *large = workload_of(large_B, 2);
  g_auto(Composition) fusing = compose(&strategy_horovod, small, 2, 8, settings);
  g_auto(Composition) never = compose(&strategy_horovod, large, 2, 8, settings);
  g_auto(Composition) disabled = compose(&strategy_horovod, small, 2, 8, off);
  g_auto(Composition) by_default = compose(&strategy_horovod, small, 2, 8, NULL);

  CU_ASSERT_EQUAL(fusing.communication_B, 2 * 4096);
  CU_ASSERT_EQUAL(g_array_index(fusing.pipeline.resources, Resource, 0).concurrency, 2);
  CU_ASSERT_EQUAL(never.communication_B, 0);
  CU_ASSERT_EQUAL(disabled.communication_B, 0);
  CU_ASSERT_EQUAL(by_default.communication_B, 128 * MIB_B);
  workload_release(small);
  workload_release(large);
}

static void test_ddp_views_save_the_copy_back_and_the_buckets(void)
{
  const double sizes_B[] = { 2 * MIB_B, 3 * MIB_B };
  const char *const view[] = { "gradient_as_bucket_view=true", NULL };
  Workload *workload = workload_of(sizes_B, 2);
  g_auto(Composition) copies = compose(&strategy_ddp, workload, 2, 8, NULL);
  g_auto(Composition) views = compose(&strategy_ddp, workload, 2, 8, view);

  CU_ASSERT_EQUAL(copies.communication_B, 5 * MIB_B);
  CU_ASSERT_EQUAL(views.communication_B, 0);
  CU_ASSERT_PTR_NOT_NULL(stage_named(&copies, "copy_out"));
  CU_ASSERT_PTR_NULL(stage_named(&views, "copy_out"));
  CU_ASSERT_DOUBLE_EQUAL(stage_wait_s(stage_named(&copies, "copy_in"), 2, 5 * MIB_B),
                         2 * 3.8e-6 + 2 * 5 * MIB_B / 1e12, TOL_ROUNDING);
  workload_release(workload);
}

static void test_ddp_counts_its_cap_in_mebibytes(void)
{
  const double sizes_B[] = { MIB_B, MIB_B, 0.5 * MIB_B, 0.5 * MIB_B, 1 };
  const double ready_s[] = { 1, 1, 1, 1, 1 };
  const char *const settings[] = { "bucket_cap_mb=1.5", NULL };
  Workload *workload = workload_of(sizes_B, 5);
  g_auto(Composition) composition = compose(&strategy_ddp, workload, 2, 8, settings);
  g_auto(ScheduleRun) run =
    schedule_run(composition.schedule, composition.schedule_state, 1, 0, NULL, ready_s, 5);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, 3); /* 1 | 1 + 0.5 | 0.5 + rest */
  CU_ASSERT_EQUAL(schedule_run_size_B(&run, 1), 1.5 * MIB_B);
  workload_release(workload);
}

static void test_none_flattens_into_its_largest_message(void)
{
  const double sizes_B[] = { 10, 20, 30, 5 };
  const char *const capped[] = { "bucket_cap=25 B", NULL };
  Workload *workload = workload_of(sizes_B, 4);
  g_auto(Composition) one = compose(&strategy_none, workload, 2, 8, NULL);
  g_auto(Composition) several = compose(&strategy_none, workload, 2, 8, capped);

  CU_ASSERT_EQUAL(one.communication_B, 65);
  CU_ASSERT_EQUAL(several.communication_B, 30); /* 10 + 20 | 30 | 5 */
  workload_release(workload);
}

static void test_wait_free_has_as_many_streams_as_asked_for(void)
{
  const double size_B = 10;
  const char *const settings[] = { "streams=4", NULL };
  Workload *workload = workload_of(&size_B, 1);
  g_auto(Composition) composition = compose(&strategy_wait_free, workload, 2, 8, settings);

  CU_ASSERT_EQUAL(g_array_index(composition.pipeline.resources, Resource, 0).concurrency,
                  4);
  CU_ASSERT_EQUAL(composition.communication_B, 0);
  workload_release(workload);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("strategy", NULL, NULL);
  CU_ADD_TEST(suite, test_every_gradient_is_sent_once_and_not_before_it_is_ready);
  CU_ADD_TEST(suite, test_every_pipeline_exchanges_once_over_known_resources);
  CU_ADD_TEST(suite, test_every_module_describes_itself);
  CU_ADD_TEST(suite, test_a_stage_counts_batches_and_bytes);
  CU_ADD_TEST(suite, test_horovod_copies_fused_units_in_and_out);
  CU_ADD_TEST(suite, test_horovod_negotiates_in_rounds_of_the_control_plane);
  CU_ADD_TEST(suite, test_horovod_rounds_its_buffer_up_and_keeps_one_per_stream);
  CU_ADD_TEST(suite, test_ddp_views_save_the_copy_back_and_the_buckets);
  CU_ADD_TEST(suite, test_ddp_counts_its_cap_in_mebibytes);
  CU_ADD_TEST(suite, test_none_flattens_into_its_largest_message);
  CU_ADD_TEST(suite, test_wait_free_has_as_many_streams_as_asked_for);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
