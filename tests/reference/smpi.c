/**
 * @file smpi.c
 * @brief Our two engines against SimGrid's own MPI on the platform that we export.
 *
 * Usage: smpi MPI_PROGRAM
 *
 * The MPI program (mpi_collectives.c) spells its algorithms out in messages and knows
 * nothing of ours. smpirun runs it on the exported cluster, on SimGrid's CM02 network with
 * no factors and no costs of MPI itself. Exit status 77: smpirun is not there.
 */
#include "sim/output/platform.h"
#include "tests/unit/cluster_fixture.h"
#include "tests/unit/race.h"

#include <CUnit/Basic.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>

/* Our messages, and our folded phases, against every message of theirs. */
#define TOL_SMPI 0.02

#define SKIPPED 77

static const double sizes_B[] = { 4096, 65536, 1048576, 16777216, 67108864 };
#define N_SIZES G_N_ELEMENTS(sizes_B)

static const guint rank_counts[] = { 4, 5, 8, 12, 16, 24, 32, 64 };

/** An algorithm under both names. */
typedef struct {
  const char *ours, *theirs;
} Namesake;

static const Namesake namesakes[] = {
  { "ring", "ring" },
  { "tree", "binomial" },
  { "recursive_doubling", "recursive_doubling" },
  { "halving_doubling", "halving_doubling" },
};

typedef struct {
  const char *name, *network, *network_keys;
} Place;

static const Place places[] = {
  { "idle star", "switch", "latency=1 us" },
  { "leaves of 4 nodes, 2 : 1", "leaf_spine",
    "nodes_per_leaf=4; oversubscription=2; latency=1 us" },
};

/** What smpirun said of one cluster. */
typedef struct {
  double time_s[G_N_ELEMENTS(namesakes)][N_SIZES];
  double wall_s;
} Smpi;

static const char *mpi_program;

/* Every cost of MPI is off: what remains is the network. */
static const char *const configuration[] = {
  "--log=root.thres:error",
  "--cfg=network/model:CM02",
  "--cfg=network/crosstraffic:0",
  "--cfg=network/TCP-gamma:0",
  "--cfg=network/weight-S:0",
  "--cfg=network/bandwidth-factor:1",
  "--cfg=network/latency-factor:1",
  "--cfg=network/optim:Full",
  "--cfg=surf/precision:1e-12",
  "--cfg=smpi/simulate-computation:no",
  "--cfg=smpi/wtime:0",
  "--cfg=smpi/send-is-detached-thresh:0",
  "--cfg=smpi/async-small-thresh:0",
};

static void note_line(Smpi *smpi, const char *line)
{
  g_auto(GStrv) word = g_strsplit(line, " ", -1);
  if (g_strv_length(word) != 3)
    return;
  for (guint a = 0; a < G_N_ELEMENTS(namesakes); a++)
    for (guint s = 0; s < N_SIZES; s++)
      if (strcmp(word[0], namesakes[a].theirs) == 0 &&
          g_ascii_strtod(word[1], NULL) == sizes_B[s])
        smpi->time_s[a][s] = g_ascii_strtod(word[2], NULL);
}

static char **arguments(const char *folder, guint n)
{
  g_autoptr(GStrvBuilder) words = g_strv_builder_new();
  g_autofree char *platform = g_build_filename(folder, "platform.xml", NULL);
  g_autofree char *hosts = g_build_filename(folder, "hosts", NULL);
  g_autofree char *count = g_strdup_printf("%u", n);

  g_strv_builder_add_many(words, "smpirun", "-np", count, "-platform", platform,
                          "-hostfile", hosts, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(configuration); i++)
    g_strv_builder_add(words, configuration[i]);
  g_strv_builder_add(words, mpi_program);
  for (guint s = 0; s < N_SIZES; s++) {
    g_autofree char *size = g_strdup_printf("%.0f", sizes_B[s]);
    g_strv_builder_add(words, size);
  }
  return g_strv_builder_end(words);
}

static bool run_smpi(const char *folder, guint n, Smpi *smpi)
{
  g_auto(GStrv) words = arguments(folder, n);
  g_autofree char *said = NULL, *complained = NULL;
  g_autoptr(GError) error = NULL;
  int status = -1;
  const gint64 begin_us = g_get_monotonic_time();
  const bool ran = g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &said,
                                &complained, &status, &error) &&
                   g_spawn_check_wait_status(status, &error);

  smpi->wall_s = 1e-6 * (double)(g_get_monotonic_time() - begin_us);
  if (!ran) {
    printf("smpirun: %s\n%s\n", error->message, complained == NULL ? "" : complained);
    return false;
  }
  g_auto(GStrv) lines = g_strsplit(said, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    note_line(smpi, lines[i]);
  return true;
}

static bool write_cluster(const Topology *topology, const char *folder)
{
  g_autoptr(GString) xml = g_string_new(NULL);
  g_autoptr(GString) hosts = g_string_new(NULL);
  g_autofree char *platform = g_build_filename(folder, "platform.xml", NULL);
  g_autofree char *hostfile = g_build_filename(folder, "hosts", NULL);

  for (guint i = 0; i < topology_n_gpus(topology); i++)
    g_string_append_printf(hosts, "gpu%u\n", i);
  return platform_render(topology, 0, topology_message_latency_s(topology), xml, NULL) &&
         g_file_set_contents(platform, xml->str, (gssize)xml->len, NULL) &&
         g_file_set_contents(hostfile, hosts->str, (gssize)hosts->len, NULL);
}

