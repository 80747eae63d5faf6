/**
 * @file porter.h
 * @brief Actors that carry one message over all classes of a flow set.
 *
 * SimGrid's C interface starts a communication only between two actors, one on either
 * host. A porter serves one host of a network: it starts all communications of a message at
 * its host and waits for them, then for the next message.
 */
#pragma once

#include "sim/engine/network.h"

typedef struct Porters Porters;

Porters *porters_new(void);
void porters_free(Porters *porters);

/** Make the next network known: they are numbered as network_write() was told. */
void porters_add_network(Porters *porters, const Network *network);

/**
 * Move a message of @p size_B bytes over set @p set of @p network; returns when the last
 * class has arrived. Call from an actor. The amounts must fit, see network_amounts_fit().
 * @param number  of the network, as network_write() was told
 */
void porters_move(Porters *porters, const Network *network, guint number, guint set,
                  double size_B);
