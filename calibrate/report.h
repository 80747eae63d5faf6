/** @file report.h  @brief Profiles for people: laws, constants, residuals. */
#pragma once

#include "calibrate/profile.h"

/** Laws with parameters, intervals, sources and how well they hold. */
void report_laws(const Profile *profile, GString *out);

/** What a forecast will take from it. */
void report_constants(const Profile *profile, GString *out);

/** Facts, inputs and warnings. */
void report_provenance(const Profile *profile, GString *out);

/** Each operation and shape of cluster that has a law, a line each: "all_reduce on 2 nodes
 * of 8: 8 B to 4 GiB". */
void report_shapes(const Profile *profile, GString *out);

/** What it says of @p name; NULL if nothing. Borrowed. */
const char *report_fact(const Profile *profile, const char *name);

/** Every sample beside its laws: CSV. */
void report_residuals(const Profile *profile, GString *out);

/** The law of a sample's own curve, not one of several cluster sizes; NULL if none. */
const Law *report_law_of(const Profile *profile, const Sample *sample);
