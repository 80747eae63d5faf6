/**
 * @file nvlink_mesh.c
 * @brief GPUs with NVLinks straight to some others: cube meshes, bridges, GH200 quads.
 *
 * A pair of GPUs talks over the links between them; a pair without any goes through a GPU
 * that has links to both, else over PCIe. Rings follow the orders that the node file
 * gives, each in both directions, since every link carries both.
 */
#include "models/fabric/pcie_tree.h"
#include "models/topology.h"

/* One element of "links". */
typedef struct {
  char *gpus;
  guint count;
} MeshLink;

/* One element of "rings". */
typedef struct {
  char *order;
} MeshRing;

typedef struct {
  double link_rate_Bps;
  GArray *links; /* of MeshLink */
  GArray *rings; /* of MeshRing */
  PcieParams pcie;
} MeshParams;

// clang-format off
static const ParamSpec link_params[] = {
  { .key = "gpus", .type = PARAM_TEXT, .offset = offsetof(MeshLink, gpus),
    .help = "the two GPUs, such as \"0-1\"" },
  { .key = "count", .type = PARAM_COUNT, .offset = offsetof(MeshLink, count), .fallback = "1",
    .min = 1, .max = 64, .help = "NVLinks between them" },
  PARAM_END,
};

static const ParamSpec ring_params[] = {
  { .key = "order", .type = PARAM_TEXT, .offset = offsetof(MeshRing, order),
    .help = "every GPU once, such as \"0 1 2 3\"" },
  PARAM_END,
};

static const ParamSpec mesh_params[] = {
  { .key = "link_rate", .type = PARAM_RATE, .offset = offsetof(MeshParams, link_rate_Bps),
    .min = 1e6, .max = 1e15, .help = "what one NVLink carries in each direction" },
  { .key = "links", .type = PARAM_LIST, .offset = offsetof(MeshParams, links), .fallback = "",
    .item = link_params, .item_size = sizeof(MeshLink),
    .help = "which GPUs are linked, and how often", .origin = "no NVLink" },
  { .key = "rings", .type = PARAM_LIST, .offset = offsetof(MeshParams, rings), .fallback = "",
    .item = ring_params, .item_size = sizeof(MeshRing),
    .help = "orders that rings visit the GPUs in, each used in both directions",
    .origin = "one ring over NVLinks if there is any" },
  PCIE_PARAMS(MeshParams, pcie),
  PARAM_END,
};
// clang-format on

/* What is known while a node is drawn. */
typedef struct {
  const MeshParams *params;
  NodeGraph *graph;
  guint n;
  guint *counts;   /* NVLinks [src * n + dst] */
  guint32 *number; /* their link in the graph */
} Mesh;

static bool fail(GError **error, const char *key, guint index, const char *cause)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s[%u]: %s", key, index, cause);
  return false;
}

/* An empty text is kept as NULL. */
static const char *text_or_empty(const char *text)
{
  return text == NULL ? "" : text;
}

/* The whole numbers of @p text between @p separators; false if there is anything else or
 * one is not a GPU of the node. */
static bool parse_gpus(const char *text, const char *separators, guint n_gpus, GArray *out)
{
  g_auto(GStrv) words = g_strsplit_set(text, separators, -1);

  for (guint i = 0; words[i] != NULL; i++) {
    guint64 gpu;
    if (*words[i] == '\0')
      continue;
    if (!g_ascii_string_to_unsigned(words[i], 10, 0, n_gpus - 1, &gpu, NULL))
      return false;
    const guint number = (guint)gpu;
    g_array_append_val(out, number);
  }
  return true;
}

/* Would it be a link in a larger node? */
static bool names_others(const Mesh *mesh, const char *text)
{
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(guint));
  g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(guint));

  return parse_gpus(text, "-", G_MAXUINT, all) && all->len == 2 &&
         !parse_gpus(text, "-", mesh->n, own);
}

