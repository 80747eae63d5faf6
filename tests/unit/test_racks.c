/**
 * @file test_racks.c
 * @brief Compression of what crosses racks alone, against closed forms.
 *
 * Eight nodes of one V100 behind 25 Gbit/s, in racks of four on one switch without latency:
 * rings with hops of 7 us; one tensor of 100 MB.
 */
#include "tests/unit/forecast.h"

#include <math.h>

#define N_NODES 8
#define RACK 4
#define M_B 100e6
#define N_VALUES 25e6
#define HOP_S 7e-6
/* catalogue/gpu/v100_sxm2_16gb.json */
#define MEMORY_BPS 900e9

/* A difference of two times a hundred times as long. */
#define TOL_DIFFERENCE 1e-6

static Result *run(const char *network, const char *compression)
{
  g_autofree char *text = g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %d, \"node\": {\"base\": \"pcie_1\", "
    "\"gpu\": \"v100_sxm2_16gb\"}, \"nic\": {\"rate\": \"25 Gbit/s\", \"count\": 1}, "
    "\"network\": %s, \"transport\": {\"kind\": \"rdma\", \"latency\": \"0 s\"}}, "
    "\"workload\": {\"model\": {\"name\": \"one\", \"layers\": [{\"name\": \"l\", "
    "\"tensors\": [{\"name\": \"w\", \"values\": 25000000}]}]}, "
    "\"batch_per_gpu\": 8, \"compute\": {\"layers\": [{\"name\": \"l\", \"forward\": "
    "\"10 ms\", \"backward\": \"20 ms\"}]}}, \"strategy\": {\"name\": \"none\", "
    "\"kernel_launch\": \"0 s\"}, "
    "\"library\": %s, \"compression\": %s, \"run\": {\"iterations\": 3, \"warmup\": 1}}",
    N_NODES, network, RULES("ring", "0 s", "7 us"), compression);
  return forecast_with(text, true);
}

#define SWITCH "{\"topology\": \"switch\", \"latency\": \"0 s\"}"

/* Without the average, which reads and writes the memory once. */
static double exposed_s(const char *compression)
{
  g_autoptr(Result) result = run(SWITCH, compression);
  return result->iteration_time_s - result->compute_time_s - 2 * M_B / MEMORY_BPS;
}

/* What a NIC takes for a byte, from a ring of all. */
static double byte_s(void)
{
  const double hops_s = 2 * (N_NODES - 1) * HOP_S;
  return (exposed_s("{}") - hops_s) / (2.0 * (N_NODES - 1) / N_NODES * M_B);
}

/* Reduce-scatter and all-gather in racks of r, (r - 1) hops and (r - 1) / r M each. */
static double racks_s(double s_per_B)
{
  return 2 * ((RACK - 1) * HOP_S + (RACK - 1.0) / RACK * M_B * s_per_B);
}

/* Halves of a part of M / r go round the two GPUs of one place: 2 (k - 1) hops, 2 (k - 1) /
 * k of it; a part is cast there and back at 6 B a value. */
static void test_a_cast_of_what_crosses_racks_takes_its_closed_form(void)
{
  const double k = N_NODES / RACK, part = N_VALUES / RACK, s_per_B = byte_s();
  const double across_s = 2 * (k - 1) * HOP_S + 2 * (k - 1) / k * 2 * part * s_per_B;
  const double found_s =
    exposed_s("{\"codec\": \"fp16\", \"nodes_per_rack\": 4, \"kernel_launch\": \"0 s\"}");

  CU_ASSERT_DOUBLE_EQUAL(found_s / (racks_s(s_per_B) + across_s + 12 * part / MEMORY_BPS),
                         1, TOL_DIFFERENCE);
}

/* Signs are gathered from the k racks: (k - 1) messages of part / 8 and a scale. */
static void test_signs_of_what_crosses_racks_are_gathered(void)
{
  const double part = N_VALUES / RACK, s_per_B = byte_s();
  const double fast_s =
    exposed_s("{\"codec\": \"onebit\", \"nodes_per_rack\": 4, \"kernel_launch\": \"0 s\"}");
  const double across_s = HOP_S + (part / 8 + 4) * s_per_B;
  const double work_s = fast_s - racks_s(s_per_B) - across_s;

  /* 5 passes and 1 over the values, and the messages. */
  CU_ASSERT_DOUBLE_EQUAL(work_s, (6 * 4 * part + 3 * (part / 8 + 4)) / MEMORY_BPS,
                         TOL_DIFFERENCE * fast_s);
}

