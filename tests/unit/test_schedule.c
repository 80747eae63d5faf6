/**
 * @file test_schedule.c
 * @brief Schedules on examples worked out by hand.
 */
#include "tests/unit/schedule_run.h"

#include <CUnit/Basic.h>
#include <math.h>

#define MIB_B (1024.0 * 1024.0)
/* The published bucket sizes are rounded to a tenth of a MiB. */
#define TOL_TENTH_MIB (0.05 * MIB_B)
/* Sums of a few times, in s. */
#define TOL_ROUNDING_S 1e-12

/* Sizes of a model's tensors in registration order. */
static void add_values(GArray *sizes_B, double n_values)
{
  const double size_B = 4 * n_values; /* fp32 */
  g_array_append_val(sizes_B, size_B);
}

static void add_batch_norm(GArray *sizes_B, guint channels)
{
  add_values(sizes_B, channels);
  add_values(sizes_B, channels);
}

/* He et al. 2016, as torchvision registers it; @p blocks of the four stages. */
static GArray *resnet_sizes(const guint blocks[4])
{
  GArray *sizes_B = g_array_new(FALSE, FALSE, sizeof(double));
  guint in = 64;

  add_values(sizes_B, 64 * 3 * 7 * 7);
  add_batch_norm(sizes_B, 64);
  for (guint stage = 0; stage < 4; stage++) {
    const guint width = 64u << stage;
    for (guint block = 0; block < blocks[stage]; block++) {
      add_values(sizes_B, width * in);
      add_batch_norm(sizes_B, width);
      add_values(sizes_B, 9 * width * width);
      add_batch_norm(sizes_B, width);
      add_values(sizes_B, 4 * width * width);
      add_batch_norm(sizes_B, 4 * width);
      if (block == 0) {
        add_values(sizes_B, 4 * width * in);
        add_batch_norm(sizes_B, 4 * width);
      }
      in = 4 * width;
    }
  }
  add_values(sizes_B, 2048 * 1000);
  add_values(sizes_B, 1000);
  return sizes_B;
}

/* Layers of a kernel (size x size), input and output channels, each with a bias. */
typedef struct {
  guint kernel, in, out;
} Layer;

static GArray *layer_sizes(const Layer *layers, guint n_layers)
{
  GArray *sizes_B = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < n_layers; i++) {
    add_values(sizes_B,
               (double)layers[i].kernel * layers[i].kernel * layers[i].in * layers[i].out);
    add_values(sizes_B, layers[i].out);
  }
  return sizes_B;
}

/* Backward produces the gradients in reverse registration order. */
static void reverse(GArray *sizes_B)
{
  for (guint i = 0, j = sizes_B->len - 1; i < j; i++, j--) {
    const double size_B = g_array_index(sizes_B, double, i);
    g_array_index(sizes_B, double, i) = g_array_index(sizes_B, double, j);
    g_array_index(sizes_B, double, j) = size_B;
  }
}

/* DDP's defaults cut @p sizes_B (transfer) into buckets of @p expected_MiB. */
static void check_ddp_buckets(GArray *sizes_B, const double *expected_MiB, guint n_expected)
{
  const DdpBucketRule rule = { .first_bucket_B = MIB_B, .bucket_cap_B = 25 * MIB_B };

  reverse(sizes_B);
  Workload *workload = workload_of((const double *)sizes_B->data, sizes_B->len);
  g_autofree double *ready_s = g_new0(double, sizes_B->len);
  void *state = schedule_ddp_bucket.new(&rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_ddp_bucket, state, 1, 0, NULL, ready_s, sizes_B->len);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, n_expected);
  for (guint i = 0; i < n_expected; i++)
    CU_ASSERT_DOUBLE_EQUAL(schedule_run_size_B(&run, i), expected_MiB[i] * MIB_B,
                           TOL_TENTH_MIB);
  schedule_ddp_bucket.free(state);
  workload_release(workload);
  g_array_unref(sizes_B);
}

static void test_ddp_cuts_resnets_as_pytorch_does(void)
{
  const double resnet50_MiB[] = { 7.8, 30.0, 25.0, 25.3, 9.3 };
  const double resnet101_MiB[] = { 7.8, 30.0, 25.0, 26.6, 25.6, 25.6, 25.1, 4.2 };

  check_ddp_buckets(resnet_sizes((const guint[]){ 3, 4, 6, 3 }), resnet50_MiB,
                    G_N_ELEMENTS(resnet50_MiB));
  check_ddp_buckets(resnet_sizes((const guint[]){ 3, 4, 23, 3 }), resnet101_MiB,
                    G_N_ELEMENTS(resnet101_MiB));
}

