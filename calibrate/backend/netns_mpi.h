/**
 * @file netns_mpi.h
 * @brief Open MPI's all-reduce among the namespaces.
 */
#pragma once

#include "calibrate/backend/netns_cluster.h"

typedef struct NetnsMpi NetnsMpi;

/** Who did the work, for its samples; the version follows: "openmpi 4.1.4". */
#define NETNS_MPI_LIBRARY "openmpi"

/** Is what it takes on this machine? False with SIM_ERROR_DEVICE (Open MPI) or
 *  SIM_ERROR_PLUGIN (our program for it). */
bool netns_mpi_check(const NetnsParams *params, GError **error);

/** @param cluster  borrowed. Transfer: caller frees. */
NetnsMpi *netns_mpi_new(const NetnsCluster *cluster, const NetnsParams *params,
                        GError **error);
void netns_mpi_free(NetnsMpi *mpi);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetnsMpi, netns_mpi_free)

/** Its algorithms, with messages that are sent at once and with those that ask first. */
void netns_mpi_cells(const NetnsMpi *mpi, const NetnsParams *params, double smallest_B,
                     GPtrArray *cells);
bool netns_mpi_measure(const NetnsMpi *mpi, const Sample *cell, double *time_s, guint n,
                       GError **error);
