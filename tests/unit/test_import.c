/**
 * @file test_import.c
 * @brief Topologies of SimAI, NCCL and SimGrid: what they come to, and what is refused.
 */
#include "models/network/graph.h"
#include "models/topology.h"
#include "sim/scenario/import.h"
#include "sim/scenario/scenario.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>

/* Sums and quotients of a few doubles. */
static const double rounding = 1e-12;

static char *read_text(const char *name)
{
  g_autofree char *path = g_build_filename("tests/import", name, NULL);
  char *text = NULL;

  if (!g_file_get_contents(path, &text, NULL, NULL))
    g_error("%s cannot be read", path);
  return text;
}

static NetworkGraph *read_network(ImportNetwork reader, const char *name)
{
  g_autofree char *text = read_text(name);
  const ImportFile file = { name, text, strlen(text) };
  g_autoptr(GError) error = NULL;
  NetworkGraph *graph = reader(&file, &error);

  if (graph == NULL)
    g_error("%s", error->message);
  return graph;
}

/* The node of a file as JSON without blanks. */
static char *read_node(ImportNode reader, const char *name)
{
  g_autofree char *text = read_text(name);
  const ImportFile file = { name, text, strlen(text) };
  g_autoptr(GError) error = NULL;
  cJSON *node = reader(&file, &error);

  if (node == NULL)
    g_error("%s", error->message);
  char *json = cJSON_PrintUnformatted(node);
  cJSON_Delete(node);
  return json;
}

/* The links from port to port: their number, their latencies, the narrowest rate. */
typedef struct {
  guint n_links;
  double latency_s, rate_Bps;
} Way;

static Way way(const NetworkGraph *graph, guint src, guint dst, guint64 hash)
{
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));
  Way found = { .rate_Bps = INFINITY };

  network_graph_route(graph, src, dst, hash, 0, path);
  found.n_links = path->len;
  for (guint i = 0; i < path->len; i++) {
    const GraphLink *link = network_graph_link(graph, g_array_index(path, guint32, i));
    found.latency_s += link->latency_s;
    found.rate_Bps = MIN(found.rate_Bps, link->rate_Bps);
  }
  return found;
}

/* ---- SimAI ------------------------------------------------------------------------- */

static void test_simai_text_becomes_switches_and_one_nic_per_gpu(void)
{
  g_autoptr(NetworkGraph) graph = read_network(import_simai_network, "simai.txt");

  CU_ASSERT_EQUAL(network_graph_n_ports(graph), 8);
  CU_ASSERT_EQUAL(network_graph_n_links(graph), 2 * 10);
  CU_ASSERT_DOUBLE_EQUAL(network_graph_port_rate_Bps(graph, 3), 50e9, rounding);
  const Way near = way(graph, 0, 2, 0), far = way(graph, 0, 5, 0);
  CU_ASSERT_EQUAL(near.n_links, 2);
  CU_ASSERT_DOUBLE_EQUAL(near.latency_s, 1e-6, rounding);
  CU_ASSERT_EQUAL(far.n_links, 4);
  CU_ASSERT_DOUBLE_EQUAL(far.latency_s, 2e-6, rounding);
  CU_ASSERT_DOUBLE_EQUAL(far.rate_Bps, 50e9, rounding);
}

static void test_simai_text_tells_what_a_node_is(void)
{
  g_autofree char *node = read_node(import_simai_node, "simai.txt");
  g_autofree char *plain = read_node(import_simai_node, "simai_two_planes.txt");

  CU_ASSERT_STRING_EQUAL(
    node, "{\"source\":\"simai.txt\",\"gpus\":4,\"nics\":4,\"nic_rate\":\"50 GB/s\","
          "\"fabric\":{\"kind\":\"nvswitch\",\"port_rate\":\"360 GB/s\","
          "\"port_latency\":\"50 ns\"}}");
  CU_ASSERT_STRING_EQUAL(plain, "{\"source\":\"simai_two_planes.txt\",\"gpus\":1,"
                                "\"nics\":1,\"nic_rate\":\"50 GB/s\"}");
}

