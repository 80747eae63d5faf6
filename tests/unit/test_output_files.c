/**
 * @file test_output_files.c
 * @brief Paths are refused before the run, and files are replaced whole or not at all.
 */
#include "sim/output/output.h"
#include "tests/unit/sample_results.h"

#include <CUnit/Basic.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A scratch folder. */
typedef struct {
  char *path;
} Folder;

static guint count_files(const char *path)
{
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  guint n = 0;

  while (g_dir_read_name(dir) != NULL)
    n++;
  return n;
}

static void folder_clear(Folder *folder)
{
  g_autoptr(GDir) dir = g_dir_open(folder->path, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name(dir)) != NULL) {
    g_autofree char *file = g_build_filename(folder->path, name, NULL);
    g_remove(file);
  }
  g_rmdir(folder->path);
  g_free(folder->path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Folder, folder_clear)

static Folder folder_make(void)
{
  return (Folder){ .path = g_dir_make_tmp("stepcast-XXXXXX", NULL) };
}

static char *in(const Folder *folder, const char *name)
{
  return g_build_filename(folder->path, name, NULL);
}

static bool refuses(const char *path, SimError code, const char *words)
{
  const char *const paths[] = { path, NULL };
  g_autoptr(GError) error = NULL;

  return !output_check_all(paths, &error) && g_error_matches(error, SIM_ERROR, code) &&
         g_str_has_prefix(error->message, path) && strstr(error->message, words) != NULL;
}

static void test_suffixes_pick_writers_and_the_longest_wins(void)
{
  const char *file = NULL;

  CU_ASSERT_PTR_EQUAL(output_find("a.json", NULL, NULL), &output_json);
  CU_ASSERT_PTR_EQUAL(output_find("a.trace.json", NULL, NULL), &output_trace);
  CU_ASSERT_PTR_EQUAL(output_find("b/a.csv", NULL, NULL), &output_csv);
  CU_ASSERT_PTR_EQUAL(output_find("a.svg", &file, NULL), &output_svg);
  CU_ASSERT_STRING_EQUAL(file, "a.svg");
  CU_ASSERT_PTR_EQUAL(output_find("csv:/dev/stdout", &file, NULL), &output_csv);
  CU_ASSERT_STRING_EQUAL(file, "/dev/stdout");
}

static void test_an_unknown_suffix_gets_a_suggestion_and_the_list(void)
{
  CU_ASSERT_TRUE(refuses("out.jsn", SIM_ERROR_USAGE, "did you mean '.json'?"));
  CU_ASSERT_TRUE(refuses("out.pdf", SIM_ERROR_USAGE, ".txt .json .csv .trace.json .svg"));
  CU_ASSERT_TRUE(refuses("out", SIM_ERROR_USAGE, "the name 'out' picks no writer"));
  CU_ASSERT_TRUE(refuses("", SIM_ERROR_USAGE, "picks no writer"));
  CU_ASSERT_TRUE(refuses("json:", SIM_ERROR_USAGE, "names no file"));
}

static void test_writers_that_need_a_timeline_say_so(void)
{
  const char *const without[] = { "a.json", "b.csv", "c.txt", NULL };
  const char *const with[] = { "a.json", "b.trace.json", NULL };

  CU_ASSERT_FALSE(output_wants_timeline(without));
  CU_ASSERT_TRUE(output_wants_timeline(with));
}

static void test_paths_that_cannot_be_written_are_refused(void)
{
  g_auto(Folder) folder = folder_make();
  g_autofree char *nowhere = in(&folder, "none/x.json");
  g_autofree char *beneath = in(&folder, "file.json/x.json");
  g_autofree char *directory = in(&folder, "folder.json");
  g_autofree char *file = in(&folder, "file.json");
  g_autofree char *name = g_strnfill(300, 'x');
  g_autofree char *too_long = g_strdup_printf("%s/%s.json", folder.path, name);

  g_mkdir(directory, 0700);
  CU_ASSERT_TRUE(g_file_set_contents(file, "old", -1, NULL));
  CU_ASSERT_TRUE(refuses(nowhere, SIM_ERROR_IO, "No such file"));
  CU_ASSERT_TRUE(refuses(beneath, SIM_ERROR_IO, "Not a directory"));
  CU_ASSERT_TRUE(refuses(directory, SIM_ERROR_IO, "Is a directory"));
  CU_ASSERT_TRUE(refuses(too_long, SIM_ERROR_IO, "too long"));
  CU_ASSERT_TRUE(refuses("/proc/x.json", SIM_ERROR_IO, "/proc/x.json"));
  /* Everything is writable to root. */
  if (geteuid() != 0) {
    g_chmod(file, 0400);
    CU_ASSERT_TRUE(refuses(file, SIM_ERROR_IO, "Permission denied"));
  }
}

