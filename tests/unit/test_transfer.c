/** @file test_transfer.c  @brief From cluster sizes that were measured to others. */
#include "models/transfer.h"
#include "sim/scenario/scenario.h"
#include "sim/training/exchange.h"

#include <CUnit/Basic.h>
#include <glib/gstdio.h>
#include <math.h>

/* Hops of a tree cost the model 3 us, those that were measured 10, and begin later. */
static TransferPoint point_of(guint n_nodes, double part_B)
{
  const double hops = 2 * log2(n_nodes);

  return (TransferPoint){ .collective = &coll_double_tree,
                          .protocol = "ll",
                          .n_nodes = n_nodes,
                          .part_B = part_B,
                          .model_s = 5e-6 + hops * 3e-6,
                          .measured_s = 7e-6 + hops * 10e-6 };
}

static GArray *points_of(guint first_nodes, guint last_nodes)
{
  GArray *points = g_array_new(FALSE, FALSE, sizeof(TransferPoint));

  for (guint n = first_nodes; n <= last_nodes; n *= 2)
    for (double part_B = 1024; part_B <= 4096; part_B *= 2) {
      const TransferPoint point = point_of(n, part_B);
      g_array_append_val(points, point);
    }
  return points;
}

static void test_a_cost_per_hop_is_carried_to_more_nodes(void)
{
  static const double held_near_the_model = 0.02;
  g_autoptr(GArray) points = points_of(2, 4);

  for (guint n = 8; n <= 256; n *= 2) {
    const TransferPoint wanted = point_of(n, 1500);
    const double off = transfer_time_s(points, &wanted) / wanted.measured_s - 1;
    CU_ASSERT_TRUE(fabs(off) < held_near_the_model * log2(n));
    CU_ASSERT_TRUE(wanted.model_s < 0.5 * wanted.measured_s);
  }
}

static void test_one_number_of_nodes_adds_seconds_and_growth(void)
{
  g_autoptr(GArray) points = points_of(4, 4);
  const TransferPoint known = point_of(4, 1024), wanted = point_of(16, 1024);
  const double found_s = transfer_time_s(points, &wanted);

  /* Between as many seconds more, and as many times longer. */
  CU_ASSERT_TRUE(found_s > wanted.model_s + known.measured_s - known.model_s);
  CU_ASSERT_TRUE(found_s < wanted.model_s * known.measured_s / known.model_s);
}

static void test_another_protocol_or_algorithm_tells_nothing(void)
{
  g_autoptr(GArray) points = points_of(2, 4);
  TransferPoint other = point_of(8, 1024);

  other.protocol = "simple";
  CU_ASSERT_EQUAL(transfer_time_s(points, &other), 0);
  other = point_of(8, 1024);
  other.collective = &coll_ring;
  CU_ASSERT_EQUAL(transfer_time_s(points, &other), 0);
}

static void test_sizes_far_from_all_measured_are_the_models(void)
{
  static const double near = 1e-3, faded = 0.01, next = 1e-6;
  g_autoptr(GArray) points = points_of(2, 4);
  const TransferPoint edge = point_of(8, 4096);
  TransferPoint wanted = edge;

  /* A message 1,000 times as large, which takes 1,000 times as long. */
  wanted.part_B *= 1000;
  wanted.model_s *= 1000;
  CU_ASSERT_TRUE(transfer_time_s(points, &edge) > 1.5 * edge.model_s);
  CU_ASSERT_DOUBLE_EQUAL(transfer_time_s(points, &wanted) / wanted.model_s, 1, faded);
  wanted = edge;
  wanted.part_B = 1;
  CU_ASSERT_DOUBLE_EQUAL(transfer_time_s(points, &wanted) / wanted.model_s, 1, near);
  /* And nothing jumps where the measured sizes end. */
  wanted.part_B = 1024 * (1 - next);
  TransferPoint inside = edge;
  inside.part_B = 1024;
  CU_ASSERT_DOUBLE_EQUAL(
    transfer_time_s(points, &wanted) / transfer_time_s(points, &inside), 1, near);
}

