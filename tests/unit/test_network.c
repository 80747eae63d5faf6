/**
 * @file test_network.c
 * @brief Fat tree, torus and dragonfly: paths, latencies, cuts and what they refuse.
 */
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums and quotients of a few doubles. */
static const double rounding = 1e-12;

#define NIC_BPS 1e9

/* A network alone, with ports of NIC_BPS and a transport that costs nothing. */
typedef struct {
  const NetworkOps *ops;
  void *params, *state;
  GArray *links;
  guint n_nodes;
} Net;

static Net net_new(const NetworkOps *ops, guint n_nodes, guint n_nics, const char *keys)
{
  const NetworkPorts ports = {
    .n_nodes = n_nodes, .nics_per_node = n_nics, .nic_Bps = NIC_BPS, .goodput = 1
  };
  Net net = { .ops = ops,
              .params = fixture_params(&ops->info, keys),
              .links = g_array_new(FALSE, FALSE, sizeof(Link)),
              .n_nodes = n_nodes };
  g_autoptr(GError) error = NULL;

  net.state = ops->build(net.params, &ports, net.links, &error);
  if (net.state == NULL)
    g_error("%s: %s", keys, error->message);
  return net;
}

static void net_clear(Net *net)
{
  net->ops->free(net->state);
  param_clear(net->ops->info.params, net->params);
  g_free(net->params);
  g_array_unref(net->links);
}

static GArray *net_path(const Net *net, guint src, guint dst, guint64 hash)
{
  GArray *path = g_array_new(FALSE, FALSE, sizeof(guint32));
  net->ops->route(net->state, src, 0, dst, 0, hash, path);
  return path;
}

static guint32 at(const GArray *path, guint index)
{
  return g_array_index(path, guint32, index);
}

static const Link *link_at(const Net *net, guint32 number)
{
  return &g_array_index(net->links, Link, number);
}

/* What crosses from the first half of the nodes to the second: the links of @p tier on any
 * path between them, each counted once. */
static double counted_cut_Bps(const Net *net, guint tier, guint n_hashes)
{
  g_autofree bool *seen = g_new0(bool, net->links->len);
  double sum_Bps = 0;

  for (guint src = 0; src < net->n_nodes / 2; src++)
    for (guint dst = net->n_nodes / 2; dst < net->n_nodes; dst++)
      for (guint hash = 0; hash < n_hashes; hash++) {
        g_autoptr(GArray) path = net_path(net, src, dst, hash);
        bool is_first = true; /* up and down carry the same: count the way up */
        for (guint i = 0; i < path->len; i++) {
          const Link *link = link_at(net, at(path, i));
          if (link->tier != tier || !is_first)
            continue;
          is_first = false;
          sum_Bps += seen[at(path, i)] ? 0 : link->capacity_Bps;
          seen[at(path, i)] = true;
        }
      }
  return sum_Bps;
}

/* ---- all of them ------------------------------------------------------------------- */

static const struct {
  const NetworkOps *ops;
  guint n_nodes, n_nics;
  const char *keys;
  guint longest; /* links of the longest path */
} nets[] = {
  { &network_fat_tree, 37, 2, "nodes_per_leaf=3; leaves_per_pod=4", 4 },
  { &network_fat_tree, 29, 2, "radix=8; ecmp=hashed", 4 },
  { &network_fat_tree, 3, 1, "nodes_per_leaf=4; leaves_per_pod=4", 0 },
  { &network_fat_tree, 5, 1, "nodes_per_leaf=2; leaves_per_pod=4", 2 },
  { &network_torus, 7, 1, "dims=7", 3 },
  { &network_torus, 30, 1, "dims=5x6", 5 },
  { &network_torus, 30, 4, "dims=2 x 3 x 5", 4 },
  { &network_torus, 48, 1, "dims=2x2x3x1x4", 5 },
  { &network_dragonfly, 36, 1, "groups=9; routers_per_group=4; nodes_per_router=1", 3 },
  { &network_dragonfly, 41, 2,
    "groups=4; routers_per_group=3; nodes_per_router=4; cables=3", 3 },
  { &network_dragonfly, 6, 1, "groups=1; routers_per_group=3; nodes_per_router=2", 1 },
};

