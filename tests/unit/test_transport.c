/** @file test_transport.c  @brief What transports leave of the line rate, by formula. */
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Percentages that are printed with two decimals. */
static const double two_decimals = 0.5e-4;

/* Published figures of two digits. */
static const double two_digits = 0.05;

/* Sums and quotients of a few doubles. */
static const double rounding = 1e-12;

/* 25 Gbit/s behind one switch of 1 us. */
static const TransportLink link_25g = { .nic_rate_Bps = 25e9 / 8,
                                        .network_latency_s = 1e-6 };

#define CU_ASSERT_RELATIVE(actual, expected, tolerance)                                    \
  CU_ASSERT_DOUBLE_EQUAL((actual) / (expected), 1, tolerance)

static TransportEffect effect_on(const char *transport, const char *keys,
                                 const TransportLink *link)
{
  const TransportOps *ops =
    (const TransportOps *)registry_find("transport", transport_table, transport, NULL);
  void *params = fixture_params(&ops->info, keys);
  const TransportEffect effect = ops->apply(params, link);

  g_free(params);
  return effect;
}

static TransportEffect effect_of(const char *transport, const char *keys)
{
  return effect_on(transport, keys, &link_25g);
}

static double tcp_cap_Bps(const char *keys)
{
  return effect_of("tcp", keys).flow_cap_Bps;
}

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
    const TransportEffect effect = effect_of(cases[c].transport, cases[c].keys);
    CU_ASSERT_DOUBLE_EQUAL(effect.goodput, cases[c].goodput, two_decimals);
    CU_ASSERT_TRUE(effect.flow_cap_Bps > 0 && effect.message_latency_s > 0);
    CU_ASSERT_EQUAL(effect.retransmission_rate, 0);
  }
}

static void test_a_connection_sends_one_window_per_round_trip(void)
{
  CU_ASSERT_RELATIVE(tcp_cap_Bps("window=256 KiB; rtt=1 ms"), 262144 / 1e-3, rounding);
  CU_ASSERT_RELATIVE(tcp_cap_Bps("tcp_rmem=256 KiB; rtt=1 ms"), 131072 / 1e-3, rounding);
  CU_ASSERT_RELATIVE(tcp_cap_Bps("tcp_wmem=256 KiB; rtt=1 ms"), 262144 / 1e-3, rounding);
  CU_ASSERT_RELATIVE(
    tcp_cap_Bps("window=256 KiB; rtt=1 ms; nsocks_perthread=3; socket_nthreads=2"),
    6 * 262144 / 1e-3, rounding);
  /* Two hosts of 20 us, a switch of 1 us, two cables with correction of 0.5 us; and back.
   */
  CU_ASSERT_RELATIVE(tcp_cap_Bps("window=64 KiB; fec_latency=0.5 us"), 65536 / 44e-6,
                     rounding);
}

static void test_a_core_moves_42_gbit_per_s_with_offloads_and_3_without(void)
{
  CU_ASSERT_RELATIVE(8 * tcp_cap_Bps(""), 42e9, 0.005);
  CU_ASSERT_RELATIVE(8 * tcp_cap_Bps("offload=none"), 3e9, 0.005);
  CU_ASSERT_RELATIVE(tcp_cap_Bps("socket_nthreads=4"), 4 * tcp_cap_Bps(""), rounding);
  CU_ASSERT_EQUAL(tcp_cap_Bps("nsocks_perthread=4"), tcp_cap_Bps(""));
  CU_ASSERT_RELATIVE(tcp_cap_Bps("zero_copy=true"), 65536 / 3.67e-6, rounding);
  /* No core: the window alone is left. */
  CU_ASSERT_RELATIVE(tcp_cap_Bps("offload=nic; window=256 KiB; rtt=1 us"), 262144 / 1e-6,
                     rounding);
}

static void test_loss_limits_a_connection_as_mathis_and_padhye_say(void)
{
  static const struct {
    const char *loss;
    double mathis_bps;
  } cases[] = { { "1e-5", 22e9 }, { "1e-4", 7.1e9 }, { "1e-3", 2.2e9 }, { "1e-2", 0.7e9 } };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autofree char *keys = g_strdup_printf(
      "rtt=200 us; offload=nic; tcp_rmem=64 MiB; tcp_wmem=64 MiB; loss=%s", cases[c].loss);
    g_autofree char *jumbo = g_strdup_printf("%s; mtu=9000 B", keys);
    g_autofree char *pftk = g_strdup_printf("%s; loss_model=pftk", keys);

    CU_ASSERT_RELATIVE(8 * tcp_cap_Bps(keys), cases[c].mathis_bps, two_digits);
    CU_ASSERT_TRUE(tcp_cap_Bps(pftk) < tcp_cap_Bps(keys));
    CU_ASSERT_RELATIVE(tcp_cap_Bps(jumbo) / tcp_cap_Bps(keys), 8948.0 / 1448, rounding);
    CU_ASSERT_RELATIVE(effect_of("tcp", keys).retransmission_rate,
                       g_ascii_strtod(cases[c].loss, NULL), rounding);
  }
  /* By hand: 200 us sqrt(0.04 / 3) = 23.094 us; 0.2 s x 0.01 x 1.0032 x 3 sqrt(0.0075) =
   * 521.28 us. */
  CU_ASSERT_RELATIVE(tcp_cap_Bps("rtt=200 us; loss=0.01; loss_model=pftk"),
                     1448 / 544.37e-6, 1e-4);
}

