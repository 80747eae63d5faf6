#include "models/fabric/pcie_tree.h"

#include "models/topology.h"
#include "models/topology/node_graph.h"

#include <string.h>

const char *const pcie_nic_path_names[] = { "pix", "phb", "sys", NULL };

/* A port: one link each way. */
typedef struct {
  guint32 up, down;
} Port;

struct PcieTree {
  PcieParams params;
  guint n_gpus, n_nics, n_switches;
  Port *gpus, *switches, *nics;
  guint32 *sockets; /* [from * params.sockets + to] */
  guint32 *memory;  /* of each socket, between GPUs and NICs; NULL if they do without */
  guint32 *shared;  /* of each socket, between GPUs; NULL if they have peer access */
};

static guint switch_of_gpu(const PcieTree *tree, guint gpu)
{
  return gpu / tree->params.gpus_per_switch;
}

static guint switch_of_nic(const PcieTree *tree, guint nic)
{
  return (guint)((guint64)nic * tree->n_switches / tree->n_nics);
}

static guint socket_of_switch(const PcieTree *tree, guint index)
{
  return (guint)((guint64)index * tree->params.sockets / tree->n_switches);
}

static guint socket_of_gpu(const PcieTree *tree, guint gpu)
{
  return socket_of_switch(tree, switch_of_gpu(tree, gpu));
}

static guint socket_of_nic(const PcieTree *tree, guint nic)
{
  const guint near = socket_of_switch(tree, switch_of_nic(tree, nic));
  const bool is_far = tree->params.nic_path == NIC_ON_NEXT_SOCKET;
  return (near + (is_far ? 1 : 0)) % tree->params.sockets;
}

static guint n_used_sockets(const PcieTree *tree)
{
  return socket_of_switch(tree, tree->n_switches - 1) + 1;
}

bool pcie_uses_with_p2p(const void *params G_GNUC_UNUSED, const char *key)
{
  return strcmp(key, "host_rate") != 0;
}

bool pcie_params_check(const PcieParams *params, GError **error)
{
  if (params->nic_path != NIC_ON_NEXT_SOCKET || params->sockets > 1)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "nic_path \"sys\" puts NICs on the next socket: give two sockets or more");
  return false;
}

static PathType path_type(const PcieTree *tree, guint gpu, guint nic)
{
  if (socket_of_gpu(tree, gpu) != socket_of_nic(tree, nic))
    return PATH_SYS;
  return tree->params.nic_path == NIC_ON_SWITCH &&
             switch_of_gpu(tree, gpu) == switch_of_nic(tree, nic)
           ? PATH_PIX
           : PATH_PHB;
}

static Port *draw_ports(NodeGraph *graph, guint n, double rate_Bps)
{
  Port *ports = g_new0(Port, n);

  for (guint i = 0; i < n; i++) {
    ports[i].up = node_graph_add_link(graph, TIER_PCIE, rate_Bps, 0);
    ports[i].down = node_graph_add_link(graph, TIER_PCIE, rate_Bps, 0);
  }
  return ports;
}

static void draw_sockets(PcieTree *tree, NodeGraph *graph)
{
  const guint n = tree->params.sockets;

  tree->sockets = g_new0(guint32, (gsize)n * n);
  /* Only sockets that carry something: an idle link would count as unused capacity. */
  if (n_used_sockets(tree) == 1 &&
      (tree->params.nic_path != NIC_ON_NEXT_SOCKET || tree->n_nics == 0))
    return;
  for (guint i = 0; i < n * n; i++)
    if (i / n != i % n)
      tree->sockets[i] =
        node_graph_add_link(graph, TIER_HOST, tree->params.socket_rate_Bps, 0);
}

static guint32 *draw_memory(const PcieTree *tree, NodeGraph *graph, double rate_Bps)
{
  guint32 *memory = g_new0(guint32, n_used_sockets(tree));

  for (guint socket = 0; socket < n_used_sockets(tree); socket++)
    memory[socket] = node_graph_add_link(graph, TIER_HOST, rate_Bps, 0);
  return memory;
}

