/**
 * @file test_gpu.c
 * @brief Everything about GPUs that needs none: conditions, cells, the backend and the
 *        parity check over a plug-in of our own.
 */
#include "calibrate/backend/gpu.h"
#include "calibrate/gpu/cells.h"
#include "calibrate/gpu/condition.h"
#include "calibrate/gpu/parity.h"
#include "calibrate/gpu/simt_host.h"
#include "calibrate/sweep.h"
#include "sim/base/param.h"

#include <CUnit/Basic.h>
#include <string.h>

/* ---- a GPU that is none ------------------------------------------------------------ */

struct GpuSession {
  uint32_t n_measured;
  bool flips_a_bit; /* of the last buffer of every kernel */
  bool refuses;
  GpuFaultKind refusal;
};

static bool fake_versions(GpuSession *session G_GNUC_UNUSED, GpuVersions *versions,
                          GpuFault *fault G_GNUC_UNUSED)
{
  *versions = (GpuVersions){
    .driver = 13000, .runtime = 13000, .nccl = 22809, .cublas = 130002, .n_devices = 2
  };
  return true;
}

static bool fake_describe(GpuSession *session G_GNUC_UNUSED, uint32_t number,
                          GpuDevice *device, GpuFault *fault G_GNUC_UNUSED)
{
  *device = (GpuDevice){ .major = 9,
                         .n_sms = 132,
                         .l2_B = 50 << 20,
                         .buffer_B = 64 << 20,
                         .state = { .known = true, .sm_MHz = 1980 } };
  g_snprintf(device->name, sizeof device->name, "fake %u", number);
  return true;
}

static bool fake_measure(GpuSession *session, const GpuWork *work, double *time_s,
                         uint32_t n, uint32_t *flags, GpuFault *fault)
{
  if (session->refuses) {
    fault->kind = session->refusal;
    g_strlcpy(fault->text, "it would not", sizeof fault->text);
    return false;
  }
  for (uint32_t i = 0; i < n; i++)
    time_s[i] = 1e-6 + (double)work->size_B * 1e-12 * (work->cold ? 2 : 1);
  *flags |= GPU_FLAG_BUSY;
  session->n_measured++;
  return true;
}

/* The buffers are on the host already. */
static bool fake_run_kernel(GpuSession *session, const KernelLaunch *launch,
                            const GpuBuffer *buffer, uint32_t n_buffers,
                            GpuFault *fault G_GNUC_UNUSED)
{
  const bool ok = simt_host_launch(launch, SIMT_BACKWARD, NULL);

  if (session->flips_a_bit)
    *(uint32_t *)buffer[n_buffers - 1].data ^= 1;
  return ok;
}

static void fake_close(GpuSession *session G_GNUC_UNUSED)
{
}

static const GpuPlugin fake_plugin = {
  .abi = GPU_PLUGIN_ABI,
  .close = fake_close,
  .versions = fake_versions,
  .describe = fake_describe,
  .measure = fake_measure,
  .run_kernel = fake_run_kernel,
};

/* ---- conditions -------------------------------------------------------------------- */

static void test_every_condition_says_what_is_wrong(void)
{
  const struct {
    GpuCondition condition;
    const char *message;
  } rows[] = {
    { { .result = 0, .n_devices = 1, .driver = 13000, .runtime = 13000 }, NULL },
    { { .result = 0, .driver = 13000, .runtime = 13000 }, "driver found, no GPU visible" },
    { { .result = 35, .runtime = 13000 }, "no NVIDIA driver on this machine" },
    { { .result = 35, .driver = 12040, .runtime = 13000 },
      "the NVIDIA driver, of CUDA 12.4, is older than CUDA 13.0 needs (580)" },
    { { .result = 35, .driver = 11080, .runtime = 12060 },
      "the NVIDIA driver, of CUDA 11.8, is older than CUDA 12.6 needs (525)" },
    { { .result = 100, .driver = 13000, .runtime = 13000 },
      "driver found, no GPU visible" },
    { { .result = 802 }, "NVSwitch not ready: start nvidia-fabricmanager" },
    { { .result = 803 },
      "kernel module and library of the NVIDIA driver do not match: "
      "reboot, or mend the installation" },
    { { .result = 34 },
      "stub libcuda is on the library path, where the driver's should be" },
    { { .result = 999, .other = "unknown error" },
      "no GPU can be used: CUDA error 999, unknown error" },
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *message = gpu_condition_message(&rows[i].condition);
    CU_ASSERT_EQUAL(g_strcmp0(message, rows[i].message), 0);
  }
}

