/**
 * @file courier.h
 * @brief Actors that carry messages over wires, each after those it waits for.
 *
 * A message may leave when all that it waits for have arrived. Its latency passes first and
 * occupies nothing; then its bytes travel, one message of a wire at a time, the earliest in
 * the mail before others whose latency has passed.
 *
 * Couriers stand at the hosts that messages leave from; each serves one wire while it has
 * messages. Mailboxes with a permanent receiver let a message flow without a second actor
 * at its far end.
 */
#pragma once

#include "sim/engine/mail.h"
#include "sim/engine/network.h"

typedef struct Couriers Couriers;

/** @param network  wire i is class i of its only set; borrowed
 *  @param number   of the network, as network_write() was told */
Couriers *couriers_new(const Network *network, guint number);
/** After the run only. */
void couriers_free(Couriers *couriers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Couriers, couriers_free)

/**
 * Deliver all of @p mail; returns when the last message has arrived. Call from an actor;
 * several may call at a time.
 * @return false, before anything moves, if an amount does not fit SimGrid's whole numbers
 */
bool couriers_deliver(Couriers *couriers, const Mail *mail);