/* Two leaves over each GPU, two cables from a leaf to its spine. */
static void test_equally_short_paths_are_chosen_by_hash(void)
{
  g_autoptr(NetworkGraph) graph =
    read_network(import_simai_network, "simai_two_planes.txt");
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  CU_ASSERT_DOUBLE_EQUAL(network_graph_port_rate_Bps(graph, 0), 50e9, rounding);
  for (guint64 hash = 0; hash < 8; hash++) {
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));
    network_graph_route(graph, 0, 3, hash, 100, path);
    CU_ASSERT_EQUAL_FATAL(path->len, 3);
    CU_ASSERT_TRUE(g_array_index(path, guint32, 0) >= 100);
    g_hash_table_add(seen, g_strdup_printf("%u %u %u", g_array_index(path, guint32, 0),
                                           g_array_index(path, guint32, 1),
                                           g_array_index(path, guint32, 2)));
  }
  CU_ASSERT_EQUAL(g_hash_table_size(seen), 4);
}

static Topology *draw(NetworkGraph *graph, guint n_nodes, guint n_nics, double nic_Bps,
                      GError **error)
{
  const Fixture fixture = { .n_nodes = n_nodes,
                            .n_gpus = n_nics,
                            .n_nics = n_nics,
                            .nic_Bps = nic_Bps,
                            .network = "graph",
                            .network_keys = "format=simai; file=x" };
  ClusterSpec cluster = fixture_cluster(&fixture);

  ((GraphParams *)cluster.network_params)->graph = network_graph_ref(graph);
  Topology *topology = topology_new(&cluster, error);
  cluster_clear(&cluster);
  return topology;
}

static void test_a_topology_keeps_the_graph_of_its_cluster(void)
{
  g_autoptr(NetworkGraph) graph = read_network(import_simai_network, "simai.txt");
  g_autoptr(Topology) topology = draw(graph, 2, 4, 50e9, NULL);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  guint n_fabric = 0;

  g_clear_pointer(&graph, network_graph_unref);
  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  topology_route(topology, 0, 4, 0, 0, links);
  for (guint i = 0; i < links->len; i++) {
    const Link *link = &topology_links(topology)[g_array_index(links, guint32, i)];
    n_fabric += link->tier == TIER_FABRIC;
    if (link->tier == TIER_FABRIC || link->tier == TIER_NIC)
      CU_ASSERT_DOUBLE_EQUAL(link->capacity_Bps / 50e9, 4096 / (4096 + 26.0), rounding);
  }
  CU_ASSERT_EQUAL(n_fabric, 2);
  CU_ASSERT_DOUBLE_EQUAL(
    topology_latency_s(topology, &g_array_index(links, guint32, 0), links->len), 1e-6,
    rounding);
}