static void test_faults_become_errors_with_their_exit_codes(void)
{
  const struct {
    GpuFaultKind kind;
    int code;
  } rows[] = { { GPU_FAULT_NO_DEVICE, SIM_ERROR_DEVICE },
               { GPU_FAULT_NO_LIBRARY, SIM_ERROR_PLUGIN },
               { GPU_FAULT_FAILED, SIM_ERROR_IO } };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GError) error = NULL;
    const GpuFault fault = { rows[i].kind, "why" };
    CU_ASSERT_FALSE(gpu_fail(&fault, &error));
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, rows[i].code));
    CU_ASSERT_STRING_EQUAL(error->message, "why");
  }
}

static void test_the_plugin_is_looked_for_beside_the_program_and_in_lib(void)
{
  g_auto(GStrv) paths = gpu_plugin_paths("/opt/bin/stepcast");

  CU_ASSERT_STRING_EQUAL(paths[0], "/opt/bin/stepcast-gpu.so");
  CU_ASSERT_STRING_EQUAL(paths[1], "/opt/bin/../lib/stepcast/stepcast-gpu.so");
  CU_ASSERT_PTR_NULL(paths[2]);
}

static void test_a_missing_plugin_is_the_builds_fault(void)
{
  g_autoptr(GError) error = NULL;
  Gpu gpu = { 0 };

  CU_ASSERT_FALSE(gpu_load("/nowhere/bin/stepcast", &gpu, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_PLUGIN));
}

static bool request(const char *devices, GpuRequest *out)
{
  g_autofree char *text = g_strdup(devices);
  const GpuParams params = { .devices = text, .max_B = 1 << 30 };

  return gpu_request(&params, out, NULL);
}

static void test_devices_are_numbers_and_each_is_named_once(void)
{
  GpuRequest it;

  CU_ASSERT_TRUE(request(NULL, &it) && it.n_devices == 0);
  CU_ASSERT_TRUE(request("3,1", &it) && it.n_devices == 2);
  CU_ASSERT_TRUE(it.device[0] == 3 && it.device[1] == 1);
  CU_ASSERT_FALSE(request("", &it));
  CU_ASSERT_FALSE(request("0,", &it));
  CU_ASSERT_FALSE(request("-1", &it));
  CU_ASSERT_FALSE(request("0x1", &it));
  CU_ASSERT_FALSE(request("1,1", &it));
  CU_ASSERT_FALSE(request("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", &it));
}

/* ---- cells ------------------------------------------------------------------------- */

static gint compare_cells(gconstpointer a, gconstpointer b)
{
  return sample_compare(((const GpuCell *)a)->sample, ((const GpuCell *)b)->sample);
}

static void test_every_cell_has_a_name_of_its_own(void)
{
  GpuVersions versions;
  const GpuDevice device = gpu_cells_example(&versions);

  versions.n_devices = 4;
  for (GpuEffort effort = GPU_QUICK; effort <= GPU_FULL; effort++) {
    g_autoptr(GArray) cells = gpu_cells(&device, &versions, effort);
    g_array_sort(cells, compare_cells);
    for (guint i = 1; i < cells->len; i++)
      if (compare_cells(&g_array_index(cells, GpuCell, i - 1),
                        &g_array_index(cells, GpuCell, i)) == 0)
        CU_FAIL(g_array_index(cells, GpuCell, i).sample->probe);
  }
}

