/**
 * @file test_engine.c
 * @brief The folded engine against the explicit one, and both against closed forms.
 *
 * SimGrid allows one engine per process: every run happens in a child that writes its
 * times into shared memory.
 */
#include "sim/base/registry.h"
#include "sim/base/rng.h"
#include "sim/engine/engine.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Relative difference that folding and rounding to whole amounts may make. */
#define TOL_FOLD 1e-9

#define MAX_TRANSFERS 16

/* A message over a set, from a given moment on. */
typedef struct {
  guint set;
  double start_s, size_B;
} Send;

typedef struct {
  GArray *links;   /* of Link */
  GPtrArray *sets; /* of FlowSet */
  bool overlap;
  Send sends[MAX_TRANSFERS];
  guint n_sends;
} Case;

typedef struct {
  double end_s[MAX_TRANSFERS];
  guint n_classes;
  bool succeeded;
  char message[200];
} Outcome;

typedef struct {
  Engine *engine;
  const Case *scene;
  Outcome *outcome;
  guint next;
} Run;

typedef struct {
  Run *run;
  guint send;
} Sender;

static void send_one(void *data)
{
  g_autofree Sender *sender = data;
  const Send *send = &sender->run->scene->sends[sender->send];

  engine_sleep(sender->run->engine, send->start_s);
  engine_transfer(sender->run->engine, send->set, send->size_B);
  sender->run->outcome->end_s[sender->send] = engine_now_s(sender->run->engine);
}

static void send_all(void *data)
{
  Run *run = data;

  for (guint i = 0; i < run->scene->n_sends; i++) {
    Sender *sender = g_new(Sender, 1);
    *sender = (Sender){ .run = run, .send = i };
    engine_spawn(run->engine, "sender", send_one, sender);
  }
}

static void run_here(const Case *scene, bool fold, Outcome *outcome)
{
  const EngineConfig config = { .fold = fold };
  g_autoptr(GError) error = NULL;
  g_autoptr(Engine) engine =
    engine_new(&config, (const Link *)(void *)scene->links->data, scene->links->len);
  Run run = { .engine = engine, .scene = scene, .outcome = outcome };

  engine_add_sets(engine, (const FlowSet *const *)scene->sets->pdata, scene->sets->len,
                  scene->overlap);
  outcome->succeeded = engine_run(engine, send_all, &run, &error);
  if (error != NULL)
    g_strlcpy(outcome->message, error->message, sizeof outcome->message);
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
  return outcome;
}

static void case_init(Case *scene)
{
  *scene = (Case){ .links = g_array_new(FALSE, FALSE, sizeof(Link)),
                   .sets = g_ptr_array_new_with_free_func((GDestroyNotify)flow_set_free) };
}

static void case_clear(Case *scene)
{
  g_array_unref(scene->links);
  g_ptr_array_unref(scene->sets);
}

/* A leaf-spine network of nodes with one NIC each. Links: NIC up and down of every node,
 * then for every leaf and spine one up and one down. */
typedef struct {
  guint n_nodes, nodes_per_leaf, n_leaves, n_spines;
  bool regular; /* one speed, one spine, no random pairs */
} Net;

static guint32 nic_up(guint node)
{
  return 2 * node;
}

static guint32 leaf_up(const Net *net, guint leaf, guint spine)
{
  return 2 * net->n_nodes + 2 * (leaf * net->n_spines + spine);
}

static Net draw_net(Rng *rng, Case *scene)
{
  static const double speeds_Bps[] = { 1.25e9, 3.125e9, 12.5e9 };
  Net net = { .n_nodes = 2 + rng_below(rng, 40), .nodes_per_leaf = 1 + rng_below(rng, 10) };
  const bool regular = rng_below(rng, 2) == 0; /* much to fold */
  const bool mixed_speeds = !regular && rng_below(rng, 3) == 0;
  const double oversubscription = 1 + rng_below(rng, 4);
  const double usual_Bps = speeds_Bps[rng_below(rng, 3)];

  net.n_leaves = (net.n_nodes + net.nodes_per_leaf - 1) / net.nodes_per_leaf;
  net.regular = regular;
  net.n_spines = regular ? 1 : 1 + rng_below(rng, 4);
  for (guint node = 0; node < net.n_nodes; node++) {
    const Link nic = { .capacity_Bps =
                         mixed_speeds ? speeds_Bps[rng_below(rng, 3)] : usual_Bps };
    g_array_append_val(scene->links, nic);
    g_array_append_val(scene->links, nic);
  }
  for (guint i = 0; i < net.n_leaves * net.n_spines; i++) {
    const Link uplink = { .capacity_Bps = usual_Bps * net.nodes_per_leaf /
                                          oversubscription / net.n_spines };
    g_array_append_val(scene->links, uplink);
    g_array_append_val(scene->links, uplink);
  }
  return net;
}

