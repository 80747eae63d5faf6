/**
 * @file import_fuzz.h
 * @brief Any bytes as a file of another program: refused with a reason, or something sound.
 */
#pragma once

#include "sim/scenario/import.h"

#include <stdint.h>
#include <string.h>

/* More ports than this are not tried one against another. */
#define FUZZ_MAX_PORTS 20u

static inline void fuzz_routes(const NetworkGraph *graph)
{
  const guint n = MIN(network_graph_n_ports(graph), FUZZ_MAX_PORTS);
  g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));

  for (guint i = 0; i < n * n; i++) {
    if (!network_graph_reaches(graph, i / n, i % n))
      continue;
    g_array_set_size(path, 0);
    network_graph_route(graph, i / n, i % n, i, 0, path);
    if ((path->len == 0) != (i / n == i % n))
      __builtin_trap();
    for (guint k = 0; k < path->len; k++)
      if (g_array_index(path, guint32, k) >= network_graph_n_links(graph))
        __builtin_trap();
  }
}

static inline void fuzz_network(ImportNetwork read, const uint8_t *data, size_t size)
{
  g_autofree char *text = g_malloc(size + 1);
  g_autoptr(GError) error = NULL;

  if (size > 0)
    memcpy(text, data, size);
  text[size] = '\0';
  const ImportFile file = { "fuzz", text, size };
  g_autoptr(NetworkGraph) graph = read(&file, &error);
  if ((graph != NULL) != (error == NULL))
    __builtin_trap();
  if (graph != NULL)
    fuzz_routes(graph);
}

static inline void fuzz_node(ImportNode read, const uint8_t *data, size_t size)
{
  g_autofree char *text = g_malloc(size + 1);
  g_autoptr(GError) error = NULL;

  if (size > 0)
    memcpy(text, data, size);
  text[size] = '\0';
  const ImportFile file = { "fuzz", text, size };
  cJSON *node = read(&file, &error);
  if ((node != NULL) != (error == NULL))
    __builtin_trap();
  cJSON_Delete(node);
}
