/**
 * @file nvls.h
 * @brief Sums in the switches of nodes: NVLink SHARP, as NCCL's NVLS uses it.
 *
 * Every rank owns a block (see grid.h). The switch loads that block from all ranks of the
 * node, sums it and gives it to the owner; later the owner stores the result to all through
 * the switch (multimem loads and stores; NCCL 2.30.7 src/device/all_reduce.h). A rank's
 * port carries the buffer and its own block, each way. All in chunks, all steps at once.
 *
 * In plans the switch of node i is rank n_ranks + i; one more stands between the nodes. A
 * flow inside a node stands for what one rank sends up and what the next gets down.
 */
#pragma once

#include "models/collective/grid.h"

Grid nvls_grid(const CollCall *call);
guint nvls_n_switches(const CollCall *call);
guint nvls_n_chunks(const CollCall *call, double size_B);

/** One chunk of one block on its way. */
typedef struct {
  const CollCall *call;
  guint chunk;
  double chunk_B;
  guint *owner;    /**< of the block, in each node */
  guint *at_owner; /**< in each node: the message that brought the owner its latest sum */
  Plan *plan;
} NvlsParcel;

/** Append one message of the chunk and return its id. */
guint nvls_send(const NvlsParcel *parcel, guint src, guint dst, bool reduce, guint after);

/** All ranks of a node to its switch, the sum to the owner. */
void nvls_load(const NvlsParcel *parcel, guint node);
/** The owner to the switch, which hands it to all. @param also  what the owner waits for
 *  besides NvlsParcel.at_owner, or PLAN_START */
void nvls_store(const NvlsParcel *parcel, guint node, guint also);

/** Add the flows of all nodes: @return twice through a switch */
Chain nvls_add_flows(const CollCall *call, const Topology *topology, Draft *draft);

/** The longest that any flow from number @p first to @p last - 1 needs for its bytes [s/B].
 */
double nvls_longest_s_per_B(const Draft *draft, guint first, guint last);

/** Closed form. @param net_hops  between nodes, whose NICs send and receive @p net_share of
 *  the buffer; a chunk needs them for @p net_way of its bytes */
double nvls_ideal_s(const CollCall *call, double size_B, const CollCost *cost,
                    double net_hops, double net_share, double net_way);
