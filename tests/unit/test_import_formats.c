/** @file test_import_formats.c  @brief Logs of other tools than nccl-tests, as samples. */
#include "calibrate/import.h"

#include <CUnit/Basic.h>
#include <string.h>

#define TOL_PRINTED 1e-12 /* decimal numbers through binary ones */

static Imported *read_text(const char *text, const char *kind, GError **error)
{
  const ImportOptions options = { .ranks = 0 };
  const ImporterOps *importer = NULL;
  Imported *imported =
    import_text("log.txt", text, strlen(text), &options, &importer, error);

  if (imported != NULL)
    CU_ASSERT_STRING_EQUAL(importer->info.name, kind);
  return imported;
}

static const Sample *sample_at(const Imported *imported, guint index)
{
  CU_ASSERT_TRUE_FATAL(index < imported->samples->len);
  return imported->samples->pdata[index];
}

static bool is_close(double a, double b)
{
  return a > b * (1 - TOL_PRINTED) && a < b * (1 + TOL_PRINTED);
}

static const char *fact(const Imported *imported, const char *name)
{
  for (guint i = 0; i < imported->facts->len; i++) {
    const BackendFact *one = imported->facts->pdata[i];
    if (strcmp(one->name, name) == 0)
      return one->value;
  }
  return "";
}

static void test_osu_collectives_need_ranks_and_give_times(void)
{
  static const char text[] = "some chatter\n\n# OSU MPI Allreduce Latency Test v7.5\n"
                             "# Datatype: MPI_INT.\n"
                             "# Size       Avg Latency(us)\n"
                             "4                      11.69\n"
                             "8                      15.34\n"
                             "1048576            2ooo\n";
  const ImportOptions options = { .ranks = 144, .nodes = 4 };
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NULL(read_text(text, "osu", &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "log.txt:3: "));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "--ranks N"));
  g_autoptr(Imported) imported =
    import_text("log.txt", text, strlen(text), &options, NULL, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 2);
  CU_ASSERT_EQUAL(imported->n_unreadable, 1);
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 1)->probe, "all_reduce");
  CU_ASSERT_EQUAL(sample_at(imported, 1)->ranks, 144);
  CU_ASSERT_EQUAL(sample_at(imported, 1)->nodes, 4);
  CU_ASSERT_TRUE(is_close(sample_at(imported, 1)->median_s, 15.34e-6));
}

static void test_osu_bandwidth_becomes_the_time_of_a_message(void)
{
  g_autoptr(Imported) imported = read_text("# OSU MPI Bandwidth Test v5.9\n"
                                           "# Size      Bandwidth (MB/s)\n"
                                           "1000000      12500.00\n",
                                           "osu", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 0)->probe, "p2p_stream");
  CU_ASSERT_TRUE(is_close(sample_at(imported, 0)->median_s, 80e-6));
}

static void test_perftest_units_are_those_of_its_header(void)
{
  g_autoptr(Imported) gbit = read_text(
    "                    RDMA_Write BW Test\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    "Conflicting CPU frequency values detected: 3491.920000 != 1200.000000.\n"
    " 65536      5000             39.20              39.20              0.074769\n",
    "perftest", NULL);
  g_autoptr(Imported) mib = read_text(
    " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    " 1048576    20000            9360.24            1000.00\t\t   0.001170\n",
    "perftest", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(gbit);
  CU_ASSERT_EQUAL(gbit->samples->len, 1);
  CU_ASSERT_STRING_EQUAL(sample_at(gbit, 0)->algo, "rdma_write");
  CU_ASSERT_TRUE(is_close(sample_at(gbit, 0)->median_s, 65536 * 8 / 39.2e9));
  CU_ASSERT_PTR_NOT_NULL_FATAL(mib);
  CU_ASSERT_TRUE(is_close(sample_at(mib, 0)->median_s, 1e-3));
}

static void test_perftest_latency_is_the_typical_one(void)
{
  g_autoptr(Imported) imported = read_text(
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"
    " 2       20000          0.88           6.84         0.98               1.03          "
    "0.20            1.21                    5.42   \n",
    "perftest", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 0)->probe, "p2p_latency");
  CU_ASSERT_TRUE(is_close(sample_at(imported, 0)->median_s, 0.98e-6));
  CU_ASSERT_TRUE(is_close(sample_at(imported, 0)->min_s, 0.88e-6));
  CU_ASSERT_EQUAL(sample_at(imported, 0)->n, 20000);
}

