/**
 * @file fold.h
 * @brief Flows that behave alike, found and put together.
 *
 * Flow sets and links form a bipartite graph. Its coarsest equitable partition (colour
 * refinement, 1-WL) puts two flows in one class only if they load equally many links of
 * every class, and two links only if equally many flows of every class cross them. The
 * max-min fair allocation is unique, so it is constant on the classes, whichever subset of
 * the sets is active: one flow per class tells everything.
 *
 * C. Berkholz, P. Bonsma, M. Grohe, "Tight lower and upper bounds for the complexity of
 * canonical colour refinement", Theory Comput. Syst. 60 (2017) 581-614: O(m log n) with a
 * worklist that leaves out the largest part of every split.
 */
#pragma once

#include "models/flow.h"

#include <stdbool.h>

/** Flows of one set that behave alike. */
typedef struct {
  guint set; /**< index into the sets that were folded */
  guint n_flows;
  double share;     /**< of each flow */
  double cap_Bps;   /**< of each flow */
  guint first_link; /**< index into Folded.route */
  guint n_links;
} FlowClass;

typedef struct {
  GArray *classes; /**< of FlowClass, set after set */
  GArray *route;   /**< of guint32: link classes, class after class, repeats included */
  GArray *capacity_Bps; /**< of double: all links of a class together */
} Folded;

/**
 * @param fold  false: every flow and every link in use is a class of its own
 * Transfer: caller frees with folded_free().
 */
Folded *fold_sets(const FlowSet *const *sets, guint n_sets, const Link *links,
                  guint n_links, bool fold);
void folded_free(Folded *folded);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Folded, folded_free)
