/** @file test_transport.c  @brief What transports leave of the line rate. */
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>

/* Percentages that are printed with two decimals. */
static const double two_decimals = 0.5e-4;

static void test_goodput_is_what_the_headers_leave(void)
{
  static const struct {
    const char *transport, *keys;
    double goodput;
  } cases[] = {
    { "tcp", "mtu=1500 B; timestamps=false", 0.9493 },
    { "tcp", "mtu=1500 B", 0.9415 },
    { "tcp", "mtu=9000 B; timestamps=false", 0.9914 },
    { "tcp", "mtu=9000 B", 0.9900 },
    { "rdma", "link_layer=roce; mtu=1024 B", 0.9259 },
    { "rdma", "link_layer=roce; mtu=2048 B", 0.9615 },
    { "rdma", "link_layer=roce; mtu=4096 B", 0.9804 },
    { "rdma", "mtu=2048 B", 0.9875 },
    { "rdma", "", 0.9937 },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const TransportOps *ops = (const TransportOps *)registry_find(
      "transport", transport_table, cases[c].transport, NULL);
    void *params = fixture_params(&ops->info, cases[c].keys);
    const TransportEffect effect = ops->apply(params, 1e9);
    CU_ASSERT_DOUBLE_EQUAL(effect.goodput, cases[c].goodput, two_decimals);
    CU_ASSERT_TRUE(effect.flow_cap_Bps > 0 && effect.message_latency_s > 0);
    g_free(params);
  }
}

static void test_an_mtu_no_network_has_is_refused(void)
{
  static const struct {
    const TransportOps *ops;
    const char *mtu;
  } cases[] = { { &transport_tcp, "575 B" },
                { &transport_tcp, "65536 B" },
                { &transport_rdma, "255 B" },
                { &transport_rdma, "4097 B" } };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    void *params = fixture_params(&cases[c].ops->info, "");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(param_set(param_find(cases[c].ops->info.params, "mtu"), params,
                              cases[c].mtu, &error));
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
    g_free(params);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("transport", NULL, NULL);
  CU_ADD_TEST(suite, test_goodput_is_what_the_headers_leave);
  CU_ADD_TEST(suite, test_an_mtu_no_network_has_is_refused);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