static void add_flow(const Net *net, FlowSet *set, guint src, guint dst, double share,
                     double cap_Bps, guint64 hash)
{
  const guint src_leaf = src / net->nodes_per_leaf, dst_leaf = dst / net->nodes_per_leaf;
  const guint spine = (guint)(hash % net->n_spines);
  guint32 route[4] = { nic_up(src) };
  guint n = 1;

  if (src_leaf != dst_leaf) {
    route[n++] = leaf_up(net, src_leaf, spine);
    route[n++] = leaf_up(net, dst_leaf, spine) + 1;
  }
  route[n++] = nic_up(dst) + 1;
  flow_set_add(set, share, cap_Bps, route, n);
}

static FlowSet *draw_set(Rng *rng, const Net *net, const Case *scene)
{
  const guint n = net->n_nodes, kind = rng_below(rng, net->regular ? 3 : 4);
  const guint n_servers = 1 + rng_below(rng, 4);
  const double usual_Bps = g_array_index(scene->links, Link, 0).capacity_Bps;
  const double cap_Bps = rng_below(rng, 4) == 0 ? usual_Bps / 3 : INFINITY;
  const double share = 2.0 * (n - 1) / n;
  FlowSet *set = flow_set_new();

  for (guint src = 0; src < n; src++) {
    const guint64 hash = rng_hash(src, kind, n);
    if (kind == 0) /* ring */
      add_flow(net, set, src, (src + 1) % n, share, cap_Bps, hash);
    else if (kind == 1 && src >= MIN(n_servers, n - 1)) /* incast to a few servers */
      add_flow(net, set, src, src % MIN(n_servers, n - 1), 1, cap_Bps, hash);
    else if (kind == 2 && n - 1 - src != src) /* mirror */
      add_flow(net, set, src, n - 1 - src, 0.5 + (src % 2), cap_Bps, hash);
    else if (kind == 3) /* anything */
      add_flow(net, set, src, (src + 1 + rng_below(rng, n - 1)) % n, 1, cap_Bps,
               rng_hash(src, rng_below(rng, 99), 0));
  }
  return set;
}

static double largest_difference(const Outcome *a, const Outcome *b, guint n)
{
  double largest = 0;
  for (guint i = 0; i < n; i++)
    largest = fmax(largest, fabs(a->end_s[i] / b->end_s[i] - 1));
  return largest;
}

static void draw_case(guint64 seed, Case *scene)
{
  g_autoptr(Rng) rng = rng_stream(seed, "fold");
  case_init(scene);
  const Net net = draw_net(rng, scene);
  const guint n_sets = 1 + rng_below(rng, 4);

  for (guint s = 0; s < n_sets; s++)
    g_ptr_array_add(scene->sets, draw_set(rng, &net, scene));
  scene->overlap = true;
  scene->n_sends = 1 + rng_below(rng, MAX_TRANSFERS);
  for (guint i = 0; i < scene->n_sends; i++)
    scene->sends[i] =
      (Send){ .set = rng_below(rng, n_sets),
              .start_s = rng_uniform(rng) * 0.02,
              .size_B = floor(exp(log(1e9) * (0.4 + 0.6 * rng_uniform(rng)))) };
}

/* CASES raises the number of random cases for a longer proof. */
static guint n_random_cases(void)
{
  const char *wanted = getenv("CASES");
  return wanted != NULL ? (guint)atoi(wanted) : 200;
}

static void test_folded_equals_explicit_on_random_networks(void)
{
  double worst = 0;
  guint n_folded = 0, n_explicit = 0;

  for (guint seed = 1; seed <= n_random_cases(); seed++) {
    Case scene;
    draw_case(seed, &scene);
    const Outcome folded = run_case(&scene, true), explicit = run_case(&scene, false);
    CU_ASSERT_TRUE(folded.succeeded && explicit.succeeded);
    const double difference = largest_difference(&folded, &explicit, scene.n_sends);
    worst = fmax(worst, difference);
    if (difference > TOL_FOLD)
      fprintf(stderr, "seed %u: %g\n", seed, difference);
    n_folded += folded.n_classes;
    n_explicit += explicit.n_classes;
    case_clear(&scene);
  }
  CU_ASSERT(worst <= TOL_FOLD);
  CU_ASSERT(n_folded < n_explicit);
  printf("  worst %.2g, %u classes for %u flows\n", worst, n_folded, n_explicit);
}

