/**
 * @file graph.h
 * @brief A network as switches and cables that somebody else has laid, and paths through
 * it.
 *
 * A graph is filled once, sealed, and from then on only read. It is shared by counted
 * references.
 */
#pragma once

#include "models/network.h"

/** Which file a graph is read from; index into graph_format_names. */
typedef enum { GRAPH_SIMAI, GRAPH_SIMGRID } GraphFormat;

/** "simai", "simgrid"; NULL-terminated. */
extern const char *const graph_format_names[];

/** More vertices that pass traffic on are refused: their table alone takes 128 MiB. */
#define GRAPH_MAX_FORWARDING 8192u

typedef struct NetworkGraph NetworkGraph;

/** What network "graph" is built from. */
typedef struct {
  char *file;
  guint format;        /**< GraphFormat */
  NetworkGraph *graph; /**< owned; what the file says, put here by who reads files */
} GraphParams;

/** Transfer: caller unrefs with network_graph_unref(). */
NetworkGraph *network_graph_new(void);
NetworkGraph *network_graph_ref(NetworkGraph *graph);
void network_graph_unref(NetworkGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetworkGraph, network_graph_unref)

/** Add a vertex and return its number. @param forwards  it passes on what is for others */
guint network_graph_add_vertex(NetworkGraph *graph, bool forwards);

/**
 * Add a link and return its number.
 * @param rate_Bps   nominal, > 0 [B/s]
 * @param latency_s  one way, >= 0 [s]
 * @param is_shared  flows share the rate; else each of them has it for itself
 */
guint network_graph_add_link(NetworkGraph *graph, double rate_Bps, double latency_s,
                             bool is_shared);

/** Whoever goes from vertex @p src to vertex @p dst crosses @p links (copied, at least
 * one). The same link may serve both directions, and several edges. */
void network_graph_add_edge(NetworkGraph *graph, guint src, guint dst, const guint *links,
                            guint n_links);

/** The next NIC, node after node, is at @p vertex, of which no other is.
 *  @param rate_Bps  what its NIC must have; 0 if the graph does not say [B/s] */
void network_graph_add_port(NetworkGraph *graph, guint vertex, double rate_Bps);

guint network_graph_n_ports(const NetworkGraph *graph);
guint network_graph_n_links(const NetworkGraph *graph);

/** Find the shortest paths, in links. False with SIM_ERROR_VALUE if there are too many
 *  vertices. Nothing may be added afterwards. */
bool network_graph_seal(NetworkGraph *graph, GError **error);

/** One link, as it was added. */
typedef struct {
  double rate_Bps, latency_s;
  bool is_shared;
} GraphLink;

const GraphLink *network_graph_link(const NetworkGraph *graph, guint link);

/** What the NIC at a port must have; 0 if the graph does not say [B/s]. */
double network_graph_port_rate_Bps(const NetworkGraph *graph, guint port);

/** Is there a path from port @p src to port @p dst? */
bool network_graph_reaches(const NetworkGraph *graph, guint src, guint dst);

/** Do two ports hang on the same vertices, so that both reach the same ports, and are
 *  reached by the same? */
bool network_graph_alike(const NetworkGraph *graph, guint a, guint b);

/**
 * Append the links of a shortest path from port @p src to port @p dst, plus @p first, to
 * @p path (guint32). Where paths are equally short, @p hash chooses at every vertex.
 */
void network_graph_route(const NetworkGraph *graph, guint src, guint dst, guint64 hash,
                         guint32 first, GArray *path);
