/**
 * @file test_compression.c
 * @brief Whole forecasts with a codec, against closed forms and forecasts without one.
 */
#include "models/precision.h"
#include "tests/unit/forecast.h"

#include <math.h>

/* TOL_ENGINE of a difference of two times a hundred times as long. */
#define TOL_DIFFERENCE 1e-6

#define N_VALUES 25000000.0
#define ALPHA_S 7e-6
#define LAUNCH_S 10e-6
/* catalogue/gpu/v100_sxm2_16gb.json, which pcie_1 below is given. */
#define MEMORY_BPS 900e9

/* A model of one matrix, 5000 x 5000 (100 MB), that computes for 10 + 20 ms. */
#define ONE_MATRIX                                                                         \
  "{\"name\": \"one\", \"layers\": [{\"name\": \"l\", \"tensors\": [{\"name\": \"w\", "    \
  "\"values\": 25000000, \"shape\": [5000, 5000]}]}]}"

/* Twelve tensors, small and large. */
#define SEVERAL_TENSORS                                                                    \
  "{\"name\": \"several\", \"layers\": [{\"repeat\": 6, \"name\": \"b.{i}\", \"layers\": " \
  "[{\"name\": \"l\", \"flops\": 1000, \"tensors\": [{\"name\": \"w\", \"values\": "       \
  "3000000, \"shape\": [1000, 3000]}, {\"name\": \"b\", \"values\": 300, \"shape\": "      \
  "[300]}]}]}]}"

/* One V100 a node on a switch that takes no time, and no cost but bytes and ALPHA_S. */
static char *star(guint n, const char *strategy, const char *compression)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": {\"base\": \"pcie_1\", "
    "\"gpu\": \"v100_sxm2_16gb\"}, \"network\": {\"topology\": \"switch\", \"latency\": "
    "\"0 s\"}, \"nic\": {\"count\": 1, \"rate\": \"25 Gbit/s\"}, \"transport\": {\"kind\": "
    "\"rdma\", \"latency\": \"0 s\"}}, \"workload\": {\"model\": " ONE_MATRIX
    ", \"batch_per_gpu\": 8, \"compute\": {\"layers\": [{\"name\": \"l\", \"forward\": "
    "\"10 ms\", \"backward\": \"20 ms\"}]}}, \"strategy\": %s, \"library\": {\"name\": "
    "\"rules\", \"launch\": \"0 s\", \"local_latency\": \"0 s\", \"net_latency\": \"7 "
    "us\", "
    "\"rules\": [{\"operation\": \"all_to_all\", \"use\": \"pairwise\"}, "
    "{\"use\": \"ring\"}]}, \"compression\": %s, "
    "\"run\": {\"iterations\": 4, \"warmup\": 1}}",
    n, strategy, compression);
}

/* Twelve tensors on 8-GPU nodes in racks. */
static char *racks(const char *strategy, const char *compression)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": 6, \"node\": \"dgx1_v100\", "
    "\"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 3, "
    "\"oversubscription\": 2, \"ecmp\": \"hashed\"}, \"transport\": {\"kind\": \"tcp\"}},"
    "\"workload\": {\"model\": " SEVERAL_TENSORS
    ", \"batch_per_gpu\": 64, \"compute\": {\"samples_per_s\": 1000}}, "
    "\"library\": {\"name\": \"nccl\", \"algo\": \"ring\"}, "
    "\"strategy\": %s, \"compression\": %s, \"run\": {\"iterations\": 2, \"warmup\": 1}}",
    strategy, compression);
}

/* Time that communication adds when it follows backward: with wait_free and one tensor,
 * or with none. */
static double exposed_s(guint n, const char *strategy, const char *compression)
{
  g_autofree char *text = star(n, strategy, compression);
  g_autoptr(Result) result = forecast_with(text, true);
  return result->iteration_time_s - result->compute_time_s;
}

#define WAIT_FREE "{\"name\": \"wait_free\"}"
#define NO_CODEC "{\"codec\": \"none\"}"

/* What RDMA leaves of 25 Gbit/s: a ring of two takes 2 alpha + S / B. */
static double rate_Bps(void)
{
  return 4 * N_VALUES / (exposed_s(2, WAIT_FREE, NO_CODEC) - 2 * ALPHA_S);
}