/* A star of n nodes with one ring, sent one message after another. */
static void draw_star(Case *scene, guint n)
{
  case_init(scene);
  const Net net = { .n_nodes = n, .nodes_per_leaf = n, .n_leaves = 1, .n_spines = 1 };
  const Link nic = { .capacity_Bps = 3.125e9 };
  FlowSet *ring = flow_set_new();

  for (guint i = 0; i < 2 * n; i++)
    g_array_append_val(scene->links, nic);
  for (guint src = 0; src < n; src++)
    add_flow(&net, ring, src, (src + 1) % n, 2.0 * (n - 1) / n, INFINITY, 0);
  g_ptr_array_add(scene->sets, ring);
  scene->overlap = true;
  scene->n_sends = 2;
  scene->sends[0] = (Send){ .set = 0, .start_s = 0, .size_B = 102228128 };
  scene->sends[1] = (Send){ .set = 0, .start_s = 1, .size_B = 4 };
}

static void test_ring_on_a_star_takes_its_closed_form(void)
{
  for (guint n = 2; n <= 200; n = n == 64 ? 200 : n + 1) {
    Case scene;
    draw_star(&scene, n);
    const Outcome outcome = run_case(&scene, true);
    const double per_B = 2.0 * (n - 1) / n / 3.125e9;
    CU_ASSERT_DOUBLE_EQUAL(outcome.end_s[0] / (102228128 * per_B), 1, TOL_FOLD);
    CU_ASSERT_DOUBLE_EQUAL((outcome.end_s[1] - 1) / (4 * per_B), 1, 1e-6);
    CU_ASSERT_EQUAL(outcome.n_classes, 1);
    case_clear(&scene);
  }
}

/* 10 racks of 20 nodes: a hop inside a rack, or across. */
static void test_a_ring_over_racks_is_two_classes(void)
{
  Case scene;
  case_init(&scene);
  const Net net = { .n_nodes = 200, .nodes_per_leaf = 20, .n_leaves = 10, .n_spines = 1 };
  const Link nic = { .capacity_Bps = 3.125e9 }, uplink = { .capacity_Bps = 31.25e9 };
  FlowSet *ring = flow_set_new();

  for (guint i = 0; i < 2 * net.n_nodes; i++)
    g_array_append_val(scene.links, nic);
  for (guint i = 0; i < 2 * net.n_leaves; i++)
    g_array_append_val(scene.links, uplink);
  for (guint src = 0; src < net.n_nodes; src++)
    add_flow(&net, ring, src, (src + 1) % net.n_nodes, 1, INFINITY, 0);
  g_ptr_array_add(scene.sets, ring);
  scene.overlap = true;
  scene.n_sends = 1;
  scene.sends[0] = (Send){ .size_B = 1e8 };
  const Outcome outcome = run_case(&scene, true);

  CU_ASSERT_EQUAL(outcome.n_classes, 2);
  CU_ASSERT_DOUBLE_EQUAL(outcome.end_s[0] / (1e8 / 3.125e9), 1, TOL_FOLD);
  case_clear(&scene);
}

/* Alone, a set of equal shares takes what its busiest link needs: by the closed form that
 * the engine uses, and message after message on SimGrid. */
static void test_equal_shares_alone_take_the_bound_of_their_busiest_link(void)
{
  for (guint seed = 1; seed <= 40; seed++) {
    g_autoptr(Rng) rng = rng_stream(seed, "alone");
    Case scene;
    case_init(&scene);
    const Net net = draw_net(rng, &scene);
    FlowSet *set = flow_set_new();
    for (guint src = 0; src < net.n_nodes; src++)
      for (guint i = rng_below(rng, 3); i < 3; i++)
        add_flow(&net, set, src, (src + 1 + rng_below(rng, net.n_nodes - 1)) % net.n_nodes,
                 0.25, INFINITY, rng_hash(src, i, seed));
    g_ptr_array_add(scene.sets, set);
    scene.n_sends = 1;
    scene.sends[0] = (Send){ .size_B = 1e8 };
    const Outcome known = run_case(&scene, true), simulated = run_case(&scene, false);
    CU_ASSERT_EQUAL(known.n_classes, 0);
    CU_ASSERT(simulated.n_classes > 0);
    CU_ASSERT_DOUBLE_EQUAL(known.end_s[0] / simulated.end_s[0], 1, TOL_FOLD);
    case_clear(&scene);
  }
}