static bool read_link(Mesh *mesh, guint index, GError **error)
{
  const MeshLink *link = &g_array_index(mesh->params->links, MeshLink, index);
  const char *text = text_or_empty(link->gpus);
  g_autoptr(GArray) gpus = g_array_new(FALSE, FALSE, sizeof(guint));
  g_autofree char *cause = NULL;

  if (names_others(mesh, text)) {
    cause = g_strdup_printf("'%s' names a GPU that is not there: the node has %u, 0 to %u; "
                            "give \"fabric\" the links and rings of these, or as many GPUs "
                            "as it is drawn for",
                            text, mesh->n, mesh->n - 1);
    return fail(error, "links", index, cause);
  }
  if (!parse_gpus(text, "-", mesh->n, gpus) || gpus->len != 2) {
    cause = g_strdup_printf("'%s' does not name two GPUs of 0 to %u, such as \"0-1\"", text,
                            mesh->n - 1);
    return fail(error, "links", index, cause);
  }
  const guint a = g_array_index(gpus, guint, 0), b = g_array_index(gpus, guint, 1);
  if (a == b) {
    cause = g_strdup_printf("'%s' links a GPU to itself", text);
    return fail(error, "links", index, cause);
  }
  if (mesh->counts[a * mesh->n + b] > 0) {
    cause = g_strdup_printf("GPUs %u and %u are linked twice; give a higher count", a, b);
    return fail(error, "links", index, cause);
  }
  mesh->counts[a * mesh->n + b] = mesh->counts[b * mesh->n + a] = link->count;
  return true;
}

static void draw_links(Mesh *mesh)
{
  for (guint i = 0; i < mesh->n * mesh->n; i++)
    if (mesh->counts[i] > 0)
      mesh->number[i] = node_graph_add_link(
        mesh->graph, TIER_NVLINK, mesh->counts[i] * mesh->params->link_rate_Bps, 0);
}

/* The GPU with the most links to both; the first after @p src of several, so that not all
 * pairs choose the same. @p src if there is none. */
static guint stopover(const Mesh *mesh, guint src, guint dst)
{
  guint best = src, best_count = 0;

  for (guint i = 1; i < mesh->n; i++) {
    const guint via = (src + i) % mesh->n;
    const guint count =
      MIN(mesh->counts[src * mesh->n + via], mesh->counts[via * mesh->n + dst]);
    if (count > best_count) {
      best = via;
      best_count = count;
    }
  }
  return best;
}

static void find_route(const Mesh *mesh, const PcieTree *tree, guint src, guint dst,
                       GArray *path)
{
  if (mesh->counts[src * mesh->n + dst] > 0) {
    g_array_append_val(path, mesh->number[src * mesh->n + dst]);
    return;
  }
  const guint via = stopover(mesh, src, dst);
  if (via == src) {
    pcie_tree_route(tree, src, dst, path);
    return;
  }
  g_array_append_val(path, mesh->number[src * mesh->n + via]);
  g_array_append_val(path, mesh->number[via * mesh->n + dst]);
}

static void set_gpu_routes(const Mesh *mesh, const PcieTree *tree)
{
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint src = 0; src < mesh->n; src++) {
    for (guint dst = 0; dst < mesh->n; dst++) {
      if (src == dst)
        continue;
      g_array_set_size(path, 0);
      find_route(mesh, tree, src, dst, path);
      node_graph_set_gpu_route(mesh->graph, src, dst, &g_array_index(path, guint32, 0),
                               path->len);
    }
  }
}

/* Draw the node: NVLinks, or where GPUs may not use them host memory, and PCIe. */
static void draw_node(Mesh *mesh)
{
  const bool through_host = !node_graph_has_p2p(mesh->graph) && mesh->n > 1;

  if (!through_host)
    draw_links(mesh);
  g_autoptr(PcieTree) tree = pcie_tree_new(&mesh->params->pcie, mesh->graph, through_host);
  if (through_host)
    pcie_tree_set_gpu_routes(tree, mesh->graph);
  else
    set_gpu_routes(mesh, tree);
  pcie_tree_set_nic_routes(tree, mesh->graph);
  pcie_tree_set_host_ways(tree, mesh->graph);
}