static double uplinks(const Result *result)
{
  for (guint i = 0; i < result->links->len; i++) {
    const LinkUse *use = &g_array_index(result->links, LinkUse, i);
    if (use->tier == TIER_LEAF_UPLINK)
      return use->mean * result->iteration_time_s;
  }
  return 0;
}

#define RACKS                                                                              \
  "{\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 4, \"oversubscription\": 8, "        \
  "\"latency\": \"0 s\"}"

/* A ring crosses each uplink once with 2 (n - 1) / n M; coded, each of the r parts with
 * 2 (k - 1) / k M / r / 2: a seventh of it in all. */
static void test_uplinks_carry_messages_and_nothing_else(void)
{
  const double k = N_NODES / RACK;
  g_autoptr(Result) ring = run(RACKS, "{}");
  g_autoptr(Result) coded = run(RACKS, "{\"codec\": \"fp16\", \"nodes_per_rack\": 4}");
  const double expected = 2 * (k - 1) / k / 2 / (2 * (N_NODES - 1.0) / N_NODES);

  CU_ASSERT_DOUBLE_EQUAL(uplinks(coded) / uplinks(ring) / expected, 1, TOL_ENGINE);
  CU_ASSERT(coded->iteration_time_s < ring->iteration_time_s);
}

/* A rack that holds all nodes leaves nothing to encode. */
static void test_in_one_rack_nothing_is_encoded(void)
{
  g_autoptr(Result) none = run(SWITCH, "{}");
  g_autoptr(Result) one = run(SWITCH, "{\"codec\": \"fp16\", \"nodes_per_rack\": 8}");

  CU_ASSERT_EQUAL(one->iteration_time_s, none->iteration_time_s);
}

/* Several GPUs per node, several racks, tensors that are left alone. */
static void test_folded_equals_explicit(void)
{
  static const char *const codecs[] = { "onebit", "topk", "fp16" };

  for (guint i = 0; i < G_N_ELEMENTS(codecs); i++) {
    g_autofree char *text = g_strdup_printf(
      "{\"name\": \"test\", \"cluster\": {\"nodes\": 6, \"node\": \"dgx1_v100\", "
      "\"network\": {\"topology\": \"leaf_spine\", \"nodes_per_leaf\": 2, "
      "\"oversubscription\": 2}, \"transport\": {\"kind\": \"tcp\"}}, \"workload\": "
      "{\"model\": \"resnet18\", \"batch_per_gpu\": 16, \"compute\": {\"samples_per_s\": "
      "1000}}, \"strategy\": {\"name\": \"%s\"}, \"compression\": {\"codec\": \"%s\", "
      "\"nodes_per_rack\": 2, \"min_size\": \"1 MB\"}, "
      "\"run\": {\"iterations\": 2, \"warmup\": 1}}",
      i == 0 ? "mg_wfbp" : "ddp", codecs[i]);
    g_autoptr(Result) folded = forecast_with(text, true);
    g_autoptr(Result) explicit = forecast_with(text, false);
    CU_ASSERT_DOUBLE_EQUAL(folded->iteration_time_s / explicit->iteration_time_s, 1,
                           TOL_ENGINE);
    CU_ASSERT(folded->floor_s <= folded->comm_busy_share * folded->iteration_time_s);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("racks", NULL, NULL);
  CU_ADD_TEST(suite, test_a_cast_of_what_crosses_racks_takes_its_closed_form);
  CU_ADD_TEST(suite, test_signs_of_what_crosses_racks_are_gathered);
  CU_ADD_TEST(suite, test_uplinks_carry_messages_and_nothing_else);
  CU_ADD_TEST(suite, test_in_one_rack_nothing_is_encoded);
  CU_ADD_TEST(suite, test_folded_equals_explicit);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
