/**
 * @file servers.h
 * @brief The way of a piece through servers, which BytePS, MXNet's KVStore and P3 share.
 *
 *     local reduce-scatter -> to host -> push -> sum on the server -> pull -> from host
 *     -> local all-gather
 *
 * With leaders the local steps are a reduction to one GPU and a broadcast from it; with
 * racks, their nodes push to the first of them, which adds and stands for all:
 *
 *     ... -> to host -> push in the rack -> sum -> push -> sum on the server -> pull ->
 *     pull in the rack -> from host -> ...
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
  bool pulls_in_full;    /**< a codec's messages are pushed only; what is pulled is whole */
  Consistency consistency;
  guint staleness;   /**< CONSISTENCY_SSP */
  guint switch_gpus; /**< GPUs that sum among themselves, the host adds such sums; 0: all */
  double host_sum_Bps; /**< what the host adds for one GPU [B/s] */
  bool by_leaders;  /**< one GPU of a node sums and goes to its host, not each its part */
  guint rack_nodes; /**< nodes whose first one sums before servers do; 0, 1: none */
  double message_s; /**< handling of one message, each way [s] */
  double kernel_launch_s;
} ServersPlan;

/** Compose the pipeline and the schedule. On one node only the local stages remain. */
void servers_compose(const ServersPlan *plan, const StrategyContext *context,
                     Composition *out);