#define IPERF3_END                                                                         \
  "\"end\":{\"streams\":[{\"sender\":{\"mean_rtt\":100}},{\"sender\":{\"mean_rtt\":300}}]" \
  ","                                                                                      \
  "\"sum_sent\":{\"retransmits\":7},"                                                      \
  "\"sum_received\":{\"seconds\":2.5,\"bytes\":1000000000,\"bits_per_second\":1}}}"

static void test_iperf3_tells_what_arrived_and_what_was_sent_again(void)
{
  g_autoptr(Imported) imported =
    read_text("{\"start\":{\"tcp_mss_default\":8948,\"test_start\":{\"protocol\":\"TCP\","
              "\"num_streams\":2}}," IPERF3_END,
              "iperf3", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_TRUE(is_close(sample_at(imported, 0)->size, 1e9));
  CU_ASSERT_TRUE(is_close(sample_at(imported, 0)->median_s, 2.5));
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 0)->variant, "streams=2");
  CU_ASSERT_STRING_EQUAL(fact(imported, "retransmits"), "7");
  CU_ASSERT_STRING_EQUAL(fact(imported, "mean_round_trip_us"), "200");
  CU_ASSERT_STRING_EQUAL(fact(imported, "tcp_mss_B"), "8948");
}

static void test_iperf3_that_failed_is_refused_with_its_own_words(void)
{
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NULL(read_text("{\"start\":{\"test_start\":{\"num_streams\":1}},\"end\":{},"
                               "\"error\":\"unable to connect to server\"}",
                               "iperf3", &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "unable to connect"));
}

static void test_nccl_tests_json_gives_rows_ranks_and_version(void)
{
  static const char text[] =
    "{\"version\":2,\"args\":[\"./all_reduce_perf\",\"-b\",\"8\"],\"nccl_version\":22902,"
    "\"config\":{\"ngpus\":1,\"devices\":[{\"rank\":0,\"hostname\":\"a\",\"device_info\":"
    "\"NVIDIA H100\"},{\"rank\":1,\"hostname\":\"b\",\"device_info\":\"NVIDIA H100\"}]},"
    "\"results\":[{\"size\":8192,\"count\":2048,\"type\":\"float\",\"redop\":\"sum\","
    "\"root\":\"-1\",\"out_of_place\":{\"time\":15.39,\"alg_bw\":0.5323,\"bus_bw\":0.5323,"
    "\"nwrong\":0},\"in_place\":{\"time\":15.38,\"alg_bw\":5.5,\"bus_bw\":5.5,\"nwrong\":"
    "null}},{\"size\":0,\"type\":\"float\",\"out_of_place\":{\"time\":\"nan\"}}]}";
  g_autoptr(Imported) imported = read_text(text, "nccl_json", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 2);
  const Sample *sample = sample_at(imported, 0);
  CU_ASSERT_STRING_EQUAL(sample->probe, "all_reduce");
  CU_ASSERT_STRING_EQUAL(sample->library, "nccl 2.29.2");
  CU_ASSERT_EQUAL(sample->ranks, 2);
  CU_ASSERT_EQUAL(sample->nodes, 2);
  CU_ASSERT_EQUAL(sample->flags, 0);
  CU_ASSERT_EQUAL(sample_at(imported, 1)->flags, SAMPLE_IMPLAUSIBLE);
}

static void test_rccl_tests_lines_are_tables_by_collective(void)
{
  static const char text[] =
    "{\"algBw\":0.0534,\"busBw\":0.0801,\"gpus\":4,\"inPlace\":0,\"name\":\"AllReduce\","
    "\"size\":1024,\"time\":19.18,\"type\":\"float\"}\n"
    "{\"algBw\":0.0534,\"busBw\":0.0801,\"gpus\":4,\"inPlace\":1,\"name\":\"AllReduce\","
    "\"size\":1024,\"time\":19.18,\"type\":\"float\"}\n"
    "{\"algBw\":0.0534,\"busBw\":0.0400,\"gpus\":4,\"inPlace\":0,\"name\":\"AllGather\","
    "\"size\":1024,\"time\":19.18,\"type\":\"half\"}\n";
  g_autoptr(Imported) imported = read_text(text, "nccl_json", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 3);
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 1)->variant, "in_place");
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 2)->probe, "all_gather");
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 2)->dtype, "fp16");
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_EQUAL(sample_at(imported, i)->flags, 0);
}