static void test_ddp_lets_a_large_tensor_join_what_was_gathered(void)
{
  const Layer vgg16[] = {
    { 3, 3, 64 },    { 3, 64, 64 },    { 3, 64, 128 },    { 3, 128, 128 },
    { 3, 128, 256 }, { 3, 256, 256 },  { 3, 256, 256 },   { 3, 256, 512 },
    { 3, 512, 512 }, { 3, 512, 512 },  { 3, 512, 512 },   { 3, 512, 512 },
    { 3, 512, 512 }, { 7, 512, 4096 }, { 1, 4096, 4096 }, { 1, 4096, 1000 },
  };
  const double vgg16_MiB[] = { 15.6, 64.0, 392.0, 27.0, 27.0, 2.1 };
  const Layer alexnet[] = {
    { 11, 3, 64 },   { 5, 64, 192 },   { 3, 192, 384 },   { 3, 384, 256 },
    { 3, 256, 256 }, { 6, 256, 4096 }, { 1, 4096, 4096 }, { 1, 4096, 1000 },
  };
  const double alexnet_MiB[] = { 15.6, 64.0, 144.0, 9.4 };

  check_ddp_buckets(layer_sizes(vgg16, G_N_ELEMENTS(vgg16)), vgg16_MiB,
                    G_N_ELEMENTS(vgg16_MiB));
  check_ddp_buckets(layer_sizes(alexnet, G_N_ELEMENTS(alexnet)), alexnet_MiB,
                    G_N_ELEMENTS(alexnet_MiB));
}

static void test_ddp_sends_one_bucket_in_the_first_iteration(void)
{
  const DdpBucketRule rule = { .first_bucket_B = 10, .bucket_cap_B = 10 };
  const double sizes_B[] = { 10, 20, 30 };
  const double ready_s[] = { 1, 2, 3 };
  Workload *workload = workload_of(sizes_B, 3);
  void *state = schedule_ddp_bucket.new(&rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_ddp_bucket, state, 0, 0, NULL, ready_s, 3);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, 1);
  CU_ASSERT_EQUAL(schedule_run_size_B(&run, 0), 60);
  CU_ASSERT_EQUAL(schedule_run_sent(&run, 0)->sent_s, 3);
  schedule_ddp_bucket.free(state);
  workload_release(workload);
}

static void test_ddp_holds_a_full_bucket_until_its_predecessors_left(void)
{
  const DdpBucketRule rule = { .first_bucket_B = 10, .bucket_cap_B = 10 };
  const double sizes_B[] = { 10, 10, 10 };
  const guint order[] = { 2, 1, 0 };
  const double ready_s[] = { 1, 2, 3 };
  Workload *workload = workload_of(sizes_B, 3);
  void *state = schedule_ddp_bucket.new(&rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_ddp_bucket, state, 1, 0, order, ready_s, 3);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, 3);
  for (guint i = 0; i < 3; i++) {
    CU_ASSERT_EQUAL(schedule_run_sent(&run, i)->index, i);
    CU_ASSERT_EQUAL(schedule_run_sent(&run, i)->sent_s, 3);
  }
  schedule_ddp_bucket.free(state);
  workload_release(workload);
}

static void test_wait_free_sends_in_the_order_of_readiness(void)
{
  const double sizes_B[] = { 10, 20, 30 };
  const guint order[] = { 1, 0, 2 };
  const double ready_s[] = { 1, 1, 4 };
  Workload *workload = workload_of(sizes_B, 3);
  void *state = schedule_wait_free.new(NULL, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_wait_free, state, 0, 0, order, ready_s, 3);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, 3);
  for (guint i = 0; i < 3; i++) {
    CU_ASSERT_EQUAL(schedule_run_sent(&run, i)->index, order[i]);
    CU_ASSERT_EQUAL(schedule_run_sent(&run, i)->sent_s, ready_s[i]);
    CU_ASSERT_EQUAL(schedule_run_size_B(&run, i), sizes_B[order[i]]);
  }
  schedule_wait_free.free(state);
  workload_release(workload);
}

