/**
 * @file test_network_fold.c
 * @brief Flows of real topologies on the engine: folded as explicit, rings as their forms.
 *
 * SimGrid allows one engine per process: every run happens in a child that writes its
 * times into shared memory.
 */
#include "models/network/graph.h"
#include "sim/base/rng.h"
#include "sim/engine/engine.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Relative difference that folding and rounding to whole amounts may make. */
#define TOL_FOLD 1e-9

#define MAX_SETS 3

/* One message over each set, started one after another so that they meet. */
typedef struct {
  Topology *topology;
  GPtrArray *sets; /* of FlowSet */
  double start_s[MAX_SETS], size_B[MAX_SETS];
} Case;

typedef struct {
  double end_s[MAX_SETS];
  guint n_classes;
  bool succeeded;
} Outcome;

typedef struct {
  Engine *engine;
  const Case *scene;
  Outcome *outcome;
} Run;

typedef struct {
  Run *run;
  guint set;
} Sender;

static void send_one(void *data)
{
  g_autofree Sender *sender = data;
  const Case *scene = sender->run->scene;

  engine_sleep(sender->run->engine, scene->start_s[sender->set]);
  engine_transfer(sender->run->engine, sender->set, scene->size_B[sender->set]);
  sender->run->outcome->end_s[sender->set] = engine_now_s(sender->run->engine);
}

static void send_all(void *data)
{
  Run *run = data;

  for (guint i = 0; i < run->scene->sets->len; i++) {
    Sender *sender = g_new(Sender, 1);
    *sender = (Sender){ .run = run, .set = i };
    engine_spawn(run->engine, "sender", send_one, sender);
  }
}

static void run_here(const Case *scene, bool fold, Outcome *outcome)
{
  const EngineConfig config = { .fold = fold };
  g_autoptr(Engine) engine =
    engine_new(&config, topology_links(scene->topology), topology_n_links(scene->topology));
  Run run = { .engine = engine, .scene = scene, .outcome = outcome };

  engine_add_sets(engine, (const FlowSet *const *)scene->sets->pdata, scene->sets->len,
                  true /* simulated, even alone */);
  outcome->succeeded = engine_run(engine, send_all, &run, NULL);
  for (guint s = 0; s < scene->sets->len; s++)
    outcome->n_classes += engine_n_classes(engine, s);
}

static Outcome run_case(const Case *scene, bool fold)
{
  Outcome *shared =
    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CU_ASSERT_TRUE_FATAL(shared != MAP_FAILED);

  const pid_t child = fork();
  if (child == 0) {
    run_here(scene, fold, shared);
    _exit(0);
  }
  int status = -1;
  CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
  CU_ASSERT_EQUAL(status, 0);
  const Outcome outcome = *shared;
  munmap(shared, sizeof *shared);
  CU_ASSERT_TRUE(outcome.succeeded);
  return outcome;
}

/* @p graph is what network "graph" shall be; NULL for the others. */
static void case_init(Case *scene, const Fixture *fixture, NetworkGraph *graph)
{
  g_autoptr(GError) error = NULL;
  ClusterSpec cluster = fixture_cluster(fixture);

  if (graph != NULL)
    ((GraphParams *)cluster.network_params)->graph = network_graph_ref(graph);
  *scene = (Case){ .topology = topology_new(&cluster, &error),
                   .sets = g_ptr_array_new_with_free_func((GDestroyNotify)flow_set_free) };
  cluster_clear(&cluster);
  if (scene->topology == NULL)
    g_error("%s: %s", fixture->network_keys, error->message);
}

static void case_clear(Case *scene)
{
  topology_free(scene->topology);
  g_ptr_array_unref(scene->sets);
}

static void add_flow(const Case *scene, FlowSet *set, guint src, guint dst, guint rail,
                     guint64 hash)
{
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));

  topology_route(scene->topology, src, dst, rail, hash, links);
  if (links->len > 0)
    flow_set_add(set, 1, INFINITY, &g_array_index(links, guint32, 0), links->len);
}

/* GPU after GPU, one ring a NIC. */
static FlowSet *ring_of(const Case *scene)
{
  const guint n = topology_n_gpus(scene->topology);
  FlowSet *set = flow_set_new();

  for (guint rail = 0; rail < topology_nics_per_node(scene->topology); rail++)
    for (guint src = 0; src < n; src++)
      add_flow(scene, set, src, (src + 1) % n, rail, rng_hash(src, rail, 0));
  return set;
}