static void test_wrong_values_of_json_are_told_with_line_and_column(void)
{
  static const struct {
    const char *text, *error, *note;
  } cases[] = {
    { "{\"start\": {\"test_start\": {\"num_streams\": 1}},\n \"end\": {\n"
      "  \"sum_received\": {\"seconds\": 2, \"bytes\": 0}}}",
      "log.txt:3:43: the end of the test does not say how many bytes", NULL },
    { "{\"start\": {\"test_start\": {\"num_streams\": 1}},\n  \"end\": {}}",
      "log.txt:2:10: the end of the test does not say how many seconds", NULL },
    { "{\"start\": {\"test_start\": {\"num_streams\": 1}},\n  \"end\": {,}}",
      "log.txt:2:11: not JSON: expected a key", NULL },
    { "{\"results\": [\n"
      " {\"type\": \"\xc3\xa4\", \"size\": 8, \"out_of_place\": {\"alg_bw\": 1, "
      "\"bus_bw\": 1}}]}",
      NULL, "log.txt:2:11: no type that is known" },
    { "{\"args\": \"all_reduce_perf\", \"config\": {\"devices\": [{}, {}]}, \"results\": "
      "[\n"
      " {\"type\": \"float\", \"size\": 8,\n"
      "  \"out_of_place\": {\"time\": \"nan\", \"alg_bw\": 1, \"bus_bw\": 1}}]}",
      NULL, "log.txt:3:28: the time is no number over 0" },
    { "{\"name\": \"AllReduce\", \"gpus\": 4, \"size\": 8, \"type\": \"float\", "
      "\"algBw\": 1, \"busBw\": 1, \"time\": 5}\n"
      "{\"name\": \"AllReduce\", \"gpus\": \"4\"}\n",
      NULL, "log.txt:2:31: no number of GPUs" },
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const ImportOptions options = { .ranks = 0 };
    g_autoptr(GError) error = NULL;
    g_autoptr(Imported) imported =
      import_text("log.txt", cases[i].text, strlen(cases[i].text), &options, NULL, &error);
    CU_ASSERT_EQUAL_FATAL(imported == NULL, cases[i].error != NULL);
    const char *told = imported == NULL           ? error->message
                       : imported->notes->len > 0 ? g_ptr_array_index(imported->notes, 0)
                                                  : "nothing";
    const char *wanted = imported == NULL ? cases[i].error : cases[i].note;
    CU_ASSERT_TRUE(g_str_has_prefix(told, wanted));
    if (!g_str_has_prefix(told, wanted))
      printf("%s: %s\n", wanted, told);
  }
}

#define INFO "lab:3038984:3038984 [0] NCCL INFO "

static void test_tuning_tables_give_two_points_of_each_line(void)
{
  static const char text[] = INFO
    "NCCL version 2.29.7+cuda12.9\n" INFO "  Algorithm   |                Tree             "
    "     |             Ring        |\n" INFO
    "  Protocol    |     LL |  LL128 | Simple |  LL |  LL128 |  Simple |\n" INFO
    " Max NThreads |    512 |    640 |    512 |    512 |    640 |    256 |\n" INFO
    "     AllReduce |  7.2/  2.5 | 0.0/ 0.0 | 0.0/ 0.0 | 9.3/ 1.2 | 18.0/ 0.0 | 22.4/ "
    "2.4 |\n" INFO "comm 0x5 rank 0 nRanks 4 nNodes 2 nranks 4 Init COMPLETE\n";
  g_autoptr(Imported) imported = read_text(text, "nccl_tuning", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 6);
  const Sample *far = sample_at(imported, 5);
  CU_ASSERT_STRING_EQUAL(far->algo, "ring");
  CU_ASSERT_STRING_EQUAL(far->proto, "simple");
  CU_ASSERT_EQUAL(far->ranks, 4);
  CU_ASSERT_EQUAL(far->nodes, 2);
  CU_ASSERT_TRUE(is_close(far->median_s, 22.4e-6 + far->size / 2.4e9));
  CU_ASSERT_TRUE(is_close(sample_at(imported, 4)->median_s, 22.4e-6));
}

