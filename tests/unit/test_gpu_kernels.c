/**
 * @file test_gpu_kernels.c
 * @brief The bodies of the GPU's kernels, run on the CPU, against plain loops.
 */
#include "calibrate/gpu/simt_host.h"
#include "sim/base/rng.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdlib.h>

/* A sum of a chunk's thousand floats in another order. */
#define TOL_SUM 1e-5

/* Odd, so that every kernel has values beyond its last full piece, warp and block. */
#define N_VALUES 5003

static void launch(KernelId kernel, guint n_blocks, guint n_threads, KernelArgs args)
{
  const KernelLaunch it = { kernel, n_blocks, n_threads, args };
  g_autoptr(GError) error = NULL;

  if (!simt_host_launch(&it, SIMT_FORWARD, &error))
    CU_FAIL(error->message);
}

/* On 16 bytes, as cudaMalloc() gives. Transfer: free(). */
static void *aligned(gsize size_B)
{
  void *memory = aligned_alloc(16, (size_B + 15) / 16 * 16);
  memset(memory, 0, (size_B + 15) / 16 * 16);
  return memory;
}

/* Normal-like values of both signs. Transfer: free(). */
static float *random_values(const char *name, guint n)
{
  g_autoptr(Rng) rng = rng_stream(7, name);
  float *value = aligned(n * sizeof *value);

  for (guint i = 0; i < n; i++)
    value[i] = (float)(rng_uniform(rng) + rng_uniform(rng) + rng_uniform(rng) - 1.5);
  return value;
}

/* Transfer: free(). */
static float *copy_values(const float *from, guint n)
{
  float *to = aligned(n * sizeof *to);
  memcpy(to, from, n * sizeof *to);
  return to;
}

/* ---- moving ------------------------------------------------------------------------ */

static void test_copies_are_copies_whatever_the_grid(void)
{
  const guint grids[][2] = { { 1, 32 }, { 3, 64 }, { 7, 1024 } };

  for (guint g = 0; g < G_N_ELEMENTS(grids); g++) {
    float *from = random_values("copy", 4 * 1001), *to = aligned(4 * 1002 * sizeof *to);
    launch(KERNEL_copy, grids[g][0], grids[g][1],
           (KernelArgs){ .copy = { (SimtWord4 *)from, (SimtWord4 *)to, 1001 } });
    CU_ASSERT_EQUAL(memcmp(from, to, 4 * 1001 * sizeof *to), 0);
    CU_ASSERT_EQUAL(to[4 * 1001], 0);
    free(from), free(to);
  }
}

static void test_a_flush_writes_all_of_its_buffer(void)
{
  uint32_t *to = aligned(4 * 100 * sizeof *to);

  launch(KERNEL_flush, 2, 32, (KernelArgs){ .flush = { (SimtWord4 *)to, 99, 5 } });
  for (guint i = 0; i < 4 * 99; i++)
    CU_ASSERT_EQUAL(to[i], 5);
  CU_ASSERT_EQUAL(to[4 * 99], 0);
  free(to);
}

static void test_a_null_kernel_runs(void)
{
  launch(KERNEL_null, 2, 32, (KernelArgs){ .null = { 0 } });
}

static void test_reduction_adds_every_value_once(void)
{
  for (guint n_blocks = 1; n_blocks <= 8; n_blocks *= 2) {
    float *sum = random_values("sum", N_VALUES), *addend = random_values("add", N_VALUES);
    float *before = copy_values(sum, N_VALUES);

    launch(KERNEL_reduce, n_blocks, 64,
           (KernelArgs){ .reduce = { sum, addend, N_VALUES, SIMT_FP32 } });
    for (guint i = 0; i < N_VALUES; i++)
      CU_ASSERT_EQUAL(sum[i], before[i] + addend[i]);
    free(sum), free(addend), free(before);
  }
}

/* Sums of 16 bits are the exact sum, rounded once. */
static void test_reduction_of_16_bits_rounds_once(void)
{
  for (uint32_t type = SIMT_FP16; type <= SIMT_BF16; type++) {
    float *a = random_values("a16", N_VALUES), *b = random_values("b16", N_VALUES);
    uint16_t *sum = aligned(2 * N_VALUES), *addend = aligned(2 * N_VALUES);
    uint16_t *before = aligned(2 * N_VALUES);

    for (guint i = 0; i < N_VALUES; i++) {
      before[i] = sum[i] = narrow_value(type, a[i]);
      addend[i] = narrow_value(type, b[i]);
    }
    launch(KERNEL_reduce, 3, 32, (KernelArgs){ .reduce = { sum, addend, N_VALUES, type } });
    for (guint i = 0; i < N_VALUES; i++) {
      const float exact = widen_value(type, before[i]) + widen_value(type, addend[i]);
      CU_ASSERT_EQUAL(sum[i], narrow_value(type, exact));
    }
    free(a), free(b), free(sum), free(addend), free(before);
  }
}

