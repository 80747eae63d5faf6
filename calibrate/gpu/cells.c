#include "calibrate/gpu/cells.h"

#include <math.h>

/* Sizes of kernels and copies go up by this. */
#define STEP 4
#define QUICK_STEP 16

/* Host buffers end here, with two halves for copies both ways. */
#define HOST_MAX_B (512ull << 20)

typedef struct {
  GArray *cells;
  const GpuDevice *device;
  const GpuVersions *versions;
  GpuEffort effort;
} List;

static const char *const type_names[] = { "fp32", "tf32", "fp16", "bf16" };

static void cell_clear(void *data)
{
  GpuCell *cell = data;
  sample_free(cell->sample);
}

/* Transfer: the list's; the caller may set more of it before the next call. */
static Sample *add(List *list, const char *probe, const char *variant, double size,
                   const GpuWork *work)
{
  const GpuCell cell = { sample_new(probe), *work };

  sample_set(&cell.sample->library, "stepcast");
  sample_set(&cell.sample->place, "gpu");
  sample_set(&cell.sample->variant, variant);
  sample_set(&cell.sample->regime, work->cold ? "cold" : "warm");
  cell.sample->ranks = 1;
  cell.sample->nodes = 1;
  cell.sample->axis = SAMPLE_BYTES;
  cell.sample->size = size;
  g_array_append_val(list->cells, cell);
  return cell.sample;
}

/* ---- sizes ------------------------------------------------------------------------- */

static uint64_t step(const List *list)
{
  return list->effort == GPU_QUICK ? QUICK_STEP : STEP;
}

/* From @p from_B up to @p to_B, and with full effort one size off the grid between each
 * two, which nobody fits, for validation. GArray of uint64_t. */
static GArray *sizes(const List *list, uint64_t from_B, uint64_t to_B)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(uint64_t));

  for (uint64_t size_B = from_B; size_B <= to_B; size_B *= step(list)) {
    const uint64_t between_B = size_B / 2 * 3;
    g_array_append_val(all, size_B);
    if (list->effort == GPU_FULL && between_B <= to_B)
      g_array_append_val(all, between_B);
  }
  return all;
}

/* Cold and warm caches; a quick sweep measures each size as the simulator will use it:
 * buckets below 1 MiB warm, larger ones cold. */
static bool wants_regime(const List *list, uint64_t size_B, bool cold)
{
  return list->effort != GPU_QUICK || cold == (size_B >= 1u << 20);
}

/* One curve in both regimes over the sizes; work's cold and size_B are set here. */
static void add_curve(List *list, const char *probe, const char *algo, const char *variant,
                      const char *dtype, GpuWork work, uint64_t from_B, uint64_t to_B)
{
  g_autoptr(GArray) all = sizes(list, from_B, MIN(to_B, list->device->buffer_B));

  for (guint i = 0; i < all->len; i++)
    for (guint cold = 0; cold < 2; cold++) {
      work.size_B = g_array_index(all, uint64_t, i);
      work.cold = cold != 0;
      if (!wants_regime(list, work.size_B, work.cold))
        continue;
      Sample *sample = add(list, probe, variant, (double)work.size_B, &work);
      sample_set(&sample->dtype, dtype);
      sample_set(&sample->algo, algo);
    }
}

/* ---- starts and copies ------------------------------------------------------------- */

static void add_launches(List *list)
{
  const struct {
    GpuProbe probe;
    const char *variant;
  } ways[] = { { GPU_LAUNCH_STREAM, "stream" },
               { GPU_LAUNCH_SYNC, "sync" },
               { GPU_LAUNCH_GRAPH, "graph" } };

  for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
    const GpuWork work = { .probe = ways[i].probe };
    Sample *sample = add(list, "launch", ways[i].variant, 1, &work);
    sample->axis = SAMPLE_COUNT;
    sample_set(&sample->library, "cuda");
  }
}

static void add_pcie(List *list)
{
  const struct {
    const char *probe;
    const char *variant;
    GpuProbe way;
  } ways[] = {
    { "h2d", "pinned", GPU_H2D_PINNED },
    { "h2d", "pageable", GPU_H2D_PAGEABLE },
    { "d2h", "pinned", GPU_D2H_PINNED },
    { "d2h", "pageable", GPU_D2H_PAGEABLE },
    { "h2d", "pinned both_ways", GPU_PCIE_BOTH },
    { "h2d", "pinned during_d2d", GPU_H2D_DURING_D2D },
  };
  g_autoptr(GArray) all = sizes(list, 4, MIN(HOST_MAX_B, list->device->buffer_B / 2));

  for (guint w = 0; w < G_N_ELEMENTS(ways); w++)
    for (guint i = 0; i < all->len; i++) {
      const GpuWork work = { .probe = ways[w].way,
                             .size_B = g_array_index(all, uint64_t, i) };
      Sample *sample =
        add(list, ways[w].probe, ways[w].variant, (double)work.size_B, &work);
      sample_set(&sample->library, "cuda");
      sample_set(&sample->place, "pcie");
    }
}

