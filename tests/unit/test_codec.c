/**
 * @file test_codec.c
 * @brief Codecs against the published formulas for their messages, and what units become.
 */
#include "models/compression.h"
#include "models/precision.h"
#include "tests/unit/catalogue_read.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums of a hundred doubles. */
#define TOL_ROUNDING 1e-12
/* Published ratios have three digits. */
#define TOL_PUBLISHED 0.005

static const double sizes[] = { 1, 31, 32, 33, 1000, 25557032 };

static const CodecOps *codec_at(guint i)
{
  return (const CodecOps *)codec_table[i];
}

static CodecInput values(double n, guint n_workers)
{
  return (CodecInput){ .n_values = n, .element_B = 4, .n_workers = n_workers };
}

/* One worker's message in all rounds with @p keys ("k=3; index=int64"). */
static double message_B(const CodecOps *codec, const char *keys, const CodecInput *input)
{
  void *params = fixture_params(&codec->info, keys);
  double sum_B = 0;

  for (guint round = 0; round < codec->n_rounds; round++)
    sum_B += codec->wire_B(params, input, round);
  param_clear(codec->info.params, params);
  g_free(params);
  return sum_B;
}

/* What the NIC of a one-GPU node sends in a ring all-reduce, or all-gather. */
static double ring_sum_B(double size_B, double n)
{
  return 2 * (n - 1) / n * size_B;
}

static double ring_gather_B(double own_B, double n)
{
  return (n - 1) * own_B;
}

/* ---- messages ---------------------------------------------------------------------- */

static void test_messages_are_as_long_as_published(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    const double d = sizes[i];
    const CodecInput input = values(d, 8);
    const double k = MAX(1, floor(0.001 * d));

    CU_ASSERT_EQUAL(message_B(&codec_none, "", &input), 4 * d);
    CU_ASSERT_EQUAL(message_B(&codec_fp16, "", &input), 2 * d);
    CU_ASSERT_EQUAL(message_B(&codec_bf16, "", &input), 2 * d);
    CU_ASSERT_EQUAL(message_B(&codec_onebit, "scale=none", &input), 4 * ceil(d / 32));
    CU_ASSERT_EQUAL(message_B(&codec_onebit, "", &input), 4 * ceil(d / 32) + 4);
    CU_ASSERT_EQUAL(message_B(&codec_onebit, "scale=two", &input), 4 * ceil(d / 32) + 8);
    CU_ASSERT_EQUAL(message_B(&codec_terngrad, "", &input), 4 * ceil(d / 16) + 4);
    CU_ASSERT_EQUAL(message_B(&codec_terngrad, "packed=false", &input),
                    4 * ceil(d / 4) + 4);
    CU_ASSERT_EQUAL(message_B(&codec_topk, "", &input), 8 * k);
    CU_ASSERT_EQUAL(message_B(&codec_topk, "k=1; index=int64", &input), 12);
    CU_ASSERT_EQUAL(message_B(&codec_topk, "k=1; value=fp16", &input), 6);
    CU_ASSERT_EQUAL(message_B(&codec_randomk, "ratio=0.1 %", &input), 4 * k);
    CU_ASSERT_EQUAL(message_B(&codec_randomk, "ratio=0.1 %; shared_seed=false", &input),
                    8 * k);
  }
}

/* A norm of 4 B per bucket, and 1 + log2 s bits per value. */
static void test_qsgd_sends_a_sign_and_a_level(void)
{
  const CodecInput input = values(128 * 100, 8);

  CU_ASSERT_EQUAL(message_B(&codec_qsgd, "", &input), 400 + 12800);
  CU_ASSERT_EQUAL(message_B(&codec_qsgd, "levels=7", &input), 400 + 12800 / 2);
  CU_ASSERT_EQUAL(message_B(&codec_qsgd, "levels=1", &input), 400 + 12800 / 4);
  CU_ASSERT_EQUAL(message_B(&codec_qsgd, "levels=7; packed=false", &input), 400 + 12800);
  CU_ASSERT_EQUAL(message_B(&codec_qsgd, "levels=256; packed=false", &input), 400 + 25600);
  CU_ASSERT_EQUAL(message_B(&codec_qsgd, "bucket=512", &input), 100 + 12800);
}

