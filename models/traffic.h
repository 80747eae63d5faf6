/**
 * @file traffic.h
 * @brief Another job on the same network: what it exchanges, over and over.
 *
 * Machines in a ring send one another 2 (m - 1) / m of their message, as an all-reduce
 * does, over all NICs, from the memory of one host to that of the next.
 */
#pragma once

#include "models/collective.h"

/** Machines beside the nodes that jobs bring along. */
guint traffic_n_own_machines(const ClusterSpec *cluster);

/** @return false with SIM_ERROR_VALUE if a job, @p which, uses nodes that are not there, or
 *          has nobody to speak to */
bool traffic_check(const ClusterSpec *cluster, guint *which, GError **error);

/**
 * The exchange of job @p index on @p topology, whose last traffic_n_own_machines() machines
 * are the jobs' own. Transfer: the caller owns the phase's set.
 */
CollPhase traffic_phase(const Topology *topology, const ClusterSpec *cluster, guint index);
