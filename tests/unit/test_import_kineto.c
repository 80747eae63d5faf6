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

/* How a synthetic step is told: who ranges over the layers, and the times of kernels. */
typedef struct {
  const char *range;          /* category of the layers' ranges, NULL: none */
  const char *first, *second; /* their names */
  bool correlated;            /* launches are told; else kernels name their operator */
  bool shaped;                /* shapes are recorded */
  guint forward_us[2], backward_us[2];
} StepOf;

static void add_event(GString *text, const char *category, const char *name, guint thread,
                      guint at_us, guint us, const char *args)
{
  g_string_append_printf(text,
                         "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":9,"
                         "\"tid\":%u,\"ts\":%u,\"dur\":%u,\"args\":{%s}},\n",
                         category, name, thread, at_us, us, args);
}

/* A kernel, and the call that launched it within operator @p external. */
static void add_kernel(GString *text, const StepOf *step, guint thread, guint at_us,
                       guint us, guint external)
{
  g_autofree char *args = g_strdup_printf("\"External id\":%u%s%.0u", external,
                                          step->correlated ? ",\"correlation\":" : "",
                                          step->correlated ? external : 0);

  if (step->correlated)
    add_event(text, "cuda_runtime", "cudaLaunchKernel", thread, at_us, 2, args);
  add_event(text, "kernel", "gemm", 7, at_us + 300, us, args);
}

/* One of two linear layers: 100 x 50 and a bias; its operator holds another that has the
 * same sequence number and makes the node of backward. */
static void add_layer(GString *text, const StepOf *step, guint which, guint at_us)
{
  const guint number = at_us + 10 * which;
  g_autofree char *args = g_strdup_printf(
    "\"External id\":%u,\"Sequence number\":%u,\"Fwd thread id\":0%s", number, number,
    step->shaped ? ",\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\"],"
                   "\"Input Dims\":[[32,100],[50,100],[50]]"
                 : "");
  g_autofree char *backward = g_strdup_printf(
    "\"External id\":%u,\"Sequence number\":%u,\"Fwd thread id\":1", number + 1, number);
  const guint begin_us = at_us + 100 + 100 * which;

  if (step->range != NULL)
    add_event(text, step->range, which == 0 ? step->first : step->second, 1, begin_us, 90,
              "");
  add_event(text, "cpu_op", "aten::linear", 1, begin_us + 10, 60, args);
  add_event(text, "cpu_op", "aten::addmm", 1, begin_us + 20, 40, args);
  add_kernel(text, step, 1, begin_us + 20, step->forward_us[which], number);
  add_event(text, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2,
            at_us + 500 - 100 * which, 50, backward);
  add_kernel(text, step, 2, at_us + 500 - 100 * which, step->backward_us[which],
             number + 1);
}

static void add_step(GString *text, const StepOf *step, guint at_us)
{
  add_event(text, "user_annotation", "ProfilerStep#1", 1, at_us, 1000, "");
  add_event(text, "user_annotation", "Optimizer.step#SGD.step", 1, at_us + 800, 90, "");
  add_event(text, "cpu_op", "aten::add_", 1, at_us + 810, 20, "");
  add_kernel(text, step, 1, at_us + 812, 7, at_us + 3);
  add_event(text, "cpu_op", "aten::mse_loss", 1, at_us + 350, 20, "");
  add_kernel(text, step, 1, at_us + 350, 5, at_us + 4);
  add_layer(text, step, 1, at_us); /* in no order */
  add_layer(text, step, 0, at_us);
}

/* Three steps; the second is wild. */
static Imported *read_steps(const StepOf *step)
{
  g_autoptr(GString) text = g_string_new("{\"traceEvents\":[\n");
  StepOf wild = *step;

  wild.forward_us[0] *= 100;
  wild.backward_us[1] *= 100;
  add_step(text, step, 10000);
  add_step(text, &wild, 20000);
  add_step(text, step, 30000);
  g_string_append(text, "{\"ph\":\"i\"}]}\n");
  return read_text(text->str, NULL);
}

static void check_tells(const Imported *imported, const char *const *texts)
{
  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_PTR_NOT_NULL_FATAL(imported->scenario);
  for (; *texts != NULL; texts++) {
    const char *found = strstr(imported->scenario, *texts);
    CU_ASSERT_PTR_NOT_NULL(found);
    if (found == NULL)
      printf("no %s in %s\n", *texts, imported->scenario);
  }
}

#define TIMES(name, forward, backward)                                                     \
  "{\n\t\t\t\t\t\"name\":\t\"" name "\",\n\t\t\t\t\t\"forward\":\t\"" forward              \
  " us\",\n\t\t\t\t\t\"backward\":\t\"" backward " us\""

