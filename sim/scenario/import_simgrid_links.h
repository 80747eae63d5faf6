/**
 * @file import_simgrid_links.h
 * @brief Links of a SimGrid platform, and its clusters. A part of import_simgrid.c.
 */
#pragma once

#include "sim/scenario/xml.h"

typedef enum { SHARED, SPLITDUPLEX, FATPIPE } Policy;

/* A link of the file: one of the graph's each way, the same unless SPLITDUPLEX. */
typedef struct {
  Policy policy;
  guint up, down;
} Wire;

typedef struct {
  const ImportFile *file;
  NetworkGraph *graph;
  bool forwards;        /* hosts and routers pass traffic on */
  GHashTable *vertices; /* name -> vertex + 1 */
  GHashTable *wires;    /* name -> Wire, owned */
  GHashTable *edges;    /* "src dst" of all so far */
} Platform;

/** Are all attributes of @p element in @p known (NULL-terminated)? This and the others
 *  return false with SIM_ERROR_SYNTAX. */
bool platform_check_attributes(const Platform *self, const XmlElement *element,
                               const char *const *known, GError **error);

bool platform_read_rate(const Platform *self, const XmlElement *element, const char *key,
                        double *rate_Bps, GError **error);

/** 0 if it is not given. */
bool platform_read_latency(const Platform *self, const XmlElement *element, const char *key,
                           double *latency_s, GError **error);

bool platform_read_policy(const Platform *self, const XmlElement *element, const char *key,
                          Policy fallback, Policy *policy, GError **error);

Wire platform_add_wire(Platform *self, double rate_Bps, double latency_s, Policy policy);

/** Add the hosts and links of a flat <cluster>. */
bool platform_add_cluster(Platform *self, const XmlElement *element, GError **error);