static void test_every_path_is_short_and_free_of_loops(void)
{
  for (guint c = 0; c < G_N_ELEMENTS(nets); c++) {
    Net net = net_new(nets[c].ops, nets[c].n_nodes, nets[c].n_nics, nets[c].keys);
    guint longest = 0;

    for (guint i = 0; i < net.n_nodes * net.n_nodes * 12; i++) {
      const guint src = i % net.n_nodes, dst = i / net.n_nodes % net.n_nodes;
      g_autoptr(GArray) path = net_path(&net, src, dst, i / net.n_nodes / net.n_nodes);

      for (guint k = 0; k < path->len; k++) {
        CU_ASSERT_TRUE_FATAL(at(path, k) < net.links->len);
        for (guint j = 0; j < k; j++)
          CU_ASSERT_NOT_EQUAL(at(path, k), at(path, j));
      }
      CU_ASSERT(src != dst || path->len == 0);
      longest = MAX(longest, path->len);
    }
    CU_ASSERT_EQUAL(longest, nets[c].longest);
    net_clear(&net);
  }
}

static void test_a_path_through_k_switches_costs_k_hops(void)
{
  static const struct {
    const char *network, *keys;
    guint hops[3]; /* from node 0 to nodes 1, 2 and 15 of 16 */
  } cases[] = {
    { "fat_tree", "nodes_per_leaf=2; leaves_per_pod=4; latency=2 us", { 1, 3, 5 } },
    { "fat_tree", "radix=4; latency=2 us; ecmp=hashed", { 1, 3, 5 } },
    { "torus", "dims=4x4; latency=2 us", { 2, 3, 3 } },
    { "torus", "dims=2x8; latency=2 us", { 2, 2, 3 } },
    { "dragonfly",
      "groups=4; routers_per_group=2; nodes_per_router=2; latency=2 us; global_latency=2 "
      "us",
      { 1, 2, 3 } },
  };
  static const guint to[] = { 1, 2, 15 };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const Fixture fixture = { .n_nodes = 16,
                              .n_gpus = 1,
                              .n_nics = 1,
                              .network = cases[c].network,
                              .network_keys = cases[c].keys };
    g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(to); i++) {
      g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
      topology_route(topology, 0, to[i], 0, 0, links);
      const double latency_s =
        topology_latency_s(topology, &g_array_index(links, guint32, 0), links->len);
      CU_ASSERT_DOUBLE_EQUAL(latency_s, cases[c].hops[i] * 2e-6, rounding);
    }
  }
}