static void add_copies(List *list)
{
  const guint from = list->cells->len;

  add_curve(list, "d2d", "", "", "", (GpuWork){ .probe = GPU_D2D }, 4096, UINT64_MAX);
  for (guint i = from; i < list->cells->len; i++)
    sample_set(&g_array_index(list->cells, GpuCell, i).sample->library, "cuda");
  add_curve(list, "d2d", "kernel", "", "", (GpuWork){ .probe = GPU_COPY }, 4096,
            UINT64_MAX);
}

/* ---- kernels ----------------------------------------------------------------------- */

static void add_reductions(List *list)
{
  static const GpuType types[] = { GPU_FP32, GPU_FP16, GPU_BF16 };

  for (guint t = 0; t < G_N_ELEMENTS(types); t++) {
    const char *dtype = type_names[types[t]];
    add_curve(list, "reduce", "", "full grid", dtype,
              (GpuWork){ .probe = GPU_REDUCE, .dtype = types[t] }, 4096, UINT64_MAX);
    for (uint32_t ctas = 1; ctas <= 32; ctas *= 2) {
      g_autofree char *variant = g_strdup_printf("ctas=%u", ctas);
      add_curve(list, "reduce", "", variant, dtype,
                (GpuWork){ .probe = GPU_REDUCE, .dtype = types[t], .ctas = ctas }, 65536,
                64u << 20);
    }
  }
}

static void add_casts(List *list)
{
  static const GpuType types[] = { GPU_FP16, GPU_BF16 };

  for (guint t = 0; t < G_N_ELEMENTS(types); t++) {
    const GpuWork narrow = { .probe = GPU_NARROW, .dtype = types[t] };
    const GpuWork widen = { .probe = GPU_WIDEN, .dtype = types[t] };
    const char *dtype = type_names[types[t]];
    add_curve(list, "cast", "", "from fp32", dtype, narrow, 4096, UINT64_MAX);
    add_curve(list, "cast", "", "to fp32", dtype, widen, 4096, UINT64_MAX);
  }
}

static void add_codecs(List *list)
{
  static const double shares[] = { 0.001, 0.01, 0.1 };
  const uint64_t from_B = 16384;

  add_curve(list, "onebit_encode", "", "error_feedback", "fp32",
            (GpuWork){ .probe = GPU_ONEBIT_ENCODE }, from_B, UINT64_MAX);
  add_curve(list, "onebit_decode", "", "added", "fp32",
            (GpuWork){ .probe = GPU_ONEBIT_DECODE }, from_B, UINT64_MAX);
  for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
    g_autofree char *variant = g_strdup_printf("k=%g", shares[i]);
    GpuWork work = { .share = shares[i] };
    work.probe = GPU_TOPK_THRESHOLD;
    add_curve(list, "topk_encode", "threshold", variant, "fp32", work, from_B, UINT64_MAX);
    work.probe = GPU_TOPK_RADIX;
    add_curve(list, "topk_encode", "radix", variant, "fp32", work, from_B, UINT64_MAX);
    work.probe = GPU_RANDOMK_ENCODE;
    add_curve(list, "randomk_encode", "", variant, "fp32", work, from_B, UINT64_MAX);
    work.probe = GPU_RANDOMK_DECODE;
    add_curve(list, "randomk_decode", "", variant, "fp32", work, from_B, UINT64_MAX);
  }
}

static void add_orthogonalisations(List *list)
{
  for (uint32_t r = 1; r <= 8; r *= 2) {
    g_autofree char *variant = g_strdup_printf("rank=%u", r);
    for (uint32_t rows = 256; rows <= 16384; rows *= 4) {
      const GpuWork work = { .probe = GPU_GRAM_SCHMIDT, .m = rows, .n = r };
      Sample *sample = add(list, "powersgd_orthogonalise", variant, 4.0 * rows * r, &work);
      sample_set(&sample->dtype, "fp32");
    }
  }
}

/* ---- products ---------------------------------------------------------------------- */

/* Operands stand behind each other in a buffer, in fp32 at first. */
static bool fits(const List *list, const GpuWork *work)
{
  const double a = (double)work->m * work->k, b = (double)work->k * work->n;
  return (a + b) * 4 <= (double)list->device->buffer_B &&
         (double)work->m * work->n * 4 <= (double)list->device->buffer_B / 2;
}