/* Sums of N ternary values need log2(2 N + 1) bits. */
static void test_terngrad_sums_grow_with_the_workers(void)
{
  const CodecInput few = values(3200, 3), many = values(3200, 1600);

  CU_ASSERT_EQUAL(message_B(&codec_terngrad, "shared_scale=true", &few), 1200 + 4);
  CU_ASSERT_EQUAL(message_B(&codec_terngrad, "shared_scale=true", &many), 4800 + 4);
}

static void test_powersgd_sends_both_sides(void)
{
  CodecInput input = values(512 * 2048, 8);

  input.n_rows = 512;
  CU_ASSERT_EQUAL(message_B(&codec_powersgd, "rank=4", &input), 4 * 4 * (512 + 2048));
  input.n_rows = 0; /* nobody says: square */
  CU_ASSERT_EQUAL(message_B(&codec_powersgd, "rank=4", &input), 4 * 4 * 2 * 1024);
}

/* Where every worker gets every message, N workers eat the gain. */
static void test_gathering_pays_only_for_few_workers(void)
{
  const double d = 3200000;

  for (guint n = 2; n <= 128; n++) {
    const CodecInput input = values(d, n);
    const double dense_B = ring_sum_B(4 * d, n);
    const double half_B = ring_sum_B(2 * d, n);
    const double sign_B = message_B(&codec_onebit, "scale=none", &input);

    CU_ASSERT_EQUAL(ring_gather_B(sign_B, n) < dense_B, n < 64);
    CU_ASSERT_EQUAL(ring_gather_B(sign_B, n) < half_B, n < 32);
    for (guint k = 1000; k <= d; k *= 2) {
      g_autofree char *keys = g_strdup_printf("k=%u", k);
      g_autofree char *wide = g_strdup_printf("k=%u; index=int64", k);
      const double own_B = message_B(&codec_topk, keys, &input);
      const double wide_B = message_B(&codec_topk, wide, &input);
      CU_ASSERT_EQUAL(ring_gather_B(own_B, n) < dense_B, k / d < 1.0 / n);
      CU_ASSERT_EQUAL(ring_gather_B(own_B, n) < half_B, k / d < 0.5 / n);
      CU_ASSERT_EQUAL(ring_gather_B(wide_B, n) < dense_B, k / d < 2.0 / 3 / n);
    }
  }
}

/* ---- work -------------------------------------------------------------------------- */

static void test_work_takes_memory_and_launches(void)
{
  const CodecDevice v100 = { .memory_Bps = 900e9, .flops = 15.7e12, .launch_s = 4e-6 };
  const CodecInput input = values(25e6, 8);
  const CodecWork cast = codec_fp16.encode(NULL, &input, 0);
  const CodecWork heavy = { .moved_B = 1, .flops = 15.7e12, .n_kernels = 2 };

  CU_ASSERT_DOUBLE_EQUAL(codec_work_s(&cast, &v100), 4e-6 + 6 * 25e6 / 900e9, 1e-15);
  CU_ASSERT_DOUBLE_EQUAL(codec_work_s(&heavy, &v100), 8e-6 + 1, 1e-12);
}

