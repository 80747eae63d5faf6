/**
 * @file hierarchical.h
 * @brief What all-reduces inside nodes, between them, and inside again have in common.
 */
#pragma once

#include "models/collective/grid.h"

/** Every node is a row. */
Grid hierarchical_grid(const CollCall *call);

/** The ring of every node, in all ring orders of the fabric. */
void hierarchical_add_inside(const CollCall *call, const Topology *topology, CollKind kind,
                             const char *name, GArray *phases);

/** Once around the ring of the node that takes longest: blocks do not divide evenly [s]. */
double hierarchical_inside_s(const CollCall *call, double size_B, const CollCost *cost);
