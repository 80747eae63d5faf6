/** @file test_import_logs.c  @brief Public logs import to exactly the rows they hold. */
#include "calibrate/import.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RAW "tests/reference/nccl-tests/raw/"
#define TOL_PRINTED 1e-12 /* decimal numbers through binary ones */

/* Logs that lack what only their source told. */
static const struct {
  const char *log;
  guint ranks, nodes;
} told[] = {
  { "a100-N2x8-efa400-allreduce-p4de", 16, 2 },
};

static guint n_expected(char **rows, const char *log, guint half)
{
  guint n = 0;

  for (guint i = 0; rows[i] != NULL; i++) {
    g_auto(GStrv) field = g_strsplit(rows[i], ",", 0);
    n += g_strv_length(field) == 4 && strcmp(field[0], log) == 0 &&
         (guint)atoi(field[1]) == half;
  }
  return n;
}

static Imported *read_log(const char *log)
{
  g_autofree char *path = g_strconcat(RAW, log, ".txt", NULL);
  g_autoptr(GError) error = NULL;
  ImportOptions options = { .collective = "all_reduce" };

  for (guint i = 0; i < G_N_ELEMENTS(told); i++)
    if (strcmp(told[i].log, log) == 0) {
      options.ranks = told[i].ranks;
      options.nodes = told[i].nodes;
    }
  Imported *imported = import_file(path, &options, NULL, &error);
  if (imported == NULL)
    printf("cannot read: %s\n", error->message);
  return imported;
}

/* The samples of the log, in the file's order, are the rows. */
static void compare(const char *log, char **rows)
{
  g_autoptr(Imported) imported = read_log(log);
  guint n[2] = { 0, 0 };
  guint at = 0;

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  for (guint i = 0; rows[i] != NULL; i++) {
    g_auto(GStrv) field = g_strsplit(rows[i], ",", 0);
    if (g_strv_length(field) != 4 || strcmp(field[0], log) != 0)
      continue;
    n[atoi(field[1])]++;
    if (at == imported->samples->len) {
      printf("%s: too few samples, %u\n", log, at);
      CU_FAIL("a row is missing");
      return;
    }
    const Sample *sample = imported->samples->pdata[at++];
    const double time_us = g_ascii_strtod(field[3], NULL);
    const bool same =
      sample->size == g_ascii_strtod(field[2], NULL) &&
      fabs(sample->median_s * 1e6 - time_us) <= TOL_PRINTED * time_us &&
      strcmp(sample->variant, atoi(field[1]) == 0 ? "out_of_place" : "in_place") == 0;
    if (!same)
      printf("%s: %s B: %.10g us, not %s\n", log, field[2], sample->median_s * 1e6,
             field[3]);
    CU_ASSERT_TRUE(same);
  }
  if (at != imported->samples->len)
    printf("%s: %u samples, %u rows\n", log, imported->samples->len, at);
  CU_ASSERT_EQUAL(at, imported->samples->len);
}