static void add_product(List *list, GpuType dtype, uint32_t m, uint32_t n, uint32_t k,
                        const char *variant)
{
  const GpuWork work = { .probe = GPU_GEMM, .dtype = dtype, .m = m, .n = n, .k = k };
  const uint32_t version = list->versions->cublas;
  g_autofree char *library = g_strdup_printf("cublas %u.%u.%u", version / 10000,
                                             version % 10000 / 100, version % 100);

  if (!fits(list, &work))
    return;
  Sample *sample = add(list, "gemm", variant, 2.0 * m * n * k, &work);
  sample->axis = SAMPLE_FLOPS;
  sample_set(&sample->library, library);
  sample_set(&sample->dtype, type_names[dtype]);
}

/* Feed-forward layers: hidden and inner width of BERT-large, Llama 2 7B and Llama 2 70B. */
static void add_model_products(List *list, GpuType dtype)
{
  static const uint32_t widths[][2] = { { 1024, 4096 }, { 4096, 11008 }, { 8192, 28672 } };

  for (guint w = 0; w < G_N_ELEMENTS(widths); w++) {
    g_autofree char *variant = g_strdup_printf("n=%u k=%u", widths[w][1], widths[w][0]);
    for (uint32_t tokens = 512; tokens <= 8192; tokens *= 4)
      add_product(list, dtype, tokens, widths[w][1], widths[w][0], variant);
  }
}

/* M Q and its transpose of PowerSGD: square matrices times r columns. */
static void add_skinny_products(List *list)
{
  for (uint32_t r = 1; r <= 32; r *= 2) {
    g_autofree char *variant = g_strdup_printf("square by rank=%u", r);
    for (uint32_t edge = 1024; edge <= 16384; edge *= 4)
      add_product(list, GPU_FP32, edge, r, edge, variant);
  }
}

static void add_products(List *list)
{
  const uint32_t times = list->effort == GPU_QUICK ? 4 : 2;

  if (list->versions->cublas == 0)
    return;
  for (GpuType dtype = GPU_FP32; dtype <= GPU_BF16; dtype++) {
    for (uint32_t edge = 128; edge <= 16384; edge *= times)
      add_product(list, dtype, edge, edge, edge, "square");
    if (dtype != GPU_FP32 || list->effort == GPU_FULL)
      add_model_products(list, dtype);
  }
  add_skinny_products(list);
}

/* ---- contention -------------------------------------------------------------------- */

typedef struct {
  GpuComm comm;
  uint32_t ctas;
  double pace_Bps;
  const char *name;
} Beside;

/* A curve over the number of blocks that run beside. */
static Sample *add_over_ctas(List *list, const char *variant, uint32_t ctas,
                             const GpuWork *work)
{
  Sample *sample = add(list, "contention", variant, ctas, work);

  sample->axis = SAMPLE_COUNT;
  return sample;
}

static void add_beside(List *list, const Beside *beside, bool urgent)
{
  g_autofree char *variant =
    g_strdup_printf("with=%s%s", beside->name, urgent ? " urgent" : "");
  GpuWork work = { .probe = GPU_GEMM_AND_COMM,
                   .dtype = GPU_BF16,
                   .m = 4096,
                   .n = 4096,
                   .k = 4096,
                   .comm = beside->comm,
                   .ctas = beside->ctas,
                   .pace_Bps = beside->pace_Bps,
                   .high_priority = urgent };

  if (list->versions->cublas != 0 && fits(list, &work)) {
    Sample *sample = add_over_ctas(list, variant, beside->ctas, &work);
    sample_set(&sample->algo, "gemm");
    sample_set(&sample->dtype, "bf16");
  }
  work.probe = GPU_COPY_AND_COMM;
  work.m = work.n = work.k = 0;
  work.size_B = MIN(256ull << 20, list->device->buffer_B / 2 / 4096 * 4096);
  work.ctas = beside->ctas;
  sample_set(&add_over_ctas(list, variant, beside->ctas, &work)->algo, "copy");
}

/* The other way round: a MiB of the copy, alone and beside products. */
static void add_comm(List *list, uint32_t ctas, bool beside_gemm)
{
  const char *variant = beside_gemm ? "with=gemm" : "with=none";
  GpuWork work = {
    .probe = GPU_COMM_AND_GEMM, .dtype = GPU_BF16, .comm = GPU_COMM_PACED, .ctas = ctas
  };

  if (beside_gemm)
    work.m = work.n = work.k = 4096;
  if (!beside_gemm || (list->versions->cublas != 0 && fits(list, &work)))
    sample_set(&add_over_ctas(list, variant, ctas, &work)->algo, "paced");
}