static void test_clusters_that_the_file_does_not_describe_are_refused(void)
{
  g_autoptr(NetworkGraph) simai = read_network(import_simai_network, "simai.txt");
  g_autoptr(NetworkGraph) full = read_network(import_simgrid_network, "simgrid_full.xml");
  g_autoptr(NetworkGraph) apart = network_graph_new();
  const struct {
    NetworkGraph *graph;
    guint n_nodes, n_nics;
    double nic_Bps;
    const char *message;
  } cases[] = {
    { simai, 4, 4, 50e9, "the file has ports for 8 NICs; 4 nodes of 4 NICs have 16" },
    { simai, 2, 4, 25e9,
      "NIC 0 of node 0 has 50 GB/s in the file, but 25 GB/s in the cluster" },
    { full, 3, 1, 200e9,
      "a link that gives every flow 100 GB/s is slower than the NICs: it cannot be "
      "represented" },
    { apart, 2, 1, 50e9, "no path leads from NIC 0 of node 0 to NIC 0 of node 1" },
  };

  for (guint i = 0; i < 2; i++)
    network_graph_add_port(apart, network_graph_add_vertex(apart, false), 0);
  CU_ASSERT_TRUE(network_graph_seal(apart, NULL));
  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(
      draw(cases[c].graph, cases[c].n_nodes, cases[c].n_nics, cases[c].nic_Bps, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_STRING_EQUAL(error->message, cases[c].message);
  }
}

/* ---- NCCL -------------------------------------------------------------------------- */

static void test_nccl_topology_with_nvswitches_becomes_a_node(void)
{
  g_autofree char *node = read_node(import_nccl_node, "nccl_nvswitch.xml");

  CU_ASSERT_STRING_EQUAL(
    node, "{\"source\":\"nccl_nvswitch.xml; rates of NVLink and PCIe: NCCL 2.30, "
          "src/graph/topo.h\",\"gpus\":4,\"nics\":2,\"nic_rate\":\"50 GB/s\","
          "\"fabric\":{\"kind\":\"nvswitch\",\"port_rate\":\"370800 MB/s\","
          "\"pcie_rate\":\"48 GB/s\",\"gpus_per_switch\":2,\"sockets\":2}}");
}

static void test_nccl_topology_with_bridges_becomes_a_mesh(void)
{
  g_autofree char *node = read_node(import_nccl_node, "nccl_mesh.xml");

  CU_ASSERT_STRING_EQUAL(
    node, "{\"source\":\"nccl_mesh.xml; rates of NVLink and PCIe: NCCL 2.30, "
          "src/graph/topo.h\",\"gpus\":3,\"nics\":0,"
          "\"fabric\":{\"kind\":\"nvlink_mesh\",\"link_rate\":\"20 GB/s\","
          "\"links\":[{\"gpus\":\"0-1\",\"count\":4},{\"gpus\":\"0-2\",\"count\":2}],"
          "\"gpus_per_switch\":1,\"sockets\":1}}");
}

/* ---- SimGrid ----------------------------------------------------------------------- */

static void test_simgrid_cluster_is_a_star_with_a_backbone(void)
{
  g_autoptr(NetworkGraph) graph =
    read_network(import_simgrid_network, "simgrid_cluster.xml");
  const Way found = way(graph, 0, 5, 0);

  CU_ASSERT_EQUAL(network_graph_n_ports(graph), 6);
  CU_ASSERT_EQUAL(network_graph_n_links(graph), 1 + 6 * 3);
  CU_ASSERT_EQUAL(found.n_links, 5);
  CU_ASSERT_DOUBLE_EQUAL(found.latency_s, 5e-6, rounding);
  CU_ASSERT_EQUAL(found.rate_Bps, 25e9);
  CU_ASSERT_EQUAL(network_graph_port_rate_Bps(graph, 0), 25e9);
}

static void test_simgrid_routes_share_links_as_their_policies_say(void)
{
  g_autoptr(NetworkGraph) graph = read_network(import_simgrid_network, "simgrid_full.xml");
  static const struct {
    guint src, dst;
    const char *links; /* one: 0 up, 1 down; two: 2; delay: 3 */
  } cases[] = { { 0, 1, "0 3 " }, { 1, 0, "3 1 " }, { 0, 2, "0 2 " },
                { 2, 0, "2 1 " }, { 1, 2, "2 " },   { 2, 1, "2 3 " } };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GString) text = g_string_new(NULL);
    network_graph_route(graph, cases[c].src, cases[c].dst, 7, 0, path);
    for (guint i = 0; i < path->len; i++)
      g_string_append_printf(text, "%u ", g_array_index(path, guint32, i));
    CU_ASSERT_STRING_EQUAL(text->str, cases[c].links);
  }
  CU_ASSERT_FALSE(network_graph_link(graph, 3)->is_shared);
  CU_ASSERT_TRUE(network_graph_link(graph, 2)->is_shared);
}

static void test_simgrid_floyd_goes_over_the_fewest_links(void)
{
  g_autoptr(NetworkGraph) graph = read_network(import_simgrid_network, "simgrid_floyd.xml");
  static const struct {
    guint src, dst, n_links;
    double latency_s;
  } cases[] = { { 0, 1, 2, 3e-6 },
                { 0, 2, 3, 21e-6 },
                { 1, 2, 3, 22e-6 },
                { 3, 0, 4, 29e-6 },
                { 3, 2, 1, 8e-6 } };

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    const Way found = way(graph, cases[c].src, cases[c].dst, 0);
    CU_ASSERT_EQUAL(found.n_links, cases[c].n_links);
    CU_ASSERT_DOUBLE_EQUAL(found.latency_s, cases[c].latency_s, rounding);
  }
}

/* ---- scenarios --------------------------------------------------------------------- */