/* Three passes more, and fp32 memory of all values. */
static void test_error_feedback_costs_passes_and_memory(void)
{
  static const CodecOps *const codecs[] = {
    &codec_onebit, &codec_topk,     &codec_randomk,
    &codec_qsgd,   &codec_terngrad, &codec_powersgd
  };
  const CodecInput input = { 1e6, 4, 1000, 8 };

  for (guint i = 0; i < G_N_ELEMENTS(codecs); i++) {
    const CodecOps *codec = codecs[i];
    void *with = fixture_params(&codec->info, "error_feedback=true");
    void *without = fixture_params(&codec->info, "error_feedback=false");
    const double more_B =
      codec->encode(with, &input, 0).moved_B - codec->encode(without, &input, 0).moved_B;

    CU_ASSERT_DOUBLE_EQUAL(more_B, 12e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(codec->state_B(with, &input) - codec->state_B(without, &input),
                           4e6, 1e-3);
    param_clear(codec->info.params, with);
    param_clear(codec->info.params, without);
    g_free(with);
    g_free(without);
  }
}

/* Laws of the table: nothing negative, the work of decoding what is gathered grows with
 * the senders, that of a sum does not. */
static void test_every_codec_obeys_the_laws(void)
{
  for (guint i = 0; codec_table[i] != NULL; i++) {
    const CodecOps *codec = codec_at(i);
    void *params = fixture_params(&codec->info, "");
    const CodecInput few = { 4e6, 4, 1000, 4 }, many = { 4e6, 4, 1000, 400 };
    const double grown =
      codec->decode(params, &many).moved_B - codec->decode(params, &few).moved_B;

    CU_ASSERT(codec->n_rounds >= 1 && codec->n_rounds <= CODEC_MAX_ROUNDS);
    switch (codec->exchange(params)) {
    case CODEC_SUM:
      CU_ASSERT_EQUAL(grown, 0);
      break;
    case CODEC_GATHER:
      CU_ASSERT(grown > 0);
      break;
    case CODEC_SCATTER: /* only scales */
      CU_ASSERT(grown < 16e6 / 1000);
      break;
    }
    CU_ASSERT(codec == &codec_none || codec->info.note != NULL);
    for (guint round = 0; round < codec->n_rounds; round++) {
      const CodecWork work = codec->encode(params, &few, round);
      CU_ASSERT(codec->wire_B(params, &few, round) > 0);
      CU_ASSERT(codec->wire_B(params, &few, round) <= 16e6);
      CU_ASSERT(work.moved_B >= 0 && work.flops >= 0 && work.n_kernels >= 0);
    }
    param_clear(codec->info.params, params);
    g_free(params);
  }
}

/* ---- a workload -------------------------------------------------------------------- */

typedef struct {
  Model *model;
  Workload *workload;
  CompressionSpec spec;
  void *params;
  Compression *compression;
} Case;

static const GpuSpec v100 = {
  .memory_B = (guint64)16e9, .memory_Bps = 900e9, .fp32_flops = 15.7e12, .fp16_flops = 1e14
};

static Case open_case(const char *model, const CodecOps *codec, const char *keys,
                      CompressionSpec spec, CompressionPlace place)
{
  const WorkloadSpec workload = { .batch_per_gpu = 1, .precision = PRECISION_FP32 };
  ComputeSpec compute = { .samples_per_s = 0 };
  Case it = { .model = read_model(model, 0), .spec = spec };

  param_set_defaults(compute_params, &compute);
  it.workload = workload_new(it.model, &workload, &compute, &v100, NULL);
  param_clear(compute_params, &compute);
  it.params = fixture_params(&codec->info, keys);
  const CompressionConfig config = {
    .codec = codec, .params = it.params, .spec = &it.spec, .place = place, .n_workers = 16
  };
  it.compression = compression_new(&config, it.workload, &v100);
  return it;
}

static void close_case(Case *it, const CodecOps *codec)
{
  compression_free(it->compression);
  param_clear(codec->info.params, it->params);
  g_free(it->params);
  workload_free(it->workload);
  model_free(it->model);
}

static Encoding encode_all(const Case *it)
{
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint32 i = 0; i < workload_n_gradients(it->workload); i++)
    g_array_append_val(all, i);
  return compression_encode(it->compression, all);
}

/* Ratios that others computed from the same shapes; ResNet-18's are the paper's. */
static void test_powersgd_shrinks_models_as_published(void)
{
  static const struct {
    const char *model;
    guint rank;
    double ratio;
  } published[] = {
    { "resnet50", 1, 187 },  { "resnet50", 2, 117 }, { "resnet50", 4, 66.5 },
    { "resnet50", 8, 35.8 }, { "vgg16", 1, 1479 },   { "vgg16", 2, 797 },
    { "vgg16", 4, 414 },     { "vgg16", 8, 211 },    { "resnet18", 1, 243 },
    { "resnet18", 2, 137 },  { "resnet18", 4, 73 },
  };

  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    g_autofree char *keys = g_strdup_printf("rank=%u", published[i].rank);
    Case it = open_case(published[i].model, &codec_powersgd, keys, (CompressionSpec){ 0 },
                        COMPRESS_UNITS);
    const Encoding encoding = encode_all(&it);

    CU_ASSERT_DOUBLE_EQUAL(
      it.workload->gradient_B / encoding.message_B / published[i].ratio, 1, TOL_PUBLISHED);
    CU_ASSERT_EQUAL(encoding.n_rounds, 3); /* vectors, P, Q */
    CU_ASSERT_FALSE(compression_assumes_shapes(it.compression));
    close_case(&it, &codec_powersgd);
  }
}

