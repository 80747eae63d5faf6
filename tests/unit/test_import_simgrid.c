/**
 * @file test_import_simgrid.c
 * @brief Platforms as we read them, against SimGrid's own reading of the same files.
 *
 * SimGrid loads one platform per process: each file is compared in a child.
 */
#include "sim/scenario/import.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/dynar.h>

/* SimGrid keeps times and rates in doubles, as we do, but parses them by other means. */
#define TOL_PARSING 1e-9

typedef struct {
  guint n_links;
  double latency_s, rate_Bps;
} Way;

static Way our_way(const NetworkGraph *graph, guint src, guint dst)
{
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));
  Way way = { .rate_Bps = INFINITY };

  network_graph_route(graph, src, dst, 0, 0, path);
  way.n_links = path->len;
  for (guint i = 0; i < path->len; i++) {
    const GraphLink *link = network_graph_link(graph, g_array_index(path, guint32, i));
    way.latency_s += link->latency_s;
    way.rate_Bps = MIN(way.rate_Bps, link->rate_Bps);
  }
  return way;
}

static Way their_way(sg_host_t src, sg_host_t dst)
{
  xbt_dynar_t links = xbt_dynar_new(sizeof(void *), NULL);

  sg_host_get_route(src, dst, links);
  const Way way = { .n_links = (guint)xbt_dynar_length(links),
                    .latency_s = sg_host_get_route_latency(src, dst),
                    .rate_Bps = sg_host_get_route_bandwidth(src, dst) };
  xbt_dynar_free(&links);
  return way;
}

static bool is_near(double a, double b)
{
  return fabs(a - b) <= TOL_PARSING * fabs(b);
}

/* How many of the ways between two hosts, named in the order of the file, differ. */
static int compare(const char *path, const char *const *names)
{
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;
  gsize length = 0;
  int n_wrong = 0;
  int argc = 1;
  char program[] = "test", *argv[] = { program, NULL };

  if (!g_file_get_contents(path, &text, &length, NULL))
    return 100;
  const ImportFile file = { path, text, length };
  g_autoptr(NetworkGraph) graph = import_simgrid_network(&file, &error);
  simgrid_init(&argc, argv);
  simgrid_load_platform(path);
  simgrid_run(); /* paths are found when a simulation starts */
  for (guint i = 0; names[i] != NULL; i++)
    for (guint j = 0; names[j] != NULL; j++) {
      if (i == j)
        continue;
      const Way ours = our_way(graph, i, j);
      const Way theirs = their_way(sg_host_by_name(names[i]), sg_host_by_name(names[j]));
      n_wrong += ours.n_links != theirs.n_links ||
                 !is_near(ours.latency_s, theirs.latency_s) ||
                 !is_near(ours.rate_Bps, theirs.rate_Bps);
    }
  return n_wrong;
}

static int compare_in_child(const char *path, const char *const *names)
{
  const pid_t child = fork();
  int status = -1;

  if (child == 0)
    _exit(compare(path, names));
  CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_paths_are_those_that_simgrid_takes(void)
{
  static const struct {
    const char *path, *names[8];
  } cases[] = {
    { "tests/import/simgrid_cluster.xml",
      { "node-0.org", "node-1.org", "node-2.org", "node-5.org", "node-6.org", "node-7.org",
        NULL } },
    { "tests/import/simgrid_full.xml", { "a", "b", "c", NULL } },
    { "tests/import/simgrid_floyd.xml", { "a", "b", "c", "d", NULL } },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++)
    CU_ASSERT_EQUAL(compare_in_child(cases[c].path, cases[c].names), 0);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("import from SimGrid", NULL, NULL);
  CU_ADD_TEST(suite, test_paths_are_those_that_simgrid_takes);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
