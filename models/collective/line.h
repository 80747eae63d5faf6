/**
 * @file line.h
 * @brief Broadcast and reduction along a ring: chunk after chunk, all hops busy at once.
 *
 * Every channel's ring is cut open at the root, rank 0. What the root sends ends at the
 * rank before it; a sum begins at the rank after it.
 */
#pragma once

#include "models/collective/rings.h"

guint line_n_chunks(const CollCall *call, double size_B);
void line_plan(const CollCall *call, double size_B, Plan *plan);
void line_phases(const CollCall *call, const Topology *topology, GArray *phases);
double line_ideal_s(const CollCall *call, double size_B, const CollCost *cost);