static double ring_sum_s(guint n, double size_B, double Bps)
{
  return 2 * (n - 1) * (ALPHA_S + size_B / n / Bps);
}

static double ring_gather_s(guint n, double own_B, double Bps)
{
  return (n - 1) * (ALPHA_S + own_B / Bps);
}

/* ---- closed forms ------------------------------------------------------------------ */

static void test_a_cast_halves_what_travels(void)
{
  const double Bps = rate_Bps();
  const double cast_s = LAUNCH_S + 6 * N_VALUES / MEMORY_BPS;

  for (guint n = 2; n <= 16; n *= 2) {
    const double took_s =
      exposed_s(n, WAIT_FREE, "{\"codec\": \"fp16\", \"kernel_launch\": \"10 us\"}");
    CU_ASSERT_DOUBLE_EQUAL(took_s / (2 * cast_s + ring_sum_s(n, 2 * N_VALUES, Bps)), 1,
                           TOL_DIFFERENCE);
  }
}

static void test_a_cast_halves_the_bytes_on_every_link(void)
{
  g_autofree char *full = star(4, WAIT_FREE, NO_CODEC);
  g_autofree char *half = star(4, WAIT_FREE, "{\"codec\": \"bf16\"}");
  g_autoptr(Result) whole = forecast_with(full, true);
  g_autoptr(Result) cast = forecast_with(half, true);

  CU_ASSERT_EQUAL(whole->message_B, 4 * N_VALUES);
  CU_ASSERT_EQUAL(cast->message_B, 2 * N_VALUES);
  CU_ASSERT_EQUAL(cast->links->len, whole->links->len);
  CU_ASSERT(cast->links->len > 0);
  for (guint i = 0; i < whole->links->len; i++) {
    const double whole_B =
      g_array_index(whole->links, LinkUse, i).mean * whole->iteration_time_s;
    const double half_B =
      g_array_index(cast->links, LinkUse, i).mean * cast->iteration_time_s;
    CU_ASSERT_DOUBLE_EQUAL(half_B / whole_B, 0.5, TOL_ENGINE);
  }
}

/* 23 passes and the message to encode; one pass, and entries of 8 B and two sectors, to
 * decode the messages of all. */
static void test_gathered_messages_grow_with_the_workers(void)
{
  const double Bps = rate_Bps(), k = 25000, own_B = 8 * k;
  const double encode_s = 23 * LAUNCH_S + (23 * 4 * N_VALUES + own_B) / MEMORY_BPS;

  for (guint n = 2; n <= 16; n *= 2) {
    const double decode_s = 2 * LAUNCH_S + (4 * N_VALUES + n * k * (8 + 64)) / MEMORY_BPS;
    const double took_s =
      exposed_s(n, WAIT_FREE, "{\"codec\": \"topk\", \"kernel_launch\": \"10 us\"}");
    CU_ASSERT_DOUBLE_EQUAL(took_s / (encode_s + ring_gather_s(n, own_B, Bps) + decode_s), 1,
                           TOL_DIFFERENCE);
  }
}

/* Two all-reduces of 5000 values, each after its work, and the product at the end. */
static void test_powersgd_takes_two_rounds(void)
{
  const double Bps = rate_Bps();
  const double product_s = 5 * LAUNCH_S + 4 * N_VALUES / MEMORY_BPS;
  const double feedback_s = 3 * LAUNCH_S + 12 * N_VALUES / MEMORY_BPS;
  const double took_s =
    exposed_s(8, WAIT_FREE, "{\"codec\": \"powersgd\", \"kernel_launch\": \"10 us\"}");

  CU_ASSERT_DOUBLE_EQUAL(took_s /
                           (3 * product_s + feedback_s + 2 * ring_sum_s(8, 4 * 5000, Bps)),
                         1, TOL_DIFFERENCE);
}

/* All-to-all of the signs, the sum of a part, all-gather of its signs: n - 1 messages of
 * S / n each time. Five passes to encode all, five for the part whose n signs were written
 * out and read, and one to decode. */
