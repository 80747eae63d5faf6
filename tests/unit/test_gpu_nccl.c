/**
 * @file test_gpu_nccl.c
 * @brief Child processes that serve collectives: those that answer, hang, die and babble.
 */
#include "calibrate/backend/gpu_nccl.h"
#include "calibrate/gpu/exchange.h"
#include "calibrate/sweep.h"

#include <CUnit/Basic.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- children ---------------------------------------------------------------------- */

static Child *shell(const char *script)
{
  const char *const argv[] = { "/bin/sh", "-c", script, NULL };
  return child_start(argv, NULL, NULL);
}

static void test_a_child_answers_lines_with_lines(void)
{
  g_autoptr(Child) child =
    shell("while read -r a b; do echo NCCL talks; echo \"stepcast: $b $a\"; done");

  CU_ASSERT_PTR_NOT_NULL_FATAL(child);
  for (guint i = 0; i < 3; i++) {
    g_autofree char *answer = child_ask(child, "one two", 5, NULL);
    CU_ASSERT_EQUAL(g_strcmp0(answer, "two one"), 0);
  }
}

static void test_a_child_that_hangs_is_given_up_in_time(void)
{
  g_autoptr(Child) child = shell("exec sleep 60");
  g_autoptr(GError) error = NULL;
  const gint64 began_us = g_get_monotonic_time();

  CU_ASSERT_PTR_NULL(child_ask(child, "one", 0.2, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_IO));
  g_clear_pointer(&child, child_free);
  CU_ASSERT_TRUE(g_get_monotonic_time() - began_us < 5 * G_USEC_PER_SEC);
}

static void test_a_child_that_dies_is_noticed(void)
{
  g_autoptr(Child) child = shell("read -r line; exit 3");
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NULL(child_ask(child, "one", 5, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "has ended"));
  CU_ASSERT_PTR_NULL(child_ask(child, "two", 5, NULL)); /* and raises no signal */
}

static void test_a_child_that_babbles_is_stopped(void)
{
  g_autoptr(Child) child = shell("exec cat /dev/zero");
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NULL(child_ask(child, NULL, 20, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "talks too much"));
}

static void test_answers_that_make_no_sense_are_errors(void)
{
  static const char *const wrong[] = {
    "times 0 1e-6",      "times 0 1e-6 2e-6 3e-6",
    "times x 1e-6 2e-6", "times 0 1e-6 zwei",
    "times 0 nan 1e-6",  "fault",
    "fault 9 nonsense",  "",
    "ready 1 2 3",       "times 0 1e-6 2e-6 trailing words",
  };
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_autofree char *script = g_strdup_printf("read -r q; echo 'stepcast: %s'", wrong[i]);
    g_autoptr(Child) child = shell(script);
    g_autoptr(GError) error = NULL;
    const GpuExchange exchange = { GPU_ALL_REDUCE, 8, false };
    double time_s[2] = { 0 };
    uint32_t flags = 0;
    bool answered = false;

    CU_ASSERT_FALSE(
      exchange_ask(child, &exchange, time_s, 2, 5, &flags, &answered, &error));
    CU_ASSERT_TRUE(answered);
    CU_ASSERT_PTR_NOT_NULL(error);
  }
}

/* ---- both sides over a plug-in of our own ------------------------------------------ */

static bool fake_versions(GpuSession *session G_GNUC_UNUSED, GpuVersions *versions,
                          GpuFault *fault G_GNUC_UNUSED)
{
  *versions = (GpuVersions){ .nccl = 22809, .n_devices = 2 };
  return true;
}

static bool fake_describe(GpuSession *session G_GNUC_UNUSED, uint32_t number,
                          GpuDevice *device, GpuFault *fault G_GNUC_UNUSED)
{
  *device = (GpuDevice){ .buffer_B = number == 0 ? 4096 : 2048, .n_nvlinks = 18 };
  return true;
}

