/**
 * @file platform.h
 * @brief The cluster as SimGrid XML, for smpirun and other programs on SimGrid.
 *
 * Hosts gpu0, gpu1, ...; every link of the topology under the name of its tier and its
 * number; one route per pair of GPUs. What a message costs besides its bytes is a link of
 * its own on every route between nodes (name "net") or inside one ("local"): FATPIPE, so
 * nobody waits for another there; its bandwidth is what one connection may have.
 */
#pragma once

#include "models/topology.h"

/** More GPUs than this have too many pairs for a file. */
#define PLATFORM_MAX_GPUS 512

/**
 * @param alpha_local_s  fixed cost of a message inside a node [s]
 * @param alpha_net_s    fixed cost of a message between nodes [s]
 * @return false with SIM_ERROR_VALUE for more than PLATFORM_MAX_GPUS GPUs
 */
bool platform_render(const Topology *topology, double alpha_local_s, double alpha_net_s,
                     GString *out, GError **error);
