/**
 * @file describe.h
 * @brief Catalogue entries for people.
 */
#pragma once

#include <glib.h>

/** One line: "8 x h100_sxm5_80gb, nvswitch, 8 x 400 Gbit/s"; NULL if there is no such
 *  entry. @param kind  of catalogue_kinds. Transfer: caller frees. */
char *describe_summary(const char *kind, const char *name);

/** The figures of an entry, a line each, and their source; NULL likewise.
 *  Transfer: caller frees. */
char *describe_entry(const char *kind, const char *name);