static bool fake_exchange(GpuSession *session G_GNUC_UNUSED, const GpuExchange *exchange,
                          double *time_s, uint32_t n, uint32_t *flags, GpuFault *fault)
{
  if (exchange->collective == GPU_ALL_TO_ALL) {
    fault->kind = GPU_FAULT_FAILED;
    g_strlcpy(fault->text, "NCCL: two\nlines", sizeof fault->text);
    return false;
  }
  for (uint32_t i = 0; i < n; i++)
    time_s[i] = 1e-6 * (i + 1) + (double)exchange->size_B * 1e-9 + exchange->in_place;
  *flags |= GPU_FLAG_THROTTLED;
  return true;
}

static const GpuPlugin fake_plugin = { .abi = GPU_PLUGIN_ABI,
                                       .versions = fake_versions,
                                       .describe = fake_describe,
                                       .exchange = fake_exchange };

/* What exchange_serve() says to @p questions. Transfer: caller frees. */
static char *served(const char *questions)
{
  const Gpu gpu = { .plugin = &fake_plugin };
  int ends[2];
  char answer[8192] = "";
  ssize_t n_B = 0;

  CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  CU_ASSERT_EQUAL((size_t)write(ends[0], questions, strlen(questions)), strlen(questions));
  shutdown(ends[0], SHUT_WR);
  CU_ASSERT_TRUE(exchange_serve(&gpu, ends[1], ends[1], NULL));
  n_B = read(ends[0], answer, sizeof answer - 1);
  close(ends[0]);
  close(ends[1]);
  return g_strndup(answer, (gsize)MAX(n_B, 0));
}

static void test_the_child_says_times_and_faults_in_one_line_each(void)
{
  g_autofree char *said =
    served("0 1000 0 2\n5 1000 0 1\n0 1000 0 0\nnonsense\n0 1000 1 1\n");
  g_auto(GStrv) line = g_strsplit(said, "\n", -1);

  CU_ASSERT_EQUAL_FATAL(g_strv_length(line), 7);
  CU_ASSERT_STRING_EQUAL(line[0], "stepcast: ready 2048 22809 18");
  CU_ASSERT_TRUE(g_str_has_prefix(line[1], "stepcast: times 2 "));
  CU_ASSERT_STRING_EQUAL(line[2], "stepcast: fault 2 NCCL: two lines");
  CU_ASSERT_STRING_EQUAL(line[3], "stepcast: fault 2 a question that nobody understands");
  CU_ASSERT_STRING_EQUAL(line[4], line[3]);
  CU_ASSERT_TRUE(g_str_has_prefix(line[5], "stepcast: times 2 1.00000"));
}

static void test_a_refusal_keeps_its_kind(void)
{
  g_autoptr(GError) why =
    g_error_new(SIM_ERROR, SIM_ERROR_DEVICE, "no NVIDIA driver on this machine");
  int ends[2];
  char said[256] = "";

  CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
  CU_ASSERT_TRUE(exchange_refuse(why, ends[1], NULL));
  CU_ASSERT_TRUE(read(ends[0], said, sizeof said - 1) > 0);
  CU_ASSERT_STRING_EQUAL(said, "stepcast: fault 0 no NVIDIA driver on this machine\n");
  close(ends[0]);
  close(ends[1]);
}

/* ---- the backend ------------------------------------------------------------------- */

/* A program that serves as calibrate gpu --exchange does, written for each test. Its time
 * is a nanosecond per byte; @p body may change it. Transfer: unlink and free. */
static char *program(const char *body)
{
  char *path = NULL;
  const int file = g_file_open_tmp("stepcast-XXXXXX", &path, NULL);
  g_autofree char *script = g_strdup_printf(
    "#!/bin/sh\n"
    "echo \"NCCL $NCCL_ALGO/$NCCL_PROTO\"\n"
    "echo 'stepcast: ready 65536 22809 18'\n"
    "while read -r collective size in_place n; do\n"
    "  times= i=0\n"
    "  while [ $i -lt $n ]; do times=\"$times ${size}e-9\" i=$((i + 1)); done\n"
    "%s\n"
    "  echo \"stepcast: times 0$times\"\n"
    "done\n",
    body);

  CU_ASSERT_TRUE_FATAL(file >= 0);
  CU_ASSERT_TRUE(write(file, script, strlen(script)) > 0);
  close(file);
  g_chmod(path, 0700);
  return path;
}