static void test_after_backward_sends_everything_with_the_last_gradient(void)
{
  const double sizes_B[] = { 10, 20, 30, 40 };
  const double ready_s[] = { 1, 2, 3, 4 };
  const guint64 caps_B[] = { 0, 30 };
  const guint n_messages[] = { 1, 3 }; /* all; 10 + 20, 30, 40 */
  Workload *workload = workload_of(sizes_B, 4);

  for (guint c = 0; c < G_N_ELEMENTS(caps_B); c++) {
    const AfterBackwardRule rule = { .bucket_cap_B = caps_B[c] };
    void *state = schedule_after_backward.new(&rule, workload);
    g_auto(ScheduleRun) run =
      schedule_run(&schedule_after_backward, state, 0, 0, NULL, ready_s, 4);

    CU_ASSERT_EQUAL(run.sizes_B->len, n_messages[c]);
    CU_ASSERT_EQUAL_FATAL(run.sent->len, 4);
    for (guint i = 0; i < 4; i++)
      CU_ASSERT_EQUAL(schedule_run_sent(&run, i)->sent_s, 4);
    schedule_after_backward.free(state);
  }
  workload_release(workload);
}

/* A short cycle: every 10 ms, cached negotiation 1 ms, through the coordinator 5 ms. */
static const HorovodCycleRule cycle_10ms = {
  .cycle_time_s = 0.010,
  .cached_s = 0.001,
  .uncached_s = 0.005,
  .threshold_B = 100,
  .padding_B = 1,
  .cache_capacity = 8,
};

/* When the one gradient that is ready at @p ready_s leaves, in iteration @p iteration. */
static double horovod_leaves_s(const HorovodCycleRule *rule, guint iteration,
                               double ready_s)
{
  const double size_B = 10;
  Workload *workload = workload_of(&size_B, 1);
  void *state = schedule_horovod_cycle.new(rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_horovod_cycle, state, iteration, 0, NULL, &ready_s, 1);

  CU_ASSERT_EQUAL_FATAL(run.sent->len, 1);
  CU_ASSERT_EQUAL(run.n_too_soon, 0);
  const double sent_s = schedule_run_sent(&run, 0)->sent_s;
  schedule_horovod_cycle.free(state);
  workload_release(workload);
  return sent_s;
}

static void test_horovod_takes_a_gradient_in_the_first_cycle_after_it(void)
{
  const double ready_s[] = { 0, 0.0199, 0.020, 0.0201, 0.0309 };
  const double start_s[] = { 0, 0.020, 0.020, 0.030, 0.040 };

  for (guint i = 0; i < G_N_ELEMENTS(ready_s); i++)
    CU_ASSERT_DOUBLE_EQUAL(horovod_leaves_s(&cycle_10ms, 1, ready_s[i]), start_s[i] + 0.001,
                           TOL_ROUNDING_S);
}

static void test_horovod_negotiates_at_length_what_is_not_cached(void)
{
  HorovodCycleRule rule = cycle_10ms;

  CU_ASSERT_DOUBLE_EQUAL(horovod_leaves_s(&rule, 0, 0.015), 0.025, TOL_ROUNDING_S);
  CU_ASSERT_DOUBLE_EQUAL(horovod_leaves_s(&rule, 1, 0.015), 0.021, TOL_ROUNDING_S);
  rule.cache_capacity = 0;
  CU_ASSERT_DOUBLE_EQUAL(horovod_leaves_s(&rule, 1, 0.015), 0.025, TOL_ROUNDING_S);
}

static void test_horovod_cycles_last_as_long_as_their_negotiation(void)
{
  HorovodCycleRule rule = cycle_10ms;

  rule.cached_s = 0.012; /* cycles start at 0, 12, 24 ms */
  CU_ASSERT_DOUBLE_EQUAL(horovod_leaves_s(&rule, 1, 0.013), 0.036, TOL_ROUNDING_S);
  rule.cycle_time_s = 0;
  CU_ASSERT_DOUBLE_EQUAL(horovod_leaves_s(&rule, 1, 0.013), 0.036, TOL_ROUNDING_S);
  rule.cached_s = 0; /* nothing to wait for */
  CU_ASSERT_DOUBLE_EQUAL(horovod_leaves_s(&rule, 1, 0.013), 0.013, TOL_ROUNDING_S);
}

