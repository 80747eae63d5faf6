/**
 * @file test_group_forecast.c
 * @brief Collectives of groups: closed forms, and groups that contend for links.
 */
#include "sim/command/farm.h"
#include "sim/scenario/scenario.h"
#include "sim/training/collective_forecast.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOL_ENGINE 1e-9 /* rounding to whole amounts (network.h) */
/* Latencies of phases pass before their flows, not in their queues. */
#define TOL_PHASES 0.02

#define LOCAL_S 1e-6
#define NET_S 5e-6

/* One algorithm with stated latencies; a star of nodes, or leaves of two. */
#define SCENARIO(nodes, gpus, nics, network, algorithm, groups)                            \
  "{\"workload\": {\"model\": \"alexnet\", \"batch_per_gpu\": 8}, "                        \
  "\"cluster\": {\"nodes\": " nodes ", \"node\": {\"gpus\": " gpus ", \"nics\": " nics     \
  ", \"nic_rate\": \"100 Gbit/s\", \"gpu\": \"a100_sxm4_80gb\", \"fabric\": {\"kind\": "   \
  "\"nvswitch\", \"port_rate\": \"100 GB/s\", \"pcie_rate\": \"40 GB/s\", "                \
  "\"gpus_per_switch\": 1}}, \"network\": " network                                        \
  ", \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, \"library\": {\"name\": " \
  "\"rules\", \"launch\": \"0 s\", \"local_latency\": \"1 us\", \"net_latency\": "         \
  "\"5 us\", \"rules\": [{\"operation\": \"all_to_all\", \"use\": \"pairwise\"}, "         \
  "{\"operation\": \"send_recv\", \"use\": \"neighbour\"}, {\"use\": \"" algorithm         \
  "\"}]}, \"groups\": " groups "}"
#define STAR "{\"topology\": \"switch\", \"latency\": \"0 s\"}"
#define LEAVES                                                                             \
  "{\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 2, \"oversubscription\": 2, "        \
  "\"latency\": \"0 s\"}"

static const double sizes_B[] = { 1 << 16, 1 << 20, 1 << 26 };
enum { N_SIZES = G_N_ELEMENTS(sizes_B) };

typedef struct {
  const char *text, *group;
  CollKind kind;
  bool fold, messages;
} Case;

static bool forecast_here(guint index G_GNUC_UNUSED, void *data, GString *out,
                          GError **error)
{
  const Case *what = data;
  const CollForecast forecast = { .kind = what->kind == 0 ? COLL_ALL_REDUCE : what->kind,
                                  .sizes_B = sizes_B,
                                  .n_sizes = N_SIZES,
                                  .fold = what->fold,
                                  .messages = what->messages,
                                  .group = what->group };
  g_autoptr(Scenario) scenario =
    scenario_parse("x.json", what->text, strlen(what->text), NULL, error);
  if (scenario == NULL)
    return false;
  g_autoptr(Timings) timings =
    collective_forecast(scenario_setup(scenario), &forecast, error);
  if (timings == NULL)
    return false;
  for (guint i = 0; i < N_SIZES; i++) {
    const double time_s = g_array_index(timings->rows, Timing, i).time_s;
    g_string_append_len(out, (const char *)&time_s, sizeof time_s);
  }
  return true;
}

/* In a child: SimGrid allows one engine per process. */
static void forecast(const Case *what, double *times_s)
{
  Case copy = *what;
  const Farm farm = { .n_tasks = 1, .n_workers = 1, .work = forecast_here, .data = &copy };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) answers = farm_run(&farm, &error);

  if (answers == NULL)
    fprintf(stderr, "%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(answers);
  const GString *answer = g_ptr_array_index(answers, 0);
  CU_ASSERT_EQUAL_FATAL(answer->len, N_SIZES * sizeof *times_s);
  memcpy(times_s, answer->str, answer->len);
}

static void assert_close(const char *what, const double *times_s, const double *wanted_s,
                         double tolerance)
{
  for (guint i = 0; i < N_SIZES; i++) {
    CU_ASSERT_TRUE(fabs(times_s[i] / wanted_s[i] - 1) <= tolerance);
    if (!(fabs(times_s[i] / wanted_s[i] - 1) <= tolerance))
      printf("\n  %s, %.0f B: %.9g us, not %.9g us\n", what, sizes_B[i], 1e6 * times_s[i],
             1e6 * wanted_s[i]);
  }
}