static void test_go_back_n_sends_a_window_again(void)
{
  /* 100 packets of 4096 B in flight: 4.096 GB/s for 100 us. */
  static const TransportLink link = { .nic_rate_Bps = 4.096e9 };
  static const struct {
    const char *loss;
    double left;
  } cases[] = { { "1e-5", .999 }, { "1e-4", .990 }, { "1e-3", .909 }, { "1e-2", .497 } };
  const double lossless = effect_on("rdma", "rtt=100 us", &link).goodput;

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const double loss = g_ascii_strtod(cases[c].loss, NULL);
    g_autofree char *keys = g_strdup_printf("rtt=100 us; loss=%s", cases[c].loss);
    g_autofree char *selective = g_strdup_printf("%s; recovery=selective_repeat", keys);
    const TransportEffect effect = effect_on("rdma", keys, &link);

    CU_ASSERT_DOUBLE_EQUAL(effect.goodput / lossless, cases[c].left, 5e-4);
    CU_ASSERT_RELATIVE(1 - effect.retransmission_rate, effect.goodput / lossless, rounding);
    CU_ASSERT_RELATIVE(effect_on("rdma", selective, &link).goodput / lossless, 1 - loss,
                       rounding);
    CU_ASSERT_RELATIVE(effect.message_latency_s, 0.82e-6 + 4.3 * loss, 0.005);
  }
}

/* ---- laws over the tables of keys ---------------------------------------------------- */

/* Values of a key, from what may be slower to what may not. */
typedef struct {
  const char *transport, *base, *key;
  const char *values[4];
} Ladder;

#define LOSSY "loss=0.001; rtt=200 us"
#define ROCE "link_layer=roce; pfc=false"
#define STAGED "gpu_direct=false"