/* Gradients ready at 1, 10.5, 12 and 16 ms of iteration 0, whose negotiations take
 * 15 ms: the cycle at 10 ms takes the first, the one at 25 ms the others. */
static void test_horovod_leaves_to_the_next_cycle_what_gets_ready_during_one(void)
{
  HorovodCycleRule rule = cycle_10ms;
  const double sizes_B[] = { 10, 20, 30, 40 };
  const double ready_s[] = { 0.001, 0.0105, 0.012, 0.016 };
  Workload *workload = workload_of(sizes_B, 4);

  rule.uncached_s = 0.015;
  void *state = schedule_horovod_cycle.new(&rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_horovod_cycle, state, 0, 0, NULL, ready_s, 4);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, 2);
  CU_ASSERT_EQUAL(schedule_run_size_B(&run, 0), 10);
  CU_ASSERT_EQUAL(schedule_run_size_B(&run, 1), 90);
  CU_ASSERT_DOUBLE_EQUAL(schedule_run_sent(&run, 0)->sent_s, 0.025, TOL_ROUNDING_S);
  CU_ASSERT_DOUBLE_EQUAL(schedule_run_sent(&run, 1)->sent_s, 0.040, TOL_ROUNDING_S);
  schedule_horovod_cycle.free(state);
  workload_release(workload);
}

static void test_horovod_clock_runs_on_between_iterations(void)
{
  const double size_B = 10;
  const double ready_s[] = { 0.001, 0.0311, 100.0211 };
  const double sent_s[] = { 0.015, 0.041, 100.031 };
  Workload *workload = workload_of(&size_B, 1);
  void *state = schedule_horovod_cycle.new(&cycle_10ms, workload);

  for (guint iteration = 0; iteration < G_N_ELEMENTS(ready_s); iteration++) {
    g_auto(ScheduleRun) run =
      schedule_run(&schedule_horovod_cycle, state, iteration, ready_s[iteration], NULL,
                   &ready_s[iteration], 1);
    CU_ASSERT_EQUAL_FATAL(run.sent->len, 1);
    CU_ASSERT_DOUBLE_EQUAL(schedule_run_sent(&run, 0)->sent_s, sent_s[iteration], 1e-10);
    /* Ten thousand idle cycles cost nothing. */
    CU_ASSERT_TRUE(run.n_asked <= 3);
  }
  schedule_horovod_cycle.free(state);
  workload_release(workload);
}

static void test_horovod_forgets_names_it_has_no_room_for(void)
{
  HorovodCycleRule rule = cycle_10ms;
  const double sizes_B[] = { 10, 20, 30 };
  const double ready_s[] = { 0.001, 0.001, 0.001 };
  Workload *workload = workload_of(sizes_B, 3);

  for (rule.cache_capacity = 2; rule.cache_capacity <= 3; rule.cache_capacity++) {
    void *state = schedule_horovod_cycle.new(&rule, workload);
    g_auto(ScheduleRun) run =
      schedule_run(&schedule_horovod_cycle, state, 1, 0, NULL, ready_s, 3);
    CU_ASSERT_DOUBLE_EQUAL(schedule_run_sent(&run, 0)->sent_s,
                           rule.cache_capacity == 2 ? 0.015 : 0.011, TOL_ROUNDING_S);
    schedule_horovod_cycle.free(state);
  }
  workload_release(workload);
}

/* Fuse gradients of @p sizes_B that are ready together; expect messages of @p fused_B. */
static void check_fusion(const HorovodCycleRule *rule, const double *sizes_B,
                         guint n_gradients, const double *fused_B, guint n_fused)
{
  Workload *workload = workload_of(sizes_B, n_gradients);
  g_autofree double *ready_s = g_new0(double, n_gradients);
  void *state = schedule_horovod_cycle.new(rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_horovod_cycle, state, 1, 0, NULL, ready_s, n_gradients);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, n_fused);
  for (guint i = 0; i < n_fused; i++)
    CU_ASSERT_EQUAL(schedule_run_size_B(&run, i), fused_B[i]);
  CU_ASSERT_EQUAL_FATAL(run.sent->len, n_gradients);
  for (guint i = 0; i < n_gradients; i++)
    CU_ASSERT_EQUAL(schedule_run_sent(&run, i)->index, i);
  schedule_horovod_cycle.free(state);
  workload_release(workload);
}

