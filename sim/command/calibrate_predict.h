/** @file calibrate_predict.h  @brief What the laws of a profile say at sizes that are asked
 *  for. */
#pragma once

#include "calibrate/profile.h"

/**
 * A line for each law that answers a question: its time, the 95 % interval of a measurement
 * of it, and whether that is beyond what was measured.
 * @param questions  "[OP:]SIZE[:n=RANKS][:nodes=NODES]", NULL-terminated
 * @return false with SIM_ERROR_USAGE if one is no question, SIM_ERROR_VALUE if no law
 *         answers it
 */
bool calibrate_predict(const Profile *profile, char *const *questions, GString *out,
                       GError **error);
