/** @file test_library_nccl.c  @brief What NCCL decides, and what its decisions cost. */
#include "models/library/nccl.h"
#include "tests/unit/library_bench.h"

#include <CUnit/Basic.h>
#include <math.h>

static const double rounding = 1e-12;

static const Fixture dgx_a100 = {
  .n_nodes = 1,
  .n_gpus = 8,
  .fabric = "nvswitch",
  .fabric_keys = "port_rate=240 GB/s; pcie_rate=24 GB/s",
};

/* Eight GPUs and a NIC each. */
static Fixture dgx_nodes(guint n_nodes)
{
  Fixture fixture = dgx_a100;
  fixture.n_nodes = n_nodes;
  fixture.n_nics = 8;
  fixture.nic_Bps = 25e9;
  return fixture;
}

static NcclParams params_of(const char *keys)
{
  NcclParams *params = fixture_params(&library_nccl.info, keys);
  const NcclParams copy = *params;
  params_free(&library_nccl.info, params);
  return copy;
}

static LibraryChoice choose(const Bench *bench, const char *keys, double size_B)
{
  const NcclParams params = params_of(keys);
  return library_nccl.choose(&params, &bench->call, size_B);
}

/* What a re-implementation of tuning.cc said, made before this one, rounded to two or three
 * digits: eight A100 on NVSwitch; 4 and 32 nodes of eight V100 with one NIC of 100 Gbit/s.
 * Trees at their full rate: it did not know patterns. */
static void test_the_model_repeats_nccls_tuner(void)
{
  static const LibraryCall a100 = { .n_nodes = 1, .architecture = GPU_AMPERE };
  static const LibraryCall v100x4 = { .n_nodes = 4, .architecture = GPU_VOLTA };
  static const LibraryCall v100x32 = { .n_nodes = 32, .architecture = GPU_VOLTA };
  static const struct {
    const LibraryCall *call;
    NcclAlgo algo;
    NcclProto proto;
    double size_B, time_s, tolerance;
  } known[] = {
    { &a100, NCCL_RING, NCCL_LL, 1 << 10, 15e-6, 0.03 },
    { &a100, NCCL_RING, NCCL_LL, 256 << 10, 20e-6, 0.10 },
    { &a100, NCCL_RING, NCCL_LL128, 4 << 20, 74e-6, 0.03 },
    { &a100, NCCL_RING, NCCL_SIMPLE, 64 << 20, 545e-6, 0.01 },
    { &a100, NCCL_RING, NCCL_SIMPLE, 1 << 30, 7.9e-3, 0.01 },
    { &v100x4, NCCL_TREE, NCCL_LL, 16 << 10, 53e-6, 0.10 },
    { &v100x4, NCCL_RING, NCCL_LL128, 1 << 20, 328e-6, 0.05 },
    { &v100x4, NCCL_RING, NCCL_SIMPLE, 64 << 20, 11.4e-3, 0.02 },
    { &v100x32, NCCL_TREE, NCCL_LL128, 1 << 20, 489e-6, 0.05 },
    { &v100x32, NCCL_TREE, NCCL_LL128, 16 << 20, 4.1e-3, 0.05 },
    { &v100x32, NCCL_RING, NCCL_LL128, 64 << 20, 13.2e-3, 0.02 },
  };
  const NcclParams params = params_of("");

  for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
    LibraryCall call = *known[i].call;
    call.kind = COLL_ALL_REDUCE;
    call.ranks_per_node = 8;
    call.nvlink = call.gpu_direct = true;
    /* Less than 25 GB/s inside: one channel, as the re-implementation assumed. */
    call.local_Bps = call.architecture == GPU_VOLTA ? 24e9 : 240e9;
    call.n_nics = 1;
    call.node_Bps = 12.5e9;
    const NcclLayout layout = nccl_layout(&params, &call);
    const double time_s = nccl_model_s(nccl_latest(), &layout, &call, known[i].algo,
                                       known[i].proto, known[i].size_B);
    CU_ASSERT_DOUBLE_EQUAL(time_s / known[i].time_s, 1, known[i].tolerance);
  }
}

