/**
 * @file import_simai_text.h
 * @brief Topology text of SimAI and ns-3, read. A part of import_simai.c.
 *
 *     28 8 2 10 48 H100                 nodes, GPUs a server, NVSwitches, switches, links
 *     16 17 18 19 ...                   numbers of the NVSwitches, then of the switches
 *     0 16 2880Gbps 0.000025ms 0        a link of two ways: ends, rate, latency, error rate
 *
 * Vertices 0 to G-1 are the GPUs, server by server. The links of the GPUs to switches make
 * their NICs, one a GPU; those to NVSwitches are inside a node.
 *
 * Source: SimAI, astra-sim-alibabacloud/inputs/topo/gen_Topo_Template.py.
 */
#pragma once

#include "sim/scenario/import.h"

typedef enum { KIND_GPU, KIND_NVSWITCH, KIND_SWITCH } Kind;

typedef struct {
  guint ends[2];
  double rate_Bps, latency_s;
  guint line;
} Cable;

typedef struct {
  const ImportFile *file;
  guint n_vertices, n_gpus, gpus_per_node, n_nvswitches, n_switches, n_links;
  guint8 *kinds;  /* Kind, per vertex */
  GArray *cables; /* of Cable */
} Simai;

/** Read @p file into @p self, which is all 0, and see to it that NVSwitches serve one
 * server each. False with SIM_ERROR_SYNTAX. */
bool simai_parse(Simai *self, const ImportFile *file, GError **error);
void simai_clear(Simai *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Simai, simai_clear)

const Cable *simai_cable_at(const Simai *self, guint index);

/** The vertex of @p kind at one end of @p cable, or G_MAXUINT. */
guint simai_end_of(const Simai *self, const Cable *cable, Kind kind);

/** Does it lead to an NVSwitch? */
bool simai_is_nvlink(const Simai *self, const Cable *cable);