static const Ladder ladders[] = {
  { "tcp", "", "mtu", { "576 B", "1500 B", "9000 B", "65535 B" } },
  { "tcp", "offload=none", "mtu", { "576 B", "1500 B", "9000 B", "65535 B" } },
  { "tcp", LOSSY, "mtu", { "576 B", "1500 B", "9000 B", "65535 B" } },
  { "tcp", "", "timestamps", { "true", "false" } },
  { "tcp", "", "latency", { "1 ms", "30 us", "10 us", "0 s" } },
  { "tcp", "", "window", { "2304 B", "64 KiB", "256 KiB", "16 MiB" } },
  { "tcp", "rtt=1 ms", "tcp_rmem", { "64 KiB", "1 MiB", "16 MiB" } },
  { "tcp", "rtt=1 ms", "tcp_wmem", { "64 KiB", "1 MiB", "16 MiB" } },
  { "tcp", "", "socket_nthreads", { "1", "2", "4", "16" } },
  { "tcp", "window=64 KiB; rtt=1 ms", "nsocks_perthread", { "1", "8", "64" } },
  { "tcp", "", "offload", { "none", "segmentation", "nic" } },
  { "tcp", "", "packet_cost", { "30 us", "3 us", "0 s" } },
  { "tcp", "switch_buffer=1 MB", "congestion_control", { "cubic", "dctcp" } },
  { "tcp", LOSSY, "loss_model", { "pftk", "mathis" } },
  { "tcp", LOSSY "; loss_model=pftk", "rto", { "1 s", "200 ms", "1 ms" } },
  { "tcp", "switch_buffer=1 MB", "rto", { "1 s", "200 ms", "1 ms" } },
  { "tcp", "", "switch_buffer", { "1 MB", "10 MB", "10 GB", "0 B" } },
  { "tcp", "window=1 MiB", "rtt", { "100 ms", "1 ms", "200 us" } },
  { "tcp", "", "loss", { "0.5", "0.01", "1e-4", "0" } },
  { "tcp", "", "background", { "99 %", "50 %", "0 %" } },
  { "tcp", "", "fec_latency", { "10 us", "0.1 us", "0 s" } },
  { "tcp", "offload=nic", "offload_saves", { "0 %", "90 %", "100 %" } },
  { "tcp", "", "copy_latency", { "10 us", "0 s" } },
  { "tcp", "", "zero_copy", { "false", "true" } },
  { "tcp", "", "copy_rate", { "1 GB/s", "7.4 GB/s", "20 GB/s" } },
  { "tcp", "", "host_memory", { "10 GB/s", "100 GB/s" } },
  { "rdma", "", "mtu", { "256 B", "1024 B", "4096 B" } },
  { "rdma", ROCE "; loss=0.001", "mtu", { "256 B", "1024 B", "4096 B" } },
  { "rdma", "", "link_layer", { "roce", "ib" } },
  { "rdma", "", "latency", { "3 us", "0.82 us", "0 s" } },
  { "rdma", "", "gpu_direct", { "false", "true" } },
  { "rdma", "", "qps_per_connection", { "1", "4", "128" } },
  { "rdma", "", "pause", { "90 %", "10 %", "0 %" } },
  { "rdma", ROCE "; loss=0.01", "recovery", { "go_back_n", "selective_repeat" } },
  { "rdma", ROCE "; loss=0.01", "timeout", { "4.3 s", "1 ms", "0 s" } },
  { "rdma", "", "registration", { "30 us", "1 us", "0 s" } },
  { "rdma", ROCE "; loss=0.001", "rtt", { "1 ms", "100 us", "10 us" } },
  { "rdma", ROCE, "loss", { "0.1", "0.01", "1e-4", "0" } },
  { "rdma", "", "background", { "90 %", "50 %", "0 %" } },
  { "rdma", "", "fec_latency", { "1 us", "0.1 us", "0 s" } },
  { "rdma", "", "offload_saves", { "0 %", "50 %" } },
  { "rdma", STAGED, "copy_latency", { "10 us", "5 us", "0 s" } },
  { "rdma", STAGED, "zero_copy", { "false", "true" } },
  { "rdma", STAGED "; zero_copy=false", "copy_rate", { "1 GB/s", "10 GB/s" } },
  { "rdma", STAGED, "host_memory", { "10 GB/s", "100 GB/s" } },
  { "cxi", "", "mtu", { "256 B", "2048 B", "9000 B" } },
  { "cxi", "", "latency", { "3 us", "0.82 us", "0 s" } },
  { "cxi", "", "gpu_direct", { "false", "true" } },
  { "cxi", "", "message_gap", { "10 us", "1 us", "0 s" } },
  { "cxi", "", "message_rate", { "1 GB/s", "6 GB/s", "100 GB/s" } },
  { "cxi", "", "rdzv_threshold", { "64 KiB", "4 KiB", "0 B" } },
  { "cxi", "", "devmem_copy_threshold", { "0 B", "4 KiB", "16 KiB" } },
  { "cxi", "", "devmem_copy_rate", { "1 GB/s", "3 GB/s" } },
  { "cxi", "", "gdrcopy_latency", { "10 us", "1 us", "0 s" } },
  { "cxi", "", "gdrcopy_rate", { "1 GB/s", "10 GB/s" } },
  { "cxi", "", "loss", { "0.1", "0.01", "0" } },
  { "cxi", "", "background", { "90 %", "50 %", "0 %" } },
  { "cxi", "", "fec_latency", { "1 us", "0.1 us", "0 s" } },
  { "cxi", "", "offload_saves", { "0 %", "50 %" } },
  { "cxi", STAGED, "copy_latency", { "10 us", "5 us", "0 s" } },
  { "cxi", STAGED, "zero_copy", { "false", "true" } },
  { "cxi", STAGED "; zero_copy=false", "copy_rate", { "1 GB/s", "10 GB/s" } },
  { "cxi", STAGED, "host_memory", { "10 GB/s", "100 GB/s" } },
};

/* The quantities of an effect, each the better the larger. */
enum { N_QUALITIES = 14 };

static void read_qualities(const TransportEffect *effect, double *qualities)
{
  const guint n_senders = 64;
  const double memory_Bps = effect->gpu_direct ? INFINITY : effect->host_memory_Bps;

  qualities[0] = effect->goodput;
  qualities[1] = effect->flow_cap_Bps;
  qualities[2] = effect->n_paths;
  qualities[3] = -effect->message_latency_s;
  qualities[4] = -effect->link_latency_s;
  qualities[5] = -effect->retransmission_rate;
  qualities[6] = effect->gpu_direct;
  qualities[7] = memory_Bps;
  qualities[8] = transport_incast_share(&effect->incast, n_senders, link_25g.nic_rate_Bps);
  qualities[9] = -effect->messages.gap_s;
  qualities[10] = -transport_copy_s(&effect->messages, 2048);
  qualities[11] = -transport_copy_s(&effect->messages, 8192);
  qualities[12] = -transport_copy_s(&effect->messages, 32768);
  qualities[13] = effect->messages.large_Bps;
}