static void add_contention(List *list)
{
  const Beside none = { GPU_COMM_NONE, 0, 0, "none" };
  const Beside average = { GPU_COMM_NCCL_AVG, 0, 0, "nccl_avg" };
  const Beside copies = { GPU_COMM_H2D, 0, 0, "h2d" };

  add_beside(list, &none, false);
  add_beside(list, &copies, false);
  if (list->versions->nccl != 0)
    for (guint urgent = 0; urgent < 2; urgent++)
      add_beside(list, &average, urgent != 0);
  for (uint32_t ctas = 1; ctas <= 32; ctas *= 2) {
    const Beside free_running = { GPU_COMM_PACED, ctas, 0, "paced" };
    const Beside paced = { GPU_COMM_PACED, ctas, 2e9 * ctas, "paced pace=2GBps_each" };
    add_beside(list, &free_running, false);
    add_beside(list, &paced, false);
    if (list->effort != GPU_QUICK)
      add_beside(list, &free_running, true);
    add_comm(list, ctas, false);
    add_comm(list, ctas, true);
  }
}

/* ---- NCCL with one rank ------------------------------------------------------------ */

/* Named so that nobody takes it for communication: no link is crossed. */
static void add_one_rank(List *list)
{
  const uint32_t version = list->versions->nccl;
  const guint from = list->cells->len;
  g_autofree char *library =
    g_strdup_printf("nccl %u.%u.%u", version / 10000, version % 10000 / 100, version % 100);

  if (version == 0)
    return;
  for (uint32_t n = 1; n <= 64; n *= 8) {
    const GpuWork work = { .probe = GPU_NCCL_LAUNCH, .n = n };
    add(list, "nccl_launch", "group of 8 B, one rank", n, &work)->axis = SAMPLE_COUNT;
  }
  add_curve(list, "nccl_one_rank", "", "avg", "fp32",
            (GpuWork){ .probe = GPU_NCCL_ONE_RANK }, 4096, UINT64_MAX);
  add_curve(list, "nccl_one_rank", "", "sum", "fp32",
            (GpuWork){ .probe = GPU_NCCL_ONE_RANK_SUM }, 4096, UINT64_MAX);
  for (guint i = from; i < list->cells->len; i++)
    sample_set(&g_array_index(list->cells, GpuCell, i).sample->library, library);
}

/* ---- several GPUs ------------------------------------------------------------------ */

static void add_pair(List *list, GpuProbe probe, uint32_t a, uint32_t b,
                     const char *variant)
{
  g_autoptr(GArray) all = sizes(list, 4, MIN(1ull << 30, list->device->buffer_B));

  for (guint i = 0; i < all->len; i++) {
    const GpuWork work = {
      .probe = probe, .m = a, .n = b, .size_B = g_array_index(all, uint64_t, i)
    };
    Sample *sample = add(list, "p2p", variant, (double)work.size_B, &work);
    sample_set(&sample->library, "cuda");
    sample_set(&sample->place, list->device->n_nvlinks > 0 ? "nvlink" : "pcie");
    sample->ranks = probe == GPU_PEER_ALL ? list->versions->n_devices : 2;
  }
}

static void add_peers(List *list)
{
  const uint32_t n = list->versions->n_devices;

  for (uint32_t a = 0; a < n; a++)
    for (uint32_t b = 0; b < n; b++) {
      g_autofree char *one_way = g_strdup_printf("%u to %u", a, b);
      g_autofree char *both = g_strdup_printf("%u and %u", a, b);
      if (a != b)
        add_pair(list, GPU_PEER, a, b, one_way);
      if (a < b)
        add_pair(list, GPU_PEER_BOTH, a, b, both);
    }
  if (n > 1)
    add_pair(list, GPU_PEER_ALL, 0, 1, "all to their neighbours");
}

GArray *gpu_cells(const GpuDevice *device, const GpuVersions *versions, GpuEffort effort)
{
  List list = { g_array_new(FALSE, FALSE, sizeof(GpuCell)), device, versions, effort };

  g_array_set_clear_func(list.cells, cell_clear);
  add_launches(&list);
  add_copies(&list);
  add_pcie(&list);
  add_reductions(&list);
  add_casts(&list);
  add_codecs(&list);
  add_orthogonalisations(&list);
  add_products(&list);
  add_contention(&list);
  add_one_rank(&list);
  add_peers(&list);
  return list.cells;
}

GpuDevice gpu_cells_example(GpuVersions *versions)
{
  *versions = (GpuVersions){
    .driver = 13000, .runtime = 13000, .nccl = 22809, .cublas = 130000, .n_devices = 1
  };
  return (GpuDevice){ .name = "imagined: 132 SMs, 80 GiB",
                      .major = 9,
                      .n_sms = 132,
                      .l2_B = 50u << 20,
                      .memory_B = 80ull << 30,
                      .free_B = 79ull << 30,
                      .buffer_B = 4ull << 30,
                      .numa_node = -1 };
}