/* NICs of one switch stand at its GPUs in turn. */
static void place_nics(const PcieTree *tree, NodeGraph *graph)
{
  guint first_nic = 0;

  for (guint nic = 0; nic < tree->n_nics; nic++) {
    const guint index = switch_of_nic(tree, nic);
    if (switch_of_nic(tree, first_nic) != index)
      first_nic = nic;
    const guint first_gpu = index * tree->params.gpus_per_switch;
    const guint n_here = MIN(tree->params.gpus_per_switch, tree->n_gpus - first_gpu);
    node_graph_set_nic_gpu(graph, nic, first_gpu + (nic - first_nic) % n_here);
  }
}

/* Of a GPU that uses its own port. */
static bool is_staged(const PcieTree *tree, const NodeGraph *graph, guint gpu, guint nic)
{
  const guint level = node_graph_gdr_level(graph);
  return node_graph_host_memory_Bps(graph) > 0 && level != PATH_ANY &&
         path_type(tree, gpu, nic) > level;
}

static bool stages_some(const PcieTree *tree, const NodeGraph *graph)
{
  for (guint i = 0; i < tree->n_gpus * tree->n_nics; i++)
    if (is_staged(tree, graph, i / tree->n_nics, i % tree->n_nics))
      return true;
  return false;
}

PcieTree *pcie_tree_new(const PcieParams *params, NodeGraph *graph, bool through_host)
{
  PcieTree *tree = g_new0(PcieTree, 1);
  const double rate_Bps = params->pcie_rate_Bps;

  tree->params = *params;
  tree->n_gpus = node_graph_n_gpus(graph);
  tree->n_nics = node_graph_n_nics(graph);
  tree->n_switches = (tree->n_gpus - 1) / params->gpus_per_switch + 1;
  const bool staged = stages_some(tree, graph);
  const bool off_switch = params->nic_path != NIC_ON_SWITCH && tree->n_nics > 0;

  tree->gpus = draw_ports(graph, tree->n_gpus, rate_Bps);
  tree->nics = draw_ports(graph, tree->n_nics, rate_Bps);
  if (tree->n_switches > 1 || through_host ||
      ((staged || off_switch) && params->gpus_per_switch > 1))
    tree->switches = draw_ports(graph, tree->n_switches, rate_Bps);
  draw_sockets(tree, graph);
  if (staged)
    tree->memory = draw_memory(tree, graph, node_graph_host_memory_Bps(graph));
  if (through_host)
    tree->shared = draw_memory(tree, graph, params->host_rate_Bps);
  place_nics(tree, graph);
  return tree;
}

void pcie_tree_free(PcieTree *tree)
{
  if (tree == NULL)
    return;
  g_free(tree->gpus);
  g_free(tree->switches);
  g_free(tree->nics);
  g_free(tree->sockets);
  g_free(tree->memory);
  g_free(tree->shared);
  g_free(tree);
}

static void cross_sockets(const PcieTree *tree, guint from, guint to, GArray *path)
{
  if (from != to)
    g_array_append_val(path, tree->sockets[from * tree->params.sockets + to]);
}

static void cross_switches(const PcieTree *tree, guint from, guint to, GArray *path)
{
  if (from == to)
    return;
  g_array_append_val(path, tree->switches[from].up);
  cross_sockets(tree, socket_of_switch(tree, from), socket_of_switch(tree, to), path);
  g_array_append_val(path, tree->switches[to].down);
}

bool pcie_tree_switches_have_nics(const PcieTree *tree)
{
  return tree->params.gpus_per_switch > 1 && tree->n_nics > tree->n_switches;
}

static void cross_memory(const PcieTree *tree, guint src_gpu, guint dst_gpu, GArray *path)
{
  const guint from = socket_of_gpu(tree, src_gpu);

  g_array_append_val(path, tree->switches[switch_of_gpu(tree, src_gpu)].up);
  g_array_append_val(path, tree->shared[from]);
  cross_sockets(tree, from, socket_of_gpu(tree, dst_gpu), path);
  g_array_append_val(path, tree->switches[switch_of_gpu(tree, dst_gpu)].down);
}

