/**
 * @file shares.h
 * @brief Max-min fair rates of the flow classes that are under way on a folded network.
 *
 * Progressive filling: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition 1992,
 * section 6.5.2. Who is under which bound is kept as companies come and go, so that a
 * solution touches every class under way once. Tests hold the rates equal to SimGrid's
 * sharing of single flows.
 */
#pragma once

#include "sim/engine/network.h"

typedef struct Shares Shares;

/** The flows of one set that are under way together. */
typedef struct {
  guint set;
  guint n;           /**< classes of the set */
  double *rates_Bps; /**< of each, all of its flows together; 0: it does not move, or no
                          longer. Whoever has the company owns them */
  double n_flows;    /**< that move; kept by shares */
  double n_waiting;  /**< of them, without a rate yet; in a solution */
  double n_settled;  /**< of them, got one just now, ... */
  double taken_Bps;  /**< ... and take so much together */
} Company;

/** @param network  borrowed */
Shares *shares_new(const Network *network);
void shares_free(Shares *shares);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Shares, shares_free)

/** The classes with any rate but 0 are under way. Borrowed until shares_leave(). */
void shares_join(Shares *shares, Company *company);
/** Class @p index of the company has ended: its rate is 0. */
void shares_end_class(Shares *shares, Company *company, guint index);
/** No class of it is under way any more. */
void shares_leave(Shares *shares, Company *company);

/** Find the rates of all. */
void shares_solve(Shares *shares);
