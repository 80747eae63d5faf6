/**
 * @file tide.h
 * @brief Transfers that overlap on a folded network, as a fluid.
 *
 * Between two moments at which a class of flows begins or ends, all rates are constant
 * (shares.h). One actor sleeps until the next class ends or a transfer begins; SimGrid
 * keeps the time, and the porters' communications are not needed.
 */
#pragma once

#include "sim/engine/network.h"

typedef struct Tide Tide;

/** @param network  borrowed. @param host  where its actor lives; borrowed */
Tide *tide_new(const Network *network, const char *host);
/** After the run only. */
void tide_free(Tide *tide);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tide, tide_free)

/** Move a message of @p size_B bytes over set @p set; returns when the last class has
 *  arrived. Call from an actor. */
void tide_move(Tide *tide, guint set, double size_B);
