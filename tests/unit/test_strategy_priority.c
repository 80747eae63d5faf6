/**
 * @file test_strategy_priority.c
 * @brief Pieces by priority with credit, through the whole chain, on timelines by hand.
 *
 * Four nodes of one GPU on a switch without latency run rings whose hops take 1 us. Layer
 * "a" comes first and is tiny, layer "b" is 100 MB: backward makes b's gradient before
 * a's, the next forward needs a's before b's.
 */
#include "sim/base/rng.h"
#include "tests/unit/forecast.h"

#include <math.h>

#define N_NODES 4
#define HOP_S 1e-6
#define A_VALUES 250
#define B_VALUES 25000000
#define VALUE_B 4.0

/* Sums of some ten simulated times of at most a second [s]. */
#define TOL_S 1e-9

typedef struct {
  guint n_nodes;
  double forward_a_s, forward_b_s, backward_a_s, backward_b_s;
  const char *strategy;
} TwoLayers;

static Result *run(const TwoLayers *two)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"pcie_1\", \"nic\": "
    "{\"rate\": \"25 Gbit/s\"}, \"network\": {\"topology\": \"switch\", \"latency\": "
    "\"0 s\"}, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"two\", \"sample\": \"x\", \"source\": "
    "\"test\", "
    "\"layers\": ["
    "{\"name\": \"a\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": %d}]},"
    "{\"name\": \"b\", \"flops\": 1, \"tensors\": [{\"name\": \"w\", \"values\": %d}]}]}, "
    "\"batch_per_gpu\": 8, \"optimizer\": \"sgd\", \"compute\": {\"layers\": ["
    "{\"name\": \"a\", \"forward\": \"%g s\", \"backward\": \"%g s\"},"
    "{\"name\": \"b\", \"forward\": \"%g s\", \"backward\": \"%g s\"}]}},"
    "\"strategy\": %s, \"library\": %s, \"run\": {\"iterations\": 3, \"warmup\": 2}}",
    two->n_nodes, A_VALUES, B_VALUES, two->forward_a_s, two->backward_a_s, two->forward_b_s,
    two->backward_b_s, two->strategy, RULES("ring", "0 s", "1 us"));
  return forecast_with(text, true);
}

/* What the transport leaves of 25 Gbit/s: two nodes exchange b in 2 hops of half of it, and
 * a in 2 hops more. */
static double rate_Bps(void)
{
  const TwoLayers two = { .n_nodes = 2,
                          .forward_a_s = 0.001,
                          .forward_b_s = 0.001,
                          .backward_a_s = 0.001,
                          .backward_b_s = 0.001,
                          .strategy = "{\"name\": \"wait_free\"}" };
  g_autoptr(Result) result = run(&two);
  const double wire_s =
    result->iteration_time_s - result->compute_time_s + 0.001 - 4 * HOP_S;
  return (A_VALUES + B_VALUES) * VALUE_B / wire_s;
}

static double ring_s(double values, double Bps)
{
  return 2 * (N_NODES - 1) * (HOP_S + values * VALUE_B / (N_NODES * Bps));
}

/* Ten pieces of b, credit for two; the next forward of a hides all of them. When a is
 * ready, some pieces have gone, and two are let out: a waits for these, and not longer than
 * credit / bandwidth. */
static void test_an_urgent_gradient_waits_for_the_credit_at_most(void)
{
  const double piece_s = ring_s(B_VALUES / 10.0, rate_Bps());
  const double a_s = ring_s(A_VALUES, rate_Bps());
  const double gaps_s[] = { 0.001, 0.012, 0.033 };

  for (guint i = 0; i < G_N_ELEMENTS(gaps_s); i++) {
    const TwoLayers two = {
      .n_nodes = N_NODES,
      .forward_a_s = 0.5,
      .forward_b_s = 0.001,
      .backward_a_s = gaps_s[i],
      .backward_b_s = 0.002,
      .strategy =
        "{\"name\": \"bytescheduler\", \"partition\": 2500000, \"credit\": 5000000}"
    };
    g_autoptr(Result) result = run(&two);
    const double waits_s = (floor(gaps_s[i] / piece_s) + 2) * piece_s - gaps_s[i];
    CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s - result->compute_time_s, waits_s + a_s,
                           TOL_S);
    CU_ASSERT(waits_s <= 2 * piece_s);
    CU_ASSERT_EQUAL(result->units_per_iteration, 11);
  }
}

/* Compute time of layer b, its optimizer step and both transfers are one circle: the next
 * forward of b waits for b, which waits for the forward of b. What follows backward of b is
 * hidden behind it, if a is sent early enough. */