static void test_older_tuning_tables_name_both_in_one_line(void)
{
  static const char text[] = INFO "Latency/AlgBw |    Tree/    LL |    Ring/Simple |\n" INFO
                                  "     AllGather |  0.0/ 0.0 | 22.4/ 4.8 | junk |\n";
  const ImportOptions options = { .ranks = 8 };
  g_autoptr(Imported) imported =
    import_text("log.txt", text, strlen(text), &options, NULL, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 2);
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 0)->algo, "ring");
  CU_ASSERT_EQUAL(imported->n_unreadable, 1);
}

static void test_rows_longer_than_the_head_of_a_tuning_table_are_cut(void)
{
  /* The second head is shorter than the first, the row longer than both. */
  static const char text[] =
    INFO "Latency/AlgBw | Tree/ LL | Ring/ LL | Ring/Simple |\n" INFO
         "Latency/AlgBw | Tree/ LL |\n" INFO
         "AllReduce | 7.2/ 2.5 | 9.3/ 1.2 | 9.3/ 1.2 | 22.4/ 2.4 |\n";
  const ImportOptions options = { .ranks = 8 };
  g_autoptr(Imported) imported =
    import_text("log.txt", text, strlen(text), &options, NULL, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL(imported->samples->len, 2);
  CU_ASSERT_EQUAL(imported->n_unreadable, 3);
}

#define TOPO_HEAD "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"

static void test_a_topology_matrix_gives_its_links(void)
{
  g_autoptr(Imported) imported = read_text(TOPO_HEAD "GPU0\t X \tNV12\tPIX\t0-63\t0\tN/A\n"
                                                     "GPU1\tNV12\t X \tSYS\t0-63\t0\tN/A\n"
                                                     "NIC0\tPIX\tSYS\t X \t\t\t\n\n"
                                                     "Legend:\n  X = Self\n",
                                           "nvidia_topo", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_STRING_EQUAL(fact(imported, "gpus_per_node"), "2");
  CU_ASSERT_STRING_EQUAL(fact(imported, "nics_per_node"), "1");
  CU_ASSERT_STRING_EQUAL(fact(imported, "link GPU0 GPU1"), "NV12");
  CU_ASSERT_STRING_EQUAL(fact(imported, "link GPU1 NIC0"), "SYS");
}

static void test_cells_that_ran_together_are_refused(void)
{
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NULL(
    read_text(TOPO_HEAD "GPU0\t X \tPIXNODE\tPIX\t0-63\t0\tN/A\n", "nvidia_topo", &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(
    strstr(error->message, "log.txt:2: 'PIXNODE' between GPU0 and GPU1"));
}

static Imported *read_workload(const char *text, const ImportOptions *options,
                               GError **error)
{
  return import_text("job.txt", text, strlen(text), options, NULL, error);
}

#define DATA_WORKLOAD                                                                      \
  "DATA\n2\n"                                                                              \
  "conv.1 -1 100 NONE 0 120 NONE 0 130 ALLREDUCE 37632 5\n"                                \
  "fc -1 50 NONE 0 60 NONE 0 60 ALLREDUCE 8192002 5\n"

static void test_workloads_become_parts_of_scenarios(void)
{
  const ImportOptions options = { .time_unit_s = 1e-6 };
  g_autoptr(Imported) imported = read_workload(DATA_WORKLOAD, &options, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_PTR_NOT_NULL_FATAL(imported->scenario);
  CU_ASSERT_PTR_NOT_NULL(strstr(imported->scenario, "conv_1"));
  CU_ASSERT_PTR_NOT_NULL(strstr(imported->scenario, "9408"));
  CU_ASSERT_PTR_NOT_NULL(
    strstr(imported->scenario, "2048001")); /* the last value is whole */
  CU_ASSERT_PTR_NOT_NULL(strstr(imported->scenario, "\"100 us\""));
  CU_ASSERT_PTR_NOT_NULL(strstr(imported->scenario, "\"255 us\""));
}

static void test_workloads_without_a_unit_or_beyond_gradients_are_refused(void)
{
  static const char other[] =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8\n"
    "1\nattention -1 100 ALLREDUCE 64 1 NONE 0 1 NONE 0 1\n";
  static const char cut[] = "DATA\n2\nfc -1 50 NONE 0 60 NONE 0 60 ALLREDUCE 8192 5\n";
  const ImportOptions nothing = { .ranks = 0 };
  const ImportOptions unit = { .time_unit_s = 1e-9 };
  const ImportOptions only = { .time_unit_s = 1e-9, .only_gradients = true };
  const struct {
    const char *text;
    const ImportOptions *options;
    const char *says;
  } cases[] = {
    { DATA_WORKLOAD, &nothing, "--time-unit ns" },
    { other, &unit, "job.txt:3: attention has a ALLREDUCE beyond" },
    { cut, &unit, "2 layers are announced, 1 are there" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(read_workload(cases[i].text, cases[i].options, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, cases[i].says));
  }
  g_autoptr(Imported) imported = read_workload(other, &only, NULL);
  CU_ASSERT_PTR_NOT_NULL(imported);
}

/* Metadata {version "1.0"}; a computation of 300 us; an all-reduce of 1 MiB in 50 us. */
static const char chakra_trace[] =
  "\x05\x0a\x03\x31\x2e\x30\x07\x08\x01\x18\x04\x38\xac\x02\x26\x08"
  "\x02\x18\x07\x38\x32\x52\x0d\x0a\x09\x63\x6f\x6d\x6d\x5f\x74\x79"
  "\x70\x65\x48\x00\x52\x0f\x0a\x09\x63\x6f\x6d\x6d\x5f\x73\x69\x7a"
  "\x65\x48\x80\x80\x40";

static void test_chakra_traces_give_computing_and_collectives(void)
{
  const ImportOptions options = { .ranks = 16, .nodes = 2 };
  const ImporterOps *importer = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(Imported) imported = import_text(
    "rank.0.et", chakra_trace, sizeof chakra_trace - 1, &options, &importer, &error);

  if (imported == NULL)
    printf("%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_STRING_EQUAL(importer->info.name, "chakra");
  CU_ASSERT_STRING_EQUAL(fact(imported, "chakra_nodes"), "2");
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 2);
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 0)->probe, "all_reduce");
  CU_ASSERT_EQUAL(sample_at(imported, 0)->size, 1048576);
  CU_ASSERT_TRUE(is_close(sample_at(imported, 0)->median_s, 50e-6));
  CU_ASSERT_STRING_EQUAL(sample_at(imported, 1)->probe, "step_compute");
  CU_ASSERT_TRUE(is_close(sample_at(imported, 1)->median_s, 300e-6));
}

static void test_chakra_traces_that_end_early_are_refused(void)
{
  const ImportOptions options = { .kind = "chakra", .ranks = 16 };

  for (gsize n = 7; n < sizeof chakra_trace - 1; n++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Imported) imported =
      import_text("rank.0.et", chakra_trace, n, &options, NULL, &error);
    CU_ASSERT_EQUAL(imported == NULL, n != 14);
  }
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "OSU collectives need ranks and give times",
      test_osu_collectives_need_ranks_and_give_times },
    { "OSU bandwidth becomes the time of a message",
      test_osu_bandwidth_becomes_the_time_of_a_message },
    { "perftest units are those of its header",
      test_perftest_units_are_those_of_its_header },
    { "perftest latency is the typical one", test_perftest_latency_is_the_typical_one },
    { "iperf3 tells what arrived and what was sent again",
      test_iperf3_tells_what_arrived_and_what_was_sent_again },
    { "iperf3 that failed is refused with its own words",
      test_iperf3_that_failed_is_refused_with_its_own_words },
    { "nccl-tests JSON gives rows, ranks and version",
      test_nccl_tests_json_gives_rows_ranks_and_version },
    { "rccl-tests lines are tables by collective",
      test_rccl_tests_lines_are_tables_by_collective },
    { "tuning tables give two points of each line",
      test_tuning_tables_give_two_points_of_each_line },
    { "older tuning tables name both in one line",
      test_older_tuning_tables_name_both_in_one_line },
    { "rows longer than the head of a tuning table are cut",
      test_rows_longer_than_the_head_of_a_tuning_table_are_cut },
    { "wrong values of JSON are told with line and column",
      test_wrong_values_of_json_are_told_with_line_and_column },
    { "a topology matrix gives its links", test_a_topology_matrix_gives_its_links },
    { "cells that ran together are refused", test_cells_that_ran_together_are_refused },
    { "workloads become parts of scenarios", test_workloads_become_parts_of_scenarios },
    { "workloads without a unit or beyond gradients are refused",
      test_workloads_without_a_unit_or_beyond_gradients_are_refused },
    { "Chakra traces give computing and collectives",
      test_chakra_traces_give_computing_and_collectives },
    { "Chakra traces that end early are refused",
      test_chakra_traces_that_end_early_are_refused },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "import of other logs", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
