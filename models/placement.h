/**
 * @file placement.h
 * @brief Which server holds which piece of which tensor.
 */
#pragma once

#include "models/workload.h"

/** A piece of a gradient and the server that sums it. */
typedef struct {
  guint32 gradient; /**< index into the workload's gradients */
  guint32 server;
  double size_B;
} Piece;

/** How a server is found for a piece. */
typedef enum {
  PLACEMENT_IDEAL, /**< the server that is least loaded for its part */
  PLACEMENT_NAIVE, /**< BytePS: ((key >> 16) + key % 65536) * 9973 */
  PLACEMENT_DJB2,  /**< BytePS, its default: djb2 of the decimal key */
} Placement;

extern const char *const placement_names[];

/** Servers of which some may take more than others. */
typedef struct {
  guint n_servers;
  guint n_extra;      /**< of them, the first: on machines of their own */
  double extra_share; /**< part of all bytes that the extra ones take together; the others
                           share the rest. Negative: all servers take equal parts */
  guint bound; /**< classes of keys that a hash deals to the two kinds; at least as many as
                    there are servers. Without a share: not looked at */
} ServerParts;

/**
 * Part that BytePS gives its @p n_extra CPU servers beside @p n_nodes servers on the GPU
 * machines, so that all NICs are busy equally long:
 *     2 k (n - 1) / (n^2 + k n - 2 k)
 * Source: Y. Jiang et al., "A Unified Architecture for Accelerating Distributed DNN
 * Training in Heterogeneous GPU/CPU Clusters", OSDI 2020; byteps global.cc,
 * Hash_Mixed_Mode.
 */
double placement_mixed_share(guint n_nodes, guint n_extra);

/** BytePS: pieces of at most @p partition_B bytes, the last of a tensor smaller; key =
 *  (tensor << 16) + piece. Transfer: caller unrefs the GArray of Piece, which is in the
 *  order of the workload's gradients. */
GArray *placement_partitions(const Workload *workload, double partition_B,
                             Placement placement, const ServerParts *parts);

/** MXNet KVStoreDist: a tensor of fewer than @p bound values lies whole on server
 *  (key * 9973) mod k, a larger one is cut evenly over all. kvstore_dist.h */
GArray *placement_big_arrays(const Workload *workload, double bound_values,
                             guint n_servers);

/** MXNet P3Store: slices of @p slice_values values, dealt to the servers in turn.
 *  p3store.h */
GArray *placement_slices(const Workload *workload, double slice_values, guint n_servers);

/** Largest load of a server over the mean of all. */
double placement_imbalance(const GArray *pieces, guint n_servers);
