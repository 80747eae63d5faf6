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
  MOVE_TO_HOST,              /**< every GPU copies its part to host memory */
  MOVE_FROM_HOST,            /**< and back */
  MOVE_PUSH,                 /**< every node sends the message to one machine */
  MOVE_PULL,                 /**< that machine sends it to every node */
  MOVE_CROSS_ALL_REDUCE,     /**< rings of the GPUs with one place in their nodes, each for
                                  its part */
  MOVE_HOST_ALL_REDUCE,      /**< a ring of the nodes' host memories */
  MOVE_N
} Move;

/** "local_reduce_scatter", ... */
extern const char *const move_names[];

/** Does it depend on which machine serves? */
bool move_needs_server(Move move);

/**
 * The phase of @p move. A node that serves itself sends nothing over the network; pushes
 * and pulls spread over all NICs of a machine.
 * @param server  machine that serves, of topology_n_machines(); push and pull only
 * Transfer: the caller owns the phase's set.
 */
CollPhase move_phase(const Topology *topology, Move move, guint server);