/* ---- folded against explicit ------------------------------------------------------- */

static void add_cable(NetworkGraph *graph, guint a, guint b, double rate_Bps)
{
  for (guint i = 0; i < 2; i++) {
    const guint link = network_graph_add_link(graph, rate_Bps, 1e-6, true);
    network_graph_add_edge(graph, i == 0 ? a : b, i == 0 ? b : a, &link, 1);
  }
}

/* Leaves and spines, cable by cable, and a backbone that both directions share. */
static NetworkGraph *draw_graph(Rng *rng, guint n_nics)
{
  NetworkGraph *graph = network_graph_new();
  const guint n_leaves = 1 + rng_below(rng, 4), n_spines = 1 + rng_below(rng, 3);
  const guint backbone = network_graph_add_link(graph, 3e9, 0, true);

  for (guint i = 0; i < n_leaves + n_spines; i++)
    network_graph_add_vertex(graph, true);
  for (guint leaf = 0; leaf < n_leaves; leaf++)
    for (guint spine = 0; spine < n_spines; spine++)
      add_cable(graph, leaf, n_leaves + spine, 1e9 * (1 + rng_below(rng, 2)));
  for (guint nic = 0; nic < n_nics; nic++) {
    const guint vertex = network_graph_add_vertex(graph, false);
    const guint cable = network_graph_add_link(graph, 1e9, 1e-6, true);
    const guint down = network_graph_add_link(graph, 1e9, 1e-6, true);
    network_graph_add_edge(graph, vertex, nic % n_leaves, (guint[]){ cable, backbone }, 2);
    network_graph_add_edge(graph, nic % n_leaves, vertex, &down, 1);
    network_graph_add_port(graph, vertex, 1e9);
  }
  if (!network_graph_seal(graph, NULL))
    g_error("a graph of a few switches is too large");
  return graph;
}

/* A network with parameters of its own, for the number of nodes that is returned. */
static guint draw_network(Rng *rng, Fixture *fixture, char **keys)
{
  const guint kind = rng_below(rng, 7), a = 1 + rng_below(rng, 4),
              b = 1 + rng_below(rng, 4), c = 1 + rng_below(rng, 3);
  static const char *const names[] = { "switch", "leaf_spine", "rail_optimised", "fat_tree",
                                       "torus",  "dragonfly",  "graph" };
  const char *ecmp = rng_below(rng, 2) == 0 ? "ideal" : "hashed";
  const guint n_nodes = 2 + rng_below(rng, 20);

  fixture->network = names[kind];
  switch (kind) {
  case 1:
    *keys = g_strdup_printf("nodes_per_leaf=%u; oversubscription=%u; ecmp=%s; spines=%u", a,
                            b, ecmp, c);
    return n_nodes;
  case 2:
    *keys = g_strdup_printf("nodes_per_leaf=%u; oversubscription=%u", a, b);
    return n_nodes;
  case 3:
    *keys = g_strdup_printf("nodes_per_leaf=%u; leaves_per_pod=%u; oversubscription=%u;"
                            "pod_oversubscription=%u; ecmp=%s; spines=%u; cores=%u",
                            a, b, c, b, ecmp, c, a);
    return n_nodes;
  case 4:
    *keys = g_strdup_printf("dims=%u x %u x %u", a + 1, b, c);
    return (a + 1) * b * c;
  case 5:
    *keys = g_strdup_printf(
      "groups=%u; routers_per_group=%u; nodes_per_router=%u; cables=%u", a + 1, b, c, c);
    return 2 + rng_below(rng, (a + 1) * b * c - 1);
  case 6:
    *keys = g_strdup("format=simai; file=none");
    return n_nodes;
  default:
    *keys = g_strdup("");
    return n_nodes;
  }
}

