/**
 * @file front.h
 * @brief The longest chains of messages, whatever a hop and a byte will cost.
 *
 * Which chain is the longest depends on the size of the message and on what a library takes
 * for a hop. A front keeps every chain that is longer than all others for some of them:
 * none of its chains has at most as many hops, hops between nodes (which take no less than
 * those inside), latency and bytes as another.
 */
#pragma once

#include "models/collective/draft.h"

/** More are too many to tell apart: then chains are joined to one as long as both. */
#define FRONT_MAX 16

/** Empty at first: {0}. Nothing to release. */
typedef struct {
  guint n;
  Chain chains[FRONT_MAX];
} Front;

void front_add(Front *front, Chain chain);

/** Add all chains of @p other, each followed by @p hop. An empty one is a chain of nothing.
 */
void front_add_extended(Front *front, const Front *other, Chain hop);

/** The longest time per byte of any chain; 0 if there is none. */
double front_s_per_B(const Front *front);

/** All chains (CollChain). Transfer: caller unrefs. */
GArray *front_chains_new(const Front *front);
