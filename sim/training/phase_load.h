/**
 * @file phase_load.h
 * @brief What phases do to the tiers of links, and which tier they need most.
 */
#pragma once

#include "models/topology.h"

/** What one phase does to the links, per byte of message. */
typedef struct {
  double moved[TIER_N];   /**< bytes, summed over the links of a tier */
  double busiest[TIER_N]; /**< seconds that the busiest link of a tier needs [s/B] */
  double tightest;        /**< seconds that the tightest limit of a flow takes [s/B] */
} PhaseLoad;

PhaseLoad phase_load(const Topology *topology, const FlowSet *set);

/** What phases need, one after another. */
typedef struct {
  double wait_s, limit_s;
  double tier_s[TIER_N];
} Demand;

void demand_add(Demand *demand, const PhaseLoad *load, double wait_s, double wire_B);

/** The tier that needs most, or RESULT_BOUND_LATENCY or _CONNECTION. Borrowed. */
const char *demand_largest(const Demand *demand);

/** The links of @p n sets that run at the same time, set i with @p wire_B [i] bytes. */
void demand_add_all(Demand *demand, const Topology *topology, const FlowSet *const *sets,
                    const double *wire_B, guint n);
