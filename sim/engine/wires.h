/**
 * @file wires.h
 * @brief The wires between GPUs that messages travel on, one by one and in order.
 *
 * A wire is the route from one GPU to another over one rail, as one channel has it. Wires
 * share the links they cross; nothing is folded.
 */
#pragma once

#include "models/topology.h"

typedef struct {
  bool is_net;      /**< between nodes */
  double latency_s; /**< of the links along it [s] */
} Wire;

typedef struct Wires Wires;

/** No wires yet. @p topology is borrowed. Transfer: caller frees with wires_free(). */
Wires *wires_new(const Topology *topology);
void wires_free(Wires *wires);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Wires, wires_free)

/** The wire from GPU @p src to GPU @p dst over NICs number @p rail, as channel @p channel;
 *  laid if there is none yet. They count up from 0. */
guint wires_lay(Wires *wires, guint src, guint dst, guint rail, guint channel);

guint wires_n(const Wires *wires);
const Wire *wires_at(const Wires *wires, guint wire);

/** Flow i is wire i, with one byte per byte. Borrowed; grows with wires_lay(). */
const FlowSet *wires_flows(const Wires *wires);