static void test_no_cell_asks_for_more_than_the_buffers_hold(void)
{
  GpuVersions versions;
  GpuDevice device = gpu_cells_example(&versions);

  for (device.buffer_B = 1 << 20; device.buffer_B <= 8ull << 30; device.buffer_B *= 8) {
    g_autoptr(GArray) cells = gpu_cells(&device, &versions, GPU_FULL);
    for (guint i = 0; i < cells->len; i++) {
      const GpuWork *work = &g_array_index(cells, GpuCell, i).work;
      const double a = (double)work->m * work->k, b = (double)work->k * work->n;
      CU_ASSERT_TRUE(work->size_B <= device.buffer_B);
      CU_ASSERT_TRUE((a + b) * 4 <= (double)device.buffer_B);
    }
  }
}

/* The probes that the plan of calibration names. */
static void test_the_cells_cover_what_one_gpu_can_tell(void)
{
  static const char *const wanted[] = {
    "launch",
    "d2d",
    "h2d",
    "d2h",
    "reduce",
    "cast",
    "gemm",
    "onebit_encode",
    "onebit_decode",
    "topk_encode",
    "randomk_encode",
    "randomk_decode",
    "powersgd_orthogonalise",
    "contention",
    "nccl_launch",
    "nccl_one_rank",
  };
  GpuVersions versions;
  const GpuDevice device = gpu_cells_example(&versions);
  g_autoptr(GArray) cells = gpu_cells(&device, &versions, GPU_QUICK);

  for (guint w = 0; w < G_N_ELEMENTS(wanted); w++) {
    guint n = 0;
    for (guint i = 0; i < cells->len; i++)
      n += strcmp(g_array_index(cells, GpuCell, i).sample->probe, wanted[w]) == 0;
    CU_ASSERT_TRUE(n > 0);
  }
}

/* One rank crosses no link: nothing of it may look like a collective. */
static void test_one_gpu_measures_no_communication(void)
{
  static const char *const never[] = { "all_reduce", "reduce_scatter", "all_gather",
                                       "broadcast",  "send_recv",      "all_to_all",
                                       "p2p" };
  GpuVersions versions;
  const GpuDevice device = gpu_cells_example(&versions);
  g_autoptr(GArray) cells = gpu_cells(&device, &versions, GPU_FULL);

  for (guint i = 0; i < cells->len; i++)
    for (guint j = 0; j < G_N_ELEMENTS(never); j++)
      CU_ASSERT_STRING_NOT_EQUAL(g_array_index(cells, GpuCell, i).sample->probe, never[j]);
}

static void test_cells_of_a_missing_library_are_left_out(void)
{
  GpuVersions versions;
  const GpuDevice device = gpu_cells_example(&versions);

  versions.cublas = versions.nccl = 0;
  g_autoptr(GArray) cells = gpu_cells(&device, &versions, GPU_USUAL);
  for (guint i = 0; i < cells->len; i++) {
    const GpuWork *work = &g_array_index(cells, GpuCell, i).work;
    CU_ASSERT_TRUE(work->m == 0 || work->probe == GPU_GRAM_SCHMIDT);
    CU_ASSERT_TRUE(work->probe != GPU_NCCL_LAUNCH && work->comm != GPU_COMM_NCCL_AVG);
  }
}

/* ---- the backend ------------------------------------------------------------------- */