static void test_crossing_the_barrier_hides_the_first_layers(void)
{
  const double wire_s =
    10 * ring_s(B_VALUES / 10.0, rate_Bps()) + ring_s(A_VALUES, rate_Bps());
  TwoLayers two = { .n_nodes = N_NODES,
                    .forward_a_s = 0.010,
                    .forward_b_s = 0.001,
                    .backward_a_s = 0.012,
                    .backward_b_s = 0.002 };

  two.strategy =
    "{\"name\": \"bytescheduler\", \"partition\": 2500000, \"credit\": 5000000}";
  g_autoptr(Result) crosses = run(&two);
  two.strategy = "{\"name\": \"bytescheduler\", \"partition\": 2500000, \"credit\": "
                 "5000000, \"cross_barrier\": false}";
  g_autoptr(Result) barrier = run(&two);
  two.strategy =
    "{\"name\": \"bytescheduler\", \"partition\": 2500000, \"credit\": 4000000000}";
  g_autoptr(Result) fifo = run(&two);
  const double optimizer_s = crosses->compute_time_s - 0.025;
  const double optimizer_b_s = optimizer_s * B_VALUES / (A_VALUES + B_VALUES);

  CU_ASSERT_DOUBLE_EQUAL(crosses->iteration_time_s, optimizer_b_s + 0.003 + wire_s, TOL_S);
  /* Everything is waited for: as DDP, e = max(r, e') + T. */
  CU_ASSERT_DOUBLE_EQUAL(barrier->iteration_time_s, optimizer_s + 0.013 + wire_s, TOL_S);
  /* First come first served: a is last, and so nothing can begin before all is there. */
  CU_ASSERT_DOUBLE_EQUAL(fifo->iteration_time_s, optimizer_s + 0.013 + wire_s, TOL_S);
}

static void test_with_all_the_credit_there_is_the_order_is_that_of_arrival(void)
{
  TwoLayers two = { .n_nodes = N_NODES,
                    .forward_a_s = 0.010,
                    .forward_b_s = 0.020,
                    .backward_a_s = 0.030,
                    .backward_b_s = 0.010 };

  two.strategy = "{\"name\": \"wait_free\"}";
  g_autoptr(Result) wait_free = run(&two);
  two.strategy = "{\"name\": \"bytescheduler\", \"partition\": 4000000000, \"credit\": "
                 "4000000000, \"cross_barrier\": false}";
  g_autoptr(Result) unlimited = run(&two);

  CU_ASSERT_DOUBLE_EQUAL(unlimited->iteration_time_s / wait_free->iteration_time_s, 1,
                         TOL_ENGINE);
  CU_ASSERT_DOUBLE_EQUAL(unlimited->latency_p99_s / wait_free->latency_p99_s, 1,
                         TOL_ENGINE);
}

/* No order of the same transfers beats the longer of computing and communicating, and so
 * scheduling gains at most a factor of 2 over doing one after the other (3 if forward and
 * backward could overlap as well: "communication scheduling can improve at most 3x"). */
static void test_priority_never_beats_its_bound(void)
{
  g_autoptr(Rng) rng = rng_stream(7, "test_strategy_priority");
  const double Bps = rate_Bps();

  for (guint trial = 0; trial < 8; trial++) {
    const guint partition = 200000 * (1 + rng_below(rng, 50));
    g_autofree char *strategy =
      g_strdup_printf("{\"name\": \"bytescheduler\", \"partition\": %u, \"credit\": %u}",
                      partition, partition * (1 + rng_below(rng, 4)));
    TwoLayers two = { .n_nodes = N_NODES,
                      .forward_a_s = 1e-3 * (1 + rng_below(rng, 40)),
                      .forward_b_s = 1e-3 * (1 + rng_below(rng, 40)),
                      .backward_a_s = 1e-3 * (1 + rng_below(rng, 40)),
                      .backward_b_s = 1e-3 * (1 + rng_below(rng, 40)),
                      .strategy = strategy };
    g_autoptr(Result) result = run(&two);
    const double n_parts = ceil((double)B_VALUES / partition);
    const double wire_s = n_parts * ring_s(B_VALUES / n_parts, Bps) + ring_s(A_VALUES, Bps);
    const double bound_s = MAX(wire_s, result->compute_time_s);
    two.strategy = "{\"name\": \"none\", \"kernel_launch\": \"0 s\"}";
    g_autoptr(Result) none = run(&two);

    CU_ASSERT(result->iteration_time_s >= bound_s * (1 - TOL_ENGINE));
    CU_ASSERT(result->iteration_time_s <= wire_s + result->compute_time_s);
    CU_ASSERT(none->iteration_time_s / result->iteration_time_s <= 3);
  }
}