void pcie_tree_route(const PcieTree *tree, guint src_gpu, guint dst_gpu, GArray *path)
{
  g_array_append_val(path, tree->gpus[src_gpu].up);
  if (tree->shared != NULL)
    cross_memory(tree, src_gpu, dst_gpu, path);
  else
    cross_switches(tree, switch_of_gpu(tree, src_gpu), switch_of_gpu(tree, dst_gpu), path);
  g_array_append_val(path, tree->gpus[dst_gpu].down);
}

void pcie_tree_set_gpu_routes(const PcieTree *tree, NodeGraph *graph)
{
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint i = 0; i < tree->n_gpus * tree->n_gpus; i++) {
    const guint src = i / tree->n_gpus, dst = i % tree->n_gpus;
    if (src == dst)
      continue;
    g_array_set_size(path, 0);
    pcie_tree_route(tree, src, dst, path);
    node_graph_set_gpu_route(graph, src, dst, &g_array_index(path, guint32, 0), path->len);
  }
}

/* Is there a switch that GPUs and NICs share on their way to the host? A root port with one
 * GPU is none: the NIC has a root port of its own then. */
static bool shares_switch(const PcieTree *tree)
{
  return tree->switches != NULL && tree->params.gpus_per_switch > 1;
}

static bool nic_shares_switch(const PcieTree *tree)
{
  return shares_switch(tree) && tree->params.nic_path == NIC_ON_SWITCH;
}

static void set_host_way(const PcieTree *tree, NodeGraph *graph, HostWay way, guint index,
                         const Port *port, guint switch_index)
{
  const bool into_host = way == HOST_FROM_GPU || way == HOST_FROM_NIC;
  const bool is_shared = way == HOST_FROM_GPU || way == HOST_TO_GPU
                           ? shares_switch(tree)
                           : nic_shares_switch(tree);
  guint32 links[2];
  guint n = 0;

  if (!into_host && is_shared)
    links[n++] = tree->switches[switch_index].down;
  links[n++] = into_host ? port->up : port->down;
  if (into_host && is_shared)
    links[n++] = tree->switches[switch_index].up;
  node_graph_set_host_way(graph, way, index, links, n);
}

void pcie_tree_set_host_ways(const PcieTree *tree, NodeGraph *graph)
{
  for (guint gpu = 0; gpu < tree->n_gpus; gpu++)
    for (HostWay way = HOST_FROM_GPU; way <= HOST_TO_GPU; way++)
      set_host_way(tree, graph, way, gpu, &tree->gpus[gpu], switch_of_gpu(tree, gpu));
  for (guint nic = 0; nic < tree->n_nics; nic++)
    for (HostWay way = HOST_FROM_NIC; way <= HOST_TO_NIC; way++)
      set_host_way(tree, graph, way, nic, &tree->nics[nic], switch_of_nic(tree, nic));
}

/* The GPU whose PCIe port carries what @p gpu exchanges with @p nic. */
static guint relay_of(const PcieTree *tree, const NodeGraph *graph, guint gpu, guint nic)
{
  const guint near = node_graph_nic_gpu(graph, nic);

  /* Behind the same switch it uses its own port, as ncclTopoComputePaths() has it. */
  if (gpu == near || path_type(tree, gpu, nic) <= PATH_PXB)
    return gpu;
  const NodeRoute route = node_graph_gpu_route(graph, gpu, near);
  const bool nvlink =
    route.n_links > 0 && node_graph_links(graph)[route.links[0]].tier == TIER_NVLINK;
  return nvlink ? near : gpu;
}

static void append_route(GArray *path, NodeRoute route)
{
  if (route.n_links > 0)
    g_array_append_vals(path, route.links, route.n_links);
}

