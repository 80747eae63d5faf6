/**
 * @file collective.h
 * @brief What a collective algorithm is: a plan, its flow sets, an ideal time.
 *
 * An algorithm never runs anything. It offers three views that tests hold equal: every
 * message (plan), the steady state (phases), the closed form (ideal_s). To add one:
 * write models/collective/NAME.c and list it in table.c.
 */
#pragma once

#include "models/plan.h"
#include "models/topology.h"
#include "sim/base/registry.h"

typedef enum {
  COLL_ALL_REDUCE = 1 << 0,
  COLL_REDUCE_SCATTER = 1 << 1,
  COLL_ALL_GATHER = 1 << 2,
} CollKind;

/** "all_reduce", "reduce_scatter", ... Borrowed. */
const char *coll_kind_name(CollKind kind);
/** @return false with SIM_ERROR_USAGE and a suggestion if @p name names none */
bool coll_kind_find(const char *name, CollKind *kind, GError **error);

/** Ranks that communicate together, as nodes x ranks per node: rank = node * local + l.
 *  Rank r sits on GPU gpus[r]; ranks of one node are neighbours in @ref gpus. */
typedef struct {
  guint n_nodes;
  guint ranks_per_node;
  const guint *gpus; /**< n_nodes * ranks_per_node GPU numbers; borrowed */
} Group;

typedef struct {
  CollKind kind;
  Group group;
  guint n_rails; /**< NICs of a node that share the message, >= 1 */
} CollCall;

/**
 * One phase of a collective: flows that run together, and the messages that wait for one
 * another on its critical path. Its time alone is
 *     n_local_hops * alpha_local + n_net_hops * alpha_net + path_latency_s + flow set time
 * where the alphas belong to the library's protocol.
 */
typedef struct {
  const char *name; /**< "ring", "reduce_scatter", ... */
  FlowSet *set;     /**< owned */
  guint n_local_hops;
  guint n_net_hops;
  double path_latency_s; /**< of the links along those hops [s] */
  double bound_s_per_B;  /**< flow_set_bound_s_per_B() of the set, as the links were when
                              the phase was made */
} CollPhase;

/** Closed-form cost of the two kinds of hop. */
typedef struct {
  LinkCost local; /**< between GPUs of a node, per GPU and direction */
  LinkCost net;   /**< of one NIC and direction */
} CollCost;

typedef struct {
  ModuleInfo info;
  guint kinds; /**< OR of the CollKind it can plan */
  bool exact;  /**< ideal_s is the critical path of plan on idle, identical links */

  /** Append the messages of one call of @p size_B bytes. Required. */
  void (*plan)(const CollCall *call, double size_B, Plan *plan);

  /** The chunks @ref plan cuts the buffer into. Reduce-scatter leaves chunk c summed at
   *  rank c modulo the number of ranks, where all-gather takes it from. Required. */
  guint (*n_chunks)(const CollCall *call);

  /** Append the phases (CollPhase) for any group size in O(ranks). Required. */
  void (*phases)(const CollCall *call, const Topology *topology, GArray *phases);

  /** Closed form on idle links [s]. Required. */
  double (*ideal_s)(const CollCall *call, double size_B, const CollCost *cost);
} CollOps;

extern const ModuleInfo *const coll_table[];
extern const CollOps coll_ring;
extern const CollOps coll_hierarchical;

const CollOps *coll_find(const char *name, GError **error);

/** New array of CollPhase whose sets are freed with it. Transfer: caller unrefs. */
GArray *coll_phases_new(void);

/**
 * No algorithm without reducing switches can be faster, whatever it does [s]. The largest
 * of: n parties send (n-1) times the message in all to sum it and (n-1) times to spread it,
 * through all ports, or all NICs, of the cluster at once, and the last byte takes one hop;
 * knowledge of one rank reaches at most twice as many with every message sent, so log2(n)
 * messages of one port follow one another.
 */
double coll_floor_s(const CollCall *call, double size_B, const CollCost *cost);
