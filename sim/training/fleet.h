/**
 * @file fleet.h
 * @brief Nodes that each compute on their own: asynchronous servers, and the reference.
 *
 * Where servers do not wait for all nodes, no node stands for the others: each is a job of
 * one worker, with its own draws, queues and transfers, and the servers' queues in common.
 * The same with synchronous servers is the reference that checks what one job for all
 * nodes assumes: every push and every pull a message of its own, nothing folded.
 */
#pragma once

#include "sim/training/job.h"

typedef struct Fleet Fleet;

/** Pairs of nodes and servers: more are refused. Each has transfers of its own, which share
 *  links with all others: 64 nodes and 8 servers take two minutes. */
#define FLEET_MAX_PAIRS 512

/** What all of its jobs have in common. */
typedef struct {
  const Job *job;            /**< of the whole cluster: what jobs begin as */
  Composition *compositions; /**< of each node; borrowed */
  const Crews *crews;
  guint64 seed;
  bool traced;
} FleetSetup;

/** A job for each node; @p result takes the spans of the first. Transfer: caller frees. */
Fleet *fleet_new(const FleetSetup *setup, Result *result);
void fleet_free(Fleet *fleet);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fleet, fleet_free)

/** The first process of the run. @p data is the Fleet. */
void fleet_run(void *data);

/** After the run: the job of the first node, with sums and means over all. Borrowed. */
const Job *fleet_sum_up(Fleet *fleet);

/** Updates by others between a node's pull of a piece and its next push, on average; and
 *  iterations that a node began ahead of the slowest, at most. */
double fleet_staleness_updates(const Fleet *fleet);
guint fleet_staleness_iterations(const Fleet *fleet);

/* For the pipeline. */

/** A push has come to its server. @return false: it is held until the last has come */
bool fleet_arrives(Fleet *fleet, Item *item);
/** The server has added it, or all; those that are held go on. */
void fleet_applies(Fleet *fleet, Item *item);
/** A node is about to pull. */
void fleet_pulls(Fleet *fleet, const Item *item);
