/**
 * @file move.h
 * @brief Data movements that strategies put together themselves: inside nodes, to host
 * memory, to servers, between nodes.
 *
 * Each is one phase for all nodes at once, per byte of a message (a tensor or partition).
 */
#pragma once

#include "models/collective.h"

typedef enum {
  MOVE_LOCAL_REDUCE_SCATTER, /**< a ring in every node; each GPU ends with its part summed
                              */
  MOVE_LOCAL_ALL_GATHER,     /**< the way back */
  MOVE_LOCAL_REDUCE,         /**< along a ring to the first GPU of every node, which has the
                                  sum */
  MOVE_LOCAL_BROADCAST,      /**< and back */
  MOVE_TO_HOST,              /**< every GPU copies its part to host memory */
  MOVE_FROM_HOST,            /**< and back */
  MOVE_LEADER_TO_HOST,       /**< the first GPU of every node copies all of it */
  MOVE_LEADER_FROM_HOST,     /**< and back */
  MOVE_RACK_PUSH,            /**< every node sends the message to the first of its rack */
  MOVE_RACK_PULL,            /**< and back */
  MOVE_RACK_REDUCE_SCATTER,  /**< a ring of all GPUs of every rack */
  MOVE_RACK_ALL_GATHER,      /**< and back */
  MOVE_ACROSS_ALL_REDUCE, /**< rings of the GPUs with one place in their racks, each for a
                               message of its own */
  MOVE_ACROSS_ALL_GATHER, /**< the same, of as many messages as there are racks */
  MOVE_PUSH,              /**< every node, of racks the first, sends the message to one
                               machine */
  MOVE_PULL,              /**< that machine sends it to them */
  MOVE_CROSS_ALL_REDUCE,  /**< rings of the GPUs with one place in their nodes, each for
                               its part */
  MOVE_HOST_ALL_REDUCE,   /**< a ring of the nodes' host memories */
  MOVE_N
} Move;

/** "local_reduce_scatter", ... */
extern const char *const move_names[];

/** Does it depend on which machine serves? */
bool move_needs_server(Move move);

/** A move, and who takes part. */
typedef struct {
  Move move;
  guint machine;    /**< that serves, of topology_n_machines(); push and pull only */
  guint one_node;   /**< 1 + the only node that moves anything; 0: all nodes do */
  guint rack_nodes; /**< nodes in a row that are a rack, and have one aggregator, the first;
                         0: one */
  guint switch_gpus; /**< GPUs in a row that sum among themselves; 0: all of a node */
} MoveSpec;

/**
 * The phase of @p spec. A node that serves itself sends nothing over the network; pushes
 * and pulls spread over all NICs of a machine.
 * Transfer: the caller owns the phase's set.
 */
CollPhase move_phase(const Topology *topology, const MoveSpec *spec);