static void test_modules_take_what_their_operators_launched(void)
{
  const StepOf step = {
    "python_function", "nn.Module: Linear_0", "nn.Module: Linear_1", true, true, { 30, 40 },
    { 60, 80 }
  };
  g_autoptr(Imported) imported = read_steps(&step);
  const char *const wanted[] = { TIMES("Linear_0", "30", "60"),
                                 TIMES("Linear_1", "40", "80"),
                                 TIMES("rest", "5", "0"),
                                 "\"values\":\t5000",
                                 "\"values\":\t50\n",
                                 "\"precision\":\t\"fp16\"",
                                 NULL };

  check_tells(imported, wanted);
  CU_ASSERT_TRUE(strstr(imported->scenario, "Linear_0") <
                 strstr(imported->scenario, "Linear_1"));
  /* The operator that the first calls is not a second set of parameters. */
  CU_ASSERT_PTR_NULL(strstr(imported->scenario, "weight_2"));
  g_autofree char *notes = NULL;
  g_ptr_array_add(imported->notes, NULL);
  notes = g_strjoinv("\n", (char **)imported->notes->pdata);
  g_ptr_array_set_size(imported->notes, (gint)imported->notes->len - 1);
  CU_ASSERT_PTR_NOT_NULL(strstr(notes, "optimiser's kernels took 7 us a step"));
}

static void test_ranges_of_the_user_are_layers_where_no_modules_are(void)
{
  const StepOf step = { "user_annotation", "embed",   "head", false, false,
                        { 30, 40 },        { 60, 80 } };
  g_autoptr(Imported) imported = read_steps(&step);
  const char *const wanted[] = { TIMES("embed", "30", "60"), TIMES("head", "40", "80"),
                                 "\"precision\":\t\"fp32\"", NULL };

  check_tells(imported, wanted);
  CU_ASSERT_PTR_NULL(strstr(imported->scenario, "values"));
}

static void test_operators_are_layers_where_no_ranges_are(void)
{
  const StepOf step = { NULL, NULL, NULL, true, true, { 30, 40 }, { 60, 80 } };
  g_autoptr(Imported) imported = read_steps(&step);
  const char *const wanted[] = { TIMES("linear", "30", "60"), TIMES("linear_2", "40", "80"),
                                 "\"values\":\t5000", NULL };

  check_tells(imported, wanted);
}

static void test_what_a_checkpoint_runs_again_is_backward_of_its_layer(void)
{
  g_autoptr(GString) text = g_string_new("{\"traceEvents\":[");
  const StepOf step = { .correlated = true };
  static const char own[] = "\"External id\":8,\"Sequence number\":5";
  static const char node[] = "\"External id\":9,\"Sequence number\":5,\"Fwd thread id\":1";

  add_event(text, "python_function", "nn.Module: Block_0", 1, 100, 100, "");
  add_event(text, "cpu_op", "CheckpointFunction", 1, 110, 80, own);
  add_kernel(text, &step, 1, 120, 10, 8);
  add_event(text, "cpu_op",
            "autograd::engine::evaluate_function: CheckpointFunctionBackward", 2, 500, 400,
            node);
  add_event(text, "python_function", "nn.Module: Block_0", 2, 510, 100, "");
  add_kernel(text, &step, 2, 520, 12, 10);
  add_kernel(text, &step, 2, 700, 20, 11);
  g_string_append(text, "{\"ph\":\"i\"}]}");
  g_autoptr(Imported) imported = read_text(text->str, NULL);
  const char *const wanted[] = { TIMES("Block_0", "10", "32"), NULL };

  check_tells(imported, wanted);
}

static void test_broken_traces_are_refused(void)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
    { TRACE(""), "no kernel of a GPU" },
    { "{\"traceEvents\":[{\"ph\":\"X\",", "not a trace" },
    { "{\"traceEvents\":[\n  }", "trace.json:2:3: not a trace" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(read_text(cases[i].text, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, cases[i].says));
    if (strstr(error->message, cases[i].says) == NULL)
      printf("%s\n", error->message);
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
    { "modules take what their operators launched",
      test_modules_take_what_their_operators_launched },
    { "ranges of the user are layers where no modules are",
      test_ranges_of_the_user_are_layers_where_no_modules_are },
    { "operators are layers where no ranges are",
      test_operators_are_layers_where_no_ranges_are },
    { "what a checkpoint runs again is backward of its layer",
      test_what_a_checkpoint_runs_again_is_backward_of_its_layer },
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