/* Against fp16, after the warm-up of share w on full fp16: 1 / (w + (1 - w) / 16). */
static void test_onebit_adam_saves_what_its_warm_up_leaves(void)
{
  static const double shares[] = { 0.15, 0.2, 0.25 };

  for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
    g_autofree char *keys = g_strdup_printf("warmup_share=%g", shares[i]);
    Case it = open_case("bert_large", &codec_onebit_adam, keys, (CompressionSpec){ 0 },
                        COMPRESS_UNITS);
    const double w = compression_warmup_share(it.compression);
    const double half_B = it.workload->gradient_B / 2;
    const Encoding encoding = encode_all(&it);
    const double ratio = half_B / (w * half_B + (1 - w) * encoding.message_B);

    CU_ASSERT_DOUBLE_EQUAL(w, shares[i], TOL_ROUNDING);
    CU_ASSERT_DOUBLE_EQUAL(ratio * (w + (1 - w) / 16), 1, 1e-5); /* scales */
    CU_ASSERT_EQUAL(encoding.rounds[0].kind, COLL_ALL_TO_ALL);
    CU_ASSERT_EQUAL(encoding.rounds[1].kind, COLL_ALL_GATHER);
    CU_ASSERT_DOUBLE_EQUAL(compression_state_B(it.compression) /
                             (it.workload->gradient_B * (1 + 1.0 / 16)),
                           1, TOL_ROUNDING);
    close_case(&it, &codec_onebit_adam);
  }
}

static void test_rules_leave_tensors_alone(void)
{
  /* ResNet-50's first layer with tensors is conv1, 37,632 B; the last fc, 8,196,000 B. */
  static const CompressionSpec specs[] = {
    { .skip_first_layers = 1 },
    { .skip_last_layers = 1 },
    { .skip_first_layers = 1, .skip_last_layers = 1 },
  };
  static const double left_B[] = { 37632, 8196000, 37632 + 8196000 };

  for (guint i = 0; i < G_N_ELEMENTS(specs); i++) {
    Case it = open_case("resnet50", &codec_fp16, "", specs[i], COMPRESS_UNITS);
    const Encoding encoding = encode_all(&it);
    CU_ASSERT_EQUAL(encoding.n_rounds, 2);
    CU_ASSERT_EQUAL(encoding.rounds[0].kind, COLL_ALL_REDUCE);
    CU_ASSERT_EQUAL(encoding.rounds[0].size_B, left_B[i]);
    CU_ASSERT_EQUAL(encoding.rounds[1].size_B, (it.workload->gradient_B - left_B[i]) / 2);
    close_case(&it, &codec_fp16);
  }
  Case it = open_case("resnet50", &codec_fp16, "", (CompressionSpec){ .min_size_B = 65536 },
                      COMPRESS_UNITS);
  double small_B = 0;
  for (guint i = 0; i < workload_n_gradients(it.workload); i++)
    if (workload_gradient(it.workload, i)->size_B < 65536)
      small_B += workload_gradient(it.workload, i)->size_B;
  CU_ASSERT(small_B > 0);
  CU_ASSERT_EQUAL(encode_all(&it).rounds[0].size_B, small_B);
  close_case(&it, &codec_fp16);
}

static void test_everything_left_alone_is_refused(void)
{
  g_autoptr(GError) error = NULL;
  Case it = open_case("resnet50", &codec_fp16, "",
                      (CompressionSpec){ .skip_last_layers = 99999 }, COMPRESS_UNITS);

  CU_ASSERT_FALSE(compression_check(it.compression, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "every one of the 161 gradients"));
  CU_ASSERT_EQUAL(encode_all(&it).n_rounds, 1);
  close_case(&it, &codec_fp16);
}