static void test_sizes_that_do_not_fit_the_cluster_are_refused(void)
{
  static const struct {
    const NetworkOps *ops;
    guint n_nodes, n_nics;
    const char *keys, *message;
  } cases[] = {
    { &network_torus, 20, 1, "dims=4 x 4", "dims 4 x 4 hold 16 nodes, the cluster has 20" },
    { &network_torus, 12, 1, "dims=4x4", "dims 4x4 hold 16 nodes, the cluster has 12" },
    { &network_torus, 4, 1, "dims=4x0",
      "dims '4x0' are not one to 6 lengths such as \"4 x 4 x 8\"" },
    { &network_torus, 4, 1, "dims=4x",
      "dims '4x' are not one to 6 lengths such as \"4 x 4 x 8\"" },
    { &network_torus, 4, 1, "dims=4 4",
      "dims '4 4' are not one to 6 lengths such as \"4 x 4 x 8\"" },
    { &network_torus, 1, 1, "dims=1x1x1x1x1x1x1",
      "dims '1x1x1x1x1x1x1' are not one to 6 lengths such as \"4 x 4 x 8\"" },
    { &network_torus, 4, 1, "dims=4194304x4194304x4194304",
      "dims 4194304x4194304x4194304 hold 17592186044416 nodes, the cluster has 4" },
    { &network_fat_tree, 17, 1, "radix=4",
      "radix 4 holds 16 nodes of 1 NICs, the cluster has 17" },
    { &network_fat_tree, 17, 4, "radix=36",
      "leaves of radix 36 have 18 ports for NICs, which nodes of 4 NICs do not fill" },
    { &network_fat_tree, 4, 1, "radix=5",
      "switches of 5 ports cannot have half of them up: \"radix\" must be even" },
    { &network_fat_tree, 4, 1, "nodes_per_leaf=2",
      "give either \"radix\", or \"nodes_per_leaf\" and \"leaves_per_pod\"" },
    { &network_fat_tree, 4, 1, "radix=4; spines=2",
      "\"radix\" says all sizes: give no nodes_per_leaf, leaves_per_pod, spines or cores "
      "beside it" },
    { &network_fat_tree, 4, 1, "nodes_per_leaf=2; leaves_per_pod=2; ecmp=hashed; spines=2",
      "hashed ecmp needs to know how many \"spines\" and \"cores\" there are" },
    { &network_fat_tree, 4000000, 1,
      "nodes_per_leaf=1; leaves_per_pod=2; ecmp=hashed; spines=1024; cores=1024",
      "a network of 4202496000000 links is too large: at most 67108864" },
    { &network_dragonfly, 30, 1, "groups=3; routers_per_group=4; nodes_per_router=2",
      "3 groups x 4 routers x 2 nodes hold 24 nodes, the cluster has 30" },
    { &network_dragonfly, 30, 1, "groups=65536; routers_per_group=4096; nodes_per_router=2",
      "a network of 1103538094080 links is too large: at most 67108864" },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const NetworkPorts ports = { .n_nodes = cases[c].n_nodes,
                                 .nics_per_node = cases[c].n_nics,
                                 .nic_Bps = NIC_BPS,
                                 .goodput = 1 };
    void *params = fixture_params(&cases[c].ops->info, cases[c].keys);
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(Link));
    g_autoptr(GError) checked = NULL, built = NULL;

    CU_ASSERT_FALSE(cases[c].ops->check(params, &ports, &checked));
    CU_ASSERT_TRUE_FATAL(g_error_matches(checked, SIM_ERROR, SIM_ERROR_VALUE));
    CU_ASSERT_STRING_EQUAL(checked->message, cases[c].message);
    CU_ASSERT_PTR_NULL(cases[c].ops->build(params, &ports, links, &built));
    CU_ASSERT_TRUE_FATAL(g_error_matches(built, SIM_ERROR, SIM_ERROR_VALUE));
    CU_ASSERT_STRING_EQUAL(built->message, cases[c].message);
    CU_ASSERT_EQUAL(links->len, 0);
    param_clear(cases[c].ops->info.params, params);
    g_free(params);
  }
}

/* ---- fat tree ---------------------------------------------------------------------- */

/* An r-port fat tree has r^3/4 NICs and a bisection of half of them; each level of
 * oversubscription divides it. Two pods face two pods. */