static void test_nccl_takes_whatever_its_model_finds_fastest(void)
{
  static const char *const algos[] = { "tree", "ring" };
  static const char *const protos[] = { "ll", "ll128", "simple" };
  const Fixture fixture = dgx_nodes(4);
  const NcclParams any = params_of("");
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  const NcclLayout layout = nccl_layout(&any, &bench.call);

  for (double size_B = 8; size_B < 1e10; size_B *= 4) {
    const LibraryChoice chosen = choose(&bench, "", size_B);
    double best_s = INFINITY;
    const CollOps *best = NULL;
    const char *best_proto = NULL;
    for (NcclAlgo algo = NCCL_TREE; algo <= NCCL_RING; algo++)
      for (NcclProto proto = 0; proto < NCCL_N_PROTOS; proto++) {
        g_autofree char *keys =
          g_strdup_printf("algo=%s; proto=%s", algos[algo], protos[proto]);
        const LibraryChoice forced = choose(&bench, keys, size_B);
        const double time_s =
          nccl_model_s(nccl_latest(), &layout, &bench.call, algo, proto, size_B);
        CU_ASSERT_STRING_EQUAL(forced.protocol, protos[proto]);
        CU_ASSERT_PTR_EQUAL(forced.collective, nccl_collective(algo));
        if (time_s < best_s) {
          best_s = time_s;
          best = forced.collective;
          best_proto = forced.protocol;
        }
      }
    CU_ASSERT_PTR_EQUAL(chosen.collective, best);
    CU_ASSERT_STRING_EQUAL(chosen.protocol, best_proto);
  }
  bench_clear(&bench);
}

static void test_many_nodes_use_trees_for_small_messages_and_rings_for_large(void)
{
  const Fixture fixture = dgx_nodes(32);
  Bench bench;
  bench_init(&bench, &fixture, true, true);

  CU_ASSERT_PTR_EQUAL(choose(&bench, "", 1024).collective, nccl_collective(NCCL_TREE));
  CU_ASSERT_STRING_EQUAL(choose(&bench, "", 1024).protocol, "ll");
  CU_ASSERT_PTR_EQUAL(choose(&bench, "", 64e9).collective, nccl_collective(NCCL_RING));
  CU_ASSERT_STRING_EQUAL(choose(&bench, "", 64e9).protocol, "simple");
  bench_clear(&bench);
}

static bool uses_ll128(const Fixture *fixture, bool nvlink, bool gpu_direct,
                       const char *keys)
{
  Bench bench;
  bench_init(&bench, fixture, nvlink, gpu_direct);
  bool found = false;

  for (double size_B = 8; size_B < 1e10; size_B *= 2)
    found = found || strcmp(choose(&bench, keys, size_B).protocol, "ll128") == 0;
  bench_clear(&bench);
  return found;
}

static void test_nccl_uses_ll128_only_where_128_bytes_arrive_whole(void)
{
  const Fixture nodes = dgx_nodes(2);

  CU_ASSERT_TRUE(uses_ll128(&dgx_a100, true, false, ""));
  CU_ASSERT_FALSE(uses_ll128(&dgx_a100, true, false, "proto=^ll128"));
  CU_ASSERT_FALSE(uses_ll128(&dgx_a100, false, true, ""));
  CU_ASSERT_TRUE(uses_ll128(&nodes, true, true, ""));
  CU_ASSERT_FALSE(uses_ll128(&nodes, true, false, ""));
}

static double forced_s(const Bench *bench, const char *keys, double size_B)
{
  const LibraryChoice choice = choose(bench, keys, size_B);
  return bench_time_s(bench, &choice, size_B);
}

/* Eight bytes have no transfer time to hide hops behind. */
static CollTerms hops(Bench *bench, const char *keys)
{
  return choose(bench, keys, 8).terms;
}

