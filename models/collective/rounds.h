/**
 * @file rounds.h
 * @brief Algorithms whose messages come in rounds, each waiting for the one before.
 *
 * A rank takes part in a round once all its messages of earlier rounds, sent or received,
 * have arrived, as blocking MPI calls have it for large messages.
 */
#pragma once

#include "models/collective/draft.h"

typedef struct {
  guint src, dst;
  guint first_chunk, n_chunks;
  bool reduce;
} RoundMessage;

typedef struct {
  const char *phase;                       /**< what its phases are called */
  guint (*n_rounds)(const CollCall *call); /**< 0 for a single rank */
  /** Bytes of one chunk per byte of the message. */
  double (*chunk_share)(const CollCall *call);
  /** Append the messages of one round (RoundMessage). */
  void (*messages)(const CollCall *call, guint round, GArray *messages);
  bool
    merged; /**< rounds run into one another: one phase, whose ports are busy throughout */
  bool direct;  /**< a message crosses the NIC next to its receiver alone; else all rails */
  bool answers; /**< a rank sends once it has received, whatever else it is sending */
} Rounds;

/** Those of one round. Transfer: caller unrefs. */
GArray *rounds_messages(const Rounds *rounds, const CollCall *call, guint round);

/** The rail of the NIC next to @p rank, of those that share the message. */
guint rounds_rail(const CollCall *call, guint rank);

void rounds_plan(const Rounds *rounds, const CollCall *call, double size_B, Plan *plan);
void rounds_phases(const Rounds *rounds, const CollCall *call, const Topology *topology,
                   GArray *phases);

/** Every round, or all merged ones together: a hop, and the bytes of the busiest port. */
double rounds_ideal_s(const Rounds *rounds, const CollCall *call, double size_B,
                      const CollCost *cost);

/** Define the hooks NAME_plan, NAME_phases and NAME_ideal_s of the Rounds called NAME. */
#define ROUNDS_HOOKS(name)                                                                 \
  static void name##_plan(const CollCall *call, double size_B, Plan *plan)                 \
  {                                                                                        \
    rounds_plan(&name, call, size_B, plan);                                                \
  }                                                                                        \
  static void name##_phases(const CollCall *call, const Topology *topology,                \
                            GArray *phases)                                                \
  {                                                                                        \
    rounds_phases(&name, call, topology, phases);                                          \
  }                                                                                        \
  static double name##_ideal_s(const CollCall *call, double size_B, const CollCost *cost)  \
  {                                                                                        \
    return rounds_ideal_s(&name, call, size_B, cost);                                      \
  }
