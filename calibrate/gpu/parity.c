#include "calibrate/gpu/parity.h"

#include "calibrate/gpu/simt_host.h"
#include "sim/base/registry.h"
#include "sim/base/rng.h"

#include <stdlib.h>
#include <string.h>

/* Odd, so that every kernel has values beyond its last full piece, warp and block. */
#define N_VALUES 20011
#define ALIGNMENT 16
#define BUFFERS_MAX 6

typedef enum {
  COMPARE_BITS,
  COMPARE_PAIRS,   /* this buffer of values and the next of indices, as a set */
  COMPARE_NOTHING, /* the clock or the order decides */
} Compare;

typedef struct {
  const char *name;
  KernelLaunch launch;
  GpuBuffer buffer[BUFFERS_MAX]; /* data: the case's own */
  Compare compare[BUFFERS_MAX];
  guint n;
} Case;

/* ---- buffers ----------------------------------------------------------------------- */

/* Transfer: free(). Cleared beyond @p size_B, as far as its alignment goes. */
static void *buffer_new(size_t size_B)
{
  const size_t whole_B = (size_B + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *data = aligned_alloc(ALIGNMENT, whole_B);

  return memset(data, 0, whole_B);
}

/* Takes over @p data. */
static void add(Case *it, size_t pointer_offset, void *data, size_t size_B, Compare compare)
{
  it->buffer[it->n] = (GpuBuffer){ pointer_offset, data, size_B };
  it->compare[it->n++] = compare;
}
#define ADD(it, args_field, data, size_B, compare)                                         \
  add(it, offsetof(KernelArgs, args_field), data, size_B, compare)

static void case_clear(Case *it)
{
  for (guint i = 0; i < it->n; i++)
    free(it->buffer[i].data);
}

static float *random_values(const char *name, guint n)
{
  g_autoptr(Rng) rng = rng_stream(3, name);
  float *value = buffer_new(n * sizeof *value);

  for (guint i = 0; i < n; i++)
    value[i] = (float)(2 * rng_uniform(rng) - 1);
  return value;
}

static uint16_t *random_halves(const char *name, guint n, uint32_t type)
{
  float *value = random_values(name, n);
  uint16_t *half = buffer_new(n * sizeof *half);

  for (guint i = 0; i < n; i++)
    half[i] = narrow_value(type, value[i]);
  free(value);
  return half;
}

/* ---- cases ------------------------------------------------------------------------- */

static void case_copy(Case *it)
{
  it->launch = (KernelLaunch){ KERNEL_copy, 5, 256, { .copy = { .n = N_VALUES / 4 } } };
  ADD(it, copy.from, random_values("copy", N_VALUES), 4 * N_VALUES, COMPARE_BITS);
  ADD(it, copy.to, buffer_new(4 * N_VALUES), 4 * N_VALUES, COMPARE_BITS);
}

static void case_flush(Case *it)
{
  it->launch =
    (KernelLaunch){ KERNEL_flush, 3, 64, { .flush = { .n = N_VALUES / 4, .value = 7 } } };
  ADD(it, flush.to, buffer_new(4 * N_VALUES), 4 * N_VALUES, COMPARE_BITS);
}

static void case_reduce_of(Case *it, uint32_t type)
{
  it->launch =
    (KernelLaunch){ KERNEL_reduce, 7, 128, { .reduce = { .n = N_VALUES, .type = type } } };
  if (type == SIMT_FP32) {
    ADD(it, reduce.sum, random_values("sum", N_VALUES), 4 * N_VALUES, COMPARE_BITS);
    ADD(it, reduce.addend, random_values("addend", N_VALUES), 4 * N_VALUES, COMPARE_BITS);
  } else {
    ADD(it, reduce.sum, random_halves("sum", N_VALUES, type), 2 * N_VALUES, COMPARE_BITS);
    ADD(it, reduce.addend, random_halves("addend", N_VALUES, type), 2 * N_VALUES,
        COMPARE_BITS);
  }
}

static void case_reduce_fp32(Case *it)
{
  case_reduce_of(it, SIMT_FP32);
}

static void case_reduce_fp16(Case *it)
{
  case_reduce_of(it, SIMT_FP16);
}

static void case_reduce_bf16(Case *it)
{
  case_reduce_of(it, SIMT_BF16);
}

/* Every kind of value: ties, subnormals, infinities and those that become them. */
static float *difficult_values(guint n)
{
  g_autoptr(Rng) rng = rng_stream(5, "difficult");
  float *value = buffer_new(n * sizeof *value);

  for (guint i = 0; i < n; i++) {
    uint32_t bits = rng_below(rng, 0x80000000u) << 1 | (i & 1);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
      bits &= 0xff800000u; /* no NaN: its payload is the machine's */
    value[i] = simt_float(i % 3 == 0 ? bits & 0xfffff000u : bits);
  }
  return value;
}

static void case_narrow_of(Case *it, uint32_t type)
{
  it->launch =
    (KernelLaunch){ KERNEL_narrow, 4, 128, { .narrow = { .n = N_VALUES, .type = type } } };
  ADD(it, narrow.from, difficult_values(N_VALUES), 4 * N_VALUES, COMPARE_BITS);
  ADD(it, narrow.to, buffer_new(2 * N_VALUES), 2 * N_VALUES, COMPARE_BITS);
}

static void case_narrow_fp16(Case *it)
{
  case_narrow_of(it, SIMT_FP16);
}

static void case_narrow_bf16(Case *it)
{
  case_narrow_of(it, SIMT_BF16);
}

static void case_widen_of(Case *it, uint32_t type)
{
  it->launch =
    (KernelLaunch){ KERNEL_widen, 4, 128, { .widen = { .n = N_VALUES, .type = type } } };
  ADD(it, widen.from, random_halves("widen", N_VALUES, type), 2 * N_VALUES, COMPARE_BITS);
  ADD(it, widen.to, buffer_new(4 * N_VALUES), 4 * N_VALUES, COMPARE_BITS);
}

static void case_widen_fp16(Case *it)
{
  case_widen_of(it, SIMT_FP16);
}

static void case_widen_bf16(Case *it)
{
  case_widen_of(it, SIMT_BF16);
}

/* It ends by its limit of 5 ms, after 50 chunks: more than a block has. */
static void case_paced(Case *it)
{
  const uint64_t n = N_VALUES / 8 * 2;

  it->launch = (KernelLaunch){
    KERNEL_paced,
    2,
    512,
    { .paced = { .n = n, .chunk = 64, .interval_ns = 100000, .limit_ns = 5000000 } }
  };
  ADD(it, paced.from, random_values("paced", N_VALUES), 4 * N_VALUES, COMPARE_BITS);
  ADD(it, paced.to, buffer_new(4 * N_VALUES), 4 * N_VALUES, COMPARE_BITS);
  ADD(it, paced.stop, buffer_new(4), 4, COMPARE_BITS);
  ADD(it, paced.n_moved, buffer_new(16), 16, COMPARE_NOTHING);
}

static void case_onebit_encode(Case *it)
{
  it->launch =
    (KernelLaunch){ KERNEL_onebit_encode, 6, 256, { .onebit_encode = { .n = N_VALUES } } };
  ADD(it, onebit_encode.gradient, random_values("gradient", N_VALUES), 4 * N_VALUES,
      COMPARE_BITS);
  ADD(it, onebit_encode.error, random_values("error", N_VALUES), 4 * N_VALUES,
      COMPARE_BITS);
  ADD(it, onebit_encode.signs, buffer_new(N_VALUES / 8 + 4), N_VALUES / 8 + 4,
      COMPARE_BITS);
  ADD(it, onebit_encode.scale, buffer_new(4 * (N_VALUES / 1024 + 1)),
      4 * (N_VALUES / 1024 + 1), COMPARE_BITS);
}

static void case_onebit_decode(Case *it)
{
  it->launch = (KernelLaunch){
    KERNEL_onebit_decode, 6, 256, { .onebit_decode = { .n = N_VALUES, .chunk_log2 = 10 } }
  };
  ADD(it, onebit_decode.signs, random_values("signs", N_VALUES / 32 + 1), N_VALUES / 8 + 4,
      COMPARE_BITS);
  ADD(it, onebit_decode.scale, random_values("scale", N_VALUES / 1024 + 1),
      4 * (N_VALUES / 1024 + 1), COMPARE_BITS);
  ADD(it, onebit_decode.sum, random_values("sum", N_VALUES), 4 * N_VALUES, COMPARE_BITS);
}

static void case_randomk_encode(Case *it)
{
  const guint k = 500;

  it->launch =
    (KernelLaunch){ KERNEL_randomk_encode,
                    2,
                    128,
                    { .randomk_encode = { .n = N_VALUES, .k = k, .seed = 11 } } };
  ADD(it, randomk_encode.values, random_values("randomk", N_VALUES), 4 * N_VALUES,
      COMPARE_BITS);
  ADD(it, randomk_encode.message, buffer_new(4 * k), 4 * k, COMPARE_BITS);
}

static void case_randomk_decode(Case *it)
{
  const guint k = 500;

  it->launch =
    (KernelLaunch){ KERNEL_randomk_decode,
                    2,
                    128,
                    { .randomk_decode = { .n = N_VALUES, .k = k, .seed = 11 } } };
  ADD(it, randomk_decode.message, random_values("message", k), 4 * k, COMPARE_BITS);
  ADD(it, randomk_decode.sum, random_values("randomk", N_VALUES), 4 * N_VALUES,
      COMPARE_BITS);
}

static void case_gram_schmidt(Case *it)
{
  const guint n = 1001, r = 4;

  it->launch =
    (KernelLaunch){ KERNEL_gram_schmidt, 1, 1024, { .gram_schmidt = { .n = n, .r = r } } };
  ADD(it, gram_schmidt.matrix, random_values("matrix", n * r), 4 * n * r, COMPARE_BITS);
}

/* The key of 0.5: half of the values are above. */
static TopkState *topk_state(uint32_t prefix, uint32_t n_left)
{
  TopkState *state = buffer_new(sizeof *state);

  state->prefix = prefix;
  state->n_left = n_left;
  return state;
}

static void case_topk_histogram(Case *it)
{
  it->launch = (KernelLaunch){
    KERNEL_topk_histogram, 4, 256, { .topk_histogram = { .n = N_VALUES, .digit = 1 } }
  };
  ADD(it, topk_histogram.values, random_values("topk", N_VALUES), 4 * N_VALUES,
      COMPARE_BITS);
  ADD(it, topk_histogram.state, topk_state(0x3f000000u, 100), sizeof(TopkState),
      COMPARE_BITS);
  ADD(it, topk_histogram.histogram, buffer_new(4 * TOPK_BINS), 4 * TOPK_BINS, COMPARE_BITS);
}

static void case_topk_pick(Case *it)
{
  uint32_t *histogram = buffer_new(4 * TOPK_BINS);

  for (guint i = 0; i < TOPK_BINS; i++)
    histogram[i] = i * 7 % 13;
  it->launch = (KernelLaunch){ KERNEL_topk_pick, 1, 256, { .topk_pick = { .digit = 1 } } };
  ADD(it, topk_pick.state, topk_state(0x3f000000u, 600), sizeof(TopkState), COMPARE_BITS);
  ADD(it, topk_pick.histogram, histogram, 4 * TOPK_BINS, COMPARE_BITS);
}

static void case_topk_sample(Case *it)
{
  it->launch = (KernelLaunch){
    KERNEL_topk_sample,
    1,
    1024,
    { .topk_sample = { .n = N_VALUES, .n_sample = TOPK_SAMPLE_MAX, .rank = 41 } }
  };
  ADD(it, topk_sample.values, random_values("topk", N_VALUES), 4 * N_VALUES, COMPARE_BITS);
  ADD(it, topk_sample.state, topk_state(0, 0), sizeof(TopkState), COMPARE_BITS);
}

static void case_topk_select(Case *it)
{
  it->launch = (KernelLaunch){
    KERNEL_topk_select, 4, 256, { .topk_select = { .n = N_VALUES, .n_max = N_VALUES } }
  };
  ADD(it, topk_select.values, random_values("topk", N_VALUES), 4 * N_VALUES, COMPARE_BITS);
  ADD(it, topk_select.state, topk_state(0x3f000000u, TOPK_ALL), sizeof(TopkState),
      COMPARE_BITS);
  ADD(it, topk_select.value, buffer_new(4 * N_VALUES), 4 * N_VALUES, COMPARE_PAIRS);
  ADD(it, topk_select.index, buffer_new(4 * N_VALUES), 4 * N_VALUES, COMPARE_NOTHING);
}

static const struct {
  const char *name;
  void (*make)(Case *);
} cases[] = {
  { "copy", case_copy },
  { "flush", case_flush },
  { "reduce fp32", case_reduce_fp32 },
  { "reduce fp16", case_reduce_fp16 },
  { "reduce bf16", case_reduce_bf16 },
  { "cast to fp16", case_narrow_fp16 },
  { "cast to bf16", case_narrow_bf16 },
  { "cast from fp16", case_widen_fp16 },
  { "cast from bf16", case_widen_bf16 },
  { "paced copy", case_paced },
  { "1-bit encode", case_onebit_encode },
  { "1-bit decode", case_onebit_decode },
  { "random-k encode", case_randomk_encode },
  { "random-k decode", case_randomk_decode },
  { "Gram-Schmidt", case_gram_schmidt },
  { "top-k histogram", case_topk_histogram },
  { "top-k pick", case_topk_pick },
  { "top-k sample", case_topk_sample },
  { "top-k select", case_topk_select },
};

/* ---- comparison -------------------------------------------------------------------- */

static int compare_pairs(const void *a, const void *b)
{
  const guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
  return (x > y) - (x < y);
}

/* Index and value in one number each, sorted. */
static guint64 *sorted_pairs(const GpuBuffer *value, const GpuBuffer *index)
{
  const gsize n = value->size_B / 4;
  guint64 *pair = g_new(guint64, n);

  for (gsize i = 0; i < n; i++)
    pair[i] = (guint64)((const uint32_t *)index->data)[i] << 32 |
              ((const uint32_t *)value->data)[i];
  qsort(pair, n, sizeof *pair, compare_pairs);
  return pair;
}

static bool is_same(const GpuBuffer *a, const GpuBuffer *b, guint i, Compare compare)
{
  if (compare == COMPARE_NOTHING)
    return true;
  if (compare == COMPARE_BITS)
    return memcmp(a[i].data, b[i].data, a[i].size_B) == 0;
  g_autofree guint64 *x = sorted_pairs(&a[i], &a[i + 1]);
  g_autofree guint64 *y = sorted_pairs(&b[i], &b[i + 1]);
  return memcmp(x, y, a[i].size_B * 2) == 0;
}

/* "buffer 2, word 17: 3f800000 on the GPU, 3f800001 on the host". */
static void describe_difference(const GpuBuffer *gpu, const GpuBuffer *host, guint buffer,
                                GString *out)
{
  const uint32_t *x = gpu->data, *y = host->data;
  gsize word = 0;

  while (word < gpu->size_B / 4 && x[word] == y[word])
    word++;
  g_string_append_printf(out, "buffer %u, word %" G_GSIZE_FORMAT, buffer, word);
  if (word < gpu->size_B / 4)
    g_string_append_printf(out, ": %08x on the GPU, %08x on the host", x[word], y[word]);
  g_string_append_c(out, '\n');
}

/* Copies of the case's buffers; @p launch points to them. */
static void copy_buffers(const Case *it, GpuBuffer *copy, KernelLaunch *launch)
{
  *launch = it->launch;
  for (guint i = 0; i < it->n; i++) {
    copy[i] = it->buffer[i];
    copy[i].data = buffer_new(copy[i].size_B);
    memcpy(copy[i].data, it->buffer[i].data, copy[i].size_B);
    memcpy((char *)&launch->args + copy[i].pointer_offset, &copy[i].data,
           sizeof copy[i].data);
  }
}

static bool run_both(const Gpu *gpu, const Case *it, GpuBuffer *there, GpuBuffer *here,
                     GError **error)
{
  KernelLaunch on_gpu, on_host;
  GpuFault fault = { 0 };

  copy_buffers(it, there, &on_gpu);
  copy_buffers(it, here, &on_host);
  if (!gpu->plugin->run_kernel(gpu->session, &on_gpu, there, it->n, &fault)) {
    gpu_fail(&fault, error);
    g_prefix_error(error, "%s: ", it->name);
    return false;
  }
  return simt_host_launch(&on_host, SIMT_FORWARD, error);
}

static bool check_case(const Gpu *gpu, const Case *it, bool *same, GString *out,
                       GError **error)
{
  GpuBuffer there[BUFFERS_MAX], here[BUFFERS_MAX];
  const bool ran = run_both(gpu, it, there, here, error);

  *same = true;
  for (guint i = 0; ran && *same && i < it->n; i++)
    if (!is_same(there, here, i, it->compare[i])) {
      *same = false;
      g_string_append_printf(out, "%-16s differs: ", it->name);
      describe_difference(&there[i], &here[i], i, out);
    }
  if (ran && *same)
    g_string_append_printf(out, "%-16s ok\n", it->name);
  for (guint i = 0; i < it->n; i++) {
    free(there[i].data);
    free(here[i].data);
  }
  return ran;
}

bool gpu_parity(const Gpu *gpu, GString *out, GError **error)
{
  guint n_different = 0;

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Case it = { .name = cases[i].name };
    bool same = false;
    cases[i].make(&it);
    const bool ran = check_case(gpu, &it, &same, out, error);
    case_clear(&it);
    if (!ran)
      return false;
    n_different += !same;
  }
  if (n_different > 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT,
                "%u of %u kernels compute something else on the GPU:\n%s", n_different,
                (guint)G_N_ELEMENTS(cases), out->str);
  return n_different == 0;
}