static void test_a_scenario_of_files_is_shown_as_one_that_loads_to_the_same(void)
{
  static const char *const texts[] = {
    "{\"cluster\": {\"nodes\": 2, \"node\": {\"format\": \"simai\", \"file\": "
    "\"simai.txt\", \"gpu\": \"h100_sxm5_80gb\", \"fabric\": {\"pcie_rate\": \"50 "
    "GB/s\"}}, \"network\": {\"topology\": \"graph\", \"format\": \"simai\", "
    "\"file\": \"simai.txt\"}}, \"workload\": {\"model\": \"resnet50\", "
    "\"batch_per_gpu\": 1}}",
    "{\"cluster\": {\"nodes\": 3, \"node\": {\"format\": \"nccl\", \"file\": "
    "\"nccl_nvswitch.xml\", \"gpu\": \"h100_sxm5_80gb\", \"nics\": 2, \"nic_rate\": "
    "\"25 GB/s\"}, \"network\": {\"topology\": \"graph\", \"format\": "
    "\"simgrid\", \"file\": \"simgrid_cluster.xml\"}}, \"workload\": {\"model\": "
    "\"resnet50\", \"batch_per_gpu\": 1}}",
  };

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Scenario) first =
      scenario_parse("tests/import/x.json", texts[i], strlen(texts[i]), NULL, &error);
    if (first == NULL)
      g_error("%s", error->message);
    g_autofree char *shown = scenario_show(first);
    g_autoptr(Scenario) second =
      scenario_parse("tests/import/x.json", shown, strlen(shown), NULL, &error);
    if (second == NULL)
      g_error("%s", error->message);
    const ClusterSpec *a = &scenario_setup(first)->cluster,
                      *b = &scenario_setup(second)->cluster;
    g_autoptr(Topology) drawn = topology_new(a, NULL);
    g_autoptr(Topology) again = topology_new(b, NULL);
    CU_ASSERT_EQUAL(a->node.n_gpus, 4);
    CU_ASSERT_EQUAL_FATAL(topology_n_links(drawn), topology_n_links(again));
    for (guint k = 0; k < topology_n_links(drawn); k++)
      CU_ASSERT_EQUAL(topology_links(drawn)[k].capacity_Bps,
                      topology_links(again)[k].capacity_Bps);
  }
}

/* ---- what is refused --------------------------------------------------------------- */

typedef struct {
  const char *name, *find, *replace, *message;
} Bad;

static char *replace_first(const char *text, const char *find, const char *replace)
{
  const char *found = strstr(text, find);

  if (found == NULL)
    g_error("no '%s'", find);
  g_autofree char *before = g_strndup(text, (gsize)(found - text));
  return g_strconcat(before, replace, found + strlen(find), NULL);
}

static void refuse(const Bad *bad, ImportNetwork network, ImportNode node)
{
  g_autofree char *good = read_text(bad->name);
  g_autofree char *text = replace_first(good, bad->find, bad->replace);
  const ImportFile file = { "x", text, strlen(text) };
  g_autoptr(GError) error = NULL;

  if (network != NULL)
    CU_ASSERT_PTR_NULL(network(&file, &error))
  else
    CU_ASSERT_PTR_NULL(node(&file, &error))
  CU_ASSERT_TRUE_FATAL(g_error_matches(error, SIM_ERROR, SIM_ERROR_SYNTAX));
  CU_ASSERT_STRING_EQUAL(error->message, bad->message);
  if (strcmp(error->message, bad->message) != 0)
    fprintf(stderr, "%s\n%s\n", error->message, bad->message);
}