static GpuNcclParams nccl_params(char *path)
{
  return (GpuNcclParams){ .program = path,
                          .devices = (char *)"0,1,2,3",
                          .max_B = 4096,
                          .effort = GPU_QUICK,
                          .limit_s = 1 };
}

static GPtrArray *sweep(const GpuNcclParams *params)
{
  SweepOptions options = SWEEP_DEFAULTS;
  Backend *backend = backend_gpu_nccl.open(params, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
  options.n_passes = 1;
  options.n_min = options.n_max = 3;
  GPtrArray *samples = sweep_run(&backend_gpu_nccl, backend, &options, NULL);
  backend_gpu_nccl.close(backend);
  return samples;
}

static guint count_failed(const GPtrArray *samples)
{
  guint n = 0;
  for (guint i = 0; i < samples->len; i++)
    n += (((const Sample *)g_ptr_array_index(samples, i))->flags & SAMPLE_FAILED) != 0;
  return n;
}

static void test_the_backend_sweeps_over_a_child(void)
{
  g_autofree char *path = program("");
  GpuNcclParams params = nccl_params(path);
  g_autoptr(GPtrArray) samples = sweep(&params);

  CU_ASSERT_EQUAL(samples->len, GPU_COLLECTIVE_N * 3); /* 16, 128, 1024 bytes */
  CU_ASSERT_EQUAL(count_failed(samples), 0);
  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    CU_ASSERT_DOUBLE_EQUAL(sample->median_s, sample->size * 1e-9, 1e-15);
    CU_ASSERT_EQUAL(sample->ranks, 4);
    CU_ASSERT_STRING_EQUAL(sample->library, "nccl 2.28.9");
    CU_ASSERT_STRING_EQUAL(sample->place, "nvlink");
  }
  g_unlink(path);
}

static void test_a_choice_reaches_nccl_and_limits_the_collectives(void)
{
  g_autofree char *path = program("  [ \"$NCCL_ALGO/$NCCL_PROTO\" = Tree/LL128 ] || { echo "
                                  "'stepcast: fault 2 no'; continue; }");
  GpuNcclParams params = nccl_params(path);

  params.algo = 2;
  params.proto = 2;
  g_autoptr(GPtrArray) samples = sweep(&params);
  CU_ASSERT_EQUAL_FATAL(samples->len, 3);
  CU_ASSERT_EQUAL(count_failed(samples), 0);
  const Sample *first = g_ptr_array_index(samples, 0);
  CU_ASSERT_STRING_EQUAL(first->probe, "all_reduce");
  CU_ASSERT_STRING_EQUAL(first->algo, "tree");
  CU_ASSERT_STRING_EQUAL(first->proto, "ll128");
  g_unlink(path);
}