static void test_horovod_fuses_up_to_the_threshold_in_order(void)
{
  /* 60 + 40 fit exactly. 50 does not fit next to 51, and its search ends there although
   * the 10 after it would. 200 is larger than any buffer and goes alone. */
  const double sizes_B[] = { 60, 40, 51, 50, 10, 200, 30 };
  const double fused_B[] = { 100, 51, 60, 200, 30 };

  check_fusion(&cycle_10ms, sizes_B, G_N_ELEMENTS(sizes_B), fused_B, G_N_ELEMENTS(fused_B));
}

static void test_horovod_pads_what_it_fuses_and_only_that(void)
{
  HorovodCycleRule rule = cycle_10ms;
  const double sizes_B[] = { 20, 20, 20, 20, 90 }; /* 32 each in a buffer of 100 */
  const double fused_B[] = { 96, 20, 90 };

  rule.padding_B = 16;
  check_fusion(&rule, sizes_B, G_N_ELEMENTS(sizes_B), fused_B, G_N_ELEMENTS(fused_B));
}

static void test_horovod_fuses_nothing_at_threshold_zero(void)
{
  HorovodCycleRule rule = cycle_10ms;
  const double sizes_B[] = { 1, 2, 3 };

  rule.threshold_B = 0;
  check_fusion(&rule, sizes_B, 3, sizes_B, 3);
}

static void test_horovod_knows_whether_fusion_can_occur(void)
{
  HorovodCycleRule rule = cycle_10ms;
  const double sizes_B[] = { 60, 41, 60, 33 };
  Workload *workload = workload_of(sizes_B, 4);

  CU_ASSERT_TRUE(horovod_cycle_can_fuse(&rule, workload)); /* 60 + 33 */
  rule.padding_B = 16;                                     /* 64 + 48 */
  CU_ASSERT_FALSE(horovod_cycle_can_fuse(&rule, workload));
  workload_release(workload);
}

static void test_buckets_close_when_they_reach_their_limit(void)
{
  const double sizes_B[] = { 5, 5, 3, 8, 1 };
  Workload *workload = workload_of(sizes_B, 5);
  g_autoptr(GArray) ends = schedule_cut_buckets(workload, 4, 10);
  g_autoptr(GArray) one = schedule_cut_buckets(workload, INFINITY, 1);

  CU_ASSERT_EQUAL_FATAL(ends->len, 3); /* 5 | 5 + 3 + 8 | 1 */
  CU_ASSERT_EQUAL(g_array_index(ends, guint32, 0), 1);
  CU_ASSERT_EQUAL(g_array_index(ends, guint32, 1), 4);
  CU_ASSERT_EQUAL(g_array_index(ends, guint32, 2), 5);
  CU_ASSERT_EQUAL(one->len, 1);
  workload_release(workload);
}

/* Registered as 3, 1, 2, 2, 6 and cut at 3 and 4: [3] [1 2 2] [6]; turned round, backward
 * meets [6] first. */
static void test_buckets_of_the_order_of_registration_are_turned_round(void)
{
  const double sizes_B[] = { 6, 2, 2, 1, 3 };
  const double ready_s[] = { 1, 2, 3, 4, 5 };
  const DdpBucketRule rule = { .first_bucket_B = 3, .bucket_cap_B = 4, .registered = true };
  const double expected_B[] = { 6, 5, 3 };
  Workload *workload = workload_of(sizes_B, 5);
  void *state = schedule_ddp_bucket.new(&rule, workload);
  g_auto(ScheduleRun) run =
    schedule_run(&schedule_ddp_bucket, state, 0, 0, NULL, ready_s, 5);

  CU_ASSERT_EQUAL_FATAL(run.sizes_B->len, 3);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_EQUAL(schedule_run_size_B(&run, i), expected_B[i]);
  schedule_ddp_bucket.free(state);
  workload_release(workload);
}

/* 2, 2, 2 registered and cut at 1 and 5: [2] [2 2]; the open end of the list is a bucket.
 */
static void test_what_is_left_of_the_registered_tensors_is_a_bucket(void)
{
  const double sizes_B[] = { 2, 2, 2 };
  Workload *workload = workload_of(sizes_B, 3);
  g_autoptr(GArray) ends = schedule_cut_buckets_registered(workload, 1, 5);

  CU_ASSERT_EQUAL_FATAL(ends->len, 2);
  CU_ASSERT_EQUAL(g_array_index(ends, guint32, 0), 2);
  CU_ASSERT_EQUAL(g_array_index(ends, guint32, 1), 3);
  workload_release(workload);
}

