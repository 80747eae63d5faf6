/**
 * @file collective.h
 * @brief What a collective algorithm is: a plan, its flow sets, an ideal time.
 *
 * An algorithm never runs anything. It offers three views that tests hold equal: every
 * message (plan), the steady state (phases), the closed form (ideal_s). To add one:
 * write models/collective/NAME.c and list it in table.c.
 */
#pragma once

#include "models/group.h"
#include "models/plan.h"
#include "sim/base/registry.h"

/**
 * The operations, as MPI and nccl-tests know them, n ranks, a message of S bytes, rank 0
 * the root. Chunk c of a plan's n_chunks is all_reduce, broadcast, reduce   a part of the
 * buffer that all ranks have reduce_scatter, all_gather      such a part; summed at, or
 * known to, rank c mod n all_to_all                      what rank c / n has for rank c mod
 * n, S / n bytes send_recv                       the S bytes of rank c for rank c + 1
 */
typedef enum {
  COLL_ALL_REDUCE = 1 << 0,
  COLL_REDUCE_SCATTER = 1 << 1,
  COLL_ALL_GATHER = 1 << 2,
  COLL_BROADCAST = 1 << 3,
  COLL_REDUCE = 1 << 4,
  COLL_ALL_TO_ALL = 1 << 5,
  COLL_SEND_RECV = 1 << 6,
} CollKind;

#define COLL_N_KINDS 7

/** "all_reduce", ...: the name of kind 1 << i is number i; NULL-terminated. */
extern const char *const coll_kind_names[];
/** Borrowed. */
const char *coll_kind_name(CollKind kind);
/** @return false with SIM_ERROR_USAGE and a suggestion if @p name names none */
bool coll_kind_find(const char *name, CollKind *kind, GError **error);

typedef struct {
  CollKind kind;
  const Group *group; /**< borrowed */
  guint n_rails;      /**< NICs of a node that share the message, >= 1 */
  const guint *nics;  /**< which NIC each rail is; borrowed; NULL: 0, 1, 2, ... */
  double chunk_B;     /**< what a pipelined algorithm sends at once, of the whole message,
                           all its channels together; 0: COLL_CHUNK_B [B] */
  guint n_servers;    /**< of push and pull; 0: every rank serves */
  bool cross_nic;     /**< as in PathRules; of rings */
  const Topology *layout; /**< rings and trees of plans are laid on it as those of phases
                               are; borrowed; NULL: by rank */
} CollCall;

/** The NIC that rail @p rail stands for, at both ends of a message. */
guint coll_nic(const CollCall *call, guint rail);

/** Buffer of a connection of NCCL's Simple protocol over its steps: 4 MiB / 8.
 *  NCCL 2.30.7, NCCL_BUFFSIZE and NCCL_STEPS [B] */
#define COLL_CHUNK_B (512 * 1024.0)

/** How many chunks of at most @p chunk_B bytes (0: COLL_CHUNK_B) the message is cut into:
 *  at least 1, at most COLL_MAX_CHUNKS; and what one of them has. */
guint coll_n_chunks(double size_B, double chunk_B);
double coll_chunk_B(double size_B, double chunk_B);
#define COLL_MAX_CHUNKS (1u << 20)

/** Messages that wait for one another: their hops and their bytes. */
typedef struct {
  guint n_local_hops, n_net_hops;
  double latency_s; /**< of the links along them [s] */
  double s_per_B;   /**< what the bytes of those messages need, per byte of the message that
                         the collective is called with; 0: unknown [s/B] */
} CollChain;

/**
 * One phase of a collective: flows that run together, and the messages that wait for one
 * another on its critical path. See coll_phase_idle_s() for its time.
 */
typedef struct {
  const char *name; /**< "ring", "reduce_scatter", ... */
  FlowSet *set;     /**< owned */
  guint n_local_hops;
  guint n_net_hops;
  double path_latency_s; /**< of the links along those hops [s] */
  double bound_s_per_B;  /**< flow_set_bound_s_per_B() of the set, as the links were when
                              the phase was made */
  double fill_s_per_B;  /**< a pipeline fills: seconds that the first chunk needs to the end
                             of the longest way, beyond its part of the flow set time, per
                             byte of chunk; 0 if nothing is pipelined */
  double first_s_per_B; /**< the same for terms that are not additive: the first chunk meets
                             only what is under way with it */
  double rank_share;    /**< bytes that the busiest rank sends per byte of the message */
  double slack_s_per_B; /**< where messages queue for the slowest of unequal hops, the
                             latencies of the others pass meanwhile: how much less the bytes
                             need along the longest chain than the flow set needs, per byte
                             of the message; 0 if all hops are as slow */
  GArray *chains; /**< of CollChain; owned. Of messages in this phase and in those after it,
                       which then have no hops: the longest counts, where none is so for all
                       sizes. NULL: the hops and bytes above are those of the longest */
  double chains_bound_s_per_B; /**< of all the phases that the chains go through */
} CollPhase;