static void test_sets_that_were_announced_apart_must_not_meet(void)
{
  Case scene;
  draw_star(&scene, 4);
  scene.overlap = false;
  scene.sends[1].start_s = 1e-3;
  const Outcome outcome = run_case(&scene, true);

  CU_ASSERT_FALSE(outcome.succeeded);
  CU_ASSERT_STRING_EQUAL(outcome.message, "two transfers meet that were announced apart");
  case_clear(&scene);
}

static void test_transfers_of_more_than_two_hours_are_refused(void)
{
  Case scene;
  draw_star(&scene, 4);
  scene.overlap = true;
  scene.sends[0].size_B = 1e18;
  const Outcome outcome = run_case(&scene, true);

  CU_ASSERT_FALSE(outcome.succeeded);
  CU_ASSERT_PTR_NOT_NULL(strstr(outcome.message, "more than two hours"));
  case_clear(&scene);
}

static void test_a_link_crossed_twice_counts_twice(void)
{
  for (int fold = 0; fold < 2; fold++) {
    Case scene;
    case_init(&scene);
    const Link link = { .capacity_Bps = 1e9 };
    const guint32 route[] = { 0, 0 };
    FlowSet *set = flow_set_new();
    g_array_append_val(scene.links, link);
    flow_set_add(set, 1, INFINITY, route, 2);
    g_ptr_array_add(scene.sets, set);
    scene.n_sends = 1;
    scene.sends[0] = (Send){ .size_B = 1e9 };
    const Outcome outcome = run_case(&scene, fold);
    CU_ASSERT_DOUBLE_EQUAL(outcome.end_s[0], 2, TOL_FOLD);
    case_clear(&scene);
  }
}

/* Signals: a waiter with a deadline gives up, a raised signal is never lost. */
typedef struct {
  Engine *engine;
  EngineSignal *signal;
  double *times_s;
} SignalTest;

static void raise_at_two(void *data)
{
  SignalTest *test = data;
  engine_sleep(test->engine, 2);
  engine_signal_raise(test->signal);
}

static void wait_with_deadlines(void *data)
{
  SignalTest *test = data;
  test->signal = engine_signal_new(test->engine);
  engine_spawn(test->engine, "raiser", raise_at_two, test);
  test->times_s[0] =
    engine_signal_wait_until(test->signal, 1) ? -1 : engine_now_s(test->engine);
  test->times_s[1] =
    engine_signal_wait_until(test->signal, 5) ? engine_now_s(test->engine) : -1;
  test->times_s[2] =
    engine_signal_wait_until(test->signal, 2) ? -1 : engine_now_s(test->engine);
  engine_signal_free(test->signal);
}

static void test_waiting_ends_at_the_deadline_or_the_signal(void)
{
  double *times_s = mmap(NULL, 3 * sizeof *times_s, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = fork();
  if (child == 0) {
    g_autoptr(Engine) engine = engine_new(&(EngineConfig){ .fold = true }, NULL, 0);
    SignalTest test = { .engine = engine, .times_s = times_s };
    _exit(engine_run(engine, wait_with_deadlines, &test, NULL) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CU_ASSERT_EQUAL(status, 0);
  CU_ASSERT_EQUAL(times_s[0], 1);
  CU_ASSERT_EQUAL(times_s[1], 2);
  CU_ASSERT_EQUAL(times_s[2], 2);
  munmap(times_s, 3 * sizeof *times_s);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("engine", NULL, NULL);
  CU_ADD_TEST(suite, test_ring_on_a_star_takes_its_closed_form);
  CU_ADD_TEST(suite, test_a_link_crossed_twice_counts_twice);
  CU_ADD_TEST(suite, test_a_ring_over_racks_is_two_classes);
  CU_ADD_TEST(suite, test_equal_shares_alone_take_the_bound_of_their_busiest_link);
  CU_ADD_TEST(suite, test_sets_that_were_announced_apart_must_not_meet);
  CU_ADD_TEST(suite, test_transfers_of_more_than_two_hours_are_refused);
  CU_ADD_TEST(suite, test_waiting_ends_at_the_deadline_or_the_signal);
  CU_ADD_TEST(suite, test_folded_equals_explicit_on_random_networks);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
