/**
 * @file exchange_state.h
 * @brief Inside an exchange: for exchange*.c alone.
 */
#pragma once

#include "models/group_ports.h"
#include "models/transfer.h"
#include "sim/training/exchange.h"
#include "sim/training/observed.h"

/* Where collectives run message by message, no flow set is announced. */
#define EXCHANGE_NO_SET G_MAXUINT

/* Laid.move of what other jobs exchange. */
#define EXCHANGE_TRAFFIC MOVE_N

/* Phases laid down on the cluster: of a collective, or of a move. */
typedef struct {
  CollKind kind;
  const CollOps *collective; /* NULL: a move */
  MoveSpec move;
  GArray *phases;   /* of CollPhase */
  PhaseLoad *loads; /* of each phase */
  guint *sets;      /* the engine's number of each phase's set */
  Observed *observed;
} Laid;

/* What a library decides from, for one kind of collective. */
typedef struct {
  const Exchange *exchange;
  CollCall call;
  LibraryCall library_call;
  GArray *transfers; /* of TransferPoint: other shapes that were measured; owned */
} Kind;

struct Exchange {
  const LibraryOps *library;
  const void *library_params;
  const GArray *curves; /**< of CalibrationCurve; the setup's */
  const Topology *topology;
  const Group *group;
  GroupPorts ports;
  Topology *own_topology; /* NULL: borrowed */
  Group *own_group;       /* likewise */
  GPtrArray *kinds;       /* of Kind */
  GArray *laid;           /* of Laid */
  guint first_traffic;    /* of other jobs */
  Messages *messages;     /* NULL: phases run, not messages */
  bool shares_messages;   /* another exchange frees them */
  bool by_node;           /* moves are of one node each */
  guint first_move[MOVE_N];
  double tier_capacity_Bps[TIER_N];
  guint tier_n_links[TIER_N];
};

/** What the profile measured of @p kind on other numbers of nodes with as many GPUs each,
 * if not on this one, beside what the model says there. Transfer: caller unrefs. */
GArray *exchange_transfers(const Exchange *exchange, const Setup *setup, const Kind *kind);

/** What @p choice is to take: as measured on this shape of cluster; else as on others, so
 * far as the model tells how they differ; 0 where nothing was measured [s].
 *  @param model_s  what the model says on the idle cluster */
double exchange_wanted_s(const Exchange *exchange, const Kind *kind,
                         const LibraryChoice *choice, double size_B, double model_s);

/** What the library decides @p kind from; NULL if nobody asked for it. */
const Kind *exchange_find_kind(const Exchange *exchange, CollKind kind);

/** Take @p laid with its phases. */
void exchange_keep(Exchange *exchange, Laid *laid);
/** How phase @p index travels. */
ExchangePhase exchange_phase_of(const Laid *laid, guint index, const CollTerms *terms,
                                double size_B);

/** exchange_traffic.c: the phases of other jobs, behind all others. */
void exchange_lay_traffic(Exchange *exchange, const ClusterSpec *cluster);