/* Known values of IEEE 754 binary16 and of bfloat16, ties and subnormals among them. */
static void test_casts_round_to_the_nearest_even(void)
{
  const struct {
    float value;
    uint16_t half, bfloat;
  } known[] = {
    { 1.0f, 0x3c00, 0x3f80 },
    { -2.0f, 0xc000, 0xc000 },
    { 65504.0f, 0x7bff, 0x4780 },
    { 65520.0f, 0x7c00, 0x4780 },
    { 65519.99f, 0x7bff, 0x4780 },
    { 0x1p-24f, 0x0001, 0x3380 },
    { 0x1p-25f, 0x0000, 0x3300 },
    { 0x1.8p-24f, 0x0002, 0x33c0 },
    { 0x1p-14f, 0x0400, 0x3880 },
    { 1.0f + 0x1p-11f, 0x3c00, 0x3f80 },
    { 1.0f + 0x3p-11f, 0x3c02, 0x3f80 },
    { 1.0f + 0x1p-8f, 0x3c04, 0x3f80 },
    { 1.0f + 0x3p-8f, 0x3c0c, 0x3f82 },
    { -0.0f, 0x8000, 0x8000 },
    { INFINITY, 0x7c00, 0x7f80 },
    { NAN, 0x7fff, 0x7fff },
  };
  for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
    CU_ASSERT_EQUAL(simt_half(known[i].value), known[i].half);
    CU_ASSERT_EQUAL(simt_bfloat(known[i].value), known[i].bfloat);
  }
}

static void test_every_half_survives_both_casts(void)
{
  for (guint bits = 0; bits <= 0xffff; bits++) {
    const bool is_nan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
    if (!is_nan && simt_half(simt_from_half((uint16_t)bits)) != bits)
      CU_FAIL("a half changed");
  }
}

static void test_cast_kernels_treat_every_value(void)
{
  for (uint32_t type = SIMT_FP16; type <= SIMT_BF16; type++) {
    float *value = random_values("cast", N_VALUES), *back = aligned(4 * N_VALUES);
    uint16_t *narrow = aligned(2 * N_VALUES);

    launch(KERNEL_narrow, 2, 64,
           (KernelArgs){ .narrow = { value, narrow, N_VALUES, type } });
    launch(KERNEL_widen, 3, 32, (KernelArgs){ .widen = { narrow, back, N_VALUES, type } });
    for (guint i = 0; i < N_VALUES; i++) {
      CU_ASSERT_EQUAL(narrow[i], narrow_value(type, value[i]));
      CU_ASSERT_EQUAL(back[i], widen_value(type, narrow[i]));
    }
    free(value), free(back), free(narrow);
  }
}

/* The host's clock goes on by 100 ns a look: 40 chunks of 10 us end at the limit. */
static void test_the_paced_copy_keeps_its_pace_and_its_limit(void)
{
  float *from = random_values("paced", 4 * 4000), *to = aligned(4 * 4000 * sizeof *to);
  uint64_t n_moved[2] = { 0 };
  const uint32_t go_on = 0, stop = 1;
  KernelArgs args = { .paced = { .from = (SimtWord4 *)from,
                                 .to = (SimtWord4 *)to,
                                 .n = 4000,
                                 .chunk = 64,
                                 .interval_ns = 10000,
                                 .limit_ns = 400000,
                                 .stop = &go_on,
                                 .n_moved = n_moved } };

  launch(KERNEL_paced, 2, 32, args);
  CU_ASSERT_EQUAL(memcmp(from, to, 4 * 4000 * sizeof *to), 0); /* 2000 each: 31.25 chunks */
  for (guint block = 0; block < 2; block++)
    CU_ASSERT_TRUE(n_moved[block] >= 39 * 64 - 48 && n_moved[block] <= 40 * 64);
  args.paced.stop = &stop;
  launch(KERNEL_paced, 2, 32, args);
  CU_ASSERT_EQUAL(n_moved[0], 0);
  free(from), free(to);
}

/* ---- codecs ------------------------------------------------------------------------ */

typedef struct {
  float *gradient, *error, *before, *sum, *scale;
  uint32_t *signs;
} Onebit;