/* 10 in pieces of 4: three of 10/3, named after the tensor's place; 8 in two of 4. */
static void test_pieces_are_equal_and_carry_the_place_of_their_tensor(void)
{
  const double sizes_B[] = { 10, 8 };
  const PriorityPartitionRule rule = { .partition_B = 4 };
  const double expected_B[] = { 10.0 / 3, 10.0 / 3, 10.0 / 3, 4, 4 };
  const guint expected_places[] = { 1, 1, 1, 0, 0 };
  Workload *workload = workload_of(sizes_B, 2);
  void *state = schedule_priority_partition.new(&rule, workload);
  double again_s;

  schedule_priority_partition.begin(state, 0, 0);
  schedule_priority_partition.ready(state, 0, 0);
  schedule_priority_partition.ready(state, 1, 0);
  for (guint i = 0; i < G_N_ELEMENTS(expected_B); i++) {
    Unit unit;
    unit_init(&unit);
    CU_ASSERT_EQUAL(schedule_priority_partition.next(state, 0, &unit, &again_s),
                    SCHEDULE_UNIT);
    CU_ASSERT_DOUBLE_EQUAL(unit.size_B, expected_B[i], TOL_ROUNDING_S);
    CU_ASSERT_EQUAL(unit.priority, expected_places[i]);
    CU_ASSERT_EQUAL(unit.n_parts, i < 3 ? 3 : 2);
    unit_clear(&unit);
  }
  schedule_priority_partition.free(state);
  workload_release(workload);
}

static void test_pieces_are_the_fewest_that_are_small_enough(void)
{
  CU_ASSERT_EQUAL(schedule_n_parts(10, 10), 1);
  CU_ASSERT_EQUAL(schedule_n_parts(10, 9), 2);
  CU_ASSERT_EQUAL(schedule_n_parts(10, INFINITY), 1);
  CU_ASSERT_EQUAL(schedule_n_parts(10, 1), 10);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("schedule", NULL, NULL);
  CU_ADD_TEST(suite, test_ddp_cuts_resnets_as_pytorch_does);
  CU_ADD_TEST(suite, test_ddp_lets_a_large_tensor_join_what_was_gathered);
  CU_ADD_TEST(suite, test_ddp_sends_one_bucket_in_the_first_iteration);
  CU_ADD_TEST(suite, test_ddp_holds_a_full_bucket_until_its_predecessors_left);
  CU_ADD_TEST(suite, test_wait_free_sends_in_the_order_of_readiness);
  CU_ADD_TEST(suite, test_after_backward_sends_everything_with_the_last_gradient);
  CU_ADD_TEST(suite, test_horovod_takes_a_gradient_in_the_first_cycle_after_it);
  CU_ADD_TEST(suite, test_horovod_negotiates_at_length_what_is_not_cached);
  CU_ADD_TEST(suite, test_horovod_cycles_last_as_long_as_their_negotiation);
  CU_ADD_TEST(suite, test_horovod_leaves_to_the_next_cycle_what_gets_ready_during_one);
  CU_ADD_TEST(suite, test_horovod_clock_runs_on_between_iterations);
  CU_ADD_TEST(suite, test_horovod_forgets_names_it_has_no_room_for);
  CU_ADD_TEST(suite, test_horovod_fuses_up_to_the_threshold_in_order);
  CU_ADD_TEST(suite, test_horovod_pads_what_it_fuses_and_only_that);
  CU_ADD_TEST(suite, test_horovod_fuses_nothing_at_threshold_zero);
  CU_ADD_TEST(suite, test_horovod_knows_whether_fusion_can_occur);
  CU_ADD_TEST(suite, test_buckets_close_when_they_reach_their_limit);
  CU_ADD_TEST(suite, test_buckets_of_the_order_of_registration_are_turned_round);
  CU_ADD_TEST(suite, test_what_is_left_of_the_registered_tensors_is_a_bucket);
  CU_ADD_TEST(suite, test_pieces_are_equal_and_carry_the_place_of_their_tensor);
  CU_ADD_TEST(suite, test_pieces_are_the_fewest_that_are_small_enough);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