static const double nic_Bps = 12.5e9 * 4096 / (4096 + 26);

/* 2 (g - 1) hops of a latency and a g-th of the buffer. */
static void ring_form(guint g, double bandwidth_Bps, double alpha_s, double *times_s)
{
  for (guint i = 0; i < N_SIZES; i++)
    times_s[i] = 2 * (g - 1) * (alpha_s + sizes_B[i] / g / bandwidth_Bps);
}

static void test_a_group_of_a_star_takes_what_the_form_says(void)
{
  static const struct {
    const char *group;
    guint n_ranks;
  } rows[] = { { "two", 2 }, { "five", 5 }, { "eleven", 11 }, { "third[1]", 4 } };
  const char *text =
    SCENARIO("12", "1", "1", STAR, "ring",
             "{\"named\": [{\"name\": \"two\", \"ranks\": \"3, 11\"}, {\"name\": \"five\", "
             "\"ranks\": \"1-9:2\"}, {\"name\": \"eleven\", \"ranks\": \"0-4,6-11\"}, "
             "{\"name\": \"third\", \"size\": 4, \"stride\": 3}]}");

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    double times_s[N_SIZES], wanted_s[N_SIZES];
    forecast(&(Case){ .text = text, .group = rows[i].group, .fold = true }, times_s);
    ring_form(rows[i].n_ranks, nic_Bps, NET_S, wanted_s);
    assert_close(rows[i].group, times_s, wanted_s, TOL_ENGINE);
  }
}

/* Each has ports of its own, so that nobody notices the others. */
static void test_groups_with_ports_of_their_own_do_not_contend(void)
{
  const char *text = SCENARIO("4", "4", "4", STAR, "ring", "{\"tensor\": 4}");
  double all_s[N_SIZES], one_s[N_SIZES], wanted_s[N_SIZES];

  forecast(&(Case){ .text = text, .group = "tensor", .fold = true }, all_s);
  ring_form(4, 100e9, LOCAL_S, wanted_s);
  assert_close("tensor", all_s, wanted_s, TOL_ENGINE);
  forecast(&(Case){ .text = text, .group = "data", .fold = true }, all_s);
  forecast(&(Case){ .text = text, .group = "data[2]", .fold = true }, one_s);
  assert_close("data", all_s, one_s, TOL_ENGINE);
  ring_form(4, nic_Bps, NET_S, wanted_s);
  assert_close("data[2]", one_s, wanted_s, TOL_ENGINE);
}

/* Four groups share the one NIC of every node: each has a quarter of it. */
static void test_groups_that_share_a_nic_take_longer(void)
{
  const char *text = SCENARIO("4", "4", "1", STAR, "ring", "{\"tensor\": 4}");
  double times_s[N_SIZES], wanted_s[N_SIZES];

  forecast(&(Case){ .text = text, .group = "data", .fold = true }, times_s);
  ring_form(4, nic_Bps / 4, NET_S, wanted_s);
  assert_close("data at once", times_s, wanted_s, TOL_ENGINE);
  forecast(&(Case){ .text = text, .group = "data[0]", .fold = true }, times_s);
  ring_form(4, nic_Bps, NET_S, wanted_s);
  assert_close("data alone", times_s, wanted_s, TOL_ENGINE);
}

static void test_a_group_of_all_ranks_is_no_group(void)
{
  static const char *const texts[] = {
    SCENARIO("6", "4", "2", LEAVES, "ring",
             "{\"named\": [{\"name\": \"all\", \"ranks\": \"0-23\"}]}"),
    SCENARIO("6", "4", "2", LEAVES, "double_tree",
             "{\"named\": [{\"name\": \"all\", \"ranks\": \"0-23\"}]}"),
    SCENARIO("6", "4", "2", LEAVES, "hierarchical",
             "{\"named\": [{\"name\": \"all\", \"ranks\": \"0-23\"}]}"),
  };

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    for (guint m = 0; m < 2; m++) {
      double group_s[N_SIZES], none_s[N_SIZES], data_s[N_SIZES];
      Case what = { .text = texts[i], .fold = true, .messages = m == 1 };
      forecast(&what, none_s);
      what.group = "all";
      forecast(&what, group_s);
      what.group = "data";
      forecast(&what, data_s);
      for (guint k = 0; k < N_SIZES; k++) {
        CU_ASSERT_EQUAL(group_s[k], none_s[k]);
        CU_ASSERT_EQUAL(data_s[k], none_s[k]);
      }
    }
}