static void test_only_like_nodes_and_several_tell(void)
{
  const CalibrationCurve curve = { .kind = COLL_ALL_REDUCE, .n_nodes = 4, .n_ranks = 16 };
  const CalibrationCurve alone = { .kind = COLL_ALL_REDUCE, .n_nodes = 1, .n_ranks = 4 };

  CU_ASSERT_TRUE(transfer_tells(&curve, COLL_ALL_REDUCE, 8, 4));
  CU_ASSERT_FALSE(transfer_tells(&curve, COLL_ALL_GATHER, 8, 4));
  CU_ASSERT_FALSE(transfer_tells(&curve, COLL_ALL_REDUCE, 8, 8));
  CU_ASSERT_FALSE(transfer_tells(&curve, COLL_ALL_REDUCE, 1, 4));
  CU_ASSERT_FALSE(transfer_tells(&curve, COLL_ALL_REDUCE, 4, 4));
  CU_ASSERT_FALSE(transfer_tells(&alone, COLL_ALL_REDUCE, 8, 4));
}

static Scenario *cluster_of(guint n_nodes)
{
  g_autofree char *path = NULL;
  g_autofree char *text =
    g_strdup_printf("{\"cluster\": {\"nodes\": %u, \"node\": \"gh200_x4\"}}", n_nodes);
  g_autoptr(GError) error = NULL;
  const int file = g_file_open_tmp("stepcast-XXXXXX", &path, NULL);

  g_close(file, NULL);
  g_file_set_contents(path, text, -1, NULL);
  Scenario *scenario = scenario_load_cluster(path, NULL, &error);
  g_remove(path);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

static Exchange *lay(const Scenario *scenario, GArray *curves)
{
  Setup setup = *scenario_setup(scenario);
  const ExchangeNeeds needs = { .kinds = COLL_ALL_REDUCE };

  setup.curves = curves;
  Exchange *exchange = exchange_new(&setup, &needs, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(exchange);
  return exchange;
}

/* All times of @p n_nodes nodes, @p slower times what the model says. */
static void add_curve(GArray *curves, guint n_nodes, const double *sizes_B, guint n,
                      double slower)
{
  g_autoptr(GArray) none = calibration_new();
  g_autoptr(Scenario) scenario = cluster_of(n_nodes);
  g_autoptr(Exchange) exchange = lay(scenario, none);
  CalibrationCurve curve = { .kind = COLL_ALL_REDUCE,
                             .n_nodes = n_nodes,
                             .n_ranks = 4 * n_nodes,
                             .knots = g_array_new(FALSE, FALSE, sizeof(CalibrationKnot)) };

  for (guint i = 0; i < n; i++) {
    const CalibrationKnot knot = {
      sizes_B[i], slower * exchange_idle_s(exchange, COLL_ALL_REDUCE, sizes_B[i])
    };
    g_array_append_val(curve.knots, knot);
  }
  g_array_append_val(curves, curve);
}

/* Nodes that take half as long again as the model says do so in any number. */
static void test_clusters_that_were_not_measured_follow_those_that_were(void)
{
  static const double slower = 1.5, held_near_the_model = 0.02;
  static const double sizes_B[] = { 64, 256, 1024 };
  g_autoptr(GArray) none = calibration_new(), curves = calibration_new();
  g_autoptr(Scenario) large = cluster_of(32);
  g_autoptr(Exchange) plain = lay(large, none);

  add_curve(curves, 2, sizes_B, 3, slower);
  add_curve(curves, 4, sizes_B, 3, slower);
  g_autoptr(Exchange) with = lay(large, curves);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_DOUBLE_EQUAL(exchange_idle_s(with, COLL_ALL_REDUCE, sizes_B[i]) /
                             exchange_idle_s(plain, COLL_ALL_REDUCE, sizes_B[i]),
                           slower, slower * held_near_the_model);
}

int main(void)
{
  CU_TestInfo tests[] = {
    { "a cost per hop is carried to more nodes",
      test_a_cost_per_hop_is_carried_to_more_nodes },
    { "one number of nodes adds seconds and growth",
      test_one_number_of_nodes_adds_seconds_and_growth },
    { "another protocol or algorithm tells nothing",
      test_another_protocol_or_algorithm_tells_nothing },
    { "sizes far from all measured are the model's",
      test_sizes_far_from_all_measured_are_the_models },
    { "only like nodes, and several, tell", test_only_like_nodes_and_several_tell },
    { "clusters that were not measured follow those that were",
      test_clusters_that_were_not_measured_follow_those_that_were },
    CU_TEST_INFO_NULL,
  };
  CU_SuiteInfo suites[] = { { "transfer", NULL, NULL, NULL, NULL, tests },
                            CU_SUITE_INFO_NULL };

  CU_initialize_registry();
  CU_register_suites(suites);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