/** What a library and its protocol make of a phase. */
typedef struct {
  double alpha_local_s; /**< per hop inside a node [s] */
  double alpha_net_s;   /**< per hop between nodes [s] */
  double wire_factor;   /**< bytes on the wire per byte of message, >= 1 */
  double chunk_B;       /**< as in CollCall [B] */
  bool additive;        /**< latencies and bytes add up, as the cost model that the alphas
                             were fitted with has it; else latencies hide in the queues of
                             slower hops, see CollPhase.slack_s_per_B */
  double rank_Bps;      /**< what the channels of one rank send at most, without the wire
                             factor; 0: no limit [B/s] */
} CollTerms;

/** From the begin of the phase until its flows run at full rate: hops, links, fill [s]. */
double coll_phase_wait_s(const CollPhase *phase, const CollTerms *terms, double size_B);

/** The channels of the busiest rank need this long for their bytes, whatever the links
 *  do; 0 without a limit. The flow set time is no less [s]. */
double coll_phase_least_s(const CollPhase *phase, const CollTerms *terms, double size_B);

/** Time of the phase on idle links [s]:
 *     coll_phase_wait_s() + max(flow set time, coll_phase_least_s()) */
double coll_phase_idle_s(const CollPhase *phase, const CollTerms *terms, double size_B);

/** Closed-form cost of the two kinds of hop. */
typedef struct {
  LinkCost local; /**< between GPUs of a node, per GPU and direction */
  LinkCost net;   /**< of one NIC and direction */
} CollCost;

typedef struct {
  ModuleInfo info;
  guint kinds; /**< OR of the CollKind it can plan */
  bool exact;  /**< ideal_s is the plan's critical path where nodes hold equally many ranks
                    and links are idle and alike; else it comes near, see the tests */
  bool fans;   /**< ranks send to many at once, so the floor's latency is not theirs */

  /** Switches that sum and multiply take part in the plan as ranks from n_ranks on: they
   *  begin with nothing and send to any number of ranks at once. NULL: none. Such an
   *  algorithm may beat coll_floor_s(), see coll_floor_of_s(). */
  guint (*n_switches)(const CollCall *call);

  /** Append the messages of one call of @p size_B bytes; see coll_plan_new(). Required. */
  void (*plan)(const CollCall *call, double size_B, Plan *plan);

  /** The chunks @ref plan cuts the buffer into, all of one size. Required. */
  guint (*n_chunks)(const CollCall *call, double size_B);

  /** Append the phases (CollPhase) for any group size in O(ranks), all-to-all in
   *  O(ranks^2). Does not look at chunk_B. Required. */
  void (*phases)(const CollCall *call, const Topology *topology, GArray *phases);

  /** Closed form on idle links [s]. Required. */
  double (*ideal_s)(const CollCall *call, double size_B, const CollCost *cost);
} CollOps;

extern const ModuleInfo *const coll_table[];
extern const CollOps coll_ring;
extern const CollOps coll_double_tree;
extern const CollOps coll_tree;
extern const CollOps coll_recursive_doubling;
extern const CollOps coll_halving_doubling;
extern const CollOps coll_push_pull;
extern const CollOps coll_pairwise;
extern const CollOps coll_direct;
extern const CollOps coll_neighbour;
extern const CollOps coll_pat;
extern const CollOps coll_hierarchical;
extern const CollOps coll_hierarchical_tree;
extern const CollOps coll_node_leader;
extern const CollOps coll_torus;
extern const CollOps coll_in_network;
extern const CollOps coll_nvls_tree;

const CollOps *coll_find(const char *name, GError **error);

/** What runs where nobody has said what: the first row of the table that can do @p kind. */
const CollOps *coll_default(CollKind kind);

/** "ring, tree, ...": those that can do @p kind. Transfer: caller frees with g_free(). */
char *coll_names_of(CollKind kind);

/** The plan of one call. Transfer: caller frees with plan_free(). */
Plan *coll_plan_new(const CollOps *ops, const CollCall *call, double size_B);

/** New array of CollPhase whose sets are freed with it. Transfer: caller unrefs. */
GArray *coll_phases_new(void);

/**
 * No algorithm without reducing switches can be faster, whatever it does [s]. The largest
 * of: what n parties must send in all, through all ports, or all NICs, of the cluster at
 * once, plus one hop for the last byte; what one rank must receive through its own; and,
 * where all ranks must hear of all, log2(n) messages of one port after one another, since
 * knowledge of one rank reaches at most twice as many with every message sent.
 */
double coll_floor_s(const CollCall *call, double size_B, const CollCost *cost);

/** The same for @p ops: where switches sum, every rank and every node need send and receive
 *  the message but once. */
double coll_floor_of_s(const CollOps *ops, const CollCall *call, double size_B,
                       const CollCost *cost);
