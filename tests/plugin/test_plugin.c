/**
 * @file test_plugin.c
 * @brief The plug-in's own code over a CUDA runtime that is none: every probe is run, every
 *        kernel compared, every failure told. Built where the CUDA headers are.
 */
#include "calibrate/backend/gpu.h"
#include "calibrate/gpu/parity.h"

#include <CUnit/Basic.h>
#include <string.h>

void fake_cuda_fail_after(int n_kernels);
GpuPluginEntry stepcast_gpu_plugin;

#define BUFFER_B (64u << 10)

#define ROWS_MAX 1024

static Gpu opened(uint32_t n_devices)
{
  const GpuRequest request = { .device = { 0, 1 },
                               .n_devices = n_devices,
                               .max_B = BUFFER_B,
                               .nccl_library = "/nonexistent/libnccl.so",
                               .n_own = 1 };
  Gpu gpu = { .plugin = stepcast_gpu_plugin() };
  GpuFault fault = { 0 };

  if (!gpu.plugin->open(&request, &gpu.session, &fault))
    CU_FAIL_FATAL(fault.text);
  return gpu;
}

static void test_the_plugin_describes_its_devices(void)
{
  Gpu gpu = opened(2);
  GpuVersions versions;
  GpuDevice device;
  GpuFault fault = { 0 };

  CU_ASSERT_EQUAL(gpu.plugin->abi, GPU_PLUGIN_ABI);
  CU_ASSERT_TRUE(gpu.plugin->versions(gpu.session, &versions, &fault));
  CU_ASSERT_EQUAL(versions.n_devices, 2);
  CU_ASSERT_EQUAL(versions.nccl, 0);
  CU_ASSERT_TRUE(gpu.plugin->describe(gpu.session, 1, &device, &fault));
  CU_ASSERT_STRING_EQUAL(device.name, "a CPU");
  CU_ASSERT_EQUAL(device.buffer_B, BUFFER_B);
  CU_ASSERT_EQUAL(device.peers, 1);
  CU_ASSERT_EQUAL(device.numa_node, -1);
  CU_ASSERT_TRUE(g_str_has_prefix(device.uuid, "8100"));
  gpu_close(&gpu);
}

static void test_a_device_that_is_not_there_is_refused(void)
{
  const GpuRequest request = { .device = { 7 }, .n_devices = 1, .max_B = BUFFER_B };
  Gpu gpu = { .plugin = stepcast_gpu_plugin() };
  GpuFault fault = { 0 };

  CU_ASSERT_FALSE(gpu.plugin->open(&request, &gpu.session, &fault));
  CU_ASSERT_EQUAL(fault.kind, GPU_FAULT_NO_DEVICE);
  CU_ASSERT_STRING_EQUAL(fault.text, "there is no GPU 7; known: 0 to 1");
}

static bool measure(const Gpu *gpu, const GpuWork *work, GpuFault *fault)
{
  double time_s[2] = { 0 };
  uint32_t flags = 0;

  if (!gpu->plugin->measure(gpu->session, work, time_s, 2, &flags, fault))
    return false;
  CU_ASSERT_TRUE(time_s[0] > 0 && time_s[1] > 0);
  return true;
}

/* One cell of each probe, type and company, the largest: fibers are slow. */
static void test_every_probe_gives_times(void)
{
  Gpu gpu = opened(2);
  GpuVersions versions;
  GpuDevice device;
  GpuFault fault = { 0 };
  bool ran[GPU_PROBE_N][GPU_BF16 + 1][GPU_COMM_H2D + 1] = { 0 };

  CU_ASSERT_TRUE(gpu.plugin->versions(gpu.session, &versions, &fault));
  CU_ASSERT_TRUE(gpu.plugin->describe(gpu.session, 0, &device, &fault));
  versions.cublas = 0;
  g_autoptr(GArray) cells = gpu_cells(&device, &versions, GPU_QUICK);
  for (guint i = cells->len; i-- > 0;) {
    const GpuCell *cell = &g_array_index(cells, GpuCell, i);
    const GpuWork *work = &cell->work;
    if (work->m > ROWS_MAX || work->ctas > 2 || ran[work->probe][work->dtype][work->comm])
      continue;
    ran[work->probe][work->dtype][work->comm] = true;
    if (!measure(&gpu, work, &fault)) {
      g_autofree char *why = g_strdup_printf("%s %s: %s", cell->sample->probe,
                                             cell->sample->variant, fault.text);
      CU_FAIL(why);
    }
  }
  for (GpuProbe probe = 0; probe < GPU_PROBE_N; probe++) {
    bool any = probe == GPU_GEMM || probe == GPU_GEMM_AND_COMM ||
               probe == GPU_NCCL_LAUNCH || probe == GPU_NCCL_ONE_RANK ||
               probe == GPU_NCCL_ONE_RANK_SUM;
    for (guint i = 0; i < sizeof ran[0] / sizeof(bool); i++)
      any |= (&ran[probe][0][0])[i];
    CU_ASSERT_TRUE(any);
  }
  gpu_close(&gpu);
}