static Onebit onebit_run(guint n, guint n_blocks, guint n_threads)
{
  Onebit it = { .gradient = random_values("gradient", n),
                .error = random_values("error", n),
                .sum = aligned(4 * n),
                .scale = aligned(4 * n),
                .signs = aligned(4 * n) };

  it.before = copy_values(it.error, n);
  launch(KERNEL_onebit_encode, n_blocks, n_threads,
         (KernelArgs){ .onebit_encode = { it.gradient, it.error, it.signs, it.scale, n } });
  launch(KERNEL_onebit_decode, 2, 64,
         (KernelArgs){ .onebit_decode = { it.signs, it.scale, it.sum, n,
                                          (uint32_t)g_bit_storage(4 * n_threads) - 1 } });
  return it;
}

static void onebit_clear(Onebit *it)
{
  free(it->gradient), free(it->error), free(it->before);
  free(it->sum), free(it->scale), free(it->signs);
}

static void test_onebit_sends_signs_and_mean_sizes(void)
{
  const guint chunk = 4 * 64;
  Onebit it = onebit_run(N_VALUES, 3, 64);

  for (guint first = 0; first < N_VALUES; first += chunk) {
    const guint end = MIN(first + chunk, N_VALUES);
    double size = 0;
    for (guint i = first; i < end; i++) {
      const float value = it.gradient[i] + it.before[i];
      size += fabs((double)value) / (end - first);
      CU_ASSERT_EQUAL(it.signs[i / 32] >> (i % 32) & 1, value >= 0);
    }
    CU_ASSERT_DOUBLE_EQUAL(it.scale[first / chunk] / size, 1, TOL_SUM);
  }
  onebit_clear(&it);
}

/* Nothing is lost: what was decoded and what stays back are the gradient and the old error.
 */
static void test_onebit_keeps_what_it_did_not_send(void)
{
  const guint sizes[] = { 1, 31, 33, 256, 257, N_VALUES };

  for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
    Onebit it = onebit_run(sizes[s], 2, 64);
    for (guint i = 0; i < sizes[s]; i++)
      CU_ASSERT_DOUBLE_EQUAL(it.sum[i] + it.error[i], it.gradient[i] + it.before[i],
                             2e-7 * 4);
    onebit_clear(&it);
  }
}

static void test_randomk_draws_one_index_from_each_stratum(void)
{
  const uint64_t n = 100003, ks[] = { 1, 7, 1000, 100003 };

  for (guint j = 0; j < G_N_ELEMENTS(ks); j++)
    for (uint64_t i = 0; i < ks[j]; i++) {
      const uint64_t index = randomk_index(42, i, ks[j], n), stratum = n / ks[j];
      const uint64_t end = i + 1 < ks[j] ? stratum * (i + 1) : n;
      CU_ASSERT_TRUE(index >= stratum * i && index < end);
      if (stratum > 50 && ks[j] > 1)
        CU_ASSERT_EQUAL(index, randomk_index(42, i, ks[j], n));
    }
  /* Another seed draws others, and the draws fill a stratum evenly. */
  double mean = 0;
  guint n_same = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    mean += (double)(randomk_index(42, i, 1000, n) - 100 * i) / 1000;
    n_same += randomk_index(42, i, 1000, n) == randomk_index(43, i, 1000, n);
  }
  CU_ASSERT_TRUE(fabs(mean - 49.5) < 4); /* a standard deviation is 0.9 */
  CU_ASSERT_TRUE(n_same < 40);
}

static void test_randomk_loses_nothing(void)
{
  const guint n = N_VALUES, k = 50;
  float *values = random_values("randomk", n), *before = copy_values(values, n);
  float *message = aligned(4 * k), *sum = aligned(4 * n);
  guint n_sent = 0;

  launch(KERNEL_randomk_encode, 2, 32,
         (KernelArgs){ .randomk_encode = { values, message, n, k, 9 } });
  launch(KERNEL_randomk_decode, 1, 32,
         (KernelArgs){ .randomk_decode = { message, sum, n, k, 9 } });
  for (guint i = 0; i < n; i++) {
    CU_ASSERT_EQUAL(sum[i] + values[i], before[i]);
    n_sent += sum[i] != 0;
  }
  CU_ASSERT_EQUAL(n_sent, k);
  free(values), free(before), free(message), free(sum);
}

static double dot(const float *a, const float *b, guint n)
{
  double sum = 0;
  for (guint i = 0; i < n; i++)
    sum += (double)a[i] * b[i];
  return sum;
}

