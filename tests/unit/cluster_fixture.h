/**
 * @file cluster_fixture.h
 * @brief A cluster in one line, for tests: parts by name, keys as "key=value; key=value".
 *
 * An element of a list is "links={gpus=0-1, count=2}", repeated for the next.
 */
#pragma once

#include "models/fabric.h"
#include "models/network.h"
#include "models/topology.h"
#include "models/transport.h"

#include <string.h>

static inline void fixture_set(const ParamSpec *specs, void *params,
                               const char *assignment);

/* Add the element "{key=value, key=value}" to a list. */
static inline void fixture_add_element(const ParamSpec *spec, void *params,
                                       const char *text)
{
  GArray *list = *(GArray **)((char *)params + spec->offset);
  g_autofree char *inside = g_strndup(text + 1, strlen(text) - 2);
  g_auto(GStrv) assignments = g_strsplit(inside, ",", -1);

  g_array_set_size(list, list->len + 1);
  char *element = list->data + (list->len - 1) * spec->item_size;
  param_set_defaults(spec->item, element);
  for (guint i = 0; assignments[i] != NULL; i++)
    fixture_set(spec->item, element, assignments[i]);
}

static inline void fixture_set(const ParamSpec *specs, void *params, const char *assignment)
{
  g_auto(GStrv) sides = g_strsplit(assignment, "=", 2);
  g_autoptr(GError) error = NULL;
  const ParamSpec *spec = param_find(specs, g_strstrip(sides[0]));

  if (spec == NULL)
    g_error("no key '%s'", sides[0]);
  if (spec->type == PARAM_LIST)
    fixture_add_element(spec, params, g_strstrip(sides[1]));
  else if (!param_set(spec, params, g_strstrip(sides[1]), &error))
    g_error("%s: %s", sides[0], error->message);
}

/* Transfer: freed by cluster_clear() or param_clear() and g_free(). */
static inline void *fixture_params(const ModuleInfo *info, const char *keys)
{
  void *params = g_malloc0(info->params_size);
  g_auto(GStrv) assignments = g_strsplit(keys, ";", -1);

  param_set_defaults(info->params, params);
  for (guint i = 0; assignments[i] != NULL; i++)
    if (*g_strstrip(assignments[i]) != '\0')
      fixture_set(info->params, params, assignments[i]);
  return params;
}

typedef struct {
  guint n_nodes, n_gpus, n_nics;
  double nic_Bps;
  const char *fabric, *fabric_keys;
  const char *network, *network_keys;
  const char *transport, *transport_keys;
} Fixture;

/* Parts left NULL: 1 GB/s NICs and PCIe, a switch, RDMA. Clear with cluster_clear(). */
static inline ClusterSpec fixture_cluster(const Fixture *fixture)
{
  const char *fabric = fixture->fabric == NULL ? "pcie" : fixture->fabric;
  const char *network = fixture->network == NULL ? "switch" : fixture->network;
  const char *transport = fixture->transport == NULL ? "rdma" : fixture->transport;
  const char *fabric_keys =
    fixture->fabric_keys == NULL ? "pcie_rate=1 GB/s" : fixture->fabric_keys;
  const char *network_keys = fixture->network_keys == NULL ? "" : fixture->network_keys;
  const char *transport_keys =
    fixture->transport_keys == NULL ? "" : fixture->transport_keys;
  ClusterSpec cluster = {
    .n_nodes = fixture->n_nodes,
    .node.n_gpus = fixture->n_gpus,
    .node.n_nics = fixture->n_nics,
    .node.nic_rate_Bps = fixture->nic_Bps > 0 ? fixture->nic_Bps : 1e9,
    .node.fabric = (const FabricOps *)registry_find("fabric", fabric_table, fabric, NULL),
    .network = (const NetworkOps *)registry_find("network", network_table, network, NULL),
    .transport =
      (const TransportOps *)registry_find("transport", transport_table, transport, NULL),
  };

  cluster.node.fabric_params = fixture_params(&cluster.node.fabric->info, fabric_keys);
  cluster.network_params = fixture_params(&cluster.network->info, network_keys);
  cluster.transport_params = fixture_params(&cluster.transport->info, transport_keys);
  return cluster;
}

/* Transfer: caller frees with topology_free(). */
static inline Topology *fixture_topology(const Fixture *fixture, GError **error)
{
  ClusterSpec cluster = fixture_cluster(fixture);
  Topology *topology = topology_new(&cluster, error);

  cluster_clear(&cluster);
  return topology;
}
