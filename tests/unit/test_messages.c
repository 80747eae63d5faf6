/**
 * @file test_messages.c
 * @brief The fast way (phases, folded) against the reference (every message of the plan).
 *
 * With CASES set (make verify) every rank count and size is tried; else a few. ALGORITHM
 * and PLACE, a substring of its name, choose a slice.
 */
#include "tests/unit/cluster_fixture.h"
#include "tests/unit/race.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What phases may be wrong by. */
#define TOL_PHASES 0.02

#define SIXES "leaves of 2 nodes of 6 GPUs, 2 : 1"

/* Where that does not hold, and why. */
static const struct {
  const char *algorithm, *place; /* NULL: all places */
  double tolerance;
} exceptions[] = {
  /* Few chunks: the pipeline fills as if the first had passed before ports are busy with
   * the next ones, though a hop and a chunk of it hide behind them; in three ranks, chunks
   * of two trees meet on the way. */
  { "double_tree", NULL, 0.18 },
  /* The same trees: 13.5 % too fast at two chunks, five ranks on an idle star. */
  { "hierarchical_tree", NULL, 0.14 },
  /* Rows inside a leaf are done before others: their columns begin while the rest of the
   * rows still loads uplinks. Rates are those of a phase as a whole. */
  { "torus", NULL, 0.05 },
  /* Of the ranks that share a NIC some exchange inside the node when others send: they run
   * ahead, and the NIC has messages of several rounds at a time. Rates are those of all
   * messages of a round at once. */
  { "recursive_doubling", SIXES, 0.25 },
  { "halving_doubling", SIXES, 0.14 },
  /* The busiest hop waits for some latencies as well where two take nearly as long. */
  { "ring", SIXES, 0.03 },
};

static double tolerance_of(const CollOps *ops, const char *place)
{
  for (guint i = 0; i < G_N_ELEMENTS(exceptions); i++)
    if (strcmp(exceptions[i].algorithm, ops->info.name) == 0 &&
        (exceptions[i].place == NULL || strcmp(exceptions[i].place, place) == 0))
      return exceptions[i].tolerance;
  return TOL_PHASES;
}

/* A hop's fixed costs: of the order of NCCL's (models/library/nccl.c). */
static const double alpha_local_s = 1e-6, alpha_net_s = 5e-6;

typedef struct {
  const char *name;
  guint ranks_per_node; /**< at most; nodes are filled one after another */
  const char *network, *network_keys;
} Place;

static const Place places[] = {
  { "idle star", 1, "switch", "latency=1 us" },
  { "nodes of 8 GPUs", 8, "switch", "latency=1 us" },
  { "leaves of 4 nodes, 2 : 1", 1, "leaf_spine",
    "nodes_per_leaf=4; oversubscription=2; latency=1 us" },
  { "leaves of 2 nodes of 8 GPUs, 4 : 1", 8, "leaf_spine",
    "nodes_per_leaf=2; oversubscription=4; latency=1 us" },
  { SIXES, 6, "leaf_spine", "nodes_per_leaf=2; oversubscription=2; latency=1 us" },
};

static const guint rank_counts[] = { 2, 3, 5, 8, 12, 16, 30, 64 };

static bool takes_all(void)
{
  return getenv("CASES") != NULL;
}

/* What a variable of the environment says of @p name. */
static bool is_asked_for(const char *variable, const char *name)
{
  const char *wanted = getenv(variable);
  return wanted == NULL || strstr(name, wanted) != NULL;
}

/** The largest difference of an algorithm, and where. */
typedef struct {
  double error;
  const char *place;
  guint n_ranks;
  double size_B;
} Worst;

static guint fill_sizes(double *sizes_B)
{
  guint n = 0;

  for (guint power = 10; power <= 28; power += takes_all() ? 1 : 6)
    sizes_B[n++] = exp2(power);
  return n;
}

static void compare(const CollOps *ops, const CollCall *call, const Place *place,
                    const Topology *topology, Worst *worst)
{
  const guint n = call->group->n_ranks;
  double sizes_B[RACE_MAX_SIZES];
  const Race race = { .call = call,
                      .topology = topology,
                      .choice = { .collective = ops,
                                  .terms = { .alpha_local_s = alpha_local_s,
                                             .alpha_net_s = alpha_net_s,
                                             .wire_factor = 1 } },
                      .sizes_B = sizes_B,
                      .n_sizes = fill_sizes(sizes_B) };
  const RaceOutcome outcome = race_hold(&race);

  CU_ASSERT_TRUE(outcome.succeeded);
  if (!outcome.succeeded)
    printf("    %s, %u ranks: %s\n", ops->info.name, n, outcome.message);
  for (guint i = 0; i < race.n_sizes; i++) {
    const double error = outcome.pairs[i].fast_s / outcome.pairs[i].reference_s - 1;
    if (fabs(error) > tolerance_of(ops, place->name))
      printf("    %s, %s, %u ranks, %.0f B: fast %.3f us, reference %.3f us: %+.1f %%\n",
             ops->info.name, place->name, n, sizes_B[i], 1e6 * outcome.pairs[i].fast_s,
             1e6 * outcome.pairs[i].reference_s, 100 * error);
    CU_ASSERT_TRUE(fabs(error) <= tolerance_of(ops, place->name));
    if (fabs(error) >= fabs(worst->error))
      *worst = (Worst){ error, place->name, n, sizes_B[i] };
  }
}

static void compare_at(const CollOps *ops, const Place *place, guint n, Worst *worst)
{
  const guint per_node = MIN(n, place->ranks_per_node);
  const Fixture fixture = { .n_nodes = n / per_node,
                            .n_gpus = per_node,
                            .n_nics = 1,
                            .nic_Bps = 12.5e9,
                            .fabric = "nvswitch",
                            .fabric_keys = "port_rate=100 GB/s; pcie_rate=40 GB/s",
                            .network = place->network,
                            .network_keys = place->network_keys };
  g_autoptr(GError) error = NULL;
  g_autoptr(Topology) topology = fixture_topology(&fixture, &error);

  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  g_autoptr(Group) group = group_new_all(topology);
  const CollCall call = { .kind = COLL_ALL_REDUCE, .group = group, .n_rails = 1 };
  compare(ops, &call, place, topology, worst);
}

static void test_phases_take_what_messages_take(void)
{
  printf("\n");
  for (guint m = 0; coll_table[m] != NULL; m++) {
    const CollOps *ops = (const CollOps *)coll_table[m];
    Worst worst = { 0 };
    if (!(ops->kinds & COLL_ALL_REDUCE) || ops->n_switches != NULL ||
        !is_asked_for("ALGORITHM", ops->info.name))
      continue;
    for (guint p = 0; p < G_N_ELEMENTS(places); p++)
      for (guint i = 0; i < G_N_ELEMENTS(rank_counts); i++) {
        const guint n = rank_counts[i];
        if ((takes_all() || n <= 16) && n % MIN(n, places[p].ranks_per_node) == 0 &&
            is_asked_for("PLACE", places[p].name))
          compare_at(ops, &places[p], n, &worst);
      }
    printf("  %s: worst %+.2f %% (%s, %u ranks, %.0f B)\n", ops->info.name,
           100 * worst.error, worst.place, worst.n_ranks, worst.size_B);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("messages", NULL, NULL);
  CU_ADD_TEST(suite, test_phases_take_what_messages_take);
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
