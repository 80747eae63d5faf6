/**
 * @file import.h
 * @brief Files of other programs that describe a network or a node.
 *
 * Strict: what a file leaves open, or says but cannot be represented, is refused with file,
 * line and reason. Each reader gets the whole text and the name to blame.
 */
#pragma once

#include "models/network/graph.h"

#include <cjson/cJSON.h>

/** A file in memory. */
typedef struct {
  const char *name; /**< what messages call it */
  const char *text; /**< NUL-terminated, valid for as long as it is read */
  gsize length;
} ImportFile;

/** "NAME:LINE: cause", or "NAME: cause" for line 0, as SIM_ERROR_SYNTAX. Returns false. */
bool import_blame(GError **error, const ImportFile *file, guint line, const char *format,
                  ...) G_GNUC_PRINTF(4, 5);

/** The network of a file. Transfer: caller unrefs. */
typedef NetworkGraph *(*ImportNetwork)(const ImportFile *file, GError **error);

/** The node of a file, as an object like an entry of the catalogue: what the file does not
 *  say is missing. Transfer: caller frees with cJSON_Delete(). */
typedef cJSON *(*ImportNode)(const ImportFile *file, GError **error);

/** Topology text of SimAI and ns-3: switches and links, GPU by GPU; NVSwitches too. */
NetworkGraph *import_simai_network(const ImportFile *file, GError **error);
cJSON *import_simai_node(const ImportFile *file, GError **error);

/** What NCCL writes to NCCL_TOPO_DUMP_FILE. */
cJSON *import_nccl_node(const ImportFile *file, GError **error);

/** A platform of SimGrid: one cluster, or one zone of hosts with the routes between them.
 *  Every host is a NIC. */
NetworkGraph *import_simgrid_network(const ImportFile *file, GError **error);