static void add_both_ways(const Mesh *mesh, const guint *order)
{
  g_autofree guint *reverse = g_new(guint, mesh->n);

  for (guint i = 0; i < mesh->n; i++)
    reverse[i] = order[mesh->n - 1 - i];
  node_graph_add_ring_order(mesh->graph, order);
  if (mesh->n > 2) /* a ring of two is its own reverse */
    node_graph_add_ring_order(mesh->graph, reverse);
}

static bool read_ring(const Mesh *mesh, guint index, GError **error)
{
  const char *text =
    text_or_empty(g_array_index(mesh->params->rings, MeshRing, index).order);
  g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint));
  g_autofree bool *seen = g_new0(bool, mesh->n);
  bool ok = parse_gpus(text, " ", mesh->n, order) && order->len == mesh->n;

  for (guint i = 0; ok && i < mesh->n; i++) {
    const guint gpu = g_array_index(order, guint, i);
    ok = !seen[gpu];
    seen[gpu] = true;
  }
  if (!ok) {
    g_autofree char *cause = g_strdup_printf(
      "'%s' does not name each of the GPUs 0 to %u once", text, mesh->n - 1);
    return fail(error, "rings", index, cause);
  }
  add_both_ways(mesh, &g_array_index(order, guint, 0));
  return true;
}

/* Extend a path of @p length GPUs to one that visits all and closes. Backtracking over at
 * most @p *budget tries: meshes are small, but nobody should wait for a large one. */
static bool close_ring(const Mesh *mesh, guint *order, bool *used, guint length,
                       guint *budget)
{
  const guint last = order[length - 1];

  if (length == mesh->n)
    return mesh->counts[(gsize)last * mesh->n] > 0;
  for (guint gpu = 1; *budget > 0 && gpu < mesh->n; gpu++) {
    if (used[gpu] || mesh->counts[last * mesh->n + gpu] == 0)
      continue;
    *budget -= 1;
    used[gpu] = true;
    order[length] = gpu;
    if (close_ring(mesh, order, used, length + 1, budget))
      return true;
    used[gpu] = false;
  }
  return false;
}

static void find_ring(const Mesh *mesh)
{
  g_autofree guint *order = g_new0(guint, mesh->n);
  g_autofree bool *used = g_new0(bool, mesh->n);
  guint budget = 100000; /* tries: milliseconds, and far more than meshes in use need */

  if (!close_ring(mesh, order, used, 1, &budget))
    for (guint i = 0; i < mesh->n; i++)
      order[i] = i;
  add_both_ways(mesh, order);
}

static bool mesh_build(const void *data, const NodeSpec *node G_GNUC_UNUSED,
                       NodeGraph *graph, GError **error)
{
  const MeshParams *params = data;
  const guint n = node_graph_n_gpus(graph);
  g_autofree guint *counts = g_new0(guint, (gsize)n * n);
  g_autofree guint32 *number = g_new0(guint32, (gsize)n * n);
  Mesh mesh = { params, graph, n, counts, number };
  if (!pcie_params_check(&params->pcie, error))
    return false;
  const guint n_links = params->links == NULL ? 0 : params->links->len;
  const guint n_rings = params->rings == NULL ? 0 : params->rings->len;

  for (guint i = 0; i < n_links; i++)
    if (!read_link(&mesh, i, error))
      return false;
  for (guint i = 0; i < n_rings; i++)
    if (!read_ring(&mesh, i, error))
      return false;
  if (n_rings == 0)
    find_ring(&mesh);

  draw_node(&mesh);
  return true;
}

const FabricOps fabric_nvlink_mesh = {
  .info = {
    .name = "nvlink_mesh",
    .summary = "NVLinks straight between GPUs: hybrid cube mesh, bridges, quads",
    .source = "NVIDIA DGX-1 With Tesla V100 System Architecture, WP-08437-002",
    .params = mesh_params,
    .params_size = sizeof(MeshParams),
  },
  .uses = pcie_uses_with_p2p,
  .build = mesh_build,
};