/* Leaves of two nodes: the groups cross them, and meet on the uplinks. */
#define UNEQUAL                                                                            \
  "{\"named\": [{\"name\": \"part\", \"ranks\": \"0, 2, 5\"}, {\"name\": \"part\", "       \
  "\"ranks\": \"1, 3, 4, 6, 7\"}]}"
#define UNEQUAL_NODES                                                                      \
  "{\"named\": [{\"name\": \"part\", \"ranks\": \"0-3, 16-19\"}, {\"name\": "              \
  "\"part\", \"ranks\": \"4-7, 12-15, 20-23, 28-31\"}]}"

/* Where groups contend, the latencies of one's round pass while the other's bytes use the
 * link; a phase has all its latencies first. Rounds of halving and doubling are phases, and
 * two groups' rounds of unequal sizes meet differently. */
static const struct {
  const char *text;
  double tolerance;
} unequal[] = {
  { SCENARIO("8", "1", "1", LEAVES, "ring", UNEQUAL), 0.03 },
  { SCENARIO("8", "1", "1", LEAVES, "halving_doubling", UNEQUAL), 0.10 },
  { SCENARIO("4", "8", "2", LEAVES, "ring", UNEQUAL_NODES), TOL_PHASES },
  { SCENARIO("4", "8", "2", LEAVES, "hierarchical", UNEQUAL_NODES), 0.04 },
};

static void test_unequal_groups_at_once_take_what_their_messages_take(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(unequal); i++) {
    double fast_s[N_SIZES], reference_s[N_SIZES];
    Case what = { .text = unequal[i].text, .group = "part", .fold = true };
    forecast(&what, fast_s);
    what.messages = true;
    forecast(&what, reference_s);
    assert_close("unequal groups", fast_s, reference_s, unequal[i].tolerance);
  }
}

static void test_folded_groups_take_what_all_flows_take(void)
{
  static const char *const alike =
    SCENARIO("6", "4", "1", LEAVES, "ring", "{\"tensor\": 2, \"pipeline\": 3}");
  static const char *const names[] = { "tensor", "data", "pipeline", "data_context" };

  for (guint i = 0; i < G_N_ELEMENTS(unequal) + G_N_ELEMENTS(names); i++) {
    const bool layout = i >= G_N_ELEMENTS(unequal);
    double folded_s[N_SIZES], explicit_s[N_SIZES];
    Case what = { .text = layout ? alike : unequal[i].text,
                  .group = layout ? names[i - G_N_ELEMENTS(unequal)] : "part",
                  .fold = true };
    forecast(&what, folded_s);
    what.fold = false;
    forecast(&what, explicit_s);
    assert_close(what.group, folded_s, explicit_s, TOL_ENGINE);
  }
}

static void test_every_operation_runs_on_groups(void)
{
  const char *text = SCENARIO("4", "4", "2", STAR, "ring", "{\"tensor\": 2}");

  for (guint k = 0; coll_kind_names[k] != NULL; k++) {
    double all_s[N_SIZES], one_s[N_SIZES];
    Case what = { .text = text, .group = "data", .kind = 1u << k, .fold = true };
    forecast(&what, all_s);
    what.group = "data[1]";
    forecast(&what, one_s);
    for (guint i = 0; i < N_SIZES; i++)
      CU_ASSERT_TRUE(one_s[i] > 0 && all_s[i] >= one_s[i] * (1 - TOL_ENGINE));
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("group_forecast", NULL, NULL);
  CU_ADD_TEST(suite, test_a_group_of_a_star_takes_what_the_form_says);
  CU_ADD_TEST(suite, test_groups_with_ports_of_their_own_do_not_contend);
  CU_ADD_TEST(suite, test_groups_that_share_a_nic_take_longer);
  CU_ADD_TEST(suite, test_a_group_of_all_ranks_is_no_group);
  CU_ADD_TEST(suite, test_unequal_groups_at_once_take_what_their_messages_take);
  CU_ADD_TEST(suite, test_folded_groups_take_what_all_flows_take);
  CU_ADD_TEST(suite, test_every_operation_runs_on_groups);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
