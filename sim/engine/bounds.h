/**
 * @file bounds.h
 * @brief What can hold up the flow classes of a folded network: links and caps.
 *
 * A link is left out if all that crosses it comes from, or goes on to, links that together
 * carry no more than it does: it is never the tightest. The max-min fair allocation
 * depends on nothing but what is feasible, so it stays the same. In a node that is mostly
 * everything but the NIC, in a network without oversubscription everything but its edge.
 */
#pragma once

#include "sim/engine/network.h"

typedef struct {
  guint n; /**< links that count */
  double *limit_Bps;
  double *caps_Bps; /**< the different caps, ascending */
  guint n_caps;

  /* Of each class. */
  guint width; /**< entries in @ref of */
  guint32 *of; /**< its links that others of its set do without, class after class; a link
                    that is crossed twice twice; filled up with @ref n, which is none */
  guint32 *set;
  double *n_flows;
  double *cap_Bps;

  /* Of each set. */
  guint32 *first_common; /**< and one beyond: index into @ref common */
  guint32 *common;       /**< links that all of its classes cross, once each */
} Bounds;

/** Transfer: caller frees with bounds_free(). */
Bounds *bounds_new(const Network *network);
void bounds_free(Bounds *bounds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bounds, bounds_free)
