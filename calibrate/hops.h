/**
 * @file hops.h
 * @brief How many steps and bytes an algorithm puts on each kind of link: what makes the
 *        times of several cluster sizes one law.
 */
#pragma once

#include "calibrate/sample.h"

/** What multiplies each parameter of LAW_HOPS. */
typedef struct {
  double launch;    /**< 1 */
  double intra;     /**< messages after one another inside a node */
  double inter;     /**< and between nodes */
  double local_B;   /**< bytes that the busiest link carries, if all ranks share a node */
  double net_B;     /**< otherwise */
  double reduced_B; /**< bytes that one rank adds up */
} Hops;

/** Does anybody know the steps of @p key's probe and algorithm? */
bool hops_known(const Sample *key);

/**
 * Of one call. Rings take 2 (n - 1) steps of an all-reduce, n - 1 of a reduce-scatter or
 * all-gather; of each lap all but one of the hops from node to node are on the way: 2 nodes
 * - 1 and nodes - 1, as NCCL's tuner counts them (NVIDIA/nccl 2.30.7 src/graph/tuning.cc).
 * Trees go up and down: per way gpus - 1 hops inside and log2(nodes) between nodes.
 * Halving and doubling: 2 log2(n) steps, those of the nodes between them.
 */
Hops hops_of(const Sample *key, double size_B, guint ranks, guint nodes);