/* Up into the memory of the GPU's socket and down again, past the ports they share. */
static void append_staged_out(const PcieTree *tree, guint gpu, guint nic, GArray *path)
{
  const guint socket = socket_of_gpu(tree, gpu);

  g_array_append_val(path, tree->gpus[gpu].up);
  if (shares_switch(tree))
    g_array_append_val(path, tree->switches[switch_of_gpu(tree, gpu)].up);
  g_array_append_val(path, tree->memory[socket]);
  cross_sockets(tree, socket, socket_of_nic(tree, nic), path);
  if (nic_shares_switch(tree))
    g_array_append_val(path, tree->switches[switch_of_nic(tree, nic)].down);
  g_array_append_val(path, tree->nics[nic].down);
}

static void append_staged_in(const PcieTree *tree, guint nic, guint gpu, GArray *path)
{
  const guint socket = socket_of_gpu(tree, gpu);

  g_array_append_val(path, tree->nics[nic].up);
  if (nic_shares_switch(tree))
    g_array_append_val(path, tree->switches[switch_of_nic(tree, nic)].up);
  cross_sockets(tree, socket_of_nic(tree, nic), socket, path);
  g_array_append_val(path, tree->memory[socket]);
  if (shares_switch(tree))
    g_array_append_val(path, tree->switches[switch_of_gpu(tree, gpu)].down);
  g_array_append_val(path, tree->gpus[gpu].down);
}

/* From the port of a GPU to a root port of the NIC's socket, or back. */
static void cross_to_root(const PcieTree *tree, guint gpu, guint nic, bool out,
                          GArray *path)
{
  const Port *port = shares_switch(tree) ? &tree->switches[switch_of_gpu(tree, gpu)] : NULL;
  const guint near = socket_of_gpu(tree, gpu), far = socket_of_nic(tree, nic);

  if (out && port != NULL)
    g_array_append_val(path, port->up);
  cross_sockets(tree, out ? near : far, out ? far : near, path);
  if (!out && port != NULL)
    g_array_append_val(path, port->down);
}

static void append_out(const PcieTree *tree, const NodeGraph *graph, guint gpu, guint nic,
                       GArray *path)
{
  const guint relay = relay_of(tree, graph, gpu, nic);

  append_route(path, node_graph_gpu_route(graph, gpu, relay));
  g_array_append_val(path, tree->gpus[relay].up);
  if (tree->params.nic_path == NIC_ON_SWITCH)
    cross_switches(tree, switch_of_gpu(tree, relay), switch_of_nic(tree, nic), path);
  else
    cross_to_root(tree, relay, nic, true, path);
  g_array_append_val(path, tree->nics[nic].down);
}

static void append_in(const PcieTree *tree, const NodeGraph *graph, guint nic, guint gpu,
                      GArray *path)
{
  const guint relay = relay_of(tree, graph, gpu, nic);

  g_array_append_val(path, tree->nics[nic].up);
  if (tree->params.nic_path == NIC_ON_SWITCH)
    cross_switches(tree, switch_of_nic(tree, nic), switch_of_gpu(tree, relay), path);
  else
    cross_to_root(tree, relay, nic, false, path);
  g_array_append_val(path, tree->gpus[relay].down);
  append_route(path, node_graph_gpu_route(graph, relay, gpu));
}

void pcie_tree_set_nic_routes(const PcieTree *tree, NodeGraph *graph)
{
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint gpu = 0; gpu < tree->n_gpus; gpu++) {
    for (guint nic = 0; nic < tree->n_nics; nic++) {
      const guint relay = relay_of(tree, graph, gpu, nic);
      const bool staged = is_staged(tree, graph, relay, nic);

      node_graph_set_path_type(graph, gpu, nic, path_type(tree, relay, nic));
      g_array_set_size(path, 0);
      if (staged)
        append_staged_out(tree, gpu, nic, path);
      else
        append_out(tree, graph, gpu, nic, path);
      node_graph_set_nic_out(graph, gpu, nic, &g_array_index(path, guint32, 0), path->len);

      g_array_set_size(path, 0);
      if (staged)
        append_staged_in(tree, nic, gpu, path);
      else
        append_in(tree, graph, nic, gpu, path);
      node_graph_set_nic_in(graph, nic, gpu, &g_array_index(path, guint32, 0), path->len);
    }
  }
}