static void test_gram_schmidt_makes_columns_orthogonal(void)
{
  const guint n = 515, r = 4;
  float *matrix = random_values("matrix", n * r), *before = copy_values(matrix, n * r);

  launch(KERNEL_gram_schmidt, 1, 128, (KernelArgs){ .gram_schmidt = { matrix, n, r } });
  for (guint a = 0; a < r; a++)
    for (guint b = 0; b <= a; b++)
      CU_ASSERT_DOUBLE_EQUAL(dot(matrix + a * n, matrix + b * n, n), a == b, 2e-6);
  /* The span is the same: what is left of the last column beyond the new ones is nothing.
   */
  for (guint i = 0; i < n; i++) {
    double value = before[(r - 1) * n + i];
    for (guint a = 0; a < r; a++)
      value -= dot(before + (r - 1) * n, matrix + a * n, n) * matrix[a * n + i];
    CU_ASSERT_DOUBLE_EQUAL(value, 0, 1e-5);
  }
  free(matrix), free(before);
}

static void test_gram_schmidt_leaves_zeros_alone(void)
{
  float *matrix = aligned(4 * 64);

  launch(KERNEL_gram_schmidt, 1, 32, (KernelArgs){ .gram_schmidt = { matrix, 32, 2 } });
  for (guint i = 0; i < 64; i++)
    CU_ASSERT_EQUAL(matrix[i], 0);
  free(matrix);
}

/* ---- top-k ------------------------------------------------------------------------- */

static int by_size_down(const void *a, const void *b)
{
  const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
  return (x < y) - (x > y);
}

/* The key of the k-th largest by size. */
static uint32_t kth_key(const float *values, guint n, guint k)
{
  g_autofree float *sorted = g_memdup2(values, n * sizeof *sorted);

  qsort(sorted, n, sizeof *sorted, by_size_down);
  return simt_size_key(sorted[k - 1]);
}

static TopkState radix_search(const float *values, guint n, guint k, guint n_blocks)
{
  uint32_t histogram[TOPK_BINS] = { 0 };
  TopkState state = { .n_left = k };

  for (uint32_t digit = 0; digit < TOPK_DIGITS; digit++) {
    launch(KERNEL_topk_histogram, n_blocks, 64,
           (KernelArgs){ .topk_histogram = { values, n, &state, histogram, digit } });
    launch(KERNEL_topk_pick, 1, 128,
           (KernelArgs){ .topk_pick = { &state, histogram, digit } });
  }
  return state;
}

/* Every value of the message is where its index says, and none comes twice. */
static void check_message(const float *values, guint n, const float *value,
                          const uint32_t *index, guint count)
{
  g_autofree bool *seen = g_new0(bool, n);

  for (guint i = 0; i < count; i++) {
    CU_ASSERT_TRUE_FATAL(index[i] < n);
    CU_ASSERT_FALSE(seen[index[i]]);
    seen[index[i]] = true;
    CU_ASSERT_EQUAL(value[i], values[index[i]]);
  }
}

static void check_topk_radix(const float *values, guint n, guint k)
{
  TopkState state = radix_search(values, n, k, 3);
  g_autofree float *value = g_new0(float, k);
  g_autofree uint32_t *index = g_new0(uint32_t, k);
  const uint32_t key = kth_key(values, n, k);

  CU_ASSERT_EQUAL(state.prefix, key);
  launch(KERNEL_topk_select, 3, 64,
         (KernelArgs){ .topk_select = { values, n, &state, k, value, index } });
  CU_ASSERT_EQUAL(state.n_taken + state.n_left, k);
  CU_ASSERT_TRUE(state.n_ties >= state.n_left);
  check_message(values, n, value, index, k);
  for (guint i = 0; i < k; i++)
    CU_ASSERT_TRUE(simt_size_key(value[i]) >= key);
}

static void test_radix_finds_exactly_the_k_largest(void)
{
  const guint ks[] = { 1, 5, 50, 500, N_VALUES };
  float *values = random_values("topk", N_VALUES);

  for (guint i = 0; i < G_N_ELEMENTS(ks); i++)
    check_topk_radix(values, N_VALUES, ks[i]);
  free(values);
}

static void test_radix_takes_no_more_ties_than_it_may(void)
{
  float *values = random_values("ties", 1000);

  for (guint i = 0; i < 1000; i++)
    values[i] = i % 10 == 0 ? 2 : i % 3 == 0 ? -0.5f : 0.25f;
  check_topk_radix(values, 1000, 100);
  check_topk_radix(values, 1000, 101);
  check_topk_radix(values, 1000, 250);
  check_topk_radix(values, 1000, 1000);
  free(values);
}