static void test_onebit_adam_scatters_and_gathers(void)
{
  const char *adam =
    "{\"codec\": \"onebit_adam\", \"warmup_share\": 0, \"kernel_launch\": \"10 us\"}";
  const double Bps = rate_Bps(), pass_s = 4 * N_VALUES / MEMORY_BPS;

  for (guint n = 2; n <= 16; n *= 2) {
    const double sent_B = N_VALUES / 8 + 4 * n, read_s = sent_B / MEMORY_BPS;
    const double rounds_s = 2 * (n - 1) * (ALPHA_S + sent_B / n / Bps);
    const double work_s = 5 * LAUNCH_S + 5 * pass_s + 7 * LAUNCH_S +
                          (5.0 / n + 2) * pass_s + read_s + LAUNCH_S + pass_s + read_s;
    CU_ASSERT_DOUBLE_EQUAL(exposed_s(n, WAIT_FREE, adam) / (work_s + rounds_s), 1,
                           TOL_DIFFERENCE);
  }
}

/* Without the matrix's shape, a square of the same size, and the result says so. */
static void test_shapes_that_nobody_states_are_assumed(void)
{
  const char *codec = "{\"codec\": \"powersgd\"}";
  g_autofree char *stated = star(4, WAIT_FREE, codec);
  g_auto(GStrv) parts = g_strsplit(stated, ", \"shape\": [5000, 5000]", 2);
  g_autofree char *silent = g_strjoinv("", parts);
  g_autoptr(Result) known = forecast_with(stated, true);
  g_autoptr(Result) guessed = forecast_with(silent, true);

  CU_ASSERT_STRING_NOT_EQUAL(stated, silent);
  CU_ASSERT_EQUAL(guessed->message_B, known->message_B);
  CU_ASSERT_EQUAL(guessed->constants->len, known->constants->len + 1);
}

/* Half of the iterations send full gradients: the mean of both. */
static void test_a_warm_up_sends_full_gradients(void)
{
  static const char *const strategies[] = { WAIT_FREE, "{\"name\": \"none\"}",
                                            "{\"name\": \"ddp\"}" };

  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    const double full_s = exposed_s(4, strategies[i], NO_CODEC);
    const double coded_s = exposed_s(4, strategies[i], "{\"codec\": \"onebit\"}");
    const double mixed_s =
      exposed_s(4, strategies[i], "{\"codec\": \"onebit\", \"warmup_share\": \"50 %\"}");

    CU_ASSERT(coded_s < 0.5 * full_s);
    CU_ASSERT_DOUBLE_EQUAL(mixed_s / (0.5 * full_s + 0.5 * coded_s), 1, TOL_DIFFERENCE);
  }
}

/* ---- strategies -------------------------------------------------------------------- */

static void test_without_a_codec_nothing_changes(void)
{
  static const char *const strategies[] = {
    "{\"name\": \"none\"}",
    "{\"name\": \"wait_free\", \"streams\": 2}",
    "{\"name\": \"horovod\"}",
    "{\"name\": \"ddp\"}",
  };

  for (guint i = 0; i < G_N_ELEMENTS(strategies); i++) {
    g_autofree char *with = racks(strategies[i], NO_CODEC);
    g_autofree char *without = racks(strategies[i], "{}");
    GString *one = forecast_bytes(with, true, 0), *other = forecast_bytes(without, true, 0);
    CU_ASSERT_TRUE(g_string_equal(one, other));
    CU_ASSERT_PTR_NULL(strstr(one->str, "encode"));
    g_string_free(one, TRUE);
    g_string_free(other, TRUE);
  }
}

static void test_folded_equals_explicit_with_every_codec(void)
{
  static const char *const strategies[] = {
    "{\"name\": \"none\"}",
    "{\"name\": \"wait_free\", \"streams\": 2}",
    "{\"name\": \"horovod\"}",
    "{\"name\": \"ddp\"}",
  };

  for (guint i = 0; codec_table[i] != NULL; i++) {
    g_autofree char *compression =
      g_strdup_printf("{\"codec\": \"%s\"}", codec_table[i]->name);
    g_autofree char *text = racks(strategies[i % G_N_ELEMENTS(strategies)], compression);
    g_autoptr(Result) folded = forecast_with(text, true);
    g_autoptr(Result) explicit = forecast_with(text, false);

    CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                           TOL_ENGINE);
    CU_ASSERT(folded->comm_busy_share > 0);
    CU_ASSERT_STRING_EQUAL(folded->codec, codec_table[i]->name);
    CU_ASSERT(folded->message_B > 0 && folded->message_B <= folded->gradient_B);
    CU_ASSERT(folded->floor_s <= folded->comm_busy_share * folded->iteration_time_s);
  }
}