static void test_fat_tree_bisection_is_half_the_nics_over_the_oversubscription(void)
{
  static const struct {
    guint n_nodes, n_nics;
    const char *keys;
    double leaf, core; /* links counted, in NICs */
  } cases[] = {
    { 16, 1, "radix=4; ecmp=hashed", 8, 8 },
    { 64, 2, "radix=8; ecmp=hashed", 64, 64 },
    { 24, 2, "nodes_per_leaf=3; leaves_per_pod=2", 24, 24 },
    { 24, 2, "nodes_per_leaf=3; leaves_per_pod=2; oversubscription=4", 6, 6 },
    { 24, 2, "nodes_per_leaf=3; leaves_per_pod=2; pod_oversubscription=2", 24, 12 },
    { 24, 2,
      "nodes_per_leaf=3; leaves_per_pod=2; oversubscription=2; pod_oversubscription=2;"
      "ecmp=hashed; spines=3; cores=4",
      12, 6 },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    Net net = net_new(&network_fat_tree, cases[c].n_nodes, cases[c].n_nics, cases[c].keys);
    CU_ASSERT_DOUBLE_EQUAL(counted_cut_Bps(&net, TIER_LEAF_UPLINK, 16) / NIC_BPS,
                           cases[c].leaf, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(counted_cut_Bps(&net, TIER_CORE_UPLINK, 16) / NIC_BPS,
                           cases[c].core, 1e-9);
    net_clear(&net);
  }
}

static void test_radix_stands_for_the_sizes_it_implies(void)
{
  Net by_radix = net_new(&network_fat_tree, 50, 2, "radix=8; ecmp=hashed");
  Net by_size =
    net_new(&network_fat_tree, 50, 2,
            "nodes_per_leaf=2; leaves_per_pod=4; ecmp=hashed; spines=4; cores=4");

  CU_ASSERT_EQUAL_FATAL(by_radix.links->len, by_size.links->len);
  CU_ASSERT_EQUAL(by_radix.links->len, 2 * (25 * 4 + 7 * 16));
  for (guint i = 0; i < by_size.links->len; i++) {
    CU_ASSERT_EQUAL(link_at(&by_radix, i)->tier, link_at(&by_size, i)->tier);
    CU_ASSERT_DOUBLE_EQUAL(link_at(&by_radix, i)->capacity_Bps, NIC_BPS, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(link_at(&by_size, i)->capacity_Bps, NIC_BPS, 1e-3);
  }
  net_clear(&by_radix);
  net_clear(&by_size);
}

static void test_hashes_reach_every_spine_and_core_of_a_fat_tree(void)
{
  Net net = net_new(&network_fat_tree, 16, 1, "radix=4; ecmp=hashed");
  g_autoptr(GHashTable) paths =
    g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  for (guint hash = 0; hash < 8; hash++) {
    g_autoptr(GArray) path = net_path(&net, 0, 15, hash);
    CU_ASSERT_EQUAL_FATAL(path->len, 4);
    g_hash_table_add(paths, g_strdup_printf("%u %u %u %u", at(path, 0), at(path, 1),
                                            at(path, 2), at(path, 3)));
  }
  CU_ASSERT_EQUAL(g_hash_table_size(paths), 4);
  net_clear(&net);
}

/* ---- torus ------------------------------------------------------------------------- */

/* Largest flow from the first half of the nodes to the second over the links between
 * neighbours, one augmenting path after another (Edmonds and Karp). */
typedef struct {
  guint n;
  double *left_Bps; /* n x n: capacity that is left */
} Flow2D;

static bool augment(Flow2D *flow, guint source, guint sink, double *total_Bps)
{
  g_autofree guint *from = g_new(guint, flow->n);
  g_autofree guint *queue = g_new(guint, flow->n);
  guint head = 0, tail = 0;
  double least_Bps = INFINITY;

  for (guint v = 0; v < flow->n; v++)
    from[v] = G_MAXUINT;
  from[source] = source;
  queue[tail++] = source;
  while (head < tail && from[sink] == G_MAXUINT) {
    const guint v = queue[head++];
    for (guint w = 0; w < flow->n; w++)
      if (from[w] == G_MAXUINT && flow->left_Bps[v * flow->n + w] > 0) {
        from[w] = v;
        queue[tail++] = w;
      }
  }
  if (from[sink] == G_MAXUINT)
    return false;
  for (guint v = sink; v != source; v = from[v])
    least_Bps = MIN(least_Bps, flow->left_Bps[from[v] * flow->n + v]);
  for (guint v = sink; v != source; v = from[v]) {
    flow->left_Bps[from[v] * flow->n + v] -= least_Bps;
    flow->left_Bps[v * flow->n + from[v]] += least_Bps;
  }
  *total_Bps += least_Bps;
  return true;
}

/* Every link belongs to the one pair of neighbours whose path is that link. */
static double max_flow_Bps(const Net *net)
{
  const guint n = net->n_nodes, source = n, sink = n + 1;
  Flow2D flow = { .n = n + 2, .left_Bps = g_new0(double, (n + 2) * (n + 2)) };
  double total_Bps = 0;

  for (guint src = 0; src < n; src++) {
    flow.left_Bps[source * flow.n + src] = src < n / 2 ? 1e15 : 0;
    flow.left_Bps[src * flow.n + sink] = src < n / 2 ? 0 : 1e15;
    for (guint dst = 0; dst < n; dst++) {
      g_autoptr(GArray) path = net_path(net, src, dst, 0);
      if (path->len == 1)
        flow.left_Bps[src * flow.n + dst] = link_at(net, at(path, 0))->capacity_Bps;
    }
  }
  while (augment(&flow, source, sink, &total_Bps))
    continue;
  g_free(flow.left_Bps);
  return total_Bps;
}

/* Two links for every line of nodes along the last dimension; one if that is two long. */
static void test_torus_bisection_is_two_links_per_line(void)
{
  static const struct {
    guint n_nodes;
    const char *dims;
    double links;
  } cases[] = {
    { 8, "dims=8", 2 },        { 16, "dims=4x4", 8 },   { 24, "dims=3x8", 6 },
    { 36, "dims=3x3x4", 18 },  { 18, "dims=3x3x2", 9 }, { 2, "dims=2", 1 },
    { 16, "dims=2x2x2x2", 8 },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    Net net = net_new(&network_torus, cases[c].n_nodes, 1, cases[c].dims);
    CU_ASSERT_DOUBLE_EQUAL(max_flow_Bps(&net) / NIC_BPS, cases[c].links, 1e-9);
    net_clear(&net);
  }
}

/* What a pattern loads on the busiest link, in flows. */
static double busiest(const Net *net, guint shift)
{
  g_autoptr(FlowSet) set = flow_set_new();

  for (guint src = 0; src < net->n_nodes; src++) {
    g_autoptr(GArray) path = net_path(net, src, (src + shift) % net->n_nodes, 0);
    flow_set_add(set, 1, INFINITY, &g_array_index(path, guint32, 0), path->len);
  }
  return NIC_BPS *
         flow_set_bound_s_per_B(set, &g_array_index(net->links, Link, 0), net->links->len);
}

/* Halfway around a ring of k, n/2 flows cross each of the two halves' borders over
 * 2 n/k links: k/4 flows a link, as long as both ways are used alike. */
static void test_dimension_order_reaches_the_bisection_of_a_torus(void)
{
  Net ring = net_new(&network_torus, 8, 1, "dims=8");
  Net cube = net_new(&network_torus, 64, 1, "dims=4x4x4");

  CU_ASSERT_DOUBLE_EQUAL(busiest(&ring, 4), 2, rounding);
  CU_ASSERT_DOUBLE_EQUAL(busiest(&cube, 32), 1, rounding);
  net_clear(&ring);
  net_clear(&cube);
}

static guint ring_distance(guint a, guint b, guint length)
{
  const guint up = (b + length - a) % length;
  return MIN(up, length - up);
}

/* Consecutive links of a path touch: walking along them ends where it should. */
static void test_torus_paths_are_shortest_and_in_one_piece(void)
{
  Net net = net_new(&network_torus, 60, 1, "dims=5x4x3");
  g_autofree guint *start = g_new0(guint, net.links->len);
  g_autofree guint *end = g_new0(guint, net.links->len);

  for (guint i = 0; i < 60 * 60; i++) {
    g_autoptr(GArray) path = net_path(&net, i / 60, i % 60, 0);
    if (path->len == 1) {
      start[at(path, 0)] = i / 60;
      end[at(path, 0)] = i % 60;
    }
  }
  for (guint i = 0; i < 60 * 60; i++) {
    const guint src = i / 60, dst = i % 60;
    g_autoptr(GArray) path = net_path(&net, src, dst, 0);
    guint node = src;

    CU_ASSERT_EQUAL(path->len, ring_distance(src % 5, dst % 5, 5) +
                                 ring_distance(src / 5 % 4, dst / 5 % 4, 4) +
                                 ring_distance(src / 20, dst / 20, 3));
    for (guint k = 0; k < path->len; k++) {
      CU_ASSERT_EQUAL(start[at(path, k)], node);
      node = end[at(path, k)];
    }
    CU_ASSERT_EQUAL(node, dst);
  }
  net_clear(&net);
}

static void test_stated_rates_lose_what_the_transport_takes(void)
{
  static const struct {
    const char *network, *keys;
    guint tier;
    double rate_Bps;
  } cases[] = {
    { "torus", "dims=2x2", TIER_TORUS, 1e9 },
    { "torus", "dims=2x2; link_rate=3 GB/s", TIER_TORUS, 3e9 },
    { "dragonfly", "groups=2; routers_per_group=2; nodes_per_router=1", TIER_LOCAL_LINK,
      1e9 },
    { "dragonfly", "groups=2; routers_per_group=2; nodes_per_router=1; local_rate=3 GB/s",
      TIER_LOCAL_LINK, 3e9 },
    { "dragonfly", "groups=2; routers_per_group=2; nodes_per_router=1; global_rate=5 GB/s",
      TIER_GLOBAL_LINK, 5e9 },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const Fixture fixture = { .n_nodes = 4,
                              .n_gpus = 1,
                              .n_nics = 1,
                              .nic_Bps = 1e9,
                              .network = cases[c].network,
                              .network_keys = cases[c].keys,
                              .transport_keys = "mtu=4096 B" };
    g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
    guint n = 0;
    for (guint i = 0; i < topology_n_links(topology); i++) {
      const Link *link = &topology_links(topology)[i];
      if (link->tier != cases[c].tier)
        continue;
      CU_ASSERT_DOUBLE_EQUAL(link->capacity_Bps / cases[c].rate_Bps, 4096 / (4096 + 26.0),
                             rounding);
      n++;
    }
    CU_ASSERT(n > 0);
  }
}

/* ---- dragonfly --------------------------------------------------------------------- */

/* (g/2)^2 pairs of groups face each other, each over its cables. */
static void test_dragonfly_bisection_is_its_cables_between_the_halves(void)
{
  static const struct {
    guint n_nodes;
    const char *keys;
    double cables;
  } cases[] = {
    { 64, "groups=8; routers_per_group=4; nodes_per_router=2", 16 },
    { 24, "groups=4; routers_per_group=3; nodes_per_router=2; cables=5", 20 },
  };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    Net net = net_new(&network_dragonfly, cases[c].n_nodes, 1, cases[c].keys);
    CU_ASSERT_DOUBLE_EQUAL(counted_cut_Bps(&net, TIER_GLOBAL_LINK, 5) / NIC_BPS,
                           cases[c].cables, 1e-9);
    net_clear(&net);
  }
}

/* 9 groups of 4 routers need 8 cables a group: two a router, as the paper's example. */
static void test_cables_spread_evenly_over_the_routers_of_a_group(void)
{
  Net net =
    net_new(&network_dragonfly, 36, 1, "groups=9; routers_per_group=4; nodes_per_router=1");

  for (guint group = 0; group < 9; group++) {
    guint n_direct[4] = { 0 };
    for (guint router = 0; router < 4; router++)
      for (guint dst = 0; dst < 36; dst += 4) {
        g_autoptr(GArray) path = net_path(&net, 4 * group + router, dst, 0);
        n_direct[router] +=
          dst / 4 != group && link_at(&net, at(path, 0))->tier == TIER_GLOBAL_LINK;
      }
    for (guint router = 0; router < 4; router++)
      CU_ASSERT_EQUAL(n_direct[router], 2);
  }
  net_clear(&net);
}

static void test_both_ways_between_two_groups_use_the_same_routers(void)
{
  Net net = net_new(&network_dragonfly, 36, 1,
                    "groups=4; routers_per_group=9; nodes_per_router=1; cables=2");

  for (guint i = 0; i < 36 * 36 * 2; i++) {
    const guint src = i % 36, dst = i / 36 % 36, hash = i / 36 / 36;
    g_autoptr(GArray) there = net_path(&net, src, dst, hash);
    g_autoptr(GArray) back = net_path(&net, dst, src, hash);
    CU_ASSERT_EQUAL_FATAL(there->len, back->len);
    for (guint k = 0; k < there->len; k++)
      CU_ASSERT_EQUAL(link_at(&net, at(there, k))->tier,
                      link_at(&net, at(back, back->len - 1 - k))->tier);
  }
  net_clear(&net);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("network", NULL, NULL);
  CU_ADD_TEST(suite, test_every_path_is_short_and_free_of_loops);
  CU_ADD_TEST(suite, test_a_path_through_k_switches_costs_k_hops);
  CU_ADD_TEST(suite, test_sizes_that_do_not_fit_the_cluster_are_refused);
  CU_ADD_TEST(suite, test_fat_tree_bisection_is_half_the_nics_over_the_oversubscription);
  CU_ADD_TEST(suite, test_radix_stands_for_the_sizes_it_implies);
  CU_ADD_TEST(suite, test_hashes_reach_every_spine_and_core_of_a_fat_tree);
  CU_ADD_TEST(suite, test_torus_bisection_is_two_links_per_line);
  CU_ADD_TEST(suite, test_dimension_order_reaches_the_bisection_of_a_torus);
  CU_ADD_TEST(suite, test_torus_paths_are_shortest_and_in_one_piece);
  CU_ADD_TEST(suite, test_stated_rates_lose_what_the_transport_takes);
  CU_ADD_TEST(suite, test_dragonfly_bisection_is_its_cables_between_the_halves);
  CU_ADD_TEST(suite, test_cables_spread_evenly_over_the_routers_of_a_group);
  CU_ADD_TEST(suite, test_both_ways_between_two_groups_use_the_same_routers);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
