/**
 * @file transfer.h
 * @brief From cluster sizes that somebody measured to sizes that nobody did.
 *
 * The model knows how a collective grows with the nodes; a measurement knows what messages
 * cost that the model does not (a rendezvous of the transport, a NIC far from its GPU).
 * Messages of one size cost alike whatever the number of nodes, so model and measurement
 * are compared where algorithm, protocol and message are the same: measured = a + b x model
 * over the measured shapes, held near the model where they tell little, and read at the
 * model's time of the shape that is wanted.
 */
#pragma once

#include "models/calibration.h"

/** One size on one measured shape. */
typedef struct {
  const CollOps *collective; /**< what the model runs there */
  const char *protocol;
  guint n_nodes;
  double part_B; /**< see transfer_part_B() */
  double model_s, measured_s;
} TransferPoint;

/** What one message of the algorithm is made of: algorithms that cut the buffer into a part
 *  for each rank send those, others all of it, chunk by chunk [B]. */
double transfer_part_B(const CollOps *collective, double size_B, guint n_ranks);

/** May times on @p curve tell of a collective of @p n_nodes nodes with @p ranks_per_node
 *  each? One node has no messages between nodes, and other nodes have other NICs. */
bool transfer_tells(const CalibrationCurve *curve, CollKind kind, guint n_nodes,
                    guint ranks_per_node);

/** The cluster on which @p curve was measured: the same nodes, fewer or more, all well.
 *  Shallow: borrows what @p cluster owns. */
ClusterSpec transfer_cluster(const ClusterSpec *cluster, const CalibrationCurve *curve);

/**
 * What @p wanted will take [s]; 0 if nothing like it was measured.
 * @param points  of TransferPoint; those of a shape together, by size
 * @param wanted  all but measured_s
 */
double transfer_time_s(const GArray *points, const TransferPoint *wanted);
