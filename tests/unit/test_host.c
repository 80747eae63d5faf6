/** @file test_host.c  @brief The host as a backend: its cells, its places, what it refuses.
 */
#include "calibrate/backend/crew.h"
#include "calibrate/backend/host.h"
#include "calibrate/backend/host_memory.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Cells as they would be on a machine of four cores. */
static GPtrArray *other_cells(bool quick)
{
  const HostParams params = { .largest_B = 1 << 20, .quick = quick };
  GPtrArray *cells = sample_list_new();

  host_loopback_cells(&params, cells);
  host_shared_cells(&params, 4, cells);
  return cells;
}

static guint n_like(const GPtrArray *cells, const char *probe, const char *variant,
                    guint ranks)
{
  guint n = 0;

  for (guint i = 0; i < cells->len; i++) {
    const Sample *cell = g_ptr_array_index(cells, i);
    n += strcmp(cell->probe, probe) == 0 && strcmp(cell->variant, variant) == 0 &&
         cell->ranks == ranks;
  }
  return n;
}

static void test_cells_span_the_sizes(void)
{
  g_autoptr(GPtrArray) all = other_cells(false), quick = other_cells(true);

  CU_ASSERT_EQUAL(n_like(all, "loopback", "half_rtt", 2), 9); /* 8 B x 4^0..8 */
  CU_ASSERT_EQUAL(n_like(all, "loopback", "stream", 2), 1);
  CU_ASSERT_EQUAL(n_like(all, "all_reduce", "", 2), 9);
  CU_ASSERT_EQUAL(n_like(all, "all_reduce", "", 4), 9);
  CU_ASSERT_EQUAL(n_like(quick, "all_reduce", "", 4), 5);
}

/* The sums are checked by the processes themselves. */
static void test_every_other_cell_can_be_measured(void)
{
  g_autoptr(GPtrArray) cells = other_cells(true);

  for (guint i = 0; i < cells->len; i++) {
    const Sample *cell = g_ptr_array_index(cells, i);
    double time_s[2] = { 0 };
    g_autoptr(GError) error = NULL;
    const bool done = strcmp(cell->probe, "loopback") == 0
                        ? host_loopback_measure(cell, time_s, 2, &error)
                        : host_shared_measure(cell, time_s, 2, &error);
    CU_ASSERT_TRUE(done);
    CU_ASSERT_TRUE(time_s[0] > 0 && time_s[1] > 0);
  }
}

static void test_cold_cells_visit_every_place(void)
{
  static const gsize lengths[] = { 1, 2, 8, 64 };
  const HostMemory memory = { .n = 64 };

  for (guint l = 0; l < G_N_ELEMENTS(lengths); l++) {
    bool seen[64] = { false };
    guint n_seen = 0;
    for (guint visit = 0; visit < 64 / lengths[l]; visit++) {
      const gsize first = host_memory_place(&memory, lengths[l], visit);
      CU_ASSERT_TRUE_FATAL(first + lengths[l] <= 64 && first % lengths[l] == 0);
      n_seen += !seen[first];
      seen[first] = true;
    }
    CU_ASSERT_EQUAL(n_seen, 64 / lengths[l]);
  }
}

/* Every kernel in every regime, where the machine has the memory that cold caches need. */
static void test_every_kernel_cell_takes_time(void)
{
  const HostParams params = { .largest_B = 4096, .quick = true };
  g_autoptr(GError) error = NULL;
  Backend *backend = backend_host.open(&params, &error);
  guint n_kernels = 0, flags = 0;

  if (backend == NULL) {
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_DEVICE));
    return;
  }
  g_autoptr(GPtrArray) cells = backend_host.cells(backend);
  for (guint i = 0; i < cells->len; i++) {
    const Sample *cell = g_ptr_array_index(cells, i);
    double time_s[3] = { 0 };
    if (*cell->regime == '\0')
      continue;
    n_kernels++;
    CU_ASSERT_TRUE(backend_host.measure(backend, cell, time_s, 3, &flags, NULL));
    CU_ASSERT_TRUE(time_s[0] > 0 && time_s[2] > 0 && time_s[2] < 10);
  }
  CU_ASSERT_EQUAL(n_kernels, 2 * 11);
  backend_host.close(backend);
}

/* In a new process: is the buffer there? */
static bool look_for_it(CrewMember *me, GError **error)
{
  float *const *from = me->task;

  if (msync(*from, 1, MS_ASYNC) != 0 && errno == ENOMEM)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT, "it is");
  return false;
}

/* Pages that were shared would be copied when they are next written, and be timed. */
static void test_buffers_are_not_shared_with_new_processes(void)
{
  g_autoptr(HostMemory) memory = host_memory_new(4096, NULL);
  CrewJob job = { .n = 1, .limit_s = 60, .work = look_for_it };

  if (memory == NULL)
    return;
  job.task = &memory->from;
  CU_ASSERT_TRUE(crew_run(&job, NULL, NULL));
}

static void test_impossible_buffers_are_refused(void)
{
  static const struct {
    guint64 largest_B;
    int code;
    const char *said;
  } cases[] = {
    { 3 << 20, SIM_ERROR_USAGE,
      "calibrate host: --largest: wants a power of two, such as 256M" },
    { G_GUINT64_CONSTANT(1) << 48, SIM_ERROR_DEVICE,
      "not enough free memory: buffers take " },
  };
  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const HostParams params = { .largest_B = cases[c].largest_B };
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL_FATAL(backend_host.open(&params, &error));
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, cases[c].code));
    CU_ASSERT_TRUE(g_str_has_prefix(error->message, cases[c].said));
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("host", NULL, NULL);
  CU_ADD_TEST(suite, test_cells_span_the_sizes);
  CU_ADD_TEST(suite, test_every_other_cell_can_be_measured);
  CU_ADD_TEST(suite, test_cold_cells_visit_every_place);
  CU_ADD_TEST(suite, test_every_kernel_cell_takes_time);
  CU_ADD_TEST(suite, test_buffers_are_not_shared_with_new_processes);
  CU_ADD_TEST(suite, test_impossible_buffers_are_refused);
  CU_basic_run_tests();
  const guint failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
