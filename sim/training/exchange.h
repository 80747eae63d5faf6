/**
 * @file exchange.h
 * @brief What the GPUs of a cluster can exchange: collectives as flow sets, ready to run.
 */
#pragma once

#include "models/contention.h"
#include "models/move.h"
#include "models/setup.h"
#include "models/topology.h"
#include "sim/engine/messages.h"
#include "sim/training/phase_load.h"

typedef struct Exchange Exchange;

/** One phase of a message that travels: where it runs and how long it waits before. */
typedef struct {
  const char *name;
  guint set;      /**< the engine's number */
  double wait_s;  /**< latencies on the critical path */
  double least_s; /**< its flows take no less, see coll_phase_least_s() */
  double wire_B;  /**< message bytes including the protocol's */
  double rank_B;  /**< of them, what the busiest rank sends */
  const PhaseLoad *load;
  const FlowSet *flows; /**< borrowed */
} ExchangePhase;

/** Not a machine: this server is never asked for anything. */
#define EXCHANGE_IDLE G_MAXUINT

/** What will be asked of it. */
typedef struct {
  guint kinds;           /**< OR of CollKind */
  guint moves;           /**< OR of 1 << Move */
  const guint *machines; /**< of each server, or EXCHANGE_IDLE; borrowed for the call */
  guint n_servers;
  guint n_extra_servers;    /**< machines beside the nodes */
  guint rack_nodes;         /**< see MoveSpec */
  guint switch_gpus;        /**< see MoveSpec */
  bool by_node;             /**< moves of one node each; else of all nodes at once */
  double server_sum_Bps;    /**< see ClusterSpec */
  bool traffic;             /**< other jobs exchange meanwhile: ClusterSpec.other_jobs */
  const Topology *topology; /**< of that cluster, borrowed as long; NULL: one of its own */
  const Group *group;       /**< who communicates, borrowed as long; NULL: all GPUs */
} ExchangeNeeds;

/** Lay down the cluster, every algorithm the library may choose, and the moves.
 *  Transfer: caller frees. @return NULL with SIM_ERROR_VALUE if parts do not fit, or the
 *  library has no algorithm for a kind */
Exchange *exchange_new(const Setup *setup, const ExchangeNeeds *needs, GError **error);
void exchange_free(Exchange *exchange);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Exchange, exchange_free)

const Topology *exchange_topology(const Exchange *exchange);

/**
 * Announce all flow sets to @p engine. Those that share links, directly or through others,
 * are announced together, so that the rest need not unfold with them.
 * @param overlap  may two messages be in flight at once at all?
 * @param serial_moves  OR of 1 << Move: those of which one at a time ever is
 */
void exchange_announce(Exchange *exchange, Engine *engine, bool overlap,
                       guint serial_moves);

/** The same, but collectives will be run message by message (sim/engine/messages.h).
 *  @return false with SIM_ERROR_VALUE if there are too many ranks, or moves, which have no
 *          messages */
bool exchange_announce_messages(Exchange *exchange, Engine *engine, bool overlap,
                                GError **error);

/** The same two for several, each with a group of its own on one topology, that run at the
 *  same time; @p overlap: of one of them. */
void exchange_announce_all(Exchange *const *exchanges, guint n, Engine *engine,
                           bool overlap, guint serial_moves);
bool exchange_announce_all_messages(Exchange *const *exchanges, guint n, Engine *engine,
                                    bool overlap, GError **error);

/** What the library does with a collective of @p size_B bytes. */
LibraryChoice exchange_choose(const Exchange *exchange, CollKind kind, double size_B);

/** Its time on the idle cluster, as the library's cost model predicts it [s]. */
double exchange_idle_s(const Exchange *exchange, CollKind kind, double size_B);

/** What the kernels of a collective do on every GPU, at the rate of the idle cluster. */
ContentionLoad exchange_kernels(const Exchange *exchange, CollKind kind,
                                const LibraryChoice *choice, double size_B);

/** A collective took @p took_s: what libraries that mind remember, by powers of two. */
void exchange_observe(const Exchange *exchange, CollKind kind, const LibraryChoice *choice,
                      double size_B, double took_s);

guint exchange_n_phases(const Exchange *exchange, CollKind kind,
                        const LibraryChoice *choice);
ExchangePhase exchange_phase(const Exchange *exchange, CollKind kind,
                             const LibraryChoice *choice, guint index, double size_B);

/** A move of @p size_B bytes, whose hops take @p alpha_s each beside the transport's
 *  latency. @param node  1 + the node, if moves are of one each; else 0
 *  @param server  pushes and pulls only */
ExchangePhase exchange_move(const Exchange *exchange, Move move, guint node, guint server,
                            double alpha_s, double size_B);

/** The same at the costs of a library, its own protocol's wire factor included. */
ExchangePhase exchange_move_by(const Exchange *exchange, Move move, const CollTerms *terms,
                               double size_B);

/** One exchange of another job. */
ExchangePhase exchange_traffic(const Exchange *exchange, guint index, double size_B);

/** Run every message of a collective, in place of its phases. False if they were not
 *  announced: run the phases. */
bool exchange_run_messages(Exchange *exchange, CollKind kind, const LibraryChoice *choice,
                           double size_B);

/** Let the flows of @p phase run, after its wait; returns when they have arrived. */
void exchange_transfer(Engine *engine, const ExchangePhase *phase);

/** Sum of the capacities of a tier's links [B/s], and how many there are. */
double exchange_tier_capacity_Bps(const Exchange *exchange, guint tier);
guint exchange_tier_n_links(const Exchange *exchange, guint tier);

/** Least time of any algorithm for @p size_B bytes on this cluster, with messages as quick
 *  as those of the protocol that the library chooses [s]. */
double exchange_floor_s(const Exchange *exchange, CollKind kind, double size_B);

/** What bounds a message: the name of a tier, or one of RESULT_BOUND_... */
const char *exchange_bottleneck(const Exchange *exchange, CollKind kind, double size_B);