static void test_the_backend_sweeps_over_the_plugin(void)
{
  GpuSession session = { 0 };
  SweepOptions options = SWEEP_DEFAULTS;
  static const char *const only[] = { "reduce", "p2p", NULL };
  g_autoptr(GError) error = NULL;

  options.n_passes = 1;
  options.n_min = options.n_max = 3;
  options.only = only;
  Backend *backend = backend_gpu_new((Gpu){ &fake_plugin, &session }, GPU_QUICK, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
  g_autoptr(GPtrArray) samples = sweep_run(&backend_gpu, backend, &options, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(samples);
  CU_ASSERT_TRUE(samples->len > 20);
  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    const double factor = strcmp(sample->regime, "cold") == 0 ? 2 : 1;
    CU_ASSERT_EQUAL(sample->flags, SAMPLE_BUSY);
    CU_ASSERT_DOUBLE_EQUAL(sample->median_s, 1e-6 + sample->size * 1e-12 * factor, 1e-12);
  }
  backend_gpu.close(backend);
}

static void test_a_cell_that_fails_is_marked_and_the_rest_goes_on(void)
{
  GpuSession session = { .refuses = true, .refusal = GPU_FAULT_FAILED };
  SweepOptions options = SWEEP_DEFAULTS;
  static const char *const only[] = { "launch", NULL };

  options.only = only;
  Backend *backend = backend_gpu_new((Gpu){ &fake_plugin, &session }, GPU_QUICK, NULL);
  g_autoptr(GPtrArray) samples = sweep_run(&backend_gpu, backend, &options, NULL);
  CU_ASSERT_EQUAL_FATAL(samples->len, 3);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE(((const Sample *)g_ptr_array_index(samples, i))->flags & SAMPLE_FAILED);
  backend_gpu.close(backend);
}

static void test_facts_hide_what_identifies_the_card(void)
{
  GpuSession session = { 0 };
  Backend *backend = backend_gpu_new((Gpu){ &fake_plugin, &session }, GPU_QUICK, NULL);
  g_autoptr(GPtrArray) facts = backend_gpu.facts(backend);
  bool has_name = false, has_clock = false;

  for (guint i = 0; i < facts->len; i++) {
    const BackendFact *fact = g_ptr_array_index(facts, i);
    has_name |= strcmp(fact->name, "gpu1_name") == 0 && strcmp(fact->value, "fake 1") == 0;
    has_clock |=
      strcmp(fact->name, "gpu0_clock_sm_MHz") == 0 && strcmp(fact->value, "1980") == 0;
    CU_ASSERT_STRING_NOT_EQUAL(fact->name, "gpu0_uuid");
  }
  CU_ASSERT_TRUE(has_name && has_clock);
  backend_gpu.close(backend);
}

/* ---- parity ------------------------------------------------------------------------ */

static void test_parity_accepts_the_same_and_finds_a_single_bit(void)
{
  GpuSession session = { 0 };
  const Gpu gpu = { &fake_plugin, &session };
  g_autoptr(GString) out = g_string_new(NULL);
  g_autoptr(GString) wrong = g_string_new(NULL);
  g_autoptr(GError) error = NULL;

  CU_ASSERT_TRUE(gpu_parity(&gpu, out, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(out->str, "1-bit encode     ok\n"));
  session.flips_a_bit = true;
  CU_ASSERT_FALSE(gpu_parity(&gpu, wrong, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_FAULT));
  CU_ASSERT_PTR_NOT_NULL(
    strstr(wrong->str, "reduce fp32      differs: buffer 1, word 0: "));
  CU_ASSERT_PTR_NOT_NULL(strstr(wrong->str, "top-k select     differs"));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("gpu", NULL, NULL);
  CU_ADD_TEST(suite, test_every_condition_says_what_is_wrong);
  CU_ADD_TEST(suite, test_faults_become_errors_with_their_exit_codes);
  CU_ADD_TEST(suite, test_the_plugin_is_looked_for_beside_the_program_and_in_lib);
  CU_ADD_TEST(suite, test_a_missing_plugin_is_the_builds_fault);
  CU_ADD_TEST(suite, test_devices_are_numbers_and_each_is_named_once);
  CU_ADD_TEST(suite, test_every_cell_has_a_name_of_its_own);
  CU_ADD_TEST(suite, test_no_cell_asks_for_more_than_the_buffers_hold);
  CU_ADD_TEST(suite, test_the_cells_cover_what_one_gpu_can_tell);
  CU_ADD_TEST(suite, test_one_gpu_measures_no_communication);
  CU_ADD_TEST(suite, test_cells_of_a_missing_library_are_left_out);
  CU_ADD_TEST(suite, test_the_backend_sweeps_over_the_plugin);
  CU_ADD_TEST(suite, test_a_cell_that_fails_is_marked_and_the_rest_goes_on);
  CU_ADD_TEST(suite, test_facts_hide_what_identifies_the_card);
  CU_ADD_TEST(suite, test_parity_accepts_the_same_and_finds_a_single_bit);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
