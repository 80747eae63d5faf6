/** @file calibrate_plot.h  @brief Samples and the laws through them, drawn. */
#pragma once

#include "calibrate/profile.h"

/** One panel for each probe, both axes logarithmic; colours tell curves apart. */
void calibrate_plot(const Profile *profile, GString *out);