static void test_a_choice_takes_of_the_wanted_what_it_can(void)
{
  g_autofree char *path = program("");
  GpuNcclParams params = nccl_params(path);
  char *const wanted[] = { (char *)"send_recv", (char *)"all_reduce", NULL };

  params.algo = 1;
  Backend *backend = backend_gpu_nccl.open(&params, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
  g_auto(GStrv) some = gpu_nccl_only(backend, wanted);
  g_auto(GStrv) all = gpu_nccl_only(backend, NULL);
  CU_ASSERT_EQUAL(g_strv_length(some), 1);
  CU_ASSERT_STRING_EQUAL(some[0], "all_reduce");
  CU_ASSERT_EQUAL(g_strv_length(all), 4);
  backend_gpu_nccl.close(backend);
  g_unlink(path);
}

/* 3 of the 18 cells crash or hang the child: they fail alone, the rest is measured. */
static void test_a_crash_costs_one_cell(void)
{
  g_autofree char *path = program("  [ $collective != 3 ] || exit 1");
  GpuNcclParams params = nccl_params(path);
  g_autoptr(GPtrArray) samples = sweep(&params);

  CU_ASSERT_EQUAL(samples->len, 18);
  CU_ASSERT_EQUAL(count_failed(samples), 3);
  g_unlink(path);
}

static void test_a_hang_costs_one_cell(void)
{
  g_autofree char *path = program("  [ $collective/$size != 3/128 ] || exec sleep 60");
  GpuNcclParams params = nccl_params(path);

  params.limit_s = 0.5;
  g_autoptr(GPtrArray) samples = sweep(&params);
  CU_ASSERT_EQUAL(count_failed(samples), 1);
  g_unlink(path);
}

static void test_a_child_that_always_hangs_is_given_up(void)
{
  g_autofree char *path = program("  exec sleep 60");
  GpuNcclParams params = nccl_params(path);
  const gint64 began_us = g_get_monotonic_time();

  params.limit_s = 0.1;
  g_autoptr(GPtrArray) samples = sweep(&params);
  CU_ASSERT_EQUAL(count_failed(samples), 18);
  CU_ASSERT_TRUE(g_get_monotonic_time() - began_us < 10 * G_USEC_PER_SEC);
  g_unlink(path);
}

static void test_a_child_without_a_gpu_says_why(void)
{
  char *path = program("");
  GpuNcclParams params = nccl_params(path);
  g_autoptr(GError) error = NULL;

  CU_ASSERT_TRUE(g_file_set_contents(
    path, "#!/bin/sh\necho 'stepcast: fault 0 no NVIDIA driver on this machine'\n", -1,
    NULL));
  g_chmod(path, 0700);
  CU_ASSERT_PTR_NULL(backend_gpu_nccl.open(&params, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_DEVICE));
  CU_ASSERT_STRING_EQUAL(error->message, "no NVIDIA driver on this machine");
  g_unlink(path);
  g_free(path);
}

static void test_sweeps_cover_prefixes_and_choices(void)
{
  const guint device[] = { 4, 5, 6, 7, 0, 1 };
  GpuNcclParams like = { .effort = GPU_USUAL };
  g_autoptr(GArray) sweeps = gpu_nccl_sweeps(&like, device, 6);
  const GpuNcclParams *sweep = (const GpuNcclParams *)(void *)sweeps->data;

  CU_ASSERT_EQUAL_FATAL(sweeps->len, 3 * 8); /* 2, 4 and all 6 */
  CU_ASSERT_STRING_EQUAL(sweep[0].devices, "4,5");
  CU_ASSERT_STRING_EQUAL(sweep[8].devices, "4,5,6,7");
  CU_ASSERT_STRING_EQUAL(sweep[16].devices, "4,5,6,7,0,1");
  CU_ASSERT_TRUE(sweep[0].algo == 0 && sweep[0].proto == 0);
  g_autoptr(GArray) one = gpu_nccl_sweeps(&like, device, 1);
  CU_ASSERT_EQUAL(one->len, 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("gpu nccl", NULL, NULL);
  CU_ADD_TEST(suite, test_a_child_answers_lines_with_lines);
  CU_ADD_TEST(suite, test_a_child_that_hangs_is_given_up_in_time);
  CU_ADD_TEST(suite, test_a_child_that_dies_is_noticed);
  CU_ADD_TEST(suite, test_a_child_that_babbles_is_stopped);
  CU_ADD_TEST(suite, test_answers_that_make_no_sense_are_errors);
  CU_ADD_TEST(suite, test_the_child_says_times_and_faults_in_one_line_each);
  CU_ADD_TEST(suite, test_a_refusal_keeps_its_kind);
  CU_ADD_TEST(suite, test_the_backend_sweeps_over_a_child);
  CU_ADD_TEST(suite, test_a_choice_reaches_nccl_and_limits_the_collectives);
  CU_ADD_TEST(suite, test_a_choice_takes_of_the_wanted_what_it_can);
  CU_ADD_TEST(suite, test_a_crash_costs_one_cell);
  CU_ADD_TEST(suite, test_a_hang_costs_one_cell);
  CU_ADD_TEST(suite, test_a_child_that_always_hangs_is_given_up);
  CU_ADD_TEST(suite, test_a_child_without_a_gpu_says_why);
  CU_ADD_TEST(suite, test_sweeps_cover_prefixes_and_choices);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
