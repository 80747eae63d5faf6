/**
 * @file timeline.h
 * @brief What happened in a run: sums over the measured time, and spans if traced.
 */
#pragma once

#include "models/result.h"
#include "sim/training/exchange.h"

typedef struct {
  bool traced;
  bool measuring; /**< warm-up is over: sums count */

  guint n_in_flight;   /**< messages on the wire */
  double busy_since_s; /**< when the first of them left */
  double busy_s;       /**< time with at least one */

  double moved_B[TIER_N]; /**< over all links of a tier */
  double peak[TIER_N];    /**< highest share of a link's capacity during a transfer */
  guint64 n_units;
  double largest_unit_B;
  /* With a codec. */
  double message_B;                  /**< that one worker has said */
  double buffer_B;                   /**< messages of the largest round */
  double collective_B[COLL_N_KINDS]; /**< sizes, by the number of the kind's bit */
  double largest_round_B;
  CollKind largest_kind; /**< of that round */

  double *stage_s;     /**< busy time of each pipeline stage */
  GArray *latencies_s; /**< of double: gradient ready to synchronised */

  Result *result; /**< borrowed: takes the spans */
} Timeline;

void timeline_init(Timeline *timeline, bool traced, guint n_stages, Result *result);
void timeline_clear(Timeline *timeline);

/** The measured time begins, and ends; messages may be on the wire. */
void timeline_begin(Timeline *timeline, double now_s);
void timeline_end(Timeline *timeline, double now_s);

/** A message begins or ends its time on the wire. */
void timeline_depart(Timeline *timeline, double now_s);
void timeline_arrive(Timeline *timeline, double now_s);

/** A phase has moved its bytes. */
void timeline_add_transfer(Timeline *timeline, const Exchange *exchange,
                           const ExchangePhase *phase, double start_s, double end_s);
