/** @file describe_profile.h  @brief Profiles of the program for people. */
#pragma once

#include <glib.h>

/** One line: the machine that it is of; NULL if there is no such profile.
 *  Transfer: caller frees. */
char *describe_profile_summary(const char *name);

/** What was measured and where it comes from; NULL likewise. Transfer: caller frees. */
char *describe_profile(const char *name);
