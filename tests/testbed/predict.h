/**
 * @file predict.h
 * @brief What the simulator says of a measured collective.
 */
#pragma once

#include "calibrate/sample.h"

/**
 * Simulate what @p sample timed, on the cluster of @p scenario. Once per process.
 *
 * All-reduces run as `stepcast collective` runs them. One server is what the strategy
 * parameter_server does for one array: a push and a pull, with a server on the first node;
 * incast is the push alone.
 *
 * @param goodput_Bps  of a cable: its rate is set so that the transport leaves this [B/s]
 * @param credit_s     what a shaper that was idle saves: the server's cable is, during the
 *                     push, and lets a bucketful of the pull pass at once, as no cable
 * does. Everywhere else shapers are empty when the clock starts, or busy [s]
 */
bool predict(const char *scenario, const Sample *sample, double goodput_Bps,
             double credit_s, double *time_s, GError **error);