/** The largest differences of an algorithm, and the time all runs took. */
typedef struct {
  double fast, reference;
  double fast_wall_s, reference_wall_s, smpi_wall_s;
  guint n;
} Score;

static void compare(const Namesake *names, const Topology *topology, const char *place,
                    const double *smpi_s, Score *score)
{
  const CollOps *ops = coll_find(names->ours, NULL);
  g_autoptr(Group) group = group_new_all(topology);
  const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1 };
  /* Theirs cut nothing into chunks. */
  const Race race = {
    .call = &call,
    .topology = topology,
    .choice = { .collective = ops,
                .terms = { .alpha_net_s = topology_message_latency_s(topology),
                           .wire_factor = 1,
                           .chunk_B = 1e12 } },
    .sizes_B = sizes_B,
    .n_sizes = N_SIZES,
  };
  const RaceOutcome outcome = race_hold(&race);

  CU_ASSERT_TRUE(outcome.succeeded);
  for (guint s = 0; s < N_SIZES; s++) {
    const double reference = outcome.pairs[s].reference_s / smpi_s[s] - 1;
    const double fast = outcome.pairs[s].fast_s / smpi_s[s] - 1;

    if (fabs(reference) > TOL_SMPI || fabs(fast) > TOL_SMPI)
      printf("    %s, %s, %u ranks, %.0f B: smpi %.3f us; messages %+.1f %%, folded "
             "%+.1f %%\n",
             names->ours, place, group->n_ranks, sizes_B[s], 1e6 * smpi_s[s],
             100 * reference, 100 * fast);
    CU_ASSERT_TRUE(fabs(reference) <= TOL_SMPI);
    CU_ASSERT_TRUE(fabs(fast) <= TOL_SMPI);
    score->reference = MAX(score->reference, fabs(reference));
    score->fast = MAX(score->fast, fabs(fast));
  }
  score->fast_wall_s += outcome.fast_wall_s;
  score->reference_wall_s += outcome.reference_wall_s;
  score->n++;
}

static void compare_cluster(const Place *place, guint n, const char *folder, Score *scores)
{
  const Fixture fixture = { .n_nodes = n,
                            .n_gpus = 1,
                            .n_nics = 1,
                            .nic_Bps = 12.5e9,
                            .fabric = "nvswitch",
                            .fabric_keys = "port_rate=100 GB/s; pcie_rate=40 GB/s",
                            .network = place->network,
                            .network_keys = place->network_keys };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  Smpi smpi = { 0 };

  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  CU_ASSERT_TRUE_FATAL(write_cluster(topology, folder));
  CU_ASSERT_TRUE_FATAL(run_smpi(folder, n, &smpi));
  for (guint a = 0; a < G_N_ELEMENTS(namesakes); a++) {
    if (coll_find(namesakes[a].ours, NULL) == NULL)
      continue;
    compare(&namesakes[a], topology, place->name, smpi.time_s[a], &scores[a]);
    scores[a].smpi_wall_s += smpi.wall_s / G_N_ELEMENTS(namesakes);
  }
}

static void test_engines_take_what_smpi_takes(void)
{
  g_autofree char *folder = g_dir_make_tmp("stepcast-smpi-XXXXXX", NULL);
  g_autofree char *platform = g_build_filename(folder, "platform.xml", NULL);
  g_autofree char *hosts = g_build_filename(folder, "hosts", NULL);
  Score scores[G_N_ELEMENTS(namesakes)] = { 0 };

  CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
  printf("\n");
  for (guint p = 0; p < G_N_ELEMENTS(places); p++)
    for (guint i = 0; i < G_N_ELEMENTS(rank_counts); i++)
      compare_cluster(&places[p], rank_counts[i], folder, scores);
  for (guint a = 0; a < G_N_ELEMENTS(namesakes); a++) {
    const Score *score = &scores[a];
    if (score->n == 0)
      printf("  %s: no such algorithm\n", namesakes[a].ours);
    else
      printf("  %s: worst: messages %.2f %%, folded %.2f %%; smpi takes %.0f times as long "
             "as messages, %.0f times as long as folded\n",
             namesakes[a].ours, 100 * score->reference, 100 * score->fast,
             score->smpi_wall_s / score->reference_wall_s,
             score->smpi_wall_s / score->fast_wall_s);
  }
  g_unlink(platform);
  g_unlink(hosts);
  g_rmdir(folder);
}

int main(int argc, char **argv)
{
  g_autofree char *smpirun = g_find_program_in_path("smpirun");

  if (smpirun == NULL || argc != 2 || !g_file_test(argv[1], G_FILE_TEST_EXISTS)) {
    printf("skipped: smpirun and an MPI program made by smpicc are needed\n");
    return SKIPPED;
  }
  mpi_program = argv[1];
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("smpi", NULL, NULL);
  CU_ADD_TEST(suite, test_engines_take_what_smpi_takes);
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