/* As with the credit of one piece: a waits for the piece of b that is on the wire. */
static void test_under_the_policy_an_urgent_gradient_waits_for_one_piece(void)
{
  const double piece_s = ring_s(B_VALUES / 10.0, rate_Bps());
  const double a_s = ring_s(A_VALUES, rate_Bps());
  const double gaps_s[] = { 0.001, 0.012, 0.033 };

  for (guint i = 0; i < G_N_ELEMENTS(gaps_s); i++) {
    const TwoLayers two = {
      .n_nodes = N_NODES,
      .forward_a_s = 0.5,
      .forward_b_s = 0.001,
      .backward_a_s = gaps_s[i],
      .backward_b_s = 0.002,
      .strategy = "{\"name\": \"bandwidth_policy\", \"partition\": \"10 MB\"}"
    };
    g_autoptr(Result) result = run(&two);
    const double waits_s = (floor(gaps_s[i] / piece_s) + 1) * piece_s - gaps_s[i];
    CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s - result->compute_time_s, waits_s + a_s,
                           TOL_S);
  }
}

/* The ring takes exactly a + b S: the piece on the wire ends as a gets ready. */
static void test_a_plan_leaves_the_wire_to_an_urgent_gradient_in_time(void)
{
  const TwoLayers two = { .n_nodes = N_NODES,
                          .forward_a_s = 0.5,
                          .forward_b_s = 0.001,
                          .backward_a_s = 0.012,
                          .backward_b_s = 0.002,
                          .strategy = "{\"name\": \"predictive\"}" };
  g_autoptr(Result) result = run(&two);

  CU_ASSERT_DOUBLE_EQUAL(result->iteration_time_s - result->compute_time_s,
                         ring_s(A_VALUES, rate_Bps()), TOL_S);
  CU_ASSERT_EQUAL(result->units_per_iteration, 3);
}

/* Backward takes no time to speak of. Alone, b and then a; side by side they share the
 * links, and a, which is next to nothing, is done first; the sum is the same. */
static void test_small_gradients_share_and_large_ones_do_not(void)
{
  TwoLayers two = { .n_nodes = N_NODES,
                    .forward_a_s = 0.010,
                    .forward_b_s = 0.010,
                    .backward_a_s = 1e-6,
                    .backward_b_s = 0.010 };
#define POLICY                                                                             \
  "{\"name\": \"bandwidth_policy\", \"preempt\": false, \"cross_barrier\": false, "        \
  "\"partition\": \"0 B\", \"streams\": 2, \"large\": "

  two.strategy = POLICY "\"1 MiB\"}";
  g_autoptr(Result) alone = run(&two);
  two.strategy = POLICY "\"0 B\"}";
  g_autoptr(Result) shared = run(&two);
  two.strategy = "{\"name\": \"wait_free\", \"streams\": 2}";
  g_autoptr(Result) wait_free = run(&two);
  const double Bps = rate_Bps(), a_s = ring_s(A_VALUES, Bps), b_s = ring_s(B_VALUES, Bps);

  CU_ASSERT_DOUBLE_EQUAL(alone->iteration_time_s - alone->compute_time_s + 1e-6, b_s + a_s,
                         TOL_S);
  CU_ASSERT_DOUBLE_EQUAL(shared->iteration_time_s, wait_free->iteration_time_s, TOL_S);
  /* a hides its hops behind b, and takes next to no bytes from it. */
  CU_ASSERT_DOUBLE_EQUAL(shared->iteration_time_s - shared->compute_time_s + 1e-6, b_s,
                         0.5 * a_s);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("priority", NULL, NULL);
  CU_ADD_TEST(suite, test_an_urgent_gradient_waits_for_the_credit_at_most);
  CU_ADD_TEST(suite, test_crossing_the_barrier_hides_the_first_layers);
  CU_ADD_TEST(suite, test_with_all_the_credit_there_is_the_order_is_that_of_arrival);
  CU_ADD_TEST(suite, test_priority_never_beats_its_bound);
  CU_ADD_TEST(suite, test_under_the_policy_an_urgent_gradient_waits_for_one_piece);
  CU_ADD_TEST(suite, test_small_gradients_share_and_large_ones_do_not);
  CU_ADD_TEST(suite, test_a_plan_leaves_the_wire_to_an_urgent_gradient_in_time);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