static void draw_case(guint64 seed, Case *scene)
{
  g_autoptr(Rng) rng = rng_stream(seed, "networks");
  g_autofree char *keys = NULL;
  Fixture fixture = { .n_gpus = 1 + rng_below(rng, 3), .n_nics = 1 + rng_below(rng, 2) };

  fixture.n_nodes = draw_network(rng, &fixture, &keys);
  fixture.network_keys = keys;
  g_autoptr(NetworkGraph) graph = strcmp(fixture.network, "graph") == 0
                                    ? draw_graph(rng, fixture.n_nodes * fixture.n_nics)
                                    : NULL;
  case_init(scene, &fixture, graph);
  const guint n = topology_n_gpus(scene->topology), n_sets = 1 + rng_below(rng, MAX_SETS);
  for (guint s = 0; s < n_sets; s++) {
    FlowSet *set = s == 0 ? ring_of(scene) : flow_set_new();
    const guint shift = 1 + rng_below(rng, n - 1);
    for (guint src = 0; s > 0 && src < n; src++)
      add_flow(scene, set, src, (src + shift) % n, s, rng_hash(src, s, seed));
    g_ptr_array_add(scene->sets, set);
    scene->start_s[s] = rng_uniform(rng) * 0.02;
    scene->size_B[s] = 1e6 * (1 + rng_below(rng, 50));
  }
}

/* CASES raises the number of random cases for a longer proof. */
static guint n_random_cases(void)
{
  const char *wanted = getenv("CASES");
  return wanted != NULL ? (guint)atoi(wanted) : 200;
}

static void test_folded_equals_explicit_on_every_network(void)
{
  double worst = 0;
  guint n_folded = 0, n_explicit = 0;

  for (guint seed = 1; seed <= n_random_cases(); seed++) {
    Case scene;
    draw_case(seed, &scene);
    const Outcome folded = run_case(&scene, true), explicit = run_case(&scene, false);
    for (guint s = 0; s < scene.sets->len; s++) {
      const double difference = fabs(folded.end_s[s] / explicit.end_s[s] - 1);
      if (difference > TOL_FOLD)
        fprintf(stderr, "seed %u: %g\n", seed, difference);
      worst = fmax(worst, difference);
    }
    n_folded += folded.n_classes;
    n_explicit += explicit.n_classes;
    case_clear(&scene);
  }
  CU_ASSERT(worst <= TOL_FOLD);
  CU_ASSERT(n_folded < n_explicit);
  printf("  worst %.2g, %u classes for %u flows\n", worst, n_folded, n_explicit);
}

/* ---- rings ------------------------------------------------------------------------- */

/* Nodes of one GPU behind 1 GB/s NICs: the busiest link tells the time, the symmetry of the
 * network the number of classes. In the dragonfly, group 4 takes what comes from group 3 in
 * at router 3 and lets what goes to group 5 out at router 0: one link carries both. */
static void test_a_ring_folds_to_few_classes_and_takes_its_closed_form(void)
{
  static const struct {
    const char *network, *keys;
    guint n_nodes, n_classes;
    double flows; /* on the busiest link, in units of a NIC's rate */
  } cases[] = {
    { "fat_tree", "nodes_per_leaf=4; leaves_per_pod=4", 256, 3, 1 },
    { "fat_tree", "nodes_per_leaf=4; leaves_per_pod=4; pod_oversubscription=32", 256, 3,
      2 },
    { "fat_tree", "radix=16", 1024, 3, 1 },
    { "torus", "dims=16x16", 256, 2, 1 },
    { "torus", "dims=8x8x8", 512, 3, 1 },
    { "torus", "dims=64; link_rate=0.5 GB/s", 64, 1, 2 },
    { "dragonfly", "groups=9; routers_per_group=4; nodes_per_router=4", 144, 6, 2 },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const Fixture fixture = { .n_nodes = cases[c].n_nodes,
                              .n_gpus = 1,
                              .n_nics = 1,
                              .fabric_keys = "pcie_rate=10 GB/s",
                              .network = cases[c].network,
                              .network_keys = cases[c].keys };
    Case scene;
    case_init(&scene, &fixture, NULL);
    g_ptr_array_add(scene.sets, ring_of(&scene));
    scene.size_B[0] = 1e8;
    const Outcome outcome = run_case(&scene, true);
    const double goodput = 4096 / (4096 + 26.0);

    CU_ASSERT_EQUAL(outcome.n_classes, cases[c].n_classes);
    CU_ASSERT_DOUBLE_EQUAL(outcome.end_s[0] * goodput / (0.1 * cases[c].flows), 1,
                           TOL_FOLD);
    case_clear(&scene);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("network folding", NULL, NULL);
  CU_ADD_TEST(suite, test_a_ring_folds_to_few_classes_and_takes_its_closed_form);
  CU_ADD_TEST(suite, test_folded_equals_explicit_on_every_network);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