static void test_hops_cost_what_nccls_table_says(void)
{
  static const double tolerance = 1e-3; /* of the slice of eight bytes */
  Fixture fixture = dgx_a100;
  Bench bench;

  bench_init(&bench, &fixture, true, true);
  CU_ASSERT_DOUBLE_EQUAL(hops(&bench, "algo=ring; proto=ll").alpha_local_s / 0.6e-6, 1,
                         tolerance);
  bench_clear(&bench);
  bench_init(&bench, &fixture, false, true);
  CU_ASSERT_DOUBLE_EQUAL(hops(&bench, "algo=ring; proto=simple").alpha_local_s / 5.7e-6, 1,
                         tolerance);
  bench_clear(&bench);

  /* Between nodes the network thread may be slower than NVLink: 1 us, three for Simple. */
  fixture = dgx_nodes(2);
  bench_init(&bench, &fixture, true, true);
  CU_ASSERT_DOUBLE_EQUAL(hops(&bench, "algo=ring; proto=ll").alpha_local_s / 1e-6, 1,
                         tolerance);
  CU_ASSERT_DOUBLE_EQUAL(
    hops(&bench, "algo=ring; proto=simple; cpu=amd").alpha_local_s / 6e-6, 1, tolerance);
  CU_ASSERT_DOUBLE_EQUAL(
    hops(&bench, "algo=ring; proto=ll; net_overhead=5 us").alpha_local_s / 5e-6, 1,
    tolerance);
  CU_ASSERT_DOUBLE_EQUAL(hops(&bench, "algo=ring; proto=simple").alpha_net_s / 14e-6, 1,
                         tolerance);
  /* 20 us beyond InfiniBand's 0.82 us; Simple reads back what came, as far away. */
  bench.call.message_latency_s = 20.82e-6;
  CU_ASSERT_DOUBLE_EQUAL(hops(&bench, "algo=ring; proto=ll").alpha_net_s / 22.7e-6, 1,
                         tolerance);
  CU_ASSERT_DOUBLE_EQUAL(hops(&bench, "algo=ring; proto=simple").alpha_net_s / 54e-6, 1,
                         tolerance);
  bench.call.gpu_direct = false; /* nothing to read back */
  CU_ASSERT_DOUBLE_EQUAL(hops(&bench, "algo=ring; proto=simple").alpha_net_s / 34e-6, 1,
                         tolerance);
  bench_clear(&bench);
}

/* (chain^p + links^p)^(1/p) is at least the larger and at most 2^(1/p) times it. */
static void test_a_ring_hides_its_hops_behind_its_links(void)
{
  const Fixture fixture = dgx_nodes(4);
  const char *keys = "algo=ring; proto=simple";
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  const CollPhase *ring = &g_array_index(bench_phases_of(&coll_ring, &bench), CollPhase, 0);
  const double base_s = 8.4e-6;

  const double small_s = forced_s(&bench, keys, 8) - base_s;
  const double large_B = 32e9, large_s = forced_s(&bench, keys, large_B) - base_s;
  CU_ASSERT_DOUBLE_EQUAL(small_s / (ring->n_local_hops * 3.4e-6 + ring->n_net_hops * 14e-6 +
                                    ring->path_latency_s),
                         1, 1e-3);
  CU_ASSERT_DOUBLE_EQUAL(large_s / (ring->bound_s_per_B * large_B), 1, 1e-3);
  for (double size_B = 8; size_B < 1e11; size_B *= 2) {
    const double time_s = forced_s(&bench, keys, size_B) - base_s;
    CU_ASSERT_TRUE(time_s >= MAX(small_s, ring->bound_s_per_B * size_B) * (1 - rounding));
  }
  bench_clear(&bench);
}

static void test_more_bytes_never_take_less_time(void)
{
  static const char *const keys[] = {
    "algo=ring; proto=ll", "algo=ring; proto=ll128", "algo=ring; proto=simple",
    "algo=tree; proto=ll", "algo=tree; proto=ll128", "algo=tree; proto=simple",
  };
  const Fixture fixture = dgx_nodes(3);
  Bench bench;
  bench_init(&bench, &fixture, true, true);

  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    double last_s = 0;
    for (double size_B = 1; size_B < 1e10; size_B *= 2) {
      const double time_s = forced_s(&bench, keys[i], size_B);
      CU_ASSERT_TRUE(time_s >= last_s * (1 - rounding));
      last_s = time_s;
    }
  }
  bench_clear(&bench);
}