static void test_a_check_leaves_nothing_behind(void)
{
  g_auto(Folder) folder = folder_make();
  g_autofree char *json = in(&folder, "x.json");
  g_autofree char *csv = in(&folder, "x.csv");
  const char *const paths[] = { json, csv, NULL };

  CU_ASSERT_TRUE(output_check_all(paths, NULL));
  CU_ASSERT_EQUAL(count_files(folder.path), 0);
}

static void test_one_file_under_two_names_is_refused(void)
{
  g_auto(Folder) folder = folder_make();
  g_autofree char *path = in(&folder, "x.json");
  g_autofree char *detour = g_strdup_printf("%s/./x.json", folder.path);
  g_autofree char *link = in(&folder, "y.json");
  const char *const twice[] = { path, detour, NULL };
  const char *const linked[] = { path, link, NULL };
  g_autoptr(GError) error = NULL;

  CU_ASSERT_FALSE(output_check_all(twice, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_USAGE));
  CU_ASSERT_TRUE(g_file_set_contents(path, "old", -1, NULL));
  CU_ASSERT_EQUAL(symlink(path, link), 0);
  CU_ASSERT_FALSE(output_check_all(linked, NULL));
}

static bool holds(const char *path, const char *text)
{
  g_autofree char *found = NULL;

  return g_file_get_contents(path, &found, NULL, NULL) && strcmp(found, text) == 0;
}

static void test_every_path_gets_its_rendering(void)
{
  g_auto(Folder) folder = folder_make();
  g_autoptr(Result) result = sample_horovod();
  const Result *const results[] = { result };
  g_autofree char *json = in(&folder, "x.json");
  g_autofree char *svg = in(&folder, "x.svg");
  const char *const paths[] = { json, svg, "csv:/dev/null", NULL };
  g_autoptr(GString) expected = g_string_new(NULL);
  g_autoptr(GString) picture = g_string_new(NULL);

  CU_ASSERT_TRUE(output_check_all(paths, NULL));
  CU_ASSERT_TRUE(output_write_all(paths, results, 1, NULL));
  output_json.render(results, 1, expected, NULL);
  output_svg.render(results, 1, picture, NULL);
  CU_ASSERT_TRUE(holds(json, expected->str));
  CU_ASSERT_TRUE(holds(svg, picture->str));
  CU_ASSERT_EQUAL(count_files(folder.path), 2);
}

static void test_a_link_leads_to_the_file_that_is_replaced(void)
{
  g_auto(Folder) folder = folder_make();
  g_autoptr(Result) result = sample_one_gpu();
  const Result *const results[] = { result };
  g_autofree char *file = in(&folder, "x.json");
  g_autofree char *link = in(&folder, "y.json");
  const char *const paths[] = { link, NULL };
  GStatBuf status;

  CU_ASSERT_TRUE(g_file_set_contents(file, "old", -1, NULL));
  g_chmod(file, 0640);
  CU_ASSERT_EQUAL(symlink("x.json", link), 0);
  CU_ASSERT_TRUE(output_write_all(paths, results, 1, NULL));
  CU_ASSERT_EQUAL(g_lstat(link, &status), 0);
  CU_ASSERT_TRUE(S_ISLNK(status.st_mode));
  CU_ASSERT_FALSE(holds(file, "old"));
  CU_ASSERT_EQUAL(g_lstat(file, &status), 0);
  CU_ASSERT_EQUAL(status.st_mode & 0777, 0640);
}

static void test_a_failure_changes_no_file(void)
{
  g_auto(Folder) folder = folder_make();
  g_autoptr(Result) good = sample_horovod();
  g_autoptr(Result) bad = sample_horovod();
  const Result *const results[] = { good, bad };
  g_autofree char *file = in(&folder, "x.json");
  const char *const full[] = { file, "csv:/dev/full", NULL };
  const char *const plain[] = { file, NULL };
  g_autoptr(GError) error = NULL;

  CU_ASSERT_TRUE(g_file_set_contents(file, "old", -1, NULL));
  CU_ASSERT_FALSE(output_write_all(full, results, 2, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_IO));
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "No space left"));
  bad->floor_s = NAN;
  CU_ASSERT_FALSE(output_write_all(plain, results, 2, NULL));
  CU_ASSERT_TRUE(holds(file, "old"));
  CU_ASSERT_EQUAL(count_files(folder.path), 1);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("output_files", NULL, NULL);
  CU_ADD_TEST(suite, test_suffixes_pick_writers_and_the_longest_wins);
  CU_ADD_TEST(suite, test_an_unknown_suffix_gets_a_suggestion_and_the_list);
  CU_ADD_TEST(suite, test_writers_that_need_a_timeline_say_so);
  CU_ADD_TEST(suite, test_paths_that_cannot_be_written_are_refused);
  CU_ADD_TEST(suite, test_a_check_leaves_nothing_behind);
  CU_ADD_TEST(suite, test_one_file_under_two_names_is_refused);
  CU_ADD_TEST(suite, test_every_path_gets_its_rendering);
  CU_ADD_TEST(suite, test_a_link_leads_to_the_file_that_is_replaced);
  CU_ADD_TEST(suite, test_a_failure_changes_no_file);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