static void climb(const Ladder *ladder)
{
  double last[N_QUALITIES], next[N_QUALITIES];
  bool changes = false;

  for (guint i = 0; i < G_N_ELEMENTS(ladder->values) && ladder->values[i] != NULL; i++) {
    g_autofree char *keys =
      g_strdup_printf("%s; %s=%s", ladder->base, ladder->key, ladder->values[i]);
    const TransportEffect effect = effect_of(ladder->transport, keys);
    read_qualities(&effect, next);
    for (guint q = 0; i > 0 && q < N_QUALITIES; q++) {
      CU_ASSERT_TRUE(next[q] >= last[q]);
      changes |= next[q] > last[q];
    }
    memcpy(last, next, sizeof last);
  }
  CU_ASSERT_TRUE(changes);
}

static void test_every_key_has_an_effect_and_only_the_expected_one(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(ladders); i++)
    climb(&ladders[i]);
}

static bool is_tested(const char *transport, const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS(ladders); i++)
    if (strcmp(ladders[i].transport, transport) == 0 && strcmp(ladders[i].key, key) == 0)
      return true;
  return false;
}

static void test_no_key_escapes_these_laws(void)
{
  for (guint t = 0; transport_table[t] != NULL; t++)
    for (const ParamSpec *spec = transport_table[t]->params; spec->key != NULL; spec++)
      /* pfc decides which other keys are allowed, see below. */
      CU_ASSERT_TRUE(is_tested(transport_table[t]->name, spec->key) ||
                     strcmp(spec->key, "pfc") == 0);
}

/* ---- what is refused ------------------------------------------------------------------
 */

static void test_values_no_network_has_are_refused(void)
{
  static const struct {
    const TransportOps *ops;
    const char *key, *value;
  } cases[] = {
    { &transport_tcp, "mtu", "575 B" },          { &transport_tcp, "mtu", "65536 B" },
    { &transport_rdma, "mtu", "255 B" },         { &transport_rdma, "mtu", "4097 B" },
    { &transport_tcp, "window", "0 B" },         { &transport_tcp, "loss", "1.0" },
    { &transport_rdma, "loss", "100 %" },        { &transport_tcp, "background", "100 %" },
    { &transport_tcp, "nsocks_perthread", "0" },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    void *params = fixture_params(&cases[c].ops->info, "");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(param_set(param_find(cases[c].ops->info.params, cases[c].key), params,
                              cases[c].value, &error));
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
    g_free(params);
  }
}

static void test_keys_that_contradict_one_another_are_refused(void)
{
  static const struct {
    const TransportOps *ops;
    const char *keys;
    bool fits;
  } cases[] = {
    { &transport_tcp, "", true },
    { &transport_tcp, "socket_nthreads=8; nsocks_perthread=8", true },
    { &transport_tcp, "socket_nthreads=8; nsocks_perthread=9", false },
    { &transport_tcp, "offload_saves=50 %", false },
    { &transport_tcp, "offload_saves=50 %; offload=nic", true },
    { &transport_rdma, "", true },
    { &transport_rdma, "loss=0.001", false },
    { &transport_rdma, "loss=0.001; link_layer=roce", false },
    { &transport_rdma, "loss=0.001; link_layer=roce; pfc=false", true },
    { &transport_rdma, "pause=10 %; link_layer=roce; pfc=false", false },
    { &transport_rdma, "pause=10 %; link_layer=roce", true },
    { &transport_rdma, "zero_copy=false", false },
    { &transport_rdma, "zero_copy=false; gpu_direct=false", true },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    void *params = fixture_params(&cases[c].ops->info, cases[c].keys);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_EQUAL(cases[c].ops->check(params, &error), cases[c].fits);
    CU_ASSERT_EQUAL(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE), !cases[c].fits);
    g_free(params);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("transport", NULL, NULL);
  CU_ADD_TEST(suite, test_goodput_is_what_the_headers_leave);
  CU_ADD_TEST(suite, test_a_connection_sends_one_window_per_round_trip);
  CU_ADD_TEST(suite, test_a_core_moves_42_gbit_per_s_with_offloads_and_3_without);
  CU_ADD_TEST(suite, test_loss_limits_a_connection_as_mathis_and_padhye_say);
  CU_ADD_TEST(suite, test_go_back_n_sends_a_window_again);
  CU_ADD_TEST(suite, test_every_key_has_an_effect_and_only_the_expected_one);
  CU_ADD_TEST(suite, test_no_key_escapes_these_laws);
  CU_ADD_TEST(suite, test_values_no_network_has_are_refused);
  CU_ADD_TEST(suite, test_keys_that_contradict_one_another_are_refused);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