static double stage_s(const Result *result, const char *name)
{
  for (guint i = 0; i < result->stages->len; i++)
    if (strcmp(g_array_index(result->stages, StageUse, i).name, name) == 0)
      return g_array_index(result->stages, StageUse, i).busy_s;
  return -1;
}

/* Twelve tensors are 36 MB in one or two buckets of DDP, and 12 tensors before Horovod's
 * queue. */
static void test_ddp_encodes_buckets_and_horovod_tensors(void)
{
  const char *codec = "{\"codec\": \"fp16\", \"kernel_launch\": \"1 ms\"}";
  const double cast_s = 6 * 6 * 3000300 / MEMORY_BPS;
  g_autofree char *ddp = racks("{\"name\": \"ddp\"}", codec);
  g_autofree char *horovod = racks("{\"name\": \"horovod\"}", codec);
  g_autoptr(Result) by_bucket = forecast_with(ddp, true);
  g_autoptr(Result) by_tensor = forecast_with(horovod, true);

  CU_ASSERT_DOUBLE_EQUAL(stage_s(by_bucket, "encode"),
                         by_bucket->units_per_iteration * 1e-3 + cast_s, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(by_tensor, "encode"), 12e-3 + cast_s, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(stage_s(by_tensor, "decode"), 12e-3 + cast_s, 1e-9);
}

/* A threshold that no two gradients share holds two of their halves. */
static void test_horovod_fuses_messages(void)
{
  const char *horovod = "{\"name\": \"horovod\", \"fusion_threshold\": \"13 MB\", "
                        "\"cycle_time\": \"1 s\"}";
  g_autofree char *full = racks(horovod, NO_CODEC);
  g_autofree char *half = racks(horovod, "{\"codec\": \"fp16\"}");
  g_autoptr(Result) gradients = forecast_with(full, true);
  g_autoptr(Result) messages = forecast_with(half, true);

  CU_ASSERT_EQUAL(gradients->units_per_iteration, 6);
  CU_ASSERT_EQUAL(messages->units_per_iteration, 3);
}

/* Horovod's thread waits for the exchange between hosts, but not for synchronize(), which
 * decodes after backward. */
static void test_decoding_does_not_hold_up_the_next_message(void)
{
  const char *horovod = "{\"name\": \"horovod\", \"hierarchical_allreduce\": true}";
  g_autofree char *text = racks(horovod, "{\"codec\": \"fp16\"}");
  g_autofree char *full = racks(horovod, NO_CODEC);
  g_autoptr(Result) coded = forecast_with(text, true);
  g_autoptr(Result) whole = forecast_with(full, true);

  CU_ASSERT(whole->units_per_iteration >= 3);
  CU_ASSERT(coded->units_per_iteration >= whole->units_per_iteration);
  CU_ASSERT(coded->iteration_time_s < whole->iteration_time_s);
}

/* Momentum exists after backward: nothing of the exchange may hide behind it, although
 * DDP's first bucket is ready at its beginning. */
static void test_onebit_adam_begins_after_backward(void)
{
  g_autofree char *adam =
    racks("{\"name\": \"ddp\"}", "{\"codec\": \"onebit_adam\", \"warmup_share\": \"0 %\"}");
  g_autofree char *sign = racks("{\"name\": \"ddp\"}", "{\"codec\": \"fp16\"}");
  g_autoptr(Result) after = forecast_with(adam, true);
  g_autoptr(Result) during = forecast_with(sign, true);

  CU_ASSERT(after->comm_exposed_share > after->comm_busy_share);
  CU_ASSERT(during->comm_exposed_share < during->comm_busy_share);
}

/* fp32 of every value, and the messages of all four workers as they arrive. */
static void test_error_feedback_takes_memory(void)
{
  g_autofree char *with = star(4, WAIT_FREE, "{\"codec\": \"onebit\"}");
  g_autofree char *without =
    star(4, WAIT_FREE, "{\"codec\": \"onebit\", \"error_feedback\": false}");
  g_autofree char *full = star(4, WAIT_FREE, NO_CODEC);
  g_autoptr(Result) feedback = forecast_with(with, true);
  g_autoptr(Result) forgetful = forecast_with(without, true);
  g_autoptr(Result) none = forecast_with(full, true);

  CU_ASSERT_DOUBLE_EQUAL(feedback->memory_used_B - forgetful->memory_used_B, 4 * N_VALUES,
                         1);
  CU_ASSERT_DOUBLE_EQUAL(forgetful->memory_used_B - none->memory_used_B,
                         4 * (N_VALUES / 8 + 4), 1);
}

/* One piece of 100 MB on its way through host, server and host: encoded, decoded four times
 * and encoded again, decoded, each time at 6 B a value; the rate is the only difference. */
static void test_byteps_encodes_on_hosts_and_servers(void)
{
  const char *byteps = "{\"name\": \"byteps\", \"partition\": \"1 GB\", "
                       "\"servers\": 1, \"placement\": \"ideal\"}";
  const double fast_s = exposed_s(
    4, byteps, "{\"codec\": \"fp16\", \"cpu_threads\": 2, \"cpu_rate\": \"4 GB/s\"}");
  const double slow_s = exposed_s(
    4, byteps, "{\"codec\": \"fp16\", \"cpu_threads\": 2, \"cpu_rate\": \"2 GB/s\"}");
  g_autofree char *text = star(4, byteps, "{\"codec\": \"onebit\"}");
  g_autoptr(Result) sign = forecast_with(text, true);

  CU_ASSERT_DOUBLE_EQUAL((slow_s - fast_s) / (7 * 6 * N_VALUES / 8e9), 1, TOL_DIFFERENCE);
  CU_ASSERT_EQUAL(sign->message_B, 4 * (N_VALUES / 32 + 1));
  CU_ASSERT(stage_s(sign, "push") < 0.05 * (slow_s - fast_s));
}

/* Tensors that the rules leave alone travel to the servers as they are. */
static void test_byteps_leaves_small_tensors_alone(void)
{
  g_autofree char *text =
    racks("{\"name\": \"byteps\"}", "{\"codec\": \"fp16\", \"min_size\": \"64 KiB\"}");
  g_autoptr(Result) folded = forecast_with(text, true);
  g_autoptr(Result) explicit = forecast_with(text, false);

  CU_ASSERT_EQUAL(folded->message_B, 6 * (2 * 3000000 + 4 * 300));
  CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                         TOL_ENGINE);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("compression", NULL, NULL);
  CU_ADD_TEST(suite, test_a_cast_halves_what_travels);
  CU_ADD_TEST(suite, test_a_cast_halves_the_bytes_on_every_link);
  CU_ADD_TEST(suite, test_gathered_messages_grow_with_the_workers);
  CU_ADD_TEST(suite, test_powersgd_takes_two_rounds);
  CU_ADD_TEST(suite, test_onebit_adam_scatters_and_gathers);
  CU_ADD_TEST(suite, test_shapes_that_nobody_states_are_assumed);
  CU_ADD_TEST(suite, test_a_warm_up_sends_full_gradients);
  CU_ADD_TEST(suite, test_without_a_codec_nothing_changes);
  CU_ADD_TEST(suite, test_folded_equals_explicit_with_every_codec);
  CU_ADD_TEST(suite, test_ddp_encodes_buckets_and_horovod_tensors);
  CU_ADD_TEST(suite, test_horovod_fuses_messages);
  CU_ADD_TEST(suite, test_decoding_does_not_hold_up_the_next_message);
  CU_ADD_TEST(suite, test_onebit_adam_begins_after_backward);
  CU_ADD_TEST(suite, test_byteps_encodes_on_hosts_and_servers);
  CU_ADD_TEST(suite, test_byteps_leaves_small_tensors_alone);
  CU_ADD_TEST(suite, test_error_feedback_takes_memory);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
