/**
 * @file shares.h
 * @brief Max-min fair rates of flow classes on a folded network.
 *
 * The classes under way and their multiplicity decide the rates, and the same ones come
 * together again and again in a run: what was solved once is remembered.
 *
 * Progressive filling: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition 1992,
 * section 6.5.2. Tests hold what follows from it equal to SimGrid's sharing of single
 * flows.
 */
#pragma once

#include "sim/engine/network.h"

typedef struct Shares Shares;

/** @param network  borrowed */
Shares *shares_new(const Network *network);
void shares_free(Shares *shares);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Shares, shares_free)

/**
 * Rates of @p n classes that are under way together, one of which may be there several
 * times [B/s]. All of them move (network_class_moves()).
 * @return n rates, of all flows of a class together; valid until the next call
 */
const double *shares_of(Shares *shares, const guint32 *classes, guint n);