static void test_simai_text_that_leaves_something_open_is_refused(void)
{
  static const Bad networks[] = {
    { "simai.txt", "13 4", "14 4", "x:1: 9 GPUs do not fill servers of 4" },
    { "simai.txt", "13 4", "13 0", "x:1: 8 GPUs do not fill servers of 0" },
    { "simai.txt", "13 4 2 3", "5 4 2 3", "x:1: 5 nodes leave no GPU beside 5 switches" },
    { "simai.txt", "13 4 2 3", "13 4 x 3", "x:1: \"x\" is not a number" },
    { "simai.txt", " H100", "",
      "x:1: expected \"nodes gpus_per_server nvswitches switches links GPU_TYPE\"" },
    { "simai.txt", "13 4", "2000000000 4",
      "x:1: the file is too short for 2000000000 nodes and 18 links" },
    { "simai.txt", "8 9 10 11 12", "8 9 10 11",
      "x:2: 4 switches are listed, line 1 says 5" },
    { "simai.txt", "8 9 10 11 12", "8 9 10 11 13",
      "x:2: switch 13 does not exist: switches are 8 to 12, GPUs below" },
    { "simai.txt", "8 9 10 11 12", "8 9 10 11 11", "x:2: switch 11 twice" },
    { "simai.txt", "10 12 1600Gbps", "10 13 1600Gbps",
      "x:19: 13 does not exist: the file has 0 to 12" },
    { "simai.txt", "10 12 1600Gbps", "10 10 1600Gbps", "x:19: 10 is linked to itself" },
    { "simai.txt", "10 12 1600Gbps 0.0005ms", "10 12 1600 0.0005ms",
      "x:19: 1600 has no unit: write \"1600 Gbit/s\" or \"1600 GB/s\"" },
    { "simai.txt", "10 12 1600Gbps 0.0005ms", "10 12 1600Gbps 0.0005",
      "x:19: 0.0005 has no unit: write \"0.0005 us\" or \"0.0005 ms\"" },
    { "simai.txt", "10 12 1600Gbps", "10 12 0Gbps", "x:19: 0Gbps is no rate of a link" },
    { "simai.txt", "10 12 1600Gbps 0.0005ms", "10 12 1600Gbps -1ms",
      "x:19: -1ms is no latency of a link" },
    { "simai.txt", "10 12 1600Gbps 0.0005ms 0", "10 12 1600Gbps 0.0005ms 0.1",
      "x:19: an error rate of 0.1 cannot be represented; only 0 can" },
    { "simai.txt", "10 12 1600Gbps 0.0005ms 0", "10 12 1600Gbps 0.0005ms",
      "x:19: expected \"src dst rate latency error_rate\"" },
    { "simai.txt", "10 12 1600Gbps 0.0005ms 0\n", "",
      "x: line 1 says 18 links; the file has 17" },
    { "simai.txt", "3 18 H100", "3 17 H100",
      "x:20: line 1 says 17 links; here is one more" },
    { "simai.txt", "0 10 400Gbps", "0 1 400Gbps",
      "x:11: GPUs linked to one another cannot be represented" },
    { "simai.txt", "10 12 1600Gbps", "9 12 1600Gbps",
      "x:19: an NVSwitch linked to a switch cannot be represented" },
    { "simai.txt", "7 9 2880Gbps", "7 8 2880Gbps",
      "x:10: NVSwitch 8 of server 0 is linked to server 1 too: cannot be represented" },
    { "simai.txt", "0 10 400Gbps", "11 10 400Gbps", "x: GPU 0 has no link to a switch" },
  };
  static const Bad nodes[] = {
    { "simai.txt", "2 10 400Gbps", "2 10 200Gbps",
      "x: GPU 2 has links to switches of 25 GB/s, GPU 0 has 50 GB/s: cannot be "
      "represented" },
    { "simai.txt", "6 9 2880Gbps", "6 9 1440Gbps",
      "x: GPU 6 has NVLinks of 180 GB/s, GPU 0 has 360 GB/s: cannot be represented" },
    { "simai.txt", "7 9 2880Gbps 0.000025ms", "7 9 2880Gbps 0.000026ms",
      "x:10: NVLinks of different latencies cannot be represented" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(networks); i++)
    refuse(&networks[i], import_simai_network, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(nodes); i++)
    refuse(&nodes[i], NULL, import_simai_node);
}

static void test_nccl_topologies_that_cannot_be_represented_are_refused(void)
{
  static const Bad nodes[] = {
    { "nccl_nvswitch.xml", "<system version=\"1\">", "<system version=\"2\">",
      "x:1: version 2 of the format is not known, only 1 is" },
    { "nccl_nvswitch.xml", "</system>", "",
      "x:42: Document ended unexpectedly with "
      "elements still open \xe2\x80\x94 \xe2\x80\x9csystem\xe2\x80\x9d was the last "
      "element "
      "opened" },
    { "nccl_nvswitch.xml", "</system>", "</system><system/>",
      "x:41: a second root element <system>" },
    { "nccl_nvswitch.xml", "<nic>", "<nic>?", "x:12: text between the tags" },
    { "nccl_nvswitch.xml", "dev=\"0\" sm", "sm", "x:5: <gpu> has no \"dev\"" },
    { "nccl_nvswitch.xml", "dev=\"0\" sm=\"90\"", "dev=\"0\" sm=\"9.0\"",
      "x:5: sm=\"9.0\" of <gpu> is not a whole number of at most 999" },
    { "nccl_nvswitch.xml", "dev=\"0\" sm", "dev=\"0\" dev=\"1\" sm",
      "x:5: attribute \"dev\" twice" },
    { "nccl_nvswitch.xml", "dev=\"1\" sm", "dev=\"0\" sm",
      "x:16: the GPUs are not numbered 0 to 3, each once, by \"dev\"" },
    { "nccl_nvswitch.xml", "dev=\"1\" sm=\"90\"", "dev=\"1\" sm=\"80\"",
      "x:16: GPU 1 is sm 80, GPU 0 is sm 90: cannot be represented" },
    { "nccl_nvswitch.xml", "count=\"5\"", "count=\"4\"",
      "x:16: GPU 1 has 18 NVLinks to NVSwitches, GPU 0 has 17: cannot be represented" },
    { "nccl_nvswitch.xml", "tclass=\"0x068000\"", "tclass=\"0x068001\"",
      "x:6: an NVLink to a device of class 0x068001 cannot be represented" },
    { "nccl_nvswitch.xml", "host_hash=\"0x1\"", "host_hash=\"0x2\"",
      "x:22: a second host: only one node can be read" },
    { "nccl_nvswitch.xml", "speed=\"400000\"", "speed=\"0\"", "x:12: a <net> of speed 0" },
    { "nccl_nvswitch.xml", "speed=\"400000\"", "speed=\"100000\"",
      "x: NICs of 100000 and of 400000 Mbit/s cannot be represented: take out the <net>s "
      "that training does not use" },
    { "nccl_nvswitch.xml", "class=\"0x030200\" link_speed=\"32.0",
      "class=\"0x030200\" link_speed=\"16.0",
      "x:15: GPU 1 has another PCIe slot than GPU 0: cannot be represented" },
    { "nccl_nvswitch.xml", "<nic>", "<xgmi/><nic>", "x:11: <xgmi> is not known here" },
    { "nccl_mesh.xml", "target=\"0000:81:00.0\"", "target=\"0000:82:00.0\"",
      "x:12: NVLink target 0000:82:00.0 does not exist: no GPU has that busid" },
    { "nccl_mesh.xml", "target=\"0000:81:00.0\"", "target=\"0000:01:00.0\"",
      "x:12: a GPU is linked to itself" },
    { "nccl_mesh.xml", "target=\"0000:81:00.0\" count=\"4\"",
      "target=\"0000:81:00.0\" count=\"3\"",
      "x:11: 3 NVLinks from GPU 0 to GPU 1, but 4 back" },
    { "nccl_mesh.xml", "target=\"0000:81:00.0\" count=\"4\"/>",
      "target=\"0000:81:00.0\" count=\"4\"/><c2c/>",
      "x:12: NVLink-C2C to the CPU cannot be represented" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(nodes); i++)
    refuse(&nodes[i], NULL, import_nccl_node);
}

static void test_simgrid_platforms_that_cannot_be_represented_are_refused(void)
{
  static const Bad networks[] = {
    { "simgrid_full.xml", "version=\"4.1\"", "version=\"3\"",
      "x:3: version 3 of the format is not known, only 4 and 4.1 are" },
    { "simgrid_full.xml", "routing=\"Full\"", "routing=\"Vivaldi\"",
      "x:4: routing=\"Vivaldi\" cannot be represented; Full, Floyd and Dijkstra can" },
    { "simgrid_full.xml", "bandwidth=\"5GBps\"", "bandwidth=\"5\"",
      "x:9: bandwidth: 5 has no unit: write \"5 Gbit/s\" or \"5 GB/s\"" },
    { "simgrid_full.xml", "latency=\"2us\"", "latency=\"2\"",
      "x:9: latency: 2 has no unit: write \"2 us\" or \"2 ms\"" },
    { "simgrid_full.xml", "latency=\"2us\"", "latency=\"2us\" bandwidth_file=\"f\"",
      "x:9: \"bandwidth_file\" of <link> cannot be represented" },
    { "simgrid_full.xml", "\"FATPIPE\"", "\"WIFI\"",
      "x:10: sharing_policy=\"WIFI\" cannot be represented; SHARED, SPLITDUPLEX and "
      "FATPIPE "
      "can" },
    { "simgrid_full.xml", "dst=\"b\"", "dst=\"e\"",
      "x:11: dst=\"e\" does not exist: no host or router has that id" },
    { "simgrid_full.xml", "link_ctn id=\"delay\"", "link_ctn id=\"display\"",
      "x:13: link \"display\" does not exist" },
    { "simgrid_full.xml", "<link_ctn id=\"delay\"",
      "<link_ctn id=\"delay\" direction=\"UP\"",
      "x:13: link \"delay\" has no direction: only SPLITDUPLEX has" },
    { "simgrid_full.xml", " direction=\"UP\"", "",
      "x:12: link \"one\" is SPLITDUPLEX: it needs direction UP or DOWN" },
    { "simgrid_full.xml", "dst=\"c\">", "dst=\"b\">",
      "x:15: a second route from \"a\" to \"b\", or back" },
    { "simgrid_full.xml", "<link_ctn id=\"two\"/></route>", "</route>",
      "x:19: a route without links" },
    { "simgrid_full.xml", "<host id=\"c\"", "<host id=\"b\"", "x:7: a second \"b\"" },
    { "simgrid_full.xml", "</zone>", "<cluster/></zone>",
      "x:4: a zone inside a zone of hosts and links cannot be represented" },
    { "simgrid_full.xml", "</zone>", "</zone><zone/>",
      "x:21: a second zone or cluster: only one can be represented" },
    { "simgrid_full.xml", "<link id=\"two\"", "<peer id=\"two\"/><link id=\"two\"",
      "x:9: <peer> in a zone cannot be represented" },
    { "simgrid_cluster.xml", "speed=", "topology=\"TORUS\" speed=",
      "x:6: topology=\"TORUS\" is not read: say \"topology\": \"fat_tree\", \"torus\" or "
      "\"dragonfly\" in the scenario" },
    { "simgrid_cluster.xml", "0-2,5-7", "0-2,7-5",
      "x:6: radical=\"0-2,7-5\" is no list of ranges such as \"0-3,7\"" },
    { "simgrid_cluster.xml", "0-2,5-7", "0-200000,0-200000",
      "x:6: more than 262144 hosts in a cluster" },
    { "simgrid_cluster.xml", "bw=\"25GBps\"", "", "x:6: <cluster> has no \"bw\"" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(networks); i++)
    refuse(&networks[i], import_simgrid_network, NULL);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("import", NULL, NULL);
  CU_ADD_TEST(suite, test_simai_text_becomes_switches_and_one_nic_per_gpu);
  CU_ADD_TEST(suite, test_simai_text_tells_what_a_node_is);
  CU_ADD_TEST(suite, test_equally_short_paths_are_chosen_by_hash);
  CU_ADD_TEST(suite, test_a_topology_keeps_the_graph_of_its_cluster);
  CU_ADD_TEST(suite, test_clusters_that_the_file_does_not_describe_are_refused);
  CU_ADD_TEST(suite, test_nccl_topology_with_nvswitches_becomes_a_node);
  CU_ADD_TEST(suite, test_nccl_topology_with_bridges_becomes_a_mesh);
  CU_ADD_TEST(suite, test_simgrid_cluster_is_a_star_with_a_backbone);
  CU_ADD_TEST(suite, test_simgrid_routes_share_links_as_their_policies_say);
  CU_ADD_TEST(suite, test_simgrid_floyd_goes_over_the_fewest_links);
  CU_ADD_TEST(suite, test_a_scenario_of_files_is_shown_as_one_that_loads_to_the_same);
  CU_ADD_TEST(suite, test_simai_text_that_leaves_something_open_is_refused);
  CU_ADD_TEST(suite, test_nccl_topologies_that_cannot_be_represented_are_refused);
  CU_ADD_TEST(suite, test_simgrid_platforms_that_cannot_be_represented_are_refused);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
