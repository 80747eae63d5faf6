/** @file test_import_kineto.c  @brief Traces of the PyTorch profiler, as samples. */
#include "calibrate/import.h"

#include <CUnit/Basic.h>
#include <string.h>

#define TOL_PRINTED 1e-9 /* differences of decimal numbers of 1e6 us */

/* Two steps of 1,000 us: kernels compute for 600, overlapped among themselves, and NCCL
 * runs for 300 of which 100 beside them. The second step is the same but for 20 us more
 * NCCL. */
#define STEP(n, at, nccl)                                                                  \
  "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" n "\",\"ts\":" at   \
  "000.0,\"dur\":1000},"                                                                   \
  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":" at "100,\"dur\":400},"      \
  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"relu\",\"ts\":" at "300,\"dur\":400,"       \
  "\"args\":{\"stream\":7,\"deep\":[{\"ts\":1,\"dur\":5}]}},"                              \
  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\"," \
  "\"ts\":" at "600,\"dur\":" nccl ",\"args\":{\"Collective name\":\"allreduce\","         \
  "\"In msg nelems\":262144,\"Out msg nelems\":262144,\"Group size\":8,"                   \
  "\"dtype\":\"Float\"}},"                                                                 \
  "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"ts\":" at "0,\"dur\":900},"

#define TRACE(events)                                                                      \
  "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0},\"traceEvents\":[" events         \
  "{\"ph\":\"i\",\"name\":\"end\",\"ts\":1}],\"after\":[{\"ts\":2}]}"

static Imported *read_text(const char *text, GError **error)
{
  const ImportOptions options = { .ranks = 0 };

  return import_text("trace.json", text, strlen(text), &options, NULL, error);
}

static const Sample *find(const Imported *imported, const char *probe)
{
  for (guint i = 0; i < imported->samples->len; i++) {
    const Sample *sample = imported->samples->pdata[i];
    if (strcmp(sample->probe, probe) == 0)
      return sample;
  }
  CU_FAIL_FATAL("no sample of that probe");
  return NULL;
}

static bool is_us(double time_s, double us)
{
  return time_s > us * 1e-6 * (1 - TOL_PRINTED) && time_s < us * 1e-6 * (1 + TOL_PRINTED);
}

static void test_steps_divide_into_compute_communication_and_waiting(void)
{
  g_autoptr(Imported) imported =
    read_text(TRACE(STEP("1", "1", "300") STEP("2", "3", "300")), NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_TRUE(is_us(find(imported, "step")->median_s, 1000));
  CU_ASSERT_EQUAL(find(imported, "step")->n, 2);
  CU_ASSERT_TRUE(is_us(find(imported, "step_compute")->median_s, 600));
  CU_ASSERT_TRUE(is_us(find(imported, "step_comm")->median_s, 300));
  CU_ASSERT_TRUE(is_us(find(imported, "step_exposed")->median_s, 200));
}

static void test_a_collective_is_the_lower_quartile_and_says_why(void)
{
  g_autoptr(Imported) imported =
    read_text(TRACE(STEP("1", "1", "300") STEP("2", "3", "300") STEP("3", "5", "340")
                      STEP("4", "7", "380") STEP("5", "9", "500")),
              NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  const Sample *sample = find(imported, "all_reduce");
  CU_ASSERT_EQUAL(sample->ranks, 8);
  CU_ASSERT_EQUAL(sample->size, 1048576);
  CU_ASSERT_STRING_EQUAL(sample->dtype, "fp32");
  CU_ASSERT_TRUE(is_us(sample->median_s, 300));
  CU_ASSERT_TRUE((sample->flags & SAMPLE_SKEW) != 0);
}

static void test_a_trace_without_steps_is_one_step(void)
{
  g_autoptr(Imported) imported = read_text(
    TRACE("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":10,\"dur\":5},"
          "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":20,\"dur\":5},"),
    NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_TRUE(is_us(find(imported, "step")->median_s, 15));
  CU_ASSERT_TRUE(is_us(find(imported, "step_compute")->median_s, 10));
  CU_ASSERT_EQUAL(imported->notes->len, 1);
}

static void test_kernels_of_nccl_that_say_nothing_are_counted(void)
{
  g_autoptr(Imported) imported =
    read_text(TRACE("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\","
                    "\"ts\":10,\"dur\":5},"),
              NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_TRUE(is_us(find(imported, "step_comm")->median_s, 5));
  CU_ASSERT_EQUAL_FATAL(imported->notes->len, 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(imported->notes->pdata[1], "do not say what they moved"));
}

static void test_broken_traces_are_refused(void)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
    { TRACE(""), "no kernel of a GPU" },
    { "{\"traceEvents\":[{\"ph\":\"X\",", "not a trace" },
    { "{\"traceEvents\":[}", "not a trace" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(read_text(cases[i].text, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, cases[i].says));
  }
}

static void test_a_trace_nested_without_end_is_refused(void)
{
  g_autoptr(GString) text = g_string_new("{\"traceEvents\":[{\"args\":");
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < 100000; i++)
    g_string_append_c(text, '[');
  CU_ASSERT_PTR_NULL(read_text(text->str, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "nested"));
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "steps divide into compute, communication and waiting",
      test_steps_divide_into_compute_communication_and_waiting },
    { "a collective is the lower quartile and says why",
      test_a_collective_is_the_lower_quartile_and_says_why },
    { "a trace without steps is one step", test_a_trace_without_steps_is_one_step },
    { "kernels of NCCL that say nothing are counted",
      test_kernels_of_nccl_that_say_nothing_are_counted },
    { "broken traces are refused", test_broken_traces_are_refused },
    { "a trace nested without end is refused", test_a_trace_nested_without_end_is_refused },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "import of traces", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