static void test_fewer_channels_have_smaller_chunks(void)
{
  const Fixture fixture = dgx_nodes(4);
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  const double all_B = choose(&bench, "algo=tree; proto=simple", 1e9).terms.chunk_B;
  const double four_B =
    choose(&bench, "algo=tree; proto=simple; max_ctas=4", 1e9).terms.chunk_B;
  const double small_B =
    choose(&bench, "algo=tree; proto=simple; max_ctas=4; buffsize=1 MiB", 1e9)
      .terms.chunk_B;

  CU_ASSERT_TRUE(all_B > four_B);
  CU_ASSERT_EQUAL(four_B, 4 * 512 * 1024);
  CU_ASSERT_EQUAL(small_B, 4 * 128 * 1024);
  CU_ASSERT_EQUAL(choose(&bench, "algo=tree; proto=simple; min_ctas=40", 1e9).terms.chunk_B,
                  40 * 512 * 1024);
  bench_clear(&bench);
}

/* LL rings want 8 B for each of 512 threads and 32 ranks. */
static void test_small_messages_use_few_channels(void)
{
  const Fixture fixture = dgx_nodes(4);
  const NcclParams params = params_of("");
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  const NcclLayout layout = nccl_layout(&params, &bench.call);

  CU_ASSERT_EQUAL(nccl_channels(&layout, &bench.call, NCCL_RING, NCCL_LL, 8), 1);
  CU_ASSERT_EQUAL(nccl_channels(&layout, &bench.call, NCCL_RING, NCCL_LL, 256 << 10), 2);
  CU_ASSERT_EQUAL(nccl_channels(&layout, &bench.call, NCCL_TREE, NCCL_LL, 16 << 10), 4);
  CU_ASSERT_EQUAL(nccl_channels(&layout, &bench.call, NCCL_RING, NCCL_SIMPLE, 128 << 10),
                  4);
  CU_ASSERT_EQUAL(nccl_channels(&layout, &bench.call, NCCL_RING, NCCL_SIMPLE, 1 << 30),
                  layout.n_channels);
  bench_clear(&bench);
}

static void test_few_channels_carry_less_than_the_links(void)
{
  const char *keys = "algo=ring; proto=simple; max_ctas=2";
  Bench bench;
  bench_init(&bench, &dgx_a100, true, true);

  /* Of 240 GB/s, 24 GB/s. */
  CU_ASSERT_DOUBLE_EQUAL(forced_s(&bench, keys, 8e9) /
                           forced_s(&bench, "algo=ring; proto=simple", 8e9),
                         10, 0.1);
  bench_clear(&bench);
}

static void test_releases_decide_differently(void)
{
  const Fixture fixture = dgx_nodes(4);
  Bench bench;
  bench_init(&bench, &fixture, true, true);
  bool differ = false;

  for (double size_B = 8; size_B < 1e10; size_B *= 2) {
    const LibraryChoice old = choose(&bench, "version=2.20", size_B);
    const LibraryChoice new = choose(&bench, "", size_B);
    differ =
      differ || old.collective != new.collective || strcmp(old.protocol, new.protocol) != 0;
  }
  CU_ASSERT_TRUE(differ);
  bench_clear(&bench);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("library nccl", NULL, NULL);
  CU_ADD_TEST(suite, test_the_model_repeats_nccls_tuner);
  CU_ADD_TEST(suite, test_nccl_takes_whatever_its_model_finds_fastest);
  CU_ADD_TEST(suite, test_many_nodes_use_trees_for_small_messages_and_rings_for_large);
  CU_ADD_TEST(suite, test_nccl_uses_ll128_only_where_128_bytes_arrive_whole);
  CU_ADD_TEST(suite, test_hops_cost_what_nccls_table_says);
  CU_ADD_TEST(suite, test_a_ring_hides_its_hops_behind_its_links);
  CU_ADD_TEST(suite, test_more_bytes_never_take_less_time);
  CU_ADD_TEST(suite, test_fewer_channels_have_smaller_chunks);
  CU_ADD_TEST(suite, test_small_messages_use_few_channels);
  CU_ADD_TEST(suite, test_few_channels_carry_less_than_the_links);
  CU_ADD_TEST(suite, test_releases_decide_differently);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
