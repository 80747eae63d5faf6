/**
 * @file group_ports.h
 * @brief What a group has to communicate with: NICs, and ports inside its nodes.
 *
 * With all GPUs of a node a group uses all of its NICs. Else each GPU uses its part of
 * those that are nearest to it, as NCCL gives them out: nearest NICs / GPUs that they are
 * nearest to, rounded up, in turn. A message takes the same NIC at both ends.
 *
 * Source: NCCL 2.30.7 src/graph/search.cc, ncclTopoGetLocalNet().
 */
#pragma once

#include "models/group.h"

typedef struct {
  guint n_rails;  /**< NICs of a node that share a message, >= 1 */
  guint *nics;    /**< of each rail; NULL: 0, 1, 2, ...; owned */
  double gpu_Bps; /**< what the best connected rank can send to others of its node; INFINITY
                       if ranks are alone on their nodes [B/s] */
  bool nvlink;    /**< that way begins with NVLink */
} GroupPorts;

/** Clear with group_ports_clear(). */
GroupPorts group_ports_of(const Group *group, const Topology *topology);
void group_ports_clear(GroupPorts *ports);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GroupPorts, group_ports_clear)