static void test_a_sample_estimates_the_threshold(void)
{
  const guint n = 40000, n_sample = 4000, k = 400;
  float *values = random_values("sample", n);
  g_autofree float *sample = g_new(float, n_sample);
  g_autofree float *value = g_new0(float, 2 * k);
  g_autofree uint32_t *index = g_new0(uint32_t, 2 * k);
  TopkState state = { 0 };
  guint n_above = 0;

  for (guint i = 0; i < n_sample; i++)
    sample[i] = values[i * 10];
  launch(KERNEL_topk_sample, 1, 256,
         (KernelArgs){ .topk_sample = { values, n, n_sample, k / 10, &state } });
  CU_ASSERT_EQUAL(state.prefix, kth_key(sample, n_sample, k / 10));
  launch(KERNEL_topk_select, 4, 64,
         (KernelArgs){ .topk_select = { values, n, &state, 2 * k, value, index } });
  for (guint i = 0; i < n; i++)
    n_above += simt_size_key(values[i]) >= state.prefix;
  CU_ASSERT_EQUAL(state.n_taken, n_above);
  CU_ASSERT_TRUE(n_above > k * 6 / 10 && n_above < k * 15 / 10);
  check_message(values, n, value, index, MIN(n_above, 2 * k));
  free(values);
}

/* ---- the runner -------------------------------------------------------------------- */

/* A barrier that is missing, or a race, gives other results when threads run the other way
 * round. */
static void test_kernels_do_not_depend_on_the_order_of_threads(void)
{
  float *result[2][2];

  for (SimtOrder order = SIMT_FORWARD; order <= SIMT_BACKWARD; order++) {
    float *gradient = random_values("gradient", N_VALUES);
    float *error = random_values("error", N_VALUES);
    float *scale = aligned(4 * N_VALUES);
    uint32_t *signs = aligned(4 * N_VALUES);
    float *matrix = random_values("matrix", 300 * 3);
    const KernelLaunch encode = { KERNEL_onebit_encode,
                                  2,
                                  128,
                                  { .onebit_encode = { gradient, error, signs, scale,
                                                       N_VALUES } } };
    const KernelLaunch orthogonal = {
      KERNEL_gram_schmidt, 1, 64, { .gram_schmidt = { matrix, 300, 3 } }
    };

    CU_ASSERT_TRUE(simt_host_launch(&encode, order, NULL));
    CU_ASSERT_TRUE(simt_host_launch(&orthogonal, order, NULL));
    result[order][0] = error;
    result[order][1] = matrix;
    free(gradient), free(scale), free(signs);
  }
  CU_ASSERT_EQUAL(memcmp(result[0][0], result[1][0], 4 * N_VALUES), 0);
  CU_ASSERT_EQUAL(memcmp(result[0][1], result[1][1], 4 * 300 * 3), 0);
  for (guint i = 0; i < 2; i++)
    free(result[i][0]), free(result[i][1]);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("gpu kernels", NULL, NULL);
  CU_ADD_TEST(suite, test_a_null_kernel_runs);
  CU_ADD_TEST(suite, test_copies_are_copies_whatever_the_grid);
  CU_ADD_TEST(suite, test_a_flush_writes_all_of_its_buffer);
  CU_ADD_TEST(suite, test_reduction_adds_every_value_once);
  CU_ADD_TEST(suite, test_reduction_of_16_bits_rounds_once);
  CU_ADD_TEST(suite, test_casts_round_to_the_nearest_even);
  CU_ADD_TEST(suite, test_every_half_survives_both_casts);
  CU_ADD_TEST(suite, test_cast_kernels_treat_every_value);
  CU_ADD_TEST(suite, test_the_paced_copy_keeps_its_pace_and_its_limit);
  CU_ADD_TEST(suite, test_onebit_sends_signs_and_mean_sizes);
  CU_ADD_TEST(suite, test_onebit_keeps_what_it_did_not_send);
  CU_ADD_TEST(suite, test_randomk_draws_one_index_from_each_stratum);
  CU_ADD_TEST(suite, test_randomk_loses_nothing);
  CU_ADD_TEST(suite, test_gram_schmidt_makes_columns_orthogonal);
  CU_ADD_TEST(suite, test_gram_schmidt_leaves_zeros_alone);
  CU_ADD_TEST(suite, test_radix_finds_exactly_the_k_largest);
  CU_ADD_TEST(suite, test_radix_takes_no_more_ties_than_it_may);
  CU_ADD_TEST(suite, test_a_sample_estimates_the_threshold);
  CU_ADD_TEST(suite, test_kernels_do_not_depend_on_the_order_of_threads);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