static void test_every_public_log_imports_to_exactly_its_rows(void)
{
  g_autofree char *text = NULL;
  g_autoptr(GDir) folder = g_dir_open(RAW, 0, NULL);
  guint n_logs = 0;

  CU_ASSERT_TRUE_FATAL(g_file_get_contents(RAW "rows.csv", &text, NULL, NULL));
  g_auto(GStrv) rows = g_strsplit(text, "\n", 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
  for (const char *name; (name = g_dir_read_name(folder)) != NULL;)
    if (g_str_has_suffix(name, ".txt")) {
      g_autofree char *log = g_strndup(name, strlen(name) - strlen(".txt"));
      CU_ASSERT_TRUE(n_expected(rows, log, 0) > 0);
      compare(log, rows);
      n_logs++;
    }
  CU_ASSERT_EQUAL(n_logs, 69);
}

static Imported *read_text(const char *text, GError **error)
{
  const ImportOptions options = { .collective = NULL };

  return import_text("log.txt", text, strlen(text), &options, NULL, error);
}

#define TWO_RANKS                                                                          \
  "# Collective test starting: all_reduce_perf\n"                                          \
  "#  Rank  0 Group  0 Pid 1 on left device  0 [0x1a] NVIDIA L40S\n"                       \
  "#  Rank  1 Group  0 Pid 2 on right device  0 [0x1a] NVIDIA L40S\n"                      \
  "#  size  count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"

#define GOOD_ROW "8192 2048 float sum -1 15.39 0.53 0.53 0 15.38 0.53 0.53 0\n"

static void test_ranks_and_nodes_come_from_the_rank_lines(void)
{
  g_autoptr(Imported) imported = read_text(TWO_RANKS GOOD_ROW, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 2);
  const Sample *sample = imported->samples->pdata[0];
  CU_ASSERT_EQUAL(sample->ranks, 2);
  CU_ASSERT_EQUAL(sample->nodes, 2);
  CU_ASSERT_STRING_EQUAL(sample->probe, "all_reduce");
  CU_ASSERT_STRING_EQUAL(sample->dtype, "fp32");
  CU_ASSERT_EQUAL(sample->flags, 0);
}

static void test_a_row_that_contradicts_itself_is_flagged(void)
{
  g_autoptr(Imported) imported = read_text(
    TWO_RANKS "8192 2048 float sum -1 15.39 5.30 5.30 0 15.38 0.53 0.93 0\n", NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 2);
  for (guint i = 0; i < 2; i++)
    CU_ASSERT_EQUAL(((Sample *)imported->samples->pdata[i])->flags, SAMPLE_IMPLAUSIBLE);
  CU_ASSERT_EQUAL(imported->notes->len, 2);
}

static void test_an_invented_table_is_flagged_whole(void)
{
  g_autoptr(GString) text = g_string_new(TWO_RANKS);

  for (guint i = 0; i <= 10; i++) {
    const double us = 10.24 * (1 << i), GBps = 0.1;
    g_string_append_printf(text, "%u %u float sum -1 %.2f %.2f %.2f 0 %.2f %.2f %.2f 0\n",
                           1024u << i, 256u << i, us, GBps, GBps, us, GBps, GBps);
  }
  g_autoptr(Imported) imported = read_text(text->str, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 22);
  for (guint i = 0; i < imported->samples->len; i++)
    CU_ASSERT_TRUE(((Sample *)imported->samples->pdata[i])->flags & SAMPLE_IMPLAUSIBLE);
}

static void test_rows_with_wrong_results_are_flagged(void)
{
  g_autoptr(Imported) imported =
    read_text(TWO_RANKS "8192 2048 float sum -1 15.39 0.53 0.53 7 15.38 0.53 0.53 N/A\n"
                        "8192 2048 float sum -1 15.39 0.53 0.53 2e-07 N/A N/A N/A N/A\n"
                        "8192 2048 float sum -1 -nan 0.53 0.53 0 15.38 0.53 0.53 0\n",
              NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL_FATAL(imported->samples->len, 4);
  for (guint i = 0; i < 4; i++)
    CU_ASSERT_EQUAL(((Sample *)imported->samples->pdata[i])->flags,
                    i == 0 ? SAMPLE_IMPLAUSIBLE : 0);
  CU_ASSERT_EQUAL(imported->n_unreadable, 1);
}

static void test_rows_of_a_second_process_are_left_out(void)
{
  g_autoptr(Imported) imported = read_text(TWO_RANKS "0: " GOOD_ROW "1: " GOOD_ROW, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL(imported->samples->len, 2);
  CU_ASSERT_EQUAL(imported->n_unreadable, 1);
}

static void test_layouts_without_root_or_redop_and_with_intervals_are_told_by_columns(void)
{
  static const char *const rows[] = {
    "8192 2048 float sum 15.39 0.53 0.53 2e-07 15.38 0.53 0.53 2e-07\n",
    "8192 2048 float 15.39 0.53 0.53 0 15.38 0.53 0.53 0\n",
    "8192 2048 float sum -1 15.39 0.53 0.53 0 15 16 16 1.2 15.38 0.53 0.53 0 15 16 16 1\n",
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *text = g_strconcat(TWO_RANKS, rows[i], NULL);
    g_autoptr(Imported) imported = read_text(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
    CU_ASSERT_EQUAL_FATAL(imported->samples->len, 2);
    CU_ASSERT_DOUBLE_EQUAL(((Sample *)imported->samples->pdata[1])->median_s, 15.38e-6,
                           1e-15);
  }
}

static void test_what_nobody_names_follows_from_busbw_where_it_is_plain(void)
{
  static const char text[] =
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "1073741824 268435456 float sum -1 7163.5 149.89 224.84 0 7161.8 149.93 224.89 0\n";
  g_autoptr(Imported) imported = read_text(text, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  const Sample *sample = imported->samples->pdata[0];
  CU_ASSERT_EQUAL(sample->ranks, 4);
  CU_ASSERT_STRING_EQUAL(sample->probe, "all_reduce");
  CU_ASSERT_EQUAL(imported->notes->len, 2);
}

static void test_what_cannot_be_told_is_refused_with_the_remedy(void)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
    { "# size count type algbw busbw\n" GOOD_ROW, "--collective NAME does" },
    { "# all_reduce_perf\n# size algbw busbw\n8192 2048 float sum -1 15.39 0.00 0.00 0 "
      "15.38 0.00 0.00 0\n",
      "--ranks N does" },
    { "# all_reduce_perf algbw busbw size\n# Rank 0 Pid 1 on a device 0 [0x1] X\n" GOOD_ROW,
      "MPI=1" },
    { "once upon a time\n", "nobody knows this kind of file" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Imported) imported = read_text(cases[i].text, &error);
    CU_ASSERT_PTR_NULL(imported);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, cases[i].says));
    CU_ASSERT_TRUE(g_str_has_prefix(error->message, "log.txt:"));
  }
}

static void test_packed_files_are_read_as_they_are(void)
{
  static const char text[] = TWO_RANKS GOOD_ROW;
  g_autoptr(GConverter) gzip =
    G_CONVERTER(g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
  char packed[4096];
  gsize n_read, n_written;
  const ImportOptions options = { .ranks = 0 };

  CU_ASSERT_EQUAL_FATAL(g_converter_convert(gzip, text, sizeof text - 1, packed,
                                            sizeof packed, G_CONVERTER_INPUT_AT_END,
                                            &n_read, &n_written, NULL),
                        G_CONVERTER_FINISHED);
  g_autoptr(Imported) imported =
    import_text("log.gz", packed, n_written, &options, NULL, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(imported);
  CU_ASSERT_EQUAL(imported->samples->len, 2);
  /* Half of it is an error, not half a log. */
  g_autoptr(GError) error = NULL;
  CU_ASSERT_PTR_NULL(import_text("log.gz", packed, n_written / 2, &options, NULL, &error));
  CU_ASSERT_PTR_NOT_NULL(error);
}

static void test_a_line_without_end_is_refused(void)
{
  g_autofree char *text = g_strnfill(3 << 20, '1');
  const ImportOptions options = { .kind = "nccl_tests" };
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NULL(import_text("x", text, 3 << 20, &options, NULL, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "not a log"));
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "every public log imports to exactly its rows",
      test_every_public_log_imports_to_exactly_its_rows },
    { "ranks and nodes come from the rank lines",
      test_ranks_and_nodes_come_from_the_rank_lines },
    { "a row that contradicts itself is flagged",
      test_a_row_that_contradicts_itself_is_flagged },
    { "an invented table is flagged whole", test_an_invented_table_is_flagged_whole },
    { "rows with wrong results are flagged", test_rows_with_wrong_results_are_flagged },
    { "rows of a second process are left out", test_rows_of_a_second_process_are_left_out },
    { "layouts without root or redop and with intervals are told by columns",
      test_layouts_without_root_or_redop_and_with_intervals_are_told_by_columns },
    { "what nobody names follows from busbw where it is plain",
      test_what_nobody_names_follows_from_busbw_where_it_is_plain },
    { "what cannot be told is refused with the remedy",
      test_what_cannot_be_told_is_refused_with_the_remedy },
    { "packed files are read as they are", test_packed_files_are_read_as_they_are },
    { "a line without end is refused", test_a_line_without_end_is_refused },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "import of logs", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
