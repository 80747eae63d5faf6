/**
 * @file servers.h
 * @brief The way of a piece through servers, which BytePS, MXNet's KVStore and P3 share.
 *
 *     local reduce-scatter -> to host -> push -> sum on the server -> pull -> from host
 *     -> local all-gather
 *
 * Pieces for one server go one after another, those for different servers side by side; the
 * server adds what it receives at its rate while it arrives, and the last addition follows.
 */
#pragma once

#include "models/placement.h"
#include "models/strategy.h"

typedef struct {
  guint n_servers;
  guint n_extra;  /**< on machines of their own */
  GArray *pieces; /**< of Piece; taken */
  bool first_layers_first;
  double credit_B;       /**< of pieces in local reduction; 0: no limit */
  double server_sum_Bps; /**< what one server adds per second, received bytes [B/s] */
  double update_passes;  /**< further passes over the sum before it is pulled */
  double message_s;      /**< handling of one message, each way [s] */
  double kernel_launch_s;
} ServersPlan;

/** Compose the pipeline and the schedule. On one node only the local stages remain. */
void servers_compose(const ServersPlan *plan, const StrategyContext *context,
                     Composition *out);