static void test_more_values_than_a_tensor_has_are_refused(void)
{
  g_autoptr(GError) error = NULL;
  Case it =
    open_case("resnet50", &codec_topk, "k=65", (CompressionSpec){ 0 }, COMPRESS_TENSORS);

  CU_ASSERT_FALSE(compression_check(it.compression, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "k is 65, but it has 64 values"));
  close_case(&it, &codec_topk);

  Case large = open_case("resnet50", &codec_topk, "k=65",
                         (CompressionSpec){ .min_size_B = 4 * 65 }, COMPRESS_TENSORS);
  CU_ASSERT_TRUE(compression_check(large.compression, NULL));
  close_case(&large, &codec_topk);
}

/* A bucket is encoded at once, so that it takes few kernels; tensors take theirs. */
static void test_tensors_alone_take_more_launches(void)
{
  const CompressionSpec spec = { .kernel_launch_s = 1e-5 };
  Case bucket = open_case("resnet50", &codec_fp16, "", spec, COMPRESS_UNITS);
  Case alone = open_case("resnet50", &codec_fp16, "", spec, COMPRESS_TENSORS);

  CU_ASSERT_DOUBLE_EQUAL(encode_all(&alone).encode_s - encode_all(&bucket).encode_s, 160e-5,
                         1e-12);
  close_case(&bucket, &codec_fp16);
  close_case(&alone, &codec_fp16);
}

static void test_schedules_see_messages(void)
{
  Case it = open_case("resnet50", &codec_topk, "ratio=1 %",
                      (CompressionSpec){ .skip_last_layers = 1 }, COMPRESS_TENSORS);
  Workload *messages = compression_workload_new(it.compression);

  /* Backward meets fc.bias first, which is left alone, then fc.weight. */
  CU_ASSERT_EQUAL(workload_gradient(messages, 0)->size_B, 4000);
  CU_ASSERT_EQUAL(workload_gradient(messages, 1)->size_B, 4 * 2048000);
  CU_ASSERT_EQUAL(workload_gradient(messages, 4)->size_B, 8 * floor(0.01 * 2048 * 512));
  CU_ASSERT_EQUAL(messages->gradient_B, encode_all(&it).message_B);
  compression_workload_free(messages);
  close_case(&it, &codec_topk);
}

static void test_none_needs_no_compression(void)
{
  Case it = open_case("resnet50", &codec_none, "", (CompressionSpec){ 0 }, COMPRESS_UNITS);

  CU_ASSERT_PTR_NULL(it.compression);
  close_case(&it, &codec_none);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("codec", NULL, NULL);
  CU_ADD_TEST(suite, test_messages_are_as_long_as_published);
  CU_ADD_TEST(suite, test_qsgd_sends_a_sign_and_a_level);
  CU_ADD_TEST(suite, test_terngrad_sums_grow_with_the_workers);
  CU_ADD_TEST(suite, test_powersgd_sends_both_sides);
  CU_ADD_TEST(suite, test_gathering_pays_only_for_few_workers);
  CU_ADD_TEST(suite, test_work_takes_memory_and_launches);
  CU_ADD_TEST(suite, test_error_feedback_costs_passes_and_memory);
  CU_ADD_TEST(suite, test_every_codec_obeys_the_laws);
  CU_ADD_TEST(suite, test_powersgd_shrinks_models_as_published);
  CU_ADD_TEST(suite, test_onebit_adam_saves_what_its_warm_up_leaves);
  CU_ADD_TEST(suite, test_rules_leave_tensors_alone);
  CU_ADD_TEST(suite, test_everything_left_alone_is_refused);
  CU_ADD_TEST(suite, test_more_values_than_a_tensor_has_are_refused);
  CU_ADD_TEST(suite, test_tensors_alone_take_more_launches);
  CU_ADD_TEST(suite, test_schedules_see_messages);
  CU_ADD_TEST(suite, test_none_needs_no_compression);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