static void test_every_kernel_reaches_the_device_and_comes_back(void)
{
  Gpu gpu = opened(1);
  g_autoptr(GString) out = g_string_new(NULL);
  g_autoptr(GError) error = NULL;

  if (!gpu_parity(&gpu, out, &error))
    CU_FAIL(error->message);
  gpu_close(&gpu);
}

static void test_a_missing_nccl_is_named(void)
{
  Gpu gpu = opened(2);
  const GpuWork work = { .probe = GPU_NCCL_ONE_RANK, .size_B = 4096 };
  const GpuExchange exchange = { GPU_ALL_REDUCE, 4096, false };
  GpuFault fault = { 0 };
  double time_s = 0;
  uint32_t flags = 0;

  CU_ASSERT_FALSE(measure(&gpu, &work, &fault));
  CU_ASSERT_EQUAL(fault.kind, GPU_FAULT_NO_LIBRARY);
  CU_ASSERT_PTR_NOT_NULL(strstr(fault.text, "/nonexistent/libnccl.so"));
  CU_ASSERT_FALSE(gpu.plugin->exchange(gpu.session, &exchange, &time_s, 1, &flags, &fault));
  CU_ASSERT_EQUAL(fault.kind, GPU_FAULT_NO_LIBRARY);
  gpu_close(&gpu);
}

static void test_more_than_the_buffers_hold_is_refused(void)
{
  Gpu gpu = opened(1);
  const GpuWork copy = { .probe = GPU_D2D, .size_B = BUFFER_B + 4096 };
  const GpuWork both = { .probe = GPU_PCIE_BOTH, .size_B = BUFFER_B / 2 + 4096 };
  const GpuWork matrix = { .probe = GPU_GRAM_SCHMIDT, .m = BUFFER_B, .n = 4 };
  const GpuExchange exchange = { GPU_ALL_REDUCE, BUFFER_B + 4, false };
  GpuFault fault = { 0 };
  double time_s = 0;
  uint32_t flags = 0;

  CU_ASSERT_FALSE(measure(&gpu, &copy, &fault));
  CU_ASSERT_FALSE(measure(&gpu, &both, &fault));
  CU_ASSERT_FALSE(measure(&gpu, &matrix, &fault));
  CU_ASSERT_FALSE(gpu.plugin->exchange(gpu.session, &exchange, &time_s, 1, &flags, &fault));
  gpu_close(&gpu);
}

/* A kernel that fails costs its cell; the next is measured. */
static void test_a_failure_is_told_and_not_inherited(void)
{
  Gpu gpu = opened(1);
  const GpuWork work = { .probe = GPU_REDUCE, .size_B = 4096 };
  GpuFault fault = { 0 };

  CU_ASSERT_TRUE(measure(&gpu, &work, &fault));
  fake_cuda_fail_after(2);
  CU_ASSERT_FALSE(measure(&gpu, &work, &fault));
  CU_ASSERT_EQUAL(fault.kind, GPU_FAULT_FAILED);
  CU_ASSERT_STRING_EQUAL(fault.text, "kernel: unspecified launch failure (719)");
  fake_cuda_fail_after(-1);
  CU_ASSERT_TRUE(measure(&gpu, &work, &fault));
  gpu_close(&gpu);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("plug-in", NULL, NULL);
  CU_ADD_TEST(suite, test_the_plugin_describes_its_devices);
  CU_ADD_TEST(suite, test_a_device_that_is_not_there_is_refused);
  CU_ADD_TEST(suite, test_every_probe_gives_times);
  CU_ADD_TEST(suite, test_every_kernel_reaches_the_device_and_comes_back);
  CU_ADD_TEST(suite, test_a_missing_nccl_is_named);
  CU_ADD_TEST(suite, test_more_than_the_buffers_hold_is_refused);
  CU_ADD_TEST(suite, test_a_failure_is_told_and_not_inherited);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
