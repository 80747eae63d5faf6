/** @file calibrate_remeasure.h  @brief Does this machine still take the times of a profile?
 */
#pragma once

#include "calibrate/profile.h"

/** What is wrong with a profile, a line each. */
typedef struct {
  GString *out;
  guint n;
} Findings;

void findings_add(Findings *findings, const char *format, ...) G_GNUC_PRINTF(2, 3);

/**
 * Time the cells of @p profile again that this machine has, quickly, and append a line for
 * each curve. A curve is found to differ if more than half of its sizes do: by more than
 * @p tolerance (a share) beyond the spread that both times had.
 * @return false with an error if it cannot be measured here
 */
bool calibrate_remeasure(const Profile *profile, double tolerance, Findings *findings,
                         GString *out, GError **error);
